"""Registration of the functions that define built-ins, by the built-ins' GLSL names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from vkgroup.reference.semantics.lanes import Lanes

Reference = Callable[..., Lanes]
"""``function(value, active, operand, …)``, without the operands that the built-in lacks.

`vkgroup.reference.semantics` describes the arrays.
"""

Function = TypeVar("Function", bound=Reference)

DEFINITIONS: dict[str, Reference] = {}
"""Every function that `defines` a built-in, by the built-in's name."""


def defines(name: str) -> Callable[[Function], Function]:
    """Return a decorator that registers a function as the definition of a built-in.

    Parameters
    ----------
    name : of the built-in, as in `vkgroup.spec.sentences.SENTENCES`.
    """

    def register(function: Function) -> Function:
        DEFINITIONS[name] = function
        return function

    return register
