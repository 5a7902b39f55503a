"""Comparing the outputs of two runs, number by number, where both are defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import Field
from vkgroup.check.inputs import Input, Inputs, numbers_of
from vkgroup.check.runs import Place, Run
from vkgroup.reference.interpreter.values.value import HARD

Flags = npt.NDArray[np.bool_]

Tolerance = dict[tuple[Place, str], npt.NDArray[np.float64]]
"""By place and field's name: how much each number may differ; infinity where it may be anything."""


@dataclass(frozen=True)
class Difference:
    """The first number that differs between two runs.

    Attributes
    ----------
    place : set, binding and descriptor.
    member : of the block that it lies in.
    label : its name, for example ``"sums[3]"``.
    offset : its first byte.
    first, second : its value in each run.
    count : how many numbers differ in all outputs.
    """

    place: Place
    member: int
    label: str
    offset: int
    first: str
    second: str
    count: int


@dataclass
class Counts:
    """How many numbers of the outputs were compared, and how many were not, and why."""

    compared: int = 0
    undefined: int = 0
    ordered: int = 0
    rounded: int = 0


def worst_causes(causes: npt.NDArray[np.uint16], field: Field) -> npt.NDArray[np.uint16]:
    """Return the largest cause of each number of a field, from those of the bytes."""
    if field.offsets.size == 0:
        return np.zeros(field.offsets.shape, np.uint16)
    every = causes[field.offsets[..., None] + np.arange(field.dtype.itemsize)]
    return np.asarray(every.max(axis=-1))


def causes_in(runs: list[Run], place: Place, field: Field) -> npt.NDArray[np.uint16]:
    """Return the largest cause of each number of a field in any of some runs."""
    result = np.zeros(field.offsets.shape, np.uint16)
    for run in runs:
        if place in run.causes:
            result = np.maximum(result, worst_causes(run.causes[place], field))
    return result


def different(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Flags:
    """Tell which numbers differ: zeros of either sign are equal, and so are NaNs."""
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    return np.asarray((first != second) & ~(np.isnan(first) & np.isnan(second)))


def _beyond(
    first: npt.NDArray[Any], second: npt.NDArray[Any], allowed: npt.NDArray[np.float64] | None
) -> Flags:
    """Tell which numbers differ by more than they may."""
    wrong = different(first, second)
    if allowed is None or not wrong.any():
        return wrong
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(first.astype(np.float64) - second.astype(np.float64))
    return wrong & ~((gap <= allowed) | np.isinf(allowed))


def places_of(inputs: Inputs, run: Run) -> list[tuple[Place, Input]]:
    """Return the outputs of a run with their inputs, in the order of the bindings."""
    return [
        ((*entry.place, number), entry)
        for entry in inputs.bindings
        for number in range(len(entry.arrays))
        if (*entry.place, number) in run.outputs
    ]


def compare(inputs: Inputs, first: Run, second: Run, tolerance: Tolerance | None = None) -> Difference | None:
    """Return the first difference between two runs, None where their defined outputs are equal."""
    found: tuple[Place, Field, int, Any, Any] | None = None
    count = 0
    for place, entry in places_of(inputs, first):
        if place not in second.outputs:
            continue
        pairs = zip(
            numbers_of(entry, first.outputs[place]), numbers_of(entry, second.outputs[place]), strict=True
        )
        for (field, one), (_, other) in pairs:
            wrong = _beyond(one, other, (tolerance or {}).get((place, field.name)))
            wrong &= causes_in([first, second], place, field) == 0
            number = int(np.count_nonzero(wrong))
            count += number
            if number and found is None:
                at = int(np.argmax(wrong.reshape(-1)))
                found = (place, field, at, one.reshape(-1)[at], other.reshape(-1)[at])
    if found is None:
        return None
    place, field, at, one, other = found
    offset = int(field.offsets.reshape(-1)[at])
    return Difference(place, field.member, field.label(at), offset, show(one), show(other), count)


def show(value: Any) -> str:
    """Return a number as people read it: all digits that tell it from its neighbours."""
    return str(value)


def count_numbers(inputs: Inputs, base: Run, others: list[Run], tolerance: Tolerance) -> Counts:
    """Count the numbers of the outputs by what was made of them in all runs together.

    Parameters
    ----------
    base, others : the runs.
    tolerance : of the base; empty where nothing had to be allowed for rounding.
    """
    counts = Counts()
    for place, entry in places_of(inputs, base):
        rows = [numbers_of(entry, run.outputs[place]) for run in others if place in run.outputs]
        for number, (field, values) in enumerate(numbers_of(entry, base.outputs[place])):
            causes = causes_in([base, *others], place, field)
            hard = causes >= HARD
            counts.undefined += int(np.count_nonzero(hard))
            counts.ordered += int(np.count_nonzero((causes > 0) & ~hard))
            counts.compared += int(np.count_nonzero(causes == 0))
            allowed = tolerance.get((place, field.name))
            if allowed is not None:
                varied, wrong = np.zeros(values.shape, np.bool_), np.zeros(values.shape, np.bool_)
                for row in rows:
                    varied |= different(values, row[number][1])
                    wrong |= _beyond(values, row[number][1], allowed)
                counts.rounded += int(np.count_nonzero(varied & ~wrong & (causes == 0)))
    return counts
