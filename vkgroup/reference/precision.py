"""Legal range of a floating-point Add or Mul reduction or scan, for every order of evaluation.

The implementation chooses the order of the operations (KHR_shader_subgroup, section 8.18, subgroupAdd(): "The
method ... is implementation defined"). Each operation is correctly rounded, to either neighbour, since Vulkan
does not define the rounding mode (Vulkan 1.4, "Precision and Operation of SPIR-V Instructions"). With p
the bits of the significand and u = 2^(1-p), every operation gives the exact result times (1 + d), |d| <= u.
For the 64-bit type Vulkan requires only the precision of the 32-bit one (ibid.), so its u is 2^-23.
Any order is a binary tree: the n active values are its leaves, the k = n - 1 operations its inner nodes.

**Sums.** The computed sum is that of each x times the factors (1 + d) of the operations above x. Where these
are D(x) many, it errs by no more than the sum of |x| ((1+u)^D(x) - 1) <= |x| D(x) u (1+u)^k. The sum of
|x| D(x) is also that of W(v) over the operations v, W(v) being the sum of |x| over the leaves under v. List
the operations with each one after those under it: the i-th has at most i+1 leaves, so that with S = sum |x|
and M = max |x|, W(v) <= min(S, (i+1) M). Hence for any t between 1 and n

    |computed - exact| <= u (1+u)^k (M (t(t+1)/2 - 1) + (n-t) S),  smallest near t = S/M.

A device may flush subnormal operands and results to zero. Each flush loses less than the smallest normal
number, and an operation has up to three. So where subnormal numbers can occur, (3k + 1)(1+u)^k times that
number is added. They cannot occur where every x != 0 is so large that it, and with it each sum, is a multiple
of that number.

**Products.** The computed product is the exact one times k factors between 1-u and 1+u, unless a partial
product overflows or is subnormal. Every partial product lies between the product of the |x| < 1 and that of
the |x| > 1, each times such factors.

The exact values are unevaluated sums of two float64 (error-free transformations of Knuth and Dekker). Their
error is a small part of the 2^-40 by which each bound is enlarged. Finally the ends are rounded inwards,
since every result is a float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.reference.semantics.groups import subsets_of
from vkgroup.reference.semantics.lanes import Flags, Values, Words, before

Float64 = npt.NDArray[np.float64]

_INFLATION = 1 + 2.0**-40
_SLACK = 2.0**-20  # More than the error of the sum of 128 logarithms.
_SPLITTER = 2.0**27 + 1


class Interval(NamedTuple):
    """The legal range of each lane's result."""

    #: `low`, `high`: (subgroups, size, components), inclusive ends.
    low: Float64
    high: Float64
    #: Bool, the same shape. False where the lane is inactive, or where a NaN or an infinity takes part or
    #: overflow or underflow may happen, so that no range holds; the ends are arbitrary there.
    defined: Flags


def unit_roundoff(dtype: np.dtype[Any] | type[np.floating[Any]]) -> float:
    """Return u: the largest relative error of one operation of a floating-point type."""
    return max(float(np.finfo(dtype).eps), float(np.finfo(np.float32).eps) if dtype == np.float64 else 0.0)


def interval(
    operator: str, group_operation: str, value: Values, active: Flags, other: int | Words | None = None
) -> Interval:
    """Return the range that holds the result of every order and rounding, for each lane.

    Parameters
    ----------
    operator : {"Add", "Mul"}
    group_operation : {"Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce", "PartitionedReduceNV",
        "PartitionedInclusiveScanNV", "PartitionedExclusiveScanNV"}
    value : (subgroups, size, components) of float16, float32 or float64.
    active : (subgroups, size) bool.
    other : the size of the clusters of a ClusteredReduce: undefined everywhere if it is no power of two or
        exceeds the size. The ballots of a partitioned one, (subgroups, size, 4): undefined where they are no
        partition of the active lanes.

    One active value gives exactly that value, and the first active lane of an exclusive scan the identity.

    Raises
    ------
    InvalidDispatch
        if the result of the operation does not depend on an order.
    """
    if operator not in ("Add", "Mul") or value.dtype.kind != "f":
        raise InvalidDispatch(
            f"{operator} of {value.dtype} does not depend on the order: compare with the reference function"
        )
    shape = value.shape
    if isinstance(other, np.ndarray):
        subsets = subsets_of(other, active)
        group = group_operation.removeprefix("Partitioned").removesuffix("NV")
        rows = interval(operator, group, subsets.gathered(value), subsets.members)
        return Interval(*(subsets.scattered(part, shape) for part in rows))
    if group_operation == "ClusteredReduce":
        if not other or other > shape[1] or other & (other - 1):
            zeros = np.zeros(shape)
            return Interval(zeros, zeros, np.zeros(shape, dtype=np.bool_))
        value = value.reshape(-1, other, shape[2])
        active = active.reshape(-1, other)
    with np.errstate(all="ignore"):
        low, high, legal = (_sums if operator == "Add" else _products)(value, active)
    if group_operation == "ExclusiveScan":
        identity = 0.0 if operator == "Add" else 1.0
        low, high, legal = before(low, identity), before(high, identity), before(legal, True)
    elif group_operation != "InclusiveScan":
        low, high, legal = _last(low), _last(high), _last(legal)
    defined = legal & active[:, :, None]
    return Interval(low.reshape(shape), high.reshape(shape), defined.reshape(shape))


