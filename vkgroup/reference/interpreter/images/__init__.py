"""Instructions on images, texel buffers and samplers."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import Value

Factory = Callable[[Site], Callable[..., Value | None]]

IMAGES: dict[str, Factory] = {}
"""By name: what makes the function of an instruction; the function takes a `Frame` before its operands."""
