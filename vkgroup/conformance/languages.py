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


_COMPILERS = {
    "hlsl_later": ("slang", "dxc"),
    **dict.fromkeys(("hlsl_fragment", "hlsl_reconvergence"), ("dxc", "slang")),
    **dict.fromkeys(("slang", "slang_reconvergence"), ("slang",)),
    "wgsl": ("tint",),
}
"""The compilers of families that glslang does not compile; without a choice, the first that is installed."""


def compilers_of(category: str) -> tuple[str, ...]:
    """Return the compilers of a family that needs one of some; empty if the default compiler has it."""
    return _COMPILERS.get(category, ())


def expressible(cases: Sequence[AnyCase], compiler: str) -> tuple[AnyCase, ...]:
    """Return the cases whose language a compiler supports; all of them for the default compiler, ``""``."""

    def is_expressible(case: AnyCase) -> bool:
        own = compilers_of(case.category)
        return compiler in own if own else compiles(compiler, language_of(case))

    return tuple(filter(is_expressible, cases)) if compiler else tuple(cases)
