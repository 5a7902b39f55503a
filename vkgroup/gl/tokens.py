"""The names and values of OpenGL's enumerants that the runtime takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vkgroup.gl.errors import InvalidEnum, InvalidValue

#: What ARB_compute_shader adds besides its limits ("New Tokens").
TOKENS: Mapping[str, int] = {
    "COMPUTE_SHADER": 0x91B9,
    "COMPUTE_WORK_GROUP_SIZE": 0x8267,
    "UNIFORM_BLOCK_REFERENCED_BY_COMPUTE_SHADER": 0x90EC,
    "ATOMIC_COUNTER_BUFFER_REFERENCED_BY_COMPUTE_SHADER": 0x90ED,
    "DISPATCH_INDIRECT_BUFFER": 0x90EE,
    "DISPATCH_INDIRECT_BUFFER_BINDING": 0x90EF,
    "COMPUTE_SHADER_BIT": 0x00000020,
}

#: Bits of UseProgramStages, and the stages that they mean.
STAGE_BITS: Mapping[str, tuple[int, str]] = {
    "VERTEX_SHADER_BIT": (0x01, "vertex"),
    "FRAGMENT_SHADER_BIT": (0x02, "fragment"),
    "GEOMETRY_SHADER_BIT": (0x04, "geometry"),
    "TESS_CONTROL_SHADER_BIT": (0x08, "tessellation_control"),
    "TESS_EVALUATION_SHADER_BIT": (0x10, "tessellation_evaluation"),
    "COMPUTE_SHADER_BIT": (0x20, "compute"),
}

#: Bits of MemoryBarrier.
BARRIER_BITS: Mapping[str, int] = {
    "VERTEX_ATTRIB_ARRAY_BARRIER_BIT": 0x0001,
    "ELEMENT_ARRAY_BARRIER_BIT": 0x0002,
    "UNIFORM_BARRIER_BIT": 0x0004,
    "TEXTURE_FETCH_BARRIER_BIT": 0x0008,
    "SHADER_IMAGE_ACCESS_BARRIER_BIT": 0x0020,
    "COMMAND_BARRIER_BIT": 0x0040,
    "PIXEL_BUFFER_BARRIER_BIT": 0x0080,
    "TEXTURE_UPDATE_BARRIER_BIT": 0x0100,
    "BUFFER_UPDATE_BARRIER_BIT": 0x0200,
    "FRAMEBUFFER_BARRIER_BIT": 0x0400,
    "TRANSFORM_FEEDBACK_BARRIER_BIT": 0x0800,
    "ATOMIC_COUNTER_BARRIER_BIT": 0x1000,
    "SHADER_STORAGE_BARRIER_BIT": 0x2000,
}

#: Modes of BeginConditionalRender, and whether they are inverted.
CONDITIONAL_MODES: Mapping[str, tuple[int, bool]] = {
    "QUERY_WAIT": (0x8E13, False),
    "QUERY_NO_WAIT": (0x8E14, False),
    "QUERY_BY_REGION_WAIT": (0x8E15, False),
    "QUERY_BY_REGION_NO_WAIT": (0x8E16, False),
    "QUERY_WAIT_INVERTED": (0x8E17, True),
    "QUERY_NO_WAIT_INVERTED": (0x8E18, True),
    "QUERY_BY_REGION_WAIT_INVERTED": (0x8E19, True),
    "QUERY_BY_REGION_NO_WAIT_INVERTED": (0x8E1A, True),
}


def plain(name: str) -> str:
    """Return an enumerant's name without ``GL_``."""
    return name.removeprefix("GL_")


def stages_of(bits: str | Iterable[str]) -> set[str]:
    """Return the stages of UseProgramStages' names.

    Raises
    ------
    InvalidValue
        A name is none of a stage's bit (OpenGL 4.2, 2.11.4).
    """
    names = {plain(name) for name in ([bits] if isinstance(bits, str) else bits)}
    if names == {"ALL_SHADER_BITS"}:
        return {stage for _, stage in STAGE_BITS.values()}
    unknown = sorted(names - STAGE_BITS.keys())
    if unknown or not names:
        raise InvalidValue(
            f"{', '.join(unknown) or 'Nothing'} is no stage. There are: {', '.join(STAGE_BITS)}."
        )
    return {STAGE_BITS[name][1] for name in names}


def check_barriers(bits: Iterable[str]) -> None:
    """Raise `InvalidValue` where a name is none of MemoryBarrier's bits (OpenGL 4.2, 2.11.13)."""
    names = {plain(name) for name in bits}
    unknown = sorted(names - BARRIER_BITS.keys() - {"ALL_BARRIER_BITS"})
    if unknown or not names:
        raise InvalidValue(
            f"{', '.join(unknown) or 'Nothing'} is no barrier. There are: {', '.join(BARRIER_BITS)}."
        )


def is_inverted(mode: str) -> bool:
    """Tell whether a mode of BeginConditionalRender is inverted; `InvalidEnum` where there is none such."""
    if plain(mode) not in CONDITIONAL_MODES:
        raise InvalidEnum(f"{mode!r} is no mode. There are: {', '.join(CONDITIONAL_MODES)}.")
    return CONDITIONAL_MODES[plain(mode)][1]
