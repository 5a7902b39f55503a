"""Interval arithmetic: every result that an implementation of Vulkan may compute.

Each element of a `Span` is the numbers from `low` to `high`; from -infinity to infinity it includes NaN.
Operations return the results that Vulkan 1.4, "Precision of Individual Operations", allows for all numbers of
their operands. All spans are float64, which holds the numbers of narrower types. For 64-bit types Vulkan
requires only the precision of 32-bit types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.exact import two_product, two_sum

Float64 = npt.NDArray[np.float64]


class Span(NamedTuple):
    """Ranges of numbers."""

    #: `low`, `high`: the ends, inclusive; of one shape.
    low: Float64
    high: Float64


def exactly(value: npt.ArrayLike) -> Span:
    """Return the span of one number in each element."""
    array = np.asarray(value, np.float64)
    return Span(array, array)


def part(a: Span, index: Any) -> Span:
    """Return the part at an index of both ends: a component of a vector."""
    return Span(a.low[index], a.high[index])


def negative(a: Span) -> Span:
    """Return -a."""
    return Span(-a.high, -a.low)


def union(*spans: Span) -> Span:
    """Return the smallest span that contains all given spans."""
    low, high = spans[0]
    for span in spans[1:]:
        low, high = np.minimum(low, span.low), np.maximum(high, span.high)
    return Span(low, high)


def where(condition: npt.NDArray[np.bool_], a: Span, b: Span) -> Span:
    """Return `a` where the condition holds, else `b`."""
    return Span(np.where(condition, a.low, b.low), np.where(condition, a.high, b.high))


def anything_where(condition: npt.NDArray[np.bool_], a: Span) -> Span:
    """Return `a`, replaced by all numbers where the condition holds or an end is NaN."""
    condition = condition | np.isnan(a.low) | np.isnan(a.high)
    return Span(np.where(condition, -np.inf, a.low), np.where(condition, np.inf, a.high))


@dataclass(frozen=True)
class FloatFormat:
    """A floating-point type with Vulkan's requirements on it."""

    digits: int  # bits of the significand that results must have
    tiny: float  # the smallest normal number; smaller ones may be flushed to zero
    largest: float  # the largest finite number
    half: bool  # whether the table's column for half precision applies

    @property
    def unit(self) -> float:
        """Twice the relative error of rounding to nearest, which bounds rounding in either direction."""
        return 2.0 ** (1 - self.digits)

    def ulp(self, x: Float64) -> Float64:
        """Return the distance between neighbouring numbers near `x`."""
        exponent = np.frexp(np.maximum(np.abs(x), self.tiny))[1]
        return np.asarray(np.ldexp(1.0, np.asarray(exponent) - self.digits))

    def flushed(self, a: Span) -> Span:
        """Return a span with zero added where a number in it may be flushed to zero."""
        low = np.where((a.low > 0) & (a.low < self.tiny), 0.0, a.low)
        high = np.where((a.high < 0) & (a.high > -self.tiny), 0.0, a.high)
        return Span(low, high)

    def _finished(self, a: Span) -> Span:
        """Return a span with the infinity, or the largest number, that may result from an overflow."""
        low = np.where(a.low > self.largest, self.largest, np.where(a.low < -self.largest, -np.inf, a.low))
        high = np.where(
            a.high < -self.largest, -self.largest, np.where(a.high > self.largest, np.inf, a.high)
        )
        return self.flushed(Span(low, high))

    def widened(self, a: Span, low_error: Float64 | float, high_error: Float64 | float) -> Span:
        """Return a span extended by an error at each end, and by float64's own rounding."""
        low = np.nextafter(a.low - low_error, -np.inf)
        high = np.nextafter(a.high + high_error, np.inf)
        # An infinite end has no error, and no finite number next to it.
        low, high = np.where(np.isinf(a.low), a.low, low), np.where(np.isinf(a.high), a.high, high)
        return self._finished(Span(low, high))

    def within_ulps(self, a: Span, units: float | Float64) -> Span:
        """Return a span widened by some units in the last place of its ends."""
        return self.widened(a, units * self.ulp(a.low), units * self.ulp(a.high))

    def rounded(self, a: Span) -> Span:
        """Return a span from the type's next number below it to the next number above it."""
        return self._finished(Span(self._down(a.low), -self._down(-a.high)))

    def _down(self, x: Float64) -> Float64:
        quantum = self.ulp(x)
        return np.where(np.isfinite(x), np.floor(x / quantum) * quantum, x)

    def add(self, a: Span, b: Span) -> Span:
        """Return a + b, correctly rounded in either direction."""
        low, _ = _outwards(*two_sum(a.low, b.low))
        _, high = _outwards(*two_sum(a.high, b.high))
        return anything_where(_any_infinite(a, b), self.rounded(Span(low, high)))

    def subtract(self, a: Span, b: Span) -> Span:
        """Return a - b, correctly rounded in either direction."""
        return self.add(a, negative(b))

    def multiply(self, a: Span, b: Span) -> Span:
        """Return a * b, correctly rounded in either direction."""
        ends = [_outwards(*two_product(x, y)) for x in a for y in b]
        span = Span(
            np.minimum.reduce([low for low, _ in ends]), np.maximum.reduce([high for _, high in ends])
        )
        return anything_where(_any_infinite(a, b), self.rounded(span))

    def divide(self, a: Span, b: Span) -> Span:
        """Return a / b within 2.5 units where b is in the required range; else all numbers."""
        limit = 2.0**14 if self.half else 2.0**126
        smallest = np.minimum(np.abs(b.low), np.abs(b.high))
        largest = np.maximum(np.abs(b.low), np.abs(b.high))
        across = (b.low <= 0) & (b.high >= 0)
        ends = [x / y for x in a for y in b]
        span = Span(np.minimum.reduce(ends), np.maximum.reduce(ends))
        outside = across | (smallest < 1 / limit) | (largest > limit) | _any_infinite(a, b)
        return anything_where(outside, self.within_ulps(span, 2.5))

    def sum(self, terms: Sequence[Span]) -> Span:
        """Return the sum of some terms in any order."""
        # One number may stand for all invocations, so the shapes differ.
        low = reduce(np.add, [term.low for term in terms])
        high = reduce(np.add, [term.high for term in terms])
        if len(terms) == 1:
            return Span(low, high)
        size = reduce(np.add, [np.maximum(np.abs(term.low), np.abs(term.high)) for term in terms])
        steps = len(terms) - 1
        error = steps * (self.unit * (1 + steps * self.unit) * size + self.tiny)
        return anything_where(_any_infinite(*terms), self.widened(Span(low, high), error, error))

    def increasing(
        self, function: Callable[[Float64], Float64], a: Span, error: Callable[[Float64], Float64]
    ) -> Span:
        """Return an increasing function of a span; `error` is in units in the last place, by argument."""
        ends = Span(function(a.low), function(a.high))
        low_error, high_error = error(a.low) * self.ulp(ends.low), error(a.high) * self.ulp(ends.high)
        return anything_where(np.isnan(ends.low), self.widened(ends, low_error, high_error))


def _outwards(x: Float64, lost: Float64) -> tuple[Float64, Float64]:
    """Return float64 bounds below and above of x + lost, where x is that sum rounded."""
    return (
        np.where(lost < 0, np.nextafter(x, -np.inf), x),
        np.where(lost > 0, np.nextafter(x, np.inf), x),
    )


def _any_infinite(*spans: Span) -> npt.NDArray[np.bool_]:
    result = np.zeros(np.shape(spans[0].low), np.bool_)
    for span in spans:
        result = result | ~(np.isfinite(span.low) & np.isfinite(span.high))
    return result
