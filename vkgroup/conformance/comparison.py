"""Comparison of recorded values with the values that the specification allows, and the resulting verdict.

Every family gives the legal values as `Expected` and names its elements in a `Description`. `compare` returns
the `Verdict`; `verdict_of` returns it if the family itself determines which elements are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Array, Flags
from vkgroup.conformance.evidence import text_of
from vkgroup.record.record import Result, Status

Index = tuple[int, ...]

SHOWN = 4
"""Number of wrong elements that a failure describes."""


@dataclass(frozen=True)
class JudgedValues:
    """Recorded elements, what is allowed of each, and which are wrong; arrays of one shape."""

    got: Array
    expected: Expected
    wrong: Flags
    #: Hypotheses of the family by name: a sentence about the device, and which elements agree with it.
    alternatives: Mapping[str, tuple[str, Flags]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Status and numbers of elements; for a failure also its description and the lanes of one subgroup."""

    status: Status
    #: `defined`, `undefined`: numbers of elements with a required result, and with any result allowed.
    defined: int
    undefined: int
    detail: str = ""
    #: Evidence of a failure, as JSON data; see `vkgroup.conformance.evidence`.
    evidence: dict[str, Any] | None = field(default=None, compare=False)
    #: All lanes of a subgroup operation (`vkgroup.conformance.subgroup.expectation.JudgedLanes`), else None.
    lanes: Any = field(default=None, compare=False, repr=False)
    #: `MaskFault`, `LayoutFault` or `PathFault` of `vkgroup.conformance.instances`, if one of these is found;
    #: else None.
    masks: Any = field(default=None, compare=False, repr=False)
    #: The elements of a comparison outside of subgroup operations; None elsewhere.
    values: JudgedValues | None = field(default=None, compare=False, repr=False)

    def result(self, case: str, seconds: float) -> Result:
        """Return the verdict as the result of the case with this name."""
        verdict = (self.defined, self.undefined, self.detail, self.evidence)
        return Result(case, self.status, seconds, *verdict)


@dataclass(frozen=True)
class Expected:
    """The legal values of each element; all arrays have the same shape."""

    #: `low`, `high`: the least and greatest legal value; the same array if only one value is legal.
    low: Array
    high: Array
    defined: Flags  # False where any value is legal
    bits: bool = True  # whether floats must agree in every bit, not only as numbers
    others: tuple[Array, ...] = ()  # further legal values, each an array
    mask: Array | None = None  # the bits of words that must agree; None for all

    @classmethod
    def one_of(cls, values: Sequence[Array], defined: Flags) -> Expected:
        """Return the expectation that an element equals one of several values, compared as numbers."""
        first, *others = values
        return cls(first, first, defined, bits=False, others=tuple(others))

    def text(self, index: Index) -> str:
        """Return the legal values of an element as text: ``1``, ``1 … 3``, ``1 or 3`` or ``(1, any)``."""
        defined = np.asarray(self.defined[index])
        values = sorted({text_of(value[index], defined) for value in (self.low, *self.others)})
        most = "" if self.low is self.high else f" … {text_of(self.high[index], defined)}"
        return " or ".join(values) + most


@dataclass(frozen=True)
class Description:
    """Words and evidence for the wrong elements of a comparison."""

    unit: str  # the elements in the plural, such as ``"pixels"``
    line: Callable[[Index], str]  # the description of one wrong element
    #: Function of the wrong elements that returns the evidence; None if there is none.
    evidence: Callable[[Flags], dict[str, Any] | None]
    shown: int = SHOWN  # number of wrong elements that are described
    about: str = ""  # what the elements are, if the unit does not name it

    def text(self, wrong: Flags, total: int) -> str:
        """Return the text of a failure: the number of wrong elements, and the first ones."""
        about = f" ({self.about})" if self.about else ""
        lines = [f"{int(wrong.sum())} of {total} {self.unit} are wrong{about}"]
        indices = np.argwhere(wrong)[: self.shown].tolist()
        return "\n".join([*lines, *(self.line(tuple(index)) for index in indices)])


def legal(got: Array, expected: Expected) -> Flags:
    """Return which elements have a legal value."""
    low, high = expected.low, expected.high
    if expected.mask is not None:
        return np.asarray((got ^ low) & expected.mask == 0)
    if got.dtype.kind == "f" and expected.bits:
        unsigned = f"u{got.dtype.itemsize}"
        return np.asarray(got.view(unsigned) == np.ascontiguousarray(low).view(unsigned))
    if low is not high:
        return np.asarray((got >= low) & (got <= high))
    equal = got == low
    for other in expected.others:
        equal = equal | (got == other)
    # Compared as numbers: -0 equals +0, and all NaN are equal.
    if got.dtype.kind == "f":
        equal = equal | (np.isnan(got) & np.isnan(low))
    return np.asarray(equal)


def verdict_of(
    wrong: Flags,
    description: Description,
    *,
    defined: int,
    undefined: int = 0,
    total: int | None = None,
    passed: bool | None = None,
    note: str = "",
    lanes: Any = None,
) -> Verdict:
    """Return the verdict on elements; `wrong` marks the wrong ones.

    A failure's description mentions `total` elements, by default the defined ones. If none is wrong, `note`
    is the detail, and the case passes if `passed`, by default if any element is defined.
    """
    if wrong.any():
        text = description.text(wrong, defined if total is None else total)
        return Verdict(Status.FAIL, defined, undefined, text, description.evidence(wrong), lanes)
    status = Status.PASS if (defined if passed is None else passed) else Status.UNDEFINED
    return Verdict(status, defined, undefined, note, lanes=lanes)


def compare(
    got: Array,
    expected: Expected,
    description: Description,
    *,
    undefined: int | None = None,
    alternatives: Mapping[str, tuple[str, Flags]] | None = None,
) -> Verdict:
    """Compare all elements; undefined ones are counted unless their number is given.

    `alternatives` are those of `JudgedValues`.
    """
    wrong = expected.defined & ~legal(got, expected)
    defined = int(expected.defined.sum())
    open_ = expected.defined.size - defined if undefined is None else undefined
    verdict = verdict_of(wrong, description, defined=defined, undefined=open_)
    return (
        replace(verdict, values=JudgedValues(got, expected, wrong, alternatives or {}))
        if wrong.any()
        else verdict
    )
