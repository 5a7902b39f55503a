"""Comparison of the outputs of runs: numbers, causes of undefined ones, tolerances, differences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import Field, take
from vkgroup.check.inputs import DispatchInputs, Input
from vkgroup.check.runs import CheckedRun, Flags, Place
from vkgroup.reference.interpreter.values.value import HARD


@dataclass
class Allowed:
    """What is allowed instead of the numbers of a field."""

    difference: npt.NDArray[np.float64]  # largest difference of each number; infinity allows any value
    alternatives: tuple[npt.NDArray[Any], ...] = ()  # further legal values of each number


Tolerance = dict[tuple[Place, str], Allowed]
"""What is allowed for each number, by descriptor and field name."""


def widen(tolerance: Tolerance, key: tuple[Place, str], difference: npt.NDArray[np.float64]) -> None:
    """Allow at least these differences of the numbers of a field."""
    known = tolerance.setdefault(key, Allowed(difference))
    known.difference = np.maximum(known.difference, difference)


@dataclass(frozen=True)
class Difference:
    """The first number that differs between two runs."""

    place: Place  # set, binding and descriptor index of the output
    member: int  # index of the block member that contains the number
    label: str  # the number's name, for example ``"sums[3]"``
    offset: int  # the number's first byte in the output
    # `first`, `second`: the number's value in each run
    first: str
    second: str
    count: int  # count of differing numbers in all outputs


def causes_in(runs: list[CheckedRun], place: Place, field: Field) -> npt.NDArray[np.uint16]:
    """Return the largest cause of each number of a field in any of the runs."""
    result = np.zeros(field.offsets.shape, np.uint16)
    for run in runs if field.offsets.size else ():
        causes = run.causes.get(place)
        if causes is not None and causes.any():
            for byte in range(field.dtype.itemsize):
                np.maximum(result, causes[field.offsets + byte], out=result)
    return result


def _written(runs: list[CheckedRun], place: Place, field: Field) -> Flags:
    """Return which numbers of a field any of the runs may have written."""
    known = [run.written[place] for run in runs if place in run.written]
    if not known:
        return np.ones(field.offsets.shape, np.bool_)
    written = np.logical_or.reduce(known)
    return np.asarray(written[field.offsets] | written[field.offsets + field.dtype.itemsize - 1])


def different(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Flags:
    """Return which numbers differ. Zeros of either sign are equal, and so are NaNs."""
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    return np.asarray((first != second) & ~(np.isnan(first) & np.isnan(second)))


def _beyond(base: npt.NDArray[Any], other: npt.NDArray[Any], allowed: Allowed | None) -> Flags:
    """Return which numbers differ from those of the base run by more than what is allowed."""
    wrong = different(base, other)
    if allowed is None or not wrong.any():
        return wrong
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(base.astype(np.float64) - other.astype(np.float64))
    wrong &= ~((gap <= allowed.difference) | np.isinf(allowed.difference))
    for alternative in allowed.alternatives:
        wrong &= different(alternative, other)
    return wrong


def places_of(inputs: DispatchInputs, run: CheckedRun) -> list[tuple[Place, Input]]:
    """Return the outputs of a run with their inputs, in the order of the bindings."""
    return [
        ((*entry.place, number), entry)
        for entry in inputs.bindings
        for number in range(len(entry.arrays))
        if (*entry.place, number) in run.outputs
    ]


def numbers_of(
    entry: Input, data: npt.NDArray[np.uint8], number: int = 0
) -> list[tuple[Field, npt.NDArray[Any]]]:
    """Return the numbers in the bytes of a buffer or an image, by field; `number` is the descriptor's."""
    if entry.format is None:
        return [(field, take(data, field)) for field in entry.fields_at(number)]
    shape = entry.arrays[number].shape
    offsets = np.arange(math.prod(shape), dtype=np.int64).reshape(shape) * entry.format.dtype.itemsize
    field = Field(entry.label(number) + "[{}]" * len(shape), entry.format.dtype, offsets, 0)
    words = take(data, field)
    if not entry.format.packed:
        return [(field, words)]
    # Channels that share a word are separate numbers, compared as bits, which have the same order.
    channels, lowest = [], 0
    for bits in entry.format.packed:
        channels.append(words >> lowest & (1 << bits) - 1)
        lowest += bits
    places = np.repeat(offsets[..., None], len(channels), axis=-1)
    return [(Field(field.name + "[{}]", field.dtype, places, 0), np.stack(channels, axis=-1))]


def pairs_of(
    inputs: DispatchInputs, first: CheckedRun, second: CheckedRun
) -> Iterator[tuple[Place, Input, Field, npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield the numbers of the outputs that two runs have, by descriptor and field."""
    for place, entry in places_of(inputs, first):
        if place in second.outputs:
            numbers = (numbers_of(entry, run.outputs[place], place[2]) for run in (first, second))
            for (part, first_values), (_, second_values) in zip(*numbers, strict=True):
                yield place, entry, part, first_values, second_values


def compare(
    inputs: DispatchInputs, first: CheckedRun, second: CheckedRun, tolerance: Tolerance | None = None
) -> Difference | None:
    """Return the first difference between two runs; None if their defined outputs are equal."""
    example: tuple[Place, Field, int, Any, Any] | None = None
    count = 0
    for place, _, part, first_values, second_values in pairs_of(inputs, first, second):
        wrong = _beyond(first_values, second_values, (tolerance or {}).get((place, part.name)))
        wrong &= causes_in([first, second], place, part) == 0
        differing = int(np.count_nonzero(wrong))
        count += differing
        if differing and example is None:
            flat_index = int(np.argmax(wrong.reshape(-1)))
            values = (values.reshape(-1)[flat_index] for values in (first_values, second_values))
            example = (place, part, flat_index, *values)
    if example is None:
        return None
    place, part, flat_index, first_value, second_value = example
    offset = int(part.offsets.reshape(-1)[flat_index])
    return Difference(
        place, part.member, part.label(flat_index), offset, str(first_value), str(second_value), count
    )


def count_numbers(
    inputs: DispatchInputs, base: CheckedRun, others: list[CheckedRun], tolerance: Tolerance
) -> dict[str, int]:
    """Count the outputs' numbers by the way in which all runs together were compared, as in `Coverage`.

    A number that no run writes is not counted as compared.
    """
    counts = dict.fromkeys(("compared", "undefined", "ordered", "rounded"), 0)
    for place, entry in places_of(inputs, base):
        rows = [numbers_of(entry, run.outputs[place], place[2]) for run in others if place in run.outputs]
        for number, (part, values) in enumerate(numbers_of(entry, base.outputs[place], place[2])):
            causes = causes_in([base, *others], place, part)
            hard = causes >= HARD
            counts["undefined"] += int(np.count_nonzero(hard))
            counts["ordered"] += int(np.count_nonzero((causes > 0) & ~hard))
            counts["compared"] += int(
                np.count_nonzero((causes == 0) & _written([base, *others], place, part))
            )
            allowed = tolerance.get((place, part.name))
            if allowed is not None:
                varied, wrong = np.zeros(values.shape, np.bool_), np.zeros(values.shape, np.bool_)
                for row in rows:
                    varied |= different(values, row[number][1])
                    wrong |= _beyond(values, row[number][1], allowed)
                counts["rounded"] += int(np.count_nonzero(varied & ~wrong & (causes == 0)))
    return counts
