"""OpenGL's enumerants by name and value, and its errors as exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from vkgroup.base.errors import InvalidDispatch


class GLError(InvalidDispatch):
    """An error of an OpenGL command; the command has no effect.

    Attributes
    ----------
    gl_error : OpenGL's name of the error, without ``GL_``.
    """

    gl_error: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.gl_error}: {super().__str__()}"


class InvalidEnum(GLError):
    """A name that the command does not accept."""

    gl_error = "INVALID_ENUM"


class InvalidValue(GLError):
    """A number out of range."""

    gl_error = "INVALID_VALUE"


class InvalidOperation(GLError):
    """A command that the current state does not allow."""

    gl_error = "INVALID_OPERATION"


#: Enumerants of ARB_compute_shader besides its limits ("New Tokens").
TOKENS: Mapping[str, int] = {
    "COMPUTE_SHADER": 0x91B9,
    "COMPUTE_WORK_GROUP_SIZE": 0x8267,
    "UNIFORM_BLOCK_REFERENCED_BY_COMPUTE_SHADER": 0x90EC,
    "ATOMIC_COUNTER_BUFFER_REFERENCED_BY_COMPUTE_SHADER": 0x90ED,
    "DISPATCH_INDIRECT_BUFFER": 0x90EE,
    "DISPATCH_INDIRECT_BUFFER_BINDING": 0x90EF,
    "COMPUTE_SHADER_BIT": 0x00000020,
}

#: Enumerants of NV_shader_thread_group for queries ("New Tokens").
THREAD_GROUP_TOKENS: Mapping[str, int] = {
    "WARP_SIZE_NV": 0x9339,
    "WARPS_PER_SM_NV": 0x933A,
    "SM_COUNT_NV": 0x933B,
}

#: Stages by the names of their bits in UseProgramStages: 1, 2, 4 and so on.
STAGES: Mapping[str, str] = {
    "VERTEX_SHADER_BIT": "vertex",
    "FRAGMENT_SHADER_BIT": "fragment",
    "GEOMETRY_SHADER_BIT": "geometry",
    "TESS_CONTROL_SHADER_BIT": "tessellation_control",
    "TESS_EVALUATION_SHADER_BIT": "tessellation_evaluation",
    "COMPUTE_SHADER_BIT": "compute",
}
STAGE_BITS: Mapping[str, int] = {name: 1 << number for number, name in enumerate(STAGES)}

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

#: Modes of BeginConditionalRender.
CONDITIONAL_MODES: Mapping[str, int] = {
    "QUERY_WAIT": 0x8E13,
    "QUERY_NO_WAIT": 0x8E14,
    "QUERY_BY_REGION_WAIT": 0x8E15,
    "QUERY_BY_REGION_NO_WAIT": 0x8E16,
    "QUERY_WAIT_INVERTED": 0x8E17,
    "QUERY_NO_WAIT_INVERTED": 0x8E18,
    "QUERY_BY_REGION_WAIT_INVERTED": 0x8E19,
    "QUERY_BY_REGION_NO_WAIT_INVERTED": 0x8E1A,
}

_ALL_BITS = 0xFFFFFFFF

Name = str | int
"""An enumerant: its name, with ``GL_`` or without, or its value."""


def name_of(given: Name, tokens: Mapping[str, int]) -> str:
    """Return an enumerant's name without ``GL_``; for a value, its name in `tokens`."""
    if isinstance(given, str):
        return given.removeprefix("GL_")
    if not isinstance(given, int | np.integer):
        return repr(given)
    return next((name for name, value in tokens.items() if value == given), hex(given))


def stages_of(bits: Name | Iterable[Name]) -> set[str]:
    """Return the stages of UseProgramStages' bits; raises `InvalidValue` for others (OpenGL 4.2, 2.11.4)."""
    several = bits if isinstance(bits, Iterable) and not isinstance(bits, str) else [bits]
    return {STAGES[name] for name in _bits(several, STAGE_BITS, "ALL_SHADER_BITS")}


def check_barriers(bits: Iterable[Name]) -> None:
    """Raise `InvalidValue` if a bit does not belong to MemoryBarrier (OpenGL 4.2, 2.11.13)."""
    _bits(bits, BARRIER_BITS, "ALL_BARRIER_BITS")


def _bits(given: Iterable[Name], valid: Mapping[str, int], everything: str) -> set[str]:
    """Return the names of bits, given as names or combined as one number."""
    names: set[str] = set()
    for entry in given:
        if isinstance(entry, int):
            number = entry & sum(valid.values()) if entry == _ALL_BITS else entry
            names |= {name for name, value in valid.items() if value & number}
            left = number & ~sum(valid.values())
            names |= {hex(left)} if left else set()
        elif name_of(entry, valid) == everything:
            names |= valid.keys()
        else:
            names.add(name_of(entry, valid))
    unknown = sorted(names - valid.keys())
    if unknown or not names:
        raise InvalidValue(
            f"{', '.join(unknown) or 'Nothing'} is not such a bit; choose from: {', '.join(valid)}."
        )
    return names


def is_inverted(mode: Name) -> bool:
    """Whether a mode of BeginConditionalRender is inverted; raises `InvalidEnum` for other names."""
    name = name_of(mode, CONDITIONAL_MODES)
    if name not in CONDITIONAL_MODES:
        raise InvalidEnum(f"{mode!r} is not a mode; choose from: {', '.join(CONDITIONAL_MODES)}.")
    return name.endswith("_INVERTED")
