"""Recorded lanes of one failed case, and the reference model evaluated on changed inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import POISON, Array, Flags, Indices
from vkgroup.conformance.comparison import Expected, legal
from vkgroup.conformance.subgroup.expectation import JudgedLanes, legal_results, others_of
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, Operation

Prediction = Expected | Flags
Variants = Iterator[tuple[str, Prediction]]
"""Texts that complete the sentence of a hypothesis, each with its prediction."""


class ActiveGroups(NamedTuple):
    """Groups of active lanes that an operation combines with each other, all of the same length."""

    whole: bool  # whether all lanes of their rows are active
    rows: Indices  # (groups, 1)
    lanes: Indices  # (groups, length), in ascending order


def active_groups(operation: Operation, others: Sequence[Any], active: Flags) -> list[ActiveGroups]:
    """Return the groups in all rows; `others`: the size of the clusters, or the ballots of a partition."""
    kind, found = operation.group_operation or "", dict[tuple[bool, int], list[tuple[int, Indices]]]()
    for row, of_row in enumerate(active):
        lanes = np.flatnonzero(of_row)
        parts = [lanes]
        if kind.startswith("Partitioned"):
            _, subset = np.unique(others[0][row, lanes], axis=0, return_inverse=True)
            parts = [lanes[subset.ravel() == number] for number in range(int(subset.max(initial=-1)) + 1)]
        elif kind == "ClusteredReduce":
            parts = np.split(lanes, np.flatnonzero(np.diff(lanes // int(others[-1]))) + 1)
        for part in parts:
            found.setdefault((bool(of_row.all()), len(part)), []).append((row, part))
    return [
        ActiveGroups(
            whole, np.array([row for row, _ in of_length])[:, None], np.array([p for _, p in of_length])
        )
        for (whole, length), of_length in found.items()
        if length
    ]


@dataclass(frozen=True)
class CaseObservation:
    """What one case recorded. Arrays of lanes are (rows, size), those of values (rows, size, components)."""

    lanes: JudgedLanes

    @property
    def operation(self) -> Operation | None:
        """The operation of the case; None for a built-in variable or a barrier."""
        return SUBGROUP_OPERATIONS.get(self.lanes.entry.case.operation)

    @property
    def got(self) -> Array:
        """The recorded values."""
        return self.lanes.got

    @property
    def expected(self) -> Array:
        """The values that the specification requires; the least legal ones where several are legal."""
        return np.asarray(self.lanes.expected.low)

    @property
    def active(self) -> Flags:
        """The lanes that executed the operation."""
        return self.lanes.instances.active

    @property
    def size(self) -> int:
        """The subgroup size."""
        return self.lanes.instances.size

    @cached_property
    def value(self) -> Array | None:
        """The inputs of the active lanes; None if the operation takes no value."""
        feed = self.lanes.entry.feed
        return None if feed is None else feed.values[self.lanes.instances.place]

    @cached_property
    def others(self) -> list[Any]:
        """The operands beyond the value, as the reference functions take them."""
        return others_of(self.lanes.entry, self.lanes.instances)

    @cached_property
    def groups(self) -> list[ActiveGroups]:
        """The groups of active lanes that the operation combines; none if it combines none."""
        return [] if self.operation is None else active_groups(self.operation, self.others, self.active)

    @cached_property
    def unwritten(self) -> Flags:
        """Whether a lane's record still has the fill pattern in every word."""
        entry, program, instances = self.lanes.entry, self.lanes.program, self.lanes.instances
        n, slots = program.invocations, program.pattern.slots
        words = self.lanes.outputs[entry.at : entry.at + slots * entry.planes * n]
        blank = (words.reshape(slots, entry.planes, n) == POISON).all(axis=1)
        return np.asarray(blank[instances.slot[:, None], instances.member])

    @cached_property
    def _layout(self) -> tuple[Flags, NDArray[np.int64], Flags]:
        """Which lanes exist in the subgroup of each row; their places; which observed in any slot."""
        program, instances = self.lanes.program, self.lanes.instances
        n, stage = program.invocations, program.stage
        records = stage.recorded(
            self.lanes.outputs[: stage.record_planes * n].reshape(stage.record_planes, n)
        )
        exists = np.zeros(self.active.shape, np.bool_)
        member = np.zeros(self.active.shape, np.int64)
        reached = np.zeros(self.active.shape, np.bool_)
        for row, (group, subgroup) in enumerate(zip(instances.group, instances.subgroup, strict=True)):
            its = (records.group == group) & (records.subgroup == subgroup)
            exists[row, records.lane[its]] = True
            member[row, records.lane[its]] = records.index[its]
            same = (instances.group == group) & (instances.subgroup == subgroup)
            reached[row] = instances.active[same].any(axis=0)
        return exists, stage.places(instances.group, instances.number, member), reached

    @property
    def exists(self) -> Flags:
        """The lanes that have an invocation."""
        return self._layout[0]

    @property
    def reached(self) -> Flags:
        """The lanes that executed the operation in any place of the control flow."""
        return self._layout[2]

    @cached_property
    def value_of_all(self) -> Array | None:
        """The inputs of every lane with an invocation: inactive lanes feed decoys."""
        feed = self.lanes.entry.feed
        if feed is None:
            return None
        _, place, reached = self._layout
        chosen: Array = np.where(reached[..., None], feed.values[place], feed.decoys[place])
        return chosen

    def evaluate(
        self,
        *,
        operation: Operation | None = None,
        value: Array | None = None,
        active: Flags | None = None,
        others: list[Any] | None = None,
    ) -> Expected | None:
        """Return what the model with these changes requires; None if it cannot be evaluated.

        What is not given is as in the case.
        """
        operation = self.operation if operation is None else operation
        value = self.value if value is None else value
        active = self.active if active is None else active
        others = self.others if others is None else others
        if operation is None:
            return None
        floats = value is not None and value.dtype.kind == "f"
        rounds = self.lanes.entry.case.data == "rounding" or operation is not self.operation
        rounds = floats and rounds and operation.operator in ("Add", "Mul")
        with np.errstate(all="ignore"):
            return legal_results(operation, value, active, others, rounds)

    def agrees(self, prediction: Expected | Flags) -> tuple[Flags, Flags]:
        """Return which lanes recorded what a hypothesis predicts, and for which it predicts nothing.

        Both are (rows, size). Only components count that the specification defines.
        """
        ignored = ~self.lanes.expected.defined
        if not isinstance(prediction, Expected):
            flags = prediction if prediction.ndim == 3 else prediction[..., None]
            return np.asarray((flags | ignored).all(axis=-1)), np.zeros(self.active.shape, np.bool_)
        low, got = prediction.low.dtype, self.got.dtype
        same_type = low.kind == got.kind if low.kind == "f" and not prediction.bits else low == got
        if not same_type or prediction.low.shape != self.got.shape:
            nothing = np.zeros(self.active.shape, np.bool_)
            return nothing, nothing
        with np.errstate(all="ignore"):
            fits = legal(self.got, prediction) | ignored
        open_ = ~(prediction.defined | ignored).all(axis=-1)
        return np.asarray(fits.all(axis=-1) & ~open_), np.asarray(open_)


def required(value: Array, defined: Flags | None = None, *, bits: bool = False) -> Expected:
    """Return the expectation of one value a component, by default in every lane, compared as numbers."""
    if defined is None:
        defined = np.ones(value.shape, np.bool_)
    return Expected(value, value, np.broadcast_to(defined, value.shape), bits=bits)
