"""Lane-wise instructions, which act on each invocation alone: factories of functions on `Value`, by name.

The name of an extended instruction starts with its set: ``"GLSL.std.450 Sin"``. The pointer forms Modf and
Frexp are absent: `operations.core` makes them from ModfStruct and FrexpStruct.

Functions let NumPy divide by zero and overflow; the caller enters ``numpy.errstate(all="ignore")`` once.
"""

from __future__ import annotations

from vkgroup.base.errors import Unsupported
from vkgroup.reference.interpreter.operations.lanewise.arithmetic import ARITHMETIC, MIXED_DOTS
from vkgroup.reference.interpreter.operations.lanewise.comparison import BITS, COMPARISONS
from vkgroup.reference.interpreter.operations.lanewise.composites import COMPOSITES
from vkgroup.reference.interpreter.operations.lanewise.conversion import CONVERSIONS
from vkgroup.reference.interpreter.operations.lanewise.elementwise import Factory, Function
from vkgroup.reference.interpreter.operations.lanewise.glsl450 import GLSL450
from vkgroup.reference.interpreter.operations.lanewise.matrices import GLSL450_VECTORS, MATRICES
from vkgroup.reference.interpreter.program.site import Site


def _integer_mix(site: Site) -> Function:
    raise Unsupported(f"{site.name} was removed from GLSL.std.450: use a compiler that emits OpSelect")


LANEWISE: dict[str, Factory] = {
    **ARITHMETIC,
    **BITS,
    **COMPARISONS,
    **CONVERSIONS,
    **COMPOSITES,
    **MATRICES,
    **MIXED_DOTS,
    **{f"GLSL.std.450 {name}": factory for name, factory in (GLSL450 | GLSL450_VECTORS).items()},
    "GLSL.std.450 IMix": _integer_mix,
}
