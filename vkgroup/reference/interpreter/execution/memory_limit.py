"""Memory for the variables of a program, and the limit that the reference device sets for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vkgroup.base.byte_sizes import size_text
from vkgroup.base.errors import OutOfMemory
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.values.value import Leaf

MEMORY_LIMIT = 1 << 28
"""Most bytes of memory for the variables of the workgroups that run together (256 MiB)."""

_CAUSE = 2
"""Bytes of a cause, of which each number of a variable has one."""

_ACCESSES = 8 * 13
"""Bytes of the records of the last accesses to a number, while data races are searched for."""


@dataclass(frozen=True)
class VariableMemory:
    """Bytes that the variables of a program need.

    `shared`: for each workgroup, by name of the variable, with what is recorded about its numbers.
    `declared`: of the same variables, as the shader declares them.
    `own`: for each invocation, by type of the variable.
    """

    shared: dict[str, int]
    own: dict[str, int]
    declared: dict[str, int]

    def of(self, workgroups: int, invocations: int) -> int:
        """Return the bytes for some workgroups with this number of invocations together."""
        return workgroups * sum(self.shared.values()) + invocations * sum(self.own.values())

    def workgroups(self, invocations: int) -> int:
        """Return how many workgroups of this number of invocations fit the limit; at least one."""
        return max(1, MEMORY_LIMIT // max(1, self.of(1, invocations)))

    def require(self, workgroups: int, invocations: int) -> None:
        """Raise `OutOfMemory` if the variables of these workgroups are over the limit."""
        need = self.of(workgroups, invocations)
        if need <= MEMORY_LIMIT:
            return
        parts = {f"shared variable {name}": size * workgroups for name, size in self.shared.items()}
        for name, size in self.own.items():
            parts[f"variables of the type {name} in {invocations} invocations"] = size * invocations
        largest = max(parts, key=lambda name: parts[name])
        declared = self.declared.get(largest.removeprefix("shared variable "))
        why = (
            f": {size_text(declared)}, and for each number whether it is defined and which accesses were last"
            if declared is not None
            else ""
        )
        raise OutOfMemory(
            f"The variables need {size_text(need)} of memory; the limit of the reference device is"
            f" {size_text(MEMORY_LIMIT)}. The largest part: {largest}, with {size_text(parts[largest])}{why}."
            " Make the arrays shorter; if a specialization constant sets their length, give it with --spec."
        )


def variable_memory(program: ExecutableShader, *, races: bool) -> VariableMemory:
    """Return the memory that the variables of a program need; more if `races` are searched for."""
    each = _CAUSE + (_ACCESSES if races else 0)
    shared = {
        name: size + size // program.variables.granule(identifier) * each
        for identifier, (name, _, size) in program.shared.items()
    }
    own: dict[str, int] = {}
    for number, leaves in enumerate(program.cells):
        name = program.cell_types[number].glsl
        own[name] = own.get(name, 0) + sum(_bytes_of(leaf) for leaf in leaves)
    declared = {name: size for name, _, size in program.shared.values()}
    return VariableMemory(shared, own, declared)


def _bytes_of(leaf: Leaf) -> int:
    return math.prod(leaf.dims) * (leaf.scalar.dtype.itemsize + _CAUSE)
