"""Instructions of a group of invocations: every subgroup operation, from the semantics."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import Value

Factory = Callable[[Site], Callable[..., Value]]

GROUPS: dict[str, Factory] = {}
"""By name: what makes the function of an instruction; the function takes `Subgroups` before its operands."""
