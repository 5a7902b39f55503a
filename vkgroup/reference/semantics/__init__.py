"""The meaning of each built-in variable and function of KHR_shader_subgroup, one function each.

A function takes the value where the GLSL function has one, `active`, then the other operand where there is
one, and returns `Lanes`::

    value           (subgroups, size, components), the type's NumPy dtype, bool for bool; a ballot is a uvec4
    id, index, mask, delta   (subgroups, size) uint32
    cluster_size    int
    active          (subgroups, size) bool: the lanes that execute the function together

The size of a subgroup is a power of two up to 128. Only what the texts say is `defined`.
"""

from __future__ import annotations

from vkgroup.reference.semantics.arithmetic import (
    subgroup_add,
    subgroup_and,
    subgroup_exclusive_add,
    subgroup_exclusive_and,
    subgroup_exclusive_max,
    subgroup_exclusive_min,
    subgroup_exclusive_mul,
    subgroup_exclusive_or,
    subgroup_exclusive_xor,
    subgroup_inclusive_add,
    subgroup_inclusive_and,
    subgroup_inclusive_max,
    subgroup_inclusive_min,
    subgroup_inclusive_mul,
    subgroup_inclusive_or,
    subgroup_inclusive_xor,
    subgroup_max,
    subgroup_min,
    subgroup_mul,
    subgroup_or,
    subgroup_xor,
)
from vkgroup.reference.semantics.ballot import (
    subgroup_ballot,
    subgroup_ballot_bit_count,
    subgroup_ballot_bit_extract,
    subgroup_ballot_exclusive_bit_count,
    subgroup_ballot_find_lsb,
    subgroup_ballot_find_msb,
    subgroup_ballot_inclusive_bit_count,
    subgroup_broadcast,
    subgroup_broadcast_first,
    subgroup_inverse_ballot,
)
from vkgroup.reference.semantics.basic import (
    subgroup_barrier,
    subgroup_elect,
    subgroup_memory_barrier,
    subgroup_memory_barrier_buffer,
    subgroup_memory_barrier_image,
    subgroup_memory_barrier_shared,
)
from vkgroup.reference.semantics.clustered import (
    subgroup_clustered_add,
    subgroup_clustered_and,
    subgroup_clustered_max,
    subgroup_clustered_min,
    subgroup_clustered_mul,
    subgroup_clustered_or,
    subgroup_clustered_xor,
)
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.reference.semantics.quad import (
    subgroup_quad_broadcast,
    subgroup_quad_swap_diagonal,
    subgroup_quad_swap_horizontal,
    subgroup_quad_swap_vertical,
)
from vkgroup.reference.semantics.shuffle import (
    subgroup_shuffle,
    subgroup_shuffle_xor,
)
from vkgroup.reference.semantics.shuffle_relative import (
    subgroup_shuffle_down,
    subgroup_shuffle_up,
)
from vkgroup.reference.semantics.variables import (
    num_subgroups,
    subgroup_eq_mask,
    subgroup_ge_mask,
    subgroup_gt_mask,
    subgroup_id,
    subgroup_invocation_id,
    subgroup_le_mask,
    subgroup_lt_mask,
    subgroup_size,
)
from vkgroup.reference.semantics.vote import (
    subgroup_all,
    subgroup_all_equal,
    subgroup_any,
)

__all__ = [
    "Lanes",
    "num_subgroups",
    "subgroup_add",
    "subgroup_all",
    "subgroup_all_equal",
    "subgroup_and",
    "subgroup_any",
    "subgroup_ballot",
    "subgroup_ballot_bit_count",
    "subgroup_ballot_bit_extract",
    "subgroup_ballot_exclusive_bit_count",
    "subgroup_ballot_find_lsb",
    "subgroup_ballot_find_msb",
    "subgroup_ballot_inclusive_bit_count",
    "subgroup_barrier",
    "subgroup_broadcast",
    "subgroup_broadcast_first",
    "subgroup_clustered_add",
    "subgroup_clustered_and",
    "subgroup_clustered_max",
    "subgroup_clustered_min",
    "subgroup_clustered_mul",
    "subgroup_clustered_or",
    "subgroup_clustered_xor",
    "subgroup_elect",
    "subgroup_eq_mask",
    "subgroup_exclusive_add",
    "subgroup_exclusive_and",
    "subgroup_exclusive_max",
    "subgroup_exclusive_min",
    "subgroup_exclusive_mul",
    "subgroup_exclusive_or",
    "subgroup_exclusive_xor",
    "subgroup_ge_mask",
    "subgroup_gt_mask",
    "subgroup_id",
    "subgroup_inclusive_add",
    "subgroup_inclusive_and",
    "subgroup_inclusive_max",
    "subgroup_inclusive_min",
    "subgroup_inclusive_mul",
    "subgroup_inclusive_or",
    "subgroup_inclusive_xor",
    "subgroup_inverse_ballot",
    "subgroup_invocation_id",
    "subgroup_le_mask",
    "subgroup_lt_mask",
    "subgroup_max",
    "subgroup_memory_barrier",
    "subgroup_memory_barrier_buffer",
    "subgroup_memory_barrier_image",
    "subgroup_memory_barrier_shared",
    "subgroup_min",
    "subgroup_mul",
    "subgroup_or",
    "subgroup_quad_broadcast",
    "subgroup_quad_swap_diagonal",
    "subgroup_quad_swap_horizontal",
    "subgroup_quad_swap_vertical",
    "subgroup_shuffle",
    "subgroup_shuffle_down",
    "subgroup_shuffle_up",
    "subgroup_shuffle_xor",
    "subgroup_size",
    "subgroup_xor",
]
