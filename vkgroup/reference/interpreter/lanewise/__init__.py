"""Instructions that work on each invocation alone: arithmetic, bits, conversions, composites, GLSL.std.450."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import Value

Factory = Callable[[Site], Callable[..., Value]]

LANEWISE: dict[str, Factory] = {}
"""By name, ``"OpFAdd"`` or ``"GLSL.std.450 Sin"``: what makes the function of an instruction."""
