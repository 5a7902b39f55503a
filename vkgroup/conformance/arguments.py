"""Operands of a case after its value: in the shader's GLSL, and for each lane in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import Flags, Indices, Words
from vkgroup.conformance.case import Case
from vkgroup.conformance.operands import PARTITION_FUNCTIONS, OperandChoice, choices
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.spec.categories import Category


@dataclass(frozen=True)
class CaseArgument:
    """The operand of a case in its program."""

    operand: OperandChoice  # the choice
    glsl: tuple[str, ...]  # the arguments in GLSL
    table: Words | None = None  # the words that it reads, one for each place; None if it reads none

    def of_lanes(self, place: Indices, active: Flags) -> Words:
        """Return the operand of each lane, (rows, size); for a partition its ballot, (rows, size, 4)."""
        operand, (rows, size) = self.operand, active.shape
        lane = np.broadcast_to(np.arange(size, dtype=np.uint32), active.shape)
        word = lane if self.table is None else self.table[place]
        if operand.labels is not None:
            return _ballots(operand.labels(lane, word))
        if operand.literal is not None:
            return np.full(active.shape, operand.literal(size), np.uint32)
        if operand.lanes is not None:
            return operand.lanes(lane, size)
        if operand.leader:
            return np.broadcast_to(word[np.arange(rows), active.argmax(axis=1)][:, None], active.shape)
        return word


def _ballots(labels: NDArray[np.integer[Any]]) -> Words:
    """Return the ballot of the lanes that share a lane's label: (rows, size) → (rows, size, 4)."""
    rows, size = labels.shape
    bits = np.zeros((rows, size, 128), np.bool_)
    bits[:, :, :size] = labels[:, :, None] == labels[:, None, :]
    return np.packbits(bits, axis=2, bitorder="little").view(np.uint32)


class ProgramArguments:
    """Makes the arguments of a program's cases, and collects the code and constants that they need.

    `generator` gives the random generator of a name. `append` adds words to the program's inputs and returns
    the index of the first one.
    """

    def __init__(
        self,
        size: int,
        group_places: int,
        generator: Callable[[str], np.random.Generator],
        append: Callable[[Words], int],
    ) -> None:
        self._size, self._group_places = size, group_places
        self._generator, self._append = generator, append
        self._tables: dict[str, tuple[int, Words]] = {}
        self._partitions: dict[str, str] = {}
        self.specialization: dict[int | str, int] = {}
        self.declarations: list[str] = []
        self.preparations: list[str] = []

    def of(self, case: Case) -> CaseArgument | None:
        """Return a case's argument; None if its operation has no operand after the value."""
        if not case.operand:
            return None
        operand = choices(case.operation)[case.operand]
        partition = operand.labels is not None
        word, table = self._read(operand, Category.PARTITIONED.value if partition else case.operation)
        if partition:
            return CaseArgument(operand, (self._partition(operand, word),), table)
        first = word
        if operand.specialized:
            first = self._specialized(operand)
        elif operand.literal is not None:
            first = f"{operand.literal(self._size)}u"
        elif operand.expression is not None:
            first = operand.expression
        clustered = operand.cluster and case.category != Category.CLUSTERED.value
        return CaseArgument(operand, (first, f"{operand.cluster}u") if clustered else (first,), table)

    def _read(self, operand: OperandChoice, kind: str) -> tuple[str, Words | None]:
        """Return the GLSL that reads an operand from its table, and the table, one word for each place."""
        if operand.table is None:
            return "", None
        key = f"{kind}:{operand.name}"
        if key not in self._tables:
            count = WORKGROUPS if operand.uniform else WORKGROUPS * self._group_places
            words = operand.table(self._generator(key), self._size, count)
            self._tables[key] = self._append(words), words
        at, words = self._tables[key]
        if operand.uniform:
            return f"inputs[{at}u + group]", np.repeat(words, self._group_places)
        word = f"inputs[{at}u + place]"
        return f"subgroupBroadcastFirst({word})" if operand.leader else word, words

    def _specialized(self, operand: OperandChoice) -> str:
        """Return a specialization constant whose default value is wrong."""
        assert operand.literal is not None
        value = operand.literal(self._size)
        name = f"SPECIALIZED_{value}"
        if value not in self.specialization.values():
            number = len(self.specialization)
            self.specialization[number] = value
            self.declarations.append(f"layout(constant_id = {number}) const uint {name} = {value ^ 1}u;")
        return name

    def _partition(self, operand: OperandChoice, word: str) -> str:
        """Return the variable with a partition; all cases of the program share it."""
        assert operand.expression is not None
        if not self._partitions:
            self.declarations.append(PARTITION_FUNCTIONS)
        if operand.name not in self._partitions:
            name = self._partitions[operand.name] = f"partition_{operand.name}"
            self.preparations.append(f"uvec4 {name} = {operand.expression.format(word=word)};")
        return self._partitions[operand.name]
