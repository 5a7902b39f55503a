"""The meaning of the built-in variables and functions of KHR_shader_subgroup and related extensions.

A function takes the value where the GLSL function has one, `active`, then the other operand where there is
one, and returns `vkgroup.reference.semantics.lanes.Lanes`::

    value           (subgroups, size, components), the type's NumPy dtype, bool for bool; a ballot is a uvec4
    id, index, mask, delta   (subgroups, size) uint32
    ballot          (subgroups, size, 4) uint32, where it is the other operand
    cluster_size    int
    active          (subgroups, size) bool: the lanes that execute the function together

The size of a subgroup is a power of two up to 128. `defined` is true only where the specification gives the
result. `vkgroup.reference.registry.reference_of` returns the function of a built-in. Reductions and scans are
`groups.reduce`, `groups.scan`, `groups.clustered` and `groups.partitioned`, each with one of
`groups.OPERATORS`; the sentence of each is in `vkgroup.spec.sentences`.
"""
