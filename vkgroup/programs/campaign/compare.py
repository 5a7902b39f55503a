"""Comparison of two observations of one program: the first step at which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.glsl_types import from_planes, planes
from vkgroup.programs.campaign.shader import HEAD
from vkgroup.programs.campaign.targets import Observation
from vkgroup.programs.nodes import Operate, Program, Record, nodes_of, type_of
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import TYPES, GlslType

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Difference:
    """First step at which an invocation recorded another value than expected.

    Attributes
    ----------
    invocation : index in the dispatch.
    subgroup, lane : of the invocation.
    number : of the record, counted from 0.
    step : expected step; 0 if no further step was expected.
    expected, got : values, or steps if these differ, as text.
    """

    invocation: int
    subgroup: int
    lane: int
    number: int
    step: int
    expected: str
    got: str

    def __str__(self) -> str:
        what = f"step {self.step}" if self.step else "the end"
        return (
            f"record {self.number} of invocation {self.invocation} (subgroup {self.subgroup}, "
            f"lane {self.lane}): at {what} expected {self.expected}, got {self.got}"
        )


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison.

    Attributes
    ----------
    difference : the first one; None if there is none.
    defined : number of words that were compared.
    undefined : number of words that were not, because they are undefined.
    """

    difference: Difference | None
    defined: int
    undefined: int


def _types(program: Program) -> dict[int, GlslType]:
    """Return the type that each step records."""
    types = {}
    for node in nodes_of(program):
        if isinstance(node, Operate):
            types[node.step] = TYPES[type_of(node.call)]
        elif isinstance(node, Record):
            types[node.step] = TYPES[type_of(node.value)]
    return types


def compare(program: Program, expected: Observation, got: Observation) -> Comparison:
    """Compare every defined word of two observations."""
    undefined = expected.undefined
    if undefined is None:
        undefined = np.zeros(expected.words.shape, np.bool_)
    written = expected.words != 0
    counts = int((written & ~undefined).sum()), int(undefined.sum())
    wrong = np.nonzero(((expected.words != got.words) & ~undefined).any(axis=1))[0]
    types = _types(program)
    differences = [
        difference
        for invocation in wrong
        if (difference := _first(int(invocation), types, expected, got, undefined)) is not None
    ]
    return Comparison(min(differences, key=lambda d: d.number, default=None), *counts)


def _first(
    invocation: int,
    types: dict[int, GlslType],
    expected: Observation,
    got: Observation,
    undefined: NDArray[np.bool_],
) -> Difference | None:
    """Return the first record of an invocation that differs; None if only signs of zeros differ."""
    want, have, unknown = expected.words[invocation], got.words[invocation], undefined[invocation]

    def difference(number: int, step: int, first: str, second: str) -> Difference:
        return Difference(invocation, int(want[0]), int(want[1]), number, step, first, second)

    if (want[:HEAD] != have[:HEAD]).any():
        return difference(0, 0, f"subgroup, lane, size {want[:HEAD]}", str(have[:HEAD]))
    at, number = HEAD, 0
    while at < len(want):
        step = int(want[at])
        if have[at] != step:
            return difference(number, step, _step(step), _step(int(have[at])))
        if not step:
            return None
        end = at + 1 + planes(types[step])
        wanted, held = _value(want[at + 1 : end], types[step]), _value(have[at + 1 : end], types[step])
        skip = _components(unknown[at + 1 : end], types[step])
        if ((wanted != held) & ~skip).any():
            return difference(number, step, _text(wanted, skip), _text(held, skip))
        at, number = end, number + 1
    return None


def _step(step: int) -> str:
    return f"step {step}" if step else "the end"


def _value(words: Words, type_: GlslType) -> NDArray[Any]:
    values, sound = from_planes(words[:, None], type_)
    # Words that are not a value of the type must not equal one.
    return values[0] if sound.all() else np.full(type_.components, -1)


def _components(unknown: NDArray[np.bool_], type_: GlslType) -> NDArray[np.bool_]:
    """Return whether each component lies in a word that is undefined."""
    first = np.arange(type_.components) * dtype_of(type_.scalar).itemsize // 4
    last = (np.arange(1, type_.components + 1) * dtype_of(type_.scalar).itemsize - 1) // 4
    return np.asarray(unknown[first] | unknown[last])


def _text(values: NDArray[Any], skip: NDArray[np.bool_]) -> str:
    parts = ["undefined" if unknown else str(value) for value, unknown in zip(values, skip, strict=True)]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
