"""Denormals and NaN in floating-point operations: kept, flushed or ignored, for one floating-point type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vkgroup.probe.outcome import Observation, listed
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import SCALARS, Scalar

Values = NDArray[np.floating[Any]]
Words = NDArray[np.uint32]


@dataclass(frozen=True)
class FloatType:
    """A floating-point type, with its row in the table of types."""

    scalar: Scalar

    @property
    def name(self) -> str:
        """Name in output and JSON."""
        return f"float{self.scalar.bits}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of its values."""
        return dtype_of(self.scalar)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive value that is not denormal."""
        return float(np.finfo(self.dtype).smallest_normal)


FLOAT32 = FloatType(SCALARS["float"])
FLOAT16 = FloatType(SCALARS["float16_t"])
FLOAT64 = FloatType(SCALARS["double"])

OPERATIONS = (
    ("subgroupAdd", "subgroupMul", "subgroupMin", "subgroupMax"),
    ("+", "*", "min", "max"),
)
"""Operations of ``shaders/probe/floats.comp``: subgroup operations, and operations on two values."""

ADD, MUL, MIN, MAX = range(4)


@dataclass(frozen=True)
class FloatRow:
    """One row of inputs: the values of lanes 0 and 1, the value of all others, and labels of the results."""

    subject: str  # description of the operands or the result
    operation: int  # ADD, MUL, MIN or MAX; the row's results of other operations are ignored
    #: `first`, `second`: the values of lanes 0 and 1.
    first: float
    second: float
    rest: float  # the value of all other lanes
    #: The expected results and their labels; other results have the label "other".
    results: tuple[tuple[float, str], ...]


_IN_WORDS = {
    "flushed": "flushed to zero",
    "number": "the number",
    "another number": "not the least or greatest number",
    "identity": "the infinity that is the identity",
    "other": "something else",
}

OPERANDS, RESULT = "denormal operands", "denormal result"
NAN_FIRST, NAN_SECOND, NAN_ALL = "NaN and a number", "a number and NaN", "only NaN"


def rows(kind: FloatType) -> tuple[FloatRow, ...]:
    """Return the rows of inputs for a type."""
    least, nan = kind.smallest_normal, float("nan")

    def flush(
        subject: str, operation: int, first: float, second: float, rest: float, result: float
    ) -> FloatRow:
        return FloatRow(subject, operation, first, second, rest, ((result, "kept"), (0.0, "flushed")))

    def choose(
        subject: str, operation: int, first: float, second: float, rest: float, result: float
    ) -> FloatRow:
        labels = ((result, "number"), (nan, "NaN"), (rest, "another number"))
        return FloatRow(subject, operation, first, second, rest, labels)

    return (
        flush(OPERANDS, ADD, 0.75 * least, 0.75 * least, 0.0, 1.5 * least),
        flush(RESULT, ADD, 1.5 * least, -least, 0.0, 0.5 * least),
        flush(OPERANDS, MUL, 0.5 * least, 4.0, 1.0, 2.0 * least),
        flush(RESULT, MUL, 2.0 * least, 0.25, 1.0, 0.5 * least),
        flush(OPERANDS, MIN, -0.5 * least, 0.0, 0.0, -0.5 * least),
        flush(OPERANDS, MAX, 0.5 * least, 0.0, 0.0, 0.5 * least),
        choose(NAN_FIRST, MIN, nan, 2.0, 3.0, 2.0),
        choose(NAN_SECOND, MIN, 2.0, nan, 3.0, 2.0),
        FloatRow(NAN_ALL, MIN, nan, nan, nan, ((nan, "NaN"), (float("inf"), "identity"))),
        choose(NAN_FIRST, MAX, nan, 3.0, 2.0, 3.0),
        choose(NAN_SECOND, MAX, 3.0, nan, 2.0, 3.0),
        FloatRow(NAN_ALL, MAX, nan, nan, nan, ((nan, "NaN"), (float("-inf"), "identity"))),
    )


@dataclass(frozen=True)
class FloatResult:
    """Result of one row."""

    operation: str  # the GLSL function or operator
    subject: str  # description of the operands or the result, as in `FloatRow`
    #: "kept" or "flushed" (denormals); "number" (the correct number), "another number", "NaN" or "identity"
    #: (the infinity that is the identity of minimum or maximum); "other"; or "lanes differ" if the lanes of a
    #: subgroup have different results.
    gives: str


@dataclass(frozen=True)
class SpecialValues(Observation):
    """Results of a type's operations for denormals and NaN, on subgroups of one size and on two values."""

    type: str
    subgroup_size: int
    findings: tuple[FloatResult, ...]

    def lines(self) -> list[str]:
        """Return lines on denormals and NaN; operations with the same result are combined."""
        if not self.findings:
            return ["no result: a subgroup of one lane has no second value"]
        lines = []
        for first, second, both in (
            (OPERANDS, RESULT, "denormals"),
            (NAN_FIRST, NAN_SECOND, "NaN and a number, in either order"),
        ):
            words = {subject: self._in_words(subject) for subject in (first, second)}
            if words[first] == words[second]:
                lines.append(f"{both}: {words[first]}")
            else:
                lines += [f"{subject}: {told}" for subject, told in words.items()]
        return [*lines, f"{NAN_ALL}: {self._in_words(NAN_ALL)}"]

    def _in_words(self, subject: str) -> str:
        groups: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.subject == subject:
                groups.setdefault(_IN_WORDS.get(finding.gives, finding.gives), []).append(finding.operation)
        if len(groups) == 1:
            return next(iter(groups)) + " by all"
        return ", ".join(f"{words} by {listed(operations)}" for words, operations in groups.items())


