"""The table of NV_shader_thread_group: one row for each variable and function that it adds to GLSL.

On Vulkan each becomes subgroup built-ins and arithmetic, so a row names what a device must have instead of
one instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.reference.operations import Reference
from vkgroup.reference.semantics import thread_group
from vkgroup.reference.types import TYPES, GlslType

STAGES = ("vertex", "tessellation_control", "tessellation_evaluation", "geometry", "fragment", "compute")
"""The stages that the document names."""

_FRAGMENT = ("fragment",)


@dataclass(frozen=True)
class ThreadGroupOperation:
    """One variable or function.

    Attributes
    ----------
    name : as in GLSL, ``"gl_ThreadInWarpNV"``, ``"quadSwizzleXNV"``.
    result : the type of the result; None for the type of the first operand.
    reference : its value by the semantics (see `vkgroup.reference.semantics.thread_group`); None where the
        document gives no more than a range, and for the counts of processors.
    categories : subgroup operations that the device must have.
    section : where it is specified.
    stages : the stages that have it.
    types : of the first operand; empty for what has none.
    instruction : the assembly instruction or binding that means the same.
    sm_builtin : whether the device must have ``shaderSMBuiltins``.
    """

    name: str
    result: GlslType | None
    reference: Reference | None
    categories: tuple[str, ...]
    section: str
    instruction: str
    stages: tuple[str, ...] = STAGES
    types: tuple[GlslType, ...] = ()
    sm_builtin: bool = False

    @property
    def is_function(self) -> bool:
        """Whether it is called, with parentheses."""
        return not self.name.startswith("gl_")


def _variable(
    name: str, binding: str, reference: Reference | None = None, *, sm_builtin: bool = False
) -> ThreadGroupOperation:
    section = "7.4" if binding.startswith("state.") else "7.1"
    return ThreadGroupOperation(
        name,
        TYPES["uint"],
        reference,
        () if sm_builtin else ("basic",),
        f"NV_shader_thread_group, section {section}, {name}",
        binding,
        sm_builtin=sm_builtin,
    )


def _ballot(name: str, reference: Reference, types: tuple[GlslType, ...]) -> ThreadGroupOperation:
    section = f"NV_shader_thread_group, section 8.3, {name}()"
    return ThreadGroupOperation(
        name, TYPES["uint"], reference, ("basic", "ballot"), section, "TGBALLOT", types=types
    )


def _swizzle(which: str, reference: Reference) -> ThreadGroupOperation:
    name = f"quadSwizzle{which}NV"
    return ThreadGroupOperation(
        name,
        None,
        reference,
        ("basic", "ballot", "quad"),
        f"NV_shader_thread_group, section 8.3, {name}()",
        f"QSWZ{which}",
        stages=_FRAGMENT,
        types=tuple(TYPES[type_] for type_ in ("float", "vec2", "vec3", "vec4")),
    )


_ROWS = (
    _variable("gl_ThreadInWarpNV", "*.threadid", thread_group.thread_in_warp_nv),
    _variable("gl_ThreadEqMaskNV", "*.threadeqmask", thread_group.thread_eq_mask_nv),
    _variable("gl_ThreadGeMaskNV", "*.threadgemask", thread_group.thread_ge_mask_nv),
    _variable("gl_ThreadGtMaskNV", "*.threadgtmask", thread_group.thread_gt_mask_nv),
    _variable("gl_ThreadLeMaskNV", "*.threadlemask", thread_group.thread_le_mask_nv),
    _variable("gl_ThreadLtMaskNV", "*.threadltmask", thread_group.thread_lt_mask_nv),
    _variable("gl_WarpIDNV", "*.warpid", sm_builtin=True),
    _variable("gl_SMIDNV", "*.smid", sm_builtin=True),
    ThreadGroupOperation(
        "gl_HelperThreadNV",
        TYPES["bool"],
        thread_group.helper_thread_nv,
        (),
        "NV_shader_thread_group, section 7.1, gl_HelperThreadNV",
        "fragment.helperthread",
        stages=_FRAGMENT,
    ),
    _variable("gl_WarpSizeNV", "state.thread.warpsize", thread_group.warp_size_nv),
    _variable("gl_WarpsPerSMNV", "state.thread.warpspersm", sm_builtin=True),
    _variable("gl_SMCountNV", "state.thread.smcount", sm_builtin=True),
    _ballot("activeThreadsNV", thread_group.active_threads_nv, ()),
    _ballot("ballotThreadNV", thread_group.ballot_thread_nv, (TYPES["bool"],)),
    _swizzle("0", thread_group.quad_swizzle0_nv),
    _swizzle("1", thread_group.quad_swizzle1_nv),
    _swizzle("2", thread_group.quad_swizzle2_nv),
    _swizzle("3", thread_group.quad_swizzle3_nv),
    _swizzle("X", thread_group.quad_swizzle_x_nv),
    _swizzle("Y", thread_group.quad_swizzle_y_nv),
)

THREAD_GROUP_OPERATIONS: dict[str, ThreadGroupOperation] = {operation.name: operation for operation in _ROWS}
"""Every one by its GLSL name, in the document's order."""
