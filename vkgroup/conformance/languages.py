"""Languages of the suite's shaders, and the cases that a compiler can compile."""

from __future__ import annotations

from collections.abc import Sequence

from vkgroup.compiler.front_ends import compiles
from vkgroup.conformance.family import AnyCase

LANGUAGES = {"hlsl": "HLSL", "slang": "Slang", "wgsl": "WGSL"}
"""Names of the dialects other than GLSL; a dialect is also the suffix of its files."""


def language_of(case: AnyCase) -> str:
    """Return a case's dialect: ``"hlsl"``, ``"slang"``, ``"wgsl"``; ``"vulkan"`` for GLSL and OpenGL's."""
    first = case.name.partition(".")[0].partition("_")[0]
    return first if first in LANGUAGES else "vulkan"


def expressible(cases: Sequence[AnyCase], compiler: str) -> tuple[AnyCase, ...]:
    """Return the cases whose language a compiler supports; all of them for the default compiler, ``""``."""
    return tuple(case for case in cases if not compiler or compiles(compiler, language_of(case)))
