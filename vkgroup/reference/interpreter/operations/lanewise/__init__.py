"""Lane-wise instructions, which work on each invocation alone: name to a factory of functions on `Value`.

An extended instruction's name has its set's before it: ``"GLSL.std.450 Sin"``. The pointer forms Modf and
Frexp are absent: who stores through the pointer calls ModfStruct and FrexpStruct.

Functions let NumPy divide by zero and overflow; who runs them enters ``numpy.errstate(all="ignore")`` once.
"""

from __future__ import annotations

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.operations.lanewise.bits import BITS
from vkgroup.reference.interpreter.operations.lanewise.comparison import COMPARISONS, LOGIC
from vkgroup.reference.interpreter.operations.lanewise.composites import COMPOSITES
from vkgroup.reference.interpreter.operations.lanewise.conversion import CONVERSIONS
from vkgroup.reference.interpreter.operations.lanewise.elementwise import Factory, Function
from vkgroup.reference.interpreter.operations.lanewise.glsl450 import (
    GLSL450_COMMON,
    GLSL450_INTEGERS,
    GLSL450_PACKING,
    GLSL450_TRANSCENDENTAL,
)
from vkgroup.reference.interpreter.operations.lanewise.integers import ARITHMETIC, INTEGER_DOT, INTEGERS
from vkgroup.reference.interpreter.operations.lanewise.matrices import (
    GLSL450_GEOMETRY,
    GLSL450_MATRICES,
    MATRICES,
)
from vkgroup.reference.interpreter.program.site import Site, extended_name

__all__ = ["LANEWISE", "extended_name"]


def _integer_mix(site: Site) -> Function:
    raise Unsupported(f"{site.name} was taken out of GLSL.std.450: use a compiler that emits OpSelect")


GLSL450: dict[str, Factory] = {
    **GLSL450_COMMON,
    **GLSL450_INTEGERS,
    **GLSL450_TRANSCENDENTAL,
    **GLSL450_PACKING,
    **GLSL450_GEOMETRY,
    **GLSL450_MATRICES,
    "IMix": _integer_mix,
}

LANEWISE: dict[str, Factory] = {
    **ARITHMETIC,
    **INTEGERS,
    **INTEGER_DOT,
    **BITS,
    **COMPARISONS,
    **LOGIC,
    **CONVERSIONS,
    **COMPOSITES,
    **MATRICES,
    **{f"GLSL.std.450 {name}": factory for name, factory in GLSL450.items()},
}
