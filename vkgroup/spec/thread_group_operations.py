"""The table of NV_shader_thread_group: one row for each variable and function that it adds to GLSL.

On Vulkan each becomes subgroup built-ins and arithmetic, so a row names what a device must have instead of
one instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.spec.sentences import SENTENCES, Sentence
from vkgroup.spec.stages import PRIMITIVE_STAGES
from vkgroup.spec.types import TYPES, GlslType

STAGES = (*PRIMITIVE_STAGES, "compute")
"""The stages that the document names."""

_FRAGMENT = ("fragment",)


@dataclass(frozen=True)
class ThreadGroupOperation:
    """One variable or function.

    Attributes
    ----------
    name : as in GLSL, ``"gl_ThreadInWarpNV"``, ``"quadSwizzleXNV"``.
    result : the type of the result; None for the type of the first operand.
    categories : subgroup operations that the device must have.
    sentence : its definition, with the place in the document.
    stages : the stages that have it.
    types : of the first operand; empty for what has none.
    instruction : the assembly instruction or binding that means the same.
    sm_builtin : whether the device must have ``shaderSMBuiltins``. The document gives no more than a range of
        these values, so that they have no reference function.
    """

    name: str
    result: GlslType | None
    categories: tuple[str, ...]
    sentence: Sentence
    instruction: str
    stages: tuple[str, ...] = STAGES
    types: tuple[GlslType, ...] = ()
    sm_builtin: bool = False

    @property
    def is_function(self) -> bool:
        """Whether it is called, with parentheses."""
        return not self.name.startswith("gl_")


def _variable(name: str, binding: str, *, sm_builtin: bool = False) -> ThreadGroupOperation:
    return ThreadGroupOperation(
        name,
        TYPES["uint"],
        () if sm_builtin else ("basic",),
        SENTENCES[name],
        binding,
        sm_builtin=sm_builtin,
    )


def _ballot(name: str, types: tuple[GlslType, ...]) -> ThreadGroupOperation:
    return ThreadGroupOperation(
        name, TYPES["uint"], ("basic", "ballot"), SENTENCES[name], "TGBALLOT", types=types
    )


def _swizzle(which: str) -> ThreadGroupOperation:
    name = f"quadSwizzle{which}NV"
    return ThreadGroupOperation(
        name,
        None,
        ("basic", "ballot", "quad"),
        SENTENCES[name],
        f"QSWZ{which}",
        stages=_FRAGMENT,
        types=tuple(TYPES[type_] for type_ in ("float", "vec2", "vec3", "vec4")),
    )


_ROWS = (
    _variable("gl_ThreadInWarpNV", "*.threadid"),
    _variable("gl_ThreadEqMaskNV", "*.threadeqmask"),
    _variable("gl_ThreadGeMaskNV", "*.threadgemask"),
    _variable("gl_ThreadGtMaskNV", "*.threadgtmask"),
    _variable("gl_ThreadLeMaskNV", "*.threadlemask"),
    _variable("gl_ThreadLtMaskNV", "*.threadltmask"),
    _variable("gl_WarpIDNV", "*.warpid", sm_builtin=True),
    _variable("gl_SMIDNV", "*.smid", sm_builtin=True),
    ThreadGroupOperation(
        "gl_HelperThreadNV",
        TYPES["bool"],
        (),
        SENTENCES["gl_HelperThreadNV"],
        "fragment.helperthread",
        stages=_FRAGMENT,
    ),
    _variable("gl_WarpSizeNV", "state.thread.warpsize"),
    _variable("gl_WarpsPerSMNV", "state.thread.warpspersm", sm_builtin=True),
    _variable("gl_SMCountNV", "state.thread.smcount", sm_builtin=True),
    _ballot("activeThreadsNV", ()),
    _ballot("ballotThreadNV", (TYPES["bool"],)),
    _swizzle("0"),
    _swizzle("1"),
    _swizzle("2"),
    _swizzle("3"),
    _swizzle("X"),
    _swizzle("Y"),
)

THREAD_GROUP_OPERATIONS: dict[str, ThreadGroupOperation] = {operation.name: operation for operation in _ROWS}
"""Every one by its GLSL name, in the document's order."""
