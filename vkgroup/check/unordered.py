"""Comparison of the elements of an output in any order, as a host sees the list that a shader appends to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.comparison import Difference, Tolerance, causes_in, different, numbers_of
from vkgroup.check.inputs import Input
from vkgroup.check.runs import CheckedRun, Place
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spirv import ArrayType, StructType


@dataclass(frozen=True)
class _Rows:
    """The defined elements of one member of an output: one row each."""

    indices: npt.NDArray[np.int64]  # of the elements
    columns: list[npt.NDArray[Any]]  # the numbers of all elements, for each number of an element
    allowed: list[npt.NDArray[np.float64]]  # the tolerance of each of `columns`

    def counts(self) -> Counter[bytes]:
        """Return how often each element occurs."""
        return Counter(self.keys())

    def keys(self) -> list[bytes]:
        """Return the elements as bytes; zeros of either sign are alike, and so are NaNs."""
        if not len(self.indices):
            return []
        parts = [_alike(column) for column in self.columns]
        raw = [np.ascontiguousarray(part).view(np.uint8).reshape(len(self.indices), -1) for part in parts]
        return [row.tobytes() for row in np.concatenate(raw, axis=1)]

    def text(self, row: int) -> str:
        """Return one element in words."""
        values = [str(column[row]) for column in self.columns]
        return values[0] if len(values) == 1 else f"({', '.join(values)})"


def _alike(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers with one zero and one NaN."""
    numbers = np.where(numbers == 0, np.zeros((), numbers.dtype), numbers)
    is_nan = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(numbers.shape, np.bool_)
    return np.where(is_nan, np.full((), np.nan if is_nan.any() else 0).astype(numbers.dtype), numbers)


def is_list(entry: Input, member: int) -> bool:
    """Whether a member of an output is an array, whose elements can have another order; an image is one."""
    block = entry.binding.type
    return not isinstance(block, StructType) or isinstance(block.members[member].type, ArrayType)


def _rows(place: Place, entry: Input, member: int, run: CheckedRun, tolerance: Tolerance) -> _Rows:
    columns, allowed, defined = [], [], None
    for part, values in numbers_of(entry, run.outputs[place], place[2]):
        if part.member != member:
            continue
        length = values.shape[0]
        known = tolerance.get((place, part.name))
        spread = np.zeros(values.shape) if known is None else np.broadcast_to(known.difference, values.shape)
        flags = (causes_in([run], place, part) < HARD).reshape(length, -1).all(axis=1)
        defined = flags if defined is None else defined & flags
        columns += list(values.reshape(length, -1).T)
        allowed += list(spread.reshape(length, -1).T)
    indices = np.flatnonzero(defined) if defined is not None else np.zeros(0, np.int64)
    return _Rows(indices, [column[indices] for column in columns], [part[indices] for part in allowed])


def unordered_differences(
    place: Place, entry: Input, first: CheckedRun, second: CheckedRun, tolerance: Tolerance
) -> Iterator[Difference]:
    """Yield for each array of an output the first element that the other run does not have as often."""
    members = {part.member for part, _ in numbers_of(entry, first.outputs[place], place[2])}
    for member in sorted(member for member in members if is_list(entry, member)):
        difference = _of_member(place, entry, member, first, second, tolerance)
        if difference is not None:
            yield difference


def _of_member(
    place: Place, entry: Input, member: int, first: CheckedRun, second: CheckedRun, tolerance: Tolerance
) -> Difference | None:
    """Return the first element of a member that the other run does not have as often."""
    ours, theirs = (_rows(place, entry, member, run, tolerance) for run in (first, second))
    our_counts, their_counts = ours.counts(), theirs.counts()
    if our_counts == their_counts:
        return None
    if len(ours.indices) == len(theirs.indices) and tolerance and _is_close(ours, theirs):
        return None
    fields = [part for part, _ in numbers_of(entry, first.outputs[place], place[2]) if part.member == member]
    left = our_counts - their_counts
    side, mine = (ours, True) if left else (theirs, False)
    left = left or their_counts - our_counts
    row = next(number for number, key in enumerate(side.keys()) if key in left)
    flat = int(side.indices[row]) * (fields[0].offsets.size // max(1, len(fields[0].offsets)))
    text, absent = side.text(row), "not there as often"
    return Difference(
        place,
        member,
        f"the element {fields[0].label(flat)} of {'the first' if mine else 'the second'} shader",
        int(fields[0].offsets.reshape(-1)[flat]),
        text if mine else absent,
        absent if mine else text,
        left.total(),
    )


def _is_close(ours: _Rows, theirs: _Rows) -> bool:
    """Whether the elements are equal within rounding, after both are sorted: first by their integers."""
    order = sorted(range(len(ours.columns)), key=lambda number: ours.columns[number].dtype.kind != "f")
    one, two = (np.lexsort([rows.columns[number] for number in order]) for rows in (ours, theirs))
    for mine, yours, spread in zip(ours.columns, theirs.columns, ours.allowed, strict=True):
        first, second = mine[one], yours[two]
        wrong = different(first, second)
        if mine.dtype.kind == "f" and wrong.any():
            with np.errstate(invalid="ignore"):
                wrong &= ~(np.abs(first.astype(float) - second.astype(float)) <= spread[one])
        if wrong.any():
            return False
    return True
