"""Observable rules of the document beside the values of its variables and functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Observation:
    """One such thing.

    Attributes
    ----------
    name : its part in the name of a case.
    sentence : what it is, to begin the case's sentence.
    code : GLSL expressions of type uint that are recorded.
    stages : the stages in which it can be observed.
    uniform : whether it can be observed in uniform control flow alone.
    """

    name: str
    sentence: str
    code: tuple[str, ...]
    stages: tuple[str, ...] = ("fragment",)
    uniform: bool = True


_X, _Y = "gl_FragCoord.x", "gl_FragCoord.y"

_TABLE = (
    Observation(
        "arrangement",
        "The places of threads 4N to 4N + 3, (x, y), (x + 1, y), (x, y + 1) and (x + 1, y + 1), as in a "
        "framebuffer object",
        ("gl_ThreadInWarpNV & 3u", f"uint({_X}) & 1u", f"uint({_Y}) & 1u"),
    ),
    Observation(
        "neighbour_x",
        "The pixel that quadSwizzleXNV reads, the neighbour in x",
        (f"floatBitsToUint(quadSwizzleXNV({_X}))", f"floatBitsToUint(quadSwizzleXNV({_Y}))"),
    ),
    Observation(
        "neighbour_y",
        "The pixel that quadSwizzleYNV reads, the neighbour in y",
        (f"floatBitsToUint(quadSwizzleYNV({_X}))", f"floatBitsToUint(quadSwizzleYNV({_Y}))"),
    ),
    Observation(
        "helpers",
        "gl_HelperThreadNV of all four threads of a quad, as quadSwizzles tell",
        tuple(f"uint(quadSwizzle{thread}NV(gl_HelperThreadNV ? 1.0 : 0.0))" for thread in range(4)),
    ),
    Observation(
        "helper_derivatives",
        "dFdx and dFdy of what helper threads compute",
        (
            "floatBitsToUint(dFdx(float(lane & 1u) * 3.0))",
            "floatBitsToUint(dFdy(float(lane >> 1 & 1u) * 5.0))",
        ),
    ),
    Observation(
        "masks_of_active",
        "A mask ANDed with the active threads, as the document advises where activity matters,",
        (
            "gl_ThreadLeMaskNV & activeThreadsNV()",
            "gl_ThreadLtMaskNV & activeThreadsNV()",
            "gl_ThreadGeMaskNV & activeThreadsNV()",
            "gl_ThreadGtMaskNV & activeThreadsNV()",
            "gl_ThreadEqMaskNV & activeThreadsNV()",
        ),
        stages=("compute", "vertex", "fragment"),
        uniform=False,
    ),
)

OBSERVATIONS: dict[str, Observation] = {observation.name: observation for observation in _TABLE}
"""All by name."""
