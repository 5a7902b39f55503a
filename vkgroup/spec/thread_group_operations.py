"""The table of NV_shader_thread_group: one row for each variable and function that it adds to GLSL.

On Vulkan each is translated to subgroup built-ins and arithmetic, so a row has the categories that a device
must support, not one instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkgroup.spec.sentences import SENTENCES, Sentence
from vkgroup.spec.stages import PRIMITIVE_STAGES
from vkgroup.spec.types import TYPES, GlslType

STAGES = (*PRIMITIVE_STAGES, "compute")
"""The stages in the document."""

_FRAGMENT = ("fragment",)


@dataclass(frozen=True)
class ThreadGroupOperation:
    """One variable or function."""

    name: str  # as in GLSL, ``"gl_ThreadInWarpNV"``, ``"quadSwizzleXNV"``
    result: GlslType | None  # the type of the result; None for the type of the first operand
    categories: tuple[str, ...]  # subgroup operations that the device must have
    sentence: Sentence  # its definition
    instruction: str  # the equivalent assembly instruction or binding
    stages: tuple[str, ...] = STAGES  # the stages that have it
    types: tuple[GlslType, ...] = ()  # of the first operand; empty without operands
    #: Whether the device must have ``shaderSMBuiltins``. These values have no reference function, because
    #: the document gives only their range.
    sm_builtin: bool = False

    @property
    def is_function(self) -> bool:
        """Whether it is a function, not a variable."""
        return not self.name.startswith("gl_")


def _row(
    name: str, instruction: str, *categories: str, result: str = "uint", **columns: Any
) -> ThreadGroupOperation:
    type_ = TYPES[result] if result else None
    return ThreadGroupOperation(name, type_, categories, SENTENCES[name], instruction, **columns)


_SWIZZLED = tuple(TYPES[name] for name in ("float", "vec2", "vec3", "vec4"))

_ROWS = (
    _row("gl_ThreadInWarpNV", "*.threadid", "basic"),
    _row("gl_ThreadEqMaskNV", "*.threadeqmask", "basic"),
    _row("gl_ThreadGeMaskNV", "*.threadgemask", "basic"),
    _row("gl_ThreadGtMaskNV", "*.threadgtmask", "basic"),
    _row("gl_ThreadLeMaskNV", "*.threadlemask", "basic"),
    _row("gl_ThreadLtMaskNV", "*.threadltmask", "basic"),
    _row("gl_WarpIDNV", "*.warpid", sm_builtin=True),
    _row("gl_SMIDNV", "*.smid", sm_builtin=True),
    _row("gl_HelperThreadNV", "fragment.helperthread", result="bool", stages=_FRAGMENT),
    _row("gl_WarpSizeNV", "state.thread.warpsize", "basic"),
    _row("gl_WarpsPerSMNV", "state.thread.warpspersm", sm_builtin=True),
    _row("gl_SMCountNV", "state.thread.smcount", sm_builtin=True),
    _row("activeThreadsNV", "TGBALLOT", "basic", "ballot"),
    _row("ballotThreadNV", "TGBALLOT", "basic", "ballot", types=(TYPES["bool"],)),
    *(
        _row(
            f"quadSwizzle{fragment}NV",
            f"QSWZ{fragment}",
            *("basic", "ballot", "quad"),
            result="",
            stages=_FRAGMENT,
            types=_SWIZZLED,
        )
        for fragment in "0123XY"
    ),
)

THREAD_GROUP_OPERATIONS: dict[str, ThreadGroupOperation] = {operation.name: operation for operation in _ROWS}
"""Every variable and function by its GLSL name, in the order of the document."""
