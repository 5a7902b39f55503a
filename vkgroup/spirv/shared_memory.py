"""Shared memory: the variables of a module in it, and their size under specialization."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vkgroup.spirv.constants import Constant, Value
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.types import ArrayType


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable in shared memory.

    Attributes
    ----------
    size, alignment : bytes, with specialization constants at their defaults; no size where it has none.
    default_length : number of elements in all dimensions that specialization can change, at the defaults.
    lengths : of these dimensions.
    """

    size: int | None
    alignment: int
    default_length: int
    lengths: tuple[Constant, ...]


def find_shared_variables(declared: Declarations) -> tuple[SharedVariable, ...]:
    """Return the variables in shared memory, with those of their lengths that specialization can change."""
    variables = []
    for variable in declared.variables:
        if variable.storage_class != "Workgroup":
            continue
        size, alignment = declared.layouts.shared_size(variable.type)
        default, lengths, kind = 1, [], variable.type
        while isinstance(kind, ArrayType):
            if kind.length_constant is not None and kind.length:
                default *= kind.length
                lengths.append(declared.constant(kind.length_constant))
            kind = kind.element
        variables.append(SharedVariable(size, alignment, default, tuple(lengths)))
    return tuple(variables)


def shared_size(variables: Iterable[SharedVariable], specialization: Mapping[int, Value]) -> int:
    """Return the bytes of shared variables under values by specialization id.

    The variables lie one after the other by the rule of Vulkan 1.3 §9.9 (std430 layout); -1 where a type has
    no such size.
    """
    end = 0
    for variable in variables:
        if variable.size is None:
            return -1
        size = variable.size
        if variable.lengths:
            size = -(-size // variable.default_length // variable.alignment) * variable.alignment
            size *= math.prod(int(length.evaluate(specialization)) for length in variable.lengths)
        end = -(-end // variable.alignment) * variable.alignment + size
    return end
