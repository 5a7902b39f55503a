"""Cases that may pass on null devices, as globs over case names, each with the reason.

docs/development/trust.md shows the tables.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

DECLARATIONS = {
    "cooperative_matrix.list.*": "checks the list of combinations that the device declares; runs no shader",
    "size_control.properties.*": "checks the declared properties of subgroup sizes; runs no shader",
}
"""Cases that only check what a device declares: they may pass on every null device."""

SAME_RESULTS = {
    "compute_model.counters.message_passing.*": "both counters are raised in order with every barrier",
    "compute_model.shared.size.*": "one sum over shared memory, which other sizes and arrays give as well",
    "compute_model.shared.tree.*": "sums of all invocations, which another local size gives as well",
    "compute_model.shared.exchange.*": "the words of another type of cell hold the same numbers",
    "cooperative_matrix.fill.*.constant": "the same constant fills the matrices of every use",
    "descriptor_indexing.*.sampler.read.*": "the texels of a sampler's edges are the same for every index",
    "fragment.edge.once.*": "every pixel is covered once in each scene",
    "fragment.helper.before.*": "every pixel is shaded once up to where fragments leave, however they leave",
    "fragment.primitive.once.*": "every pixel is shaded once in each scene",
    "fragment.sample.shaded.*": "every sample is shaded once in both scenes",
    "quad_control.derivative_group.*": "another shape of the workgroup gives the same quads",
    "size_control.*.default.*": "the sizes are the same in SPIR-V 1.5 and 1.6",
    "size_control.*.varying.*": "the sizes are the same in SPIR-V 1.5 and 1.6",
    "size_control.*.varying": "every size of the device is legal",
}
"""Cases that may pass with the results of another case, because that other case requires the same results."""

NOT_BUILT = {
    "cooperative_matrix.multiply_add.f16_f16_f16_f32.*": "glslang refuses results of another type than C",
    "cooperative_matrix.multiply_add.f16_f16_f32_f16.*": "glslang refuses results of another type than C",
}
"""Cases that end with an error of the compiler on every device that lists the combination."""

REFUSED = {
    "compute_model.dispatches.indirect_*": "the device wrote numbers of workgroups beyond its own limits",
}
"""Cases in which vkgroup refuses to execute what a null device wrote; they fail."""


def reason(case: str, *tables: dict[str, str]) -> str | None:
    """Return the reason that tables give for a case; None if they do not name it."""
    rows = (row for table in tables for row in table.items())
    return next((text for glob, text in rows if fnmatchcase(case, glob)), None)