def _last(scan: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the inclusive `scan`'s last lane in every lane."""
    return np.broadcast_to(scan[:, -1:], scan.shape)


def _operations(active: Flags) -> Float64:
    """Return k, the operations that combine the active values up to each lane: (subgroups, size, 1)."""
    count = np.add.accumulate(active, axis=1, dtype=np.float64)
    return np.asarray(np.maximum(count - 1, 0)[:, :, None])


def _sums(value: Values, active: Flags) -> tuple[Float64, Float64, Flags]:
    """Return low and high end of the inclusive scan of Add, and where they are valid."""
    limits = np.finfo(value.dtype)
    unit, tiny = unit_roundoff(value.dtype), float(limits.smallest_normal)
    used = active[:, :, None]
    illegal = used & ~np.isfinite(value)
    x = np.where(used & ~illegal, value, 0).astype(np.float64)
    size = np.abs(x)
    k = _operations(active)
    total = np.add.accumulate(size, axis=1)
    largest = np.maximum.accumulate(size, axis=1)
    smallest = np.minimum.accumulate(np.where(size > 0, size, np.inf), axis=1)
    t = np.clip(np.floor(total / np.where(largest > 0, largest, 1)), 1, k + 1)
    weights = largest * (t * (t + 1) / 2 - 1) + (k + 1 - t) * total
    growth = (1 + unit) ** k
    flushes = np.where(smallest < tiny / unit, 3 * k + (smallest < tiny), 0)
    bound = (unit * weights + tiny * flushes) * growth * _INFLATION
    legal = ~np.logical_or.accumulate(illegal, axis=1)
    legal &= (k == 0) | (total * growth * _INFLATION + tiny * flushes <= float(limits.max))
    center, rest = _exact_sums(x)
    return _from(center, rest - bound), _to(center, rest + bound), legal


def _rounded_sum(a: Float64, b: Float64) -> tuple[Float64, Float64]:
    """Return a + b exactly as two float64 (Knuth's sum): the rounded sum, and its error."""
    rounded = a + b
    added = rounded - a
    return rounded, (a - (rounded - added)) + (b - added)


def _from(a: Float64, b: Float64) -> Float64:
    """Return the lowest float64 that is at least a + b."""
    rounded, lost = _rounded_sum(a, b)
    return np.where(lost > 0, np.nextafter(rounded, np.inf), rounded)


def _to(a: Float64, b: Float64) -> Float64:
    """Return the highest float64 that is at most a + b."""
    return -_from(-a, -b)


def _exact_sums(x: Float64) -> tuple[Float64, Float64]:
    """Return the inclusive scan of Add as two float64 each: the rounded sums, and their errors."""
    rounded = np.add.accumulate(x, axis=1)
    _, lost = _rounded_sum(before(rounded, 0.0), x)
    return rounded, np.add.accumulate(lost, axis=1)


def _products(value: Values, active: Flags) -> tuple[Float64, Float64, Flags]:
    """Return low and high end of the inclusive scan of Mul, and where they are valid."""
    limits = np.finfo(value.dtype)
    unit, tiny = unit_roundoff(value.dtype), float(limits.smallest_normal)
    used = active[:, :, None]
    size = np.abs(value)
    zero = used & (value == 0)
    illegal = used & ~zero & ~(np.isfinite(value) & (size >= tiny))
    x = np.where(used & ~zero & ~illegal, value, 1).astype(np.float64)
    k = _operations(active)
    logarithm = np.log2(np.abs(x))
    above = np.add.accumulate(np.maximum(logarithm, 0), axis=1)
    below = np.add.accumulate(np.minimum(logarithm, 0), axis=1)
    any_zero = np.logical_or.accumulate(zero, axis=1)
    grown = k * np.log2(1 + unit) + _SLACK
    shrunk = k * np.log2(1 - unit) - _SLACK
    legal = ~np.logical_or.accumulate(illegal, axis=1)
    legal &= (k == 0) | (above + grown <= np.log2(float(limits.max)))
    legal &= (k == 0) | any_zero | (below + shrunk >= np.log2(tiny))
    ends = _scaled_products(x, np.expm1(k * np.log1p(unit)), np.expm1(k * np.log1p(-unit)))
    low, high = (np.where(any_zero, 0.0, end) for end in ends)
    return low, high, legal


def _scaled_products(x: Float64, grow: Float64, shrink: Float64) -> tuple[Float64, Float64]:
    """Return the inclusive scan of Mul, each product P as the ends of P(1 + shrink) ... P(1 + grow).

    Significands and exponents are computed separately, so that no step over- or underflows.
    """
    significand, exponent = np.frexp(np.abs(x))
    rounded = np.multiply.accumulate(significand, axis=1)
    lost = _lost_in_product(before(rounded, 1.0), significand, rounded)
    rest = np.add.accumulate(lost / rounded, axis=1)
    more = (grow + rest + grow * rest) + np.abs(grow) * (_INFLATION - 1)
    less = (shrink + rest + shrink * rest) - np.abs(shrink) * (_INFLATION - 1)
    scale = np.add.accumulate(exponent, axis=1)
    low, high = _from(rounded, rounded * less), _to(rounded, rounded * more)
    low, high = np.ldexp(low, scale), np.ldexp(high, scale)
    negative = np.logical_xor.accumulate(x < 0, axis=1)
    return np.where(negative, -high, low), np.where(negative, -low, high)


def _lost_in_product(a: Float64, b: Float64, rounded: Float64) -> Float64:
    """Return a b - rounded exactly, where rounded is a b in float64 (Dekker's product)."""
    a_high = (a * _SPLITTER) - (a * _SPLITTER - a)
    b_high = (b * _SPLITTER) - (b * _SPLITTER - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low