def inputs(kind: FloatType, size: int) -> Words:
    """Return the inputs of ``floats.comp``: (rows, size, 2) uint32, bits of each value, low word first."""
    values = np.empty((len(rows(kind)), size), dtype=kind.dtype)
    for row, given in zip(values, rows(kind), strict=True):
        row[:] = given.rest
        row[:2] = [given.first, given.second][:size]
    return to_words(values)


def special_values(kind: FloatType, result: Words) -> SpecialValues:
    """Classify the results of ``floats.comp``.

    `kind`: the type.
    `result`: (rows, 8, size, 2) uint32: the bits of each lane's result of each operation.

    Returns
    -------
    The findings of subgroup operations, from the results of all lanes, and of operations on two values, from
    lane 0. Empty for a subgroup of one lane, which has no second value.
    """
    values = from_words(result, kind)
    size = values.shape[2]
    findings = []
    for scope, names in enumerate(OPERATIONS if size > 1 else ()):
        for index, row in enumerate(rows(kind)):
            got = values[index, 4 * scope + row.operation]
            lanes = got if scope == 0 else got[:1]
            findings.append(FloatResult(names[row.operation], row.subject, _label(lanes, row, kind.dtype)))
    return SpecialValues(kind.name, size, tuple(findings))


def _label(got: Values, row: FloatRow, dtype: DTypeLike) -> str:
    labels = set()
    for value in got:
        for expected, label in row.results:
            target = np.asarray(expected, dtype=dtype)
            if value == target or (np.isnan(value) and np.isnan(target)):
                labels.add(label)
                break
        else:
            labels.add("other")
    return labels.pop() if len(labels) == 1 else "lanes differ"


def to_words(values: Values) -> Words:
    """Return the bits of values as pairs of words, low word first: shape (…, 2) uint32."""
    wide = values.view(f"u{values.itemsize}").astype(np.uint64)
    return np.stack([wide & 0xFFFFFFFF, wide >> 32], axis=-1).astype(np.uint32)


def from_words(words: Words, kind: FloatType) -> Values:
    """Return the values of pairs of words, the inverse of `to_words`: shape (…)."""
    wide = words[..., 0].astype(np.uint64) | words[..., 1].astype(np.uint64) << np.uint64(32)
    values: Values = wide.astype(f"u{kind.scalar.bits // 8}").view(kind.dtype)
    return values
