"""Bins of a histogram, as the kernel wants them: edges as keys, and how far positions can be trusted.

An element x is in bin k if edges[k] <= x < edges[k + 1], the last bin being closed: compared exactly. The
edges are NumPy's (`numpy.histogram_bin_edges`). Among equal bins the kernel computes the position

    p = (x - origin) * scale,    or of whole numbers    p = float(x - low) * scale + bias,

in float32, which is wrong by rounding, and trusts it farther than `margin` from any whole number.

The margin. Let F(x) = (x - lo) n / (hi - lo), exactly, for n bins from lo to hi, and u = 2**-23: a correctly
rounded result of Vulkan is within u of the exact one, relatively, whichever way it is rounded, but may be
flushed to zero below the least normal number m. With d = x - origin, and e = |origin - lo|:

- floats: the rounding of origin changes F by e * scale; subtraction, multiplication and the rounding of
  scale change it by at most (1 + u)**3 - 1 < 4 u of n + e * scale; flushed operands and results by
  2 m * scale.
- whole numbers: x - low is exact; conversion, multiplication, scale, bias (its own rounding) and the sum
  change F by less than 6 u of n.

So |p - F(x)| <= error. The edges themselves are rounded: edges[k] is at F = k + s, |s| <= `stray`. If p is
farther than error + stray above k and below k + 1, F(x) is farther than stray from both, and x is in bin k.
Else p is near one whole number k; where error + stray < 1 / 2, x is between edges[k - 1] and edges[k + 1],
and the kernel compares it with edges[k]. Else the margin is 1, and the kernel searches. The fraction of p is
computed with an error of at most u, which is added with as much again for the margin's own rounding.

NumPy's own result is the same wherever its estimate of k is wrong by one at most. Its estimate is
((x - lo) / (hi - lo)) * n in the type of the edges, or a wider one. With that type's v (2**-23 or 2**-52),
its rounding is less than 4 v n, and that of lo and hi to edges shifts it by v n (|lo| + |hi|) / (hi - lo), so
the results agree if both together with stray are less than 1; `Bins.as_numpy` says whether they must. NumPy
also converts whole numbers to the type of the edges first; where that is not float64, or the numbers have 64
bits, values may change, and `as_numpy` is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.histogram_keys import Keys, greatest_not_above, key_type, keys_of, least_not_below

_U = 2.0**-23
_FLUSHED = {2: 2.0**-14, 4: 2.0**-126}
_SEARCH = 1.0
_NONE = -1.0


@dataclass(frozen=True)
class Position:
    """How the kernel computes positions among equal bins; see the module.

    Attributes
    ----------
    origin, scale, bias : float32 numbers.
    margin : 1 where positions tell nothing, below 0 where they are exact.
    """

    origin: float
    scale: float
    bias: float
    margin: float


@dataclass(frozen=True)
class Bins:
    """The bins of a histogram of elements of one dtype.

    Attributes
    ----------
    edges : as NumPy has them, one more than bins.
    keys : of the least element of each bin that an element can be in, of the dtype of keys in memory; none
        where no element can be in any.
    low, high : keys of the least and greatest elements that are in a bin.
    position : see `Position`.
    as_numpy : whether `numpy.histogram` must give the same for every element.
    """

    edges: npt.NDArray[Any]
    keys: npt.NDArray[Any]
    low: int
    high: int
    position: Position
    as_numpy: bool

    @property
    def exact(self) -> bool:
        """Whether the kernel need not look at edges at all."""
        return self.position.margin < 0


def bins_of(
    dtype: np.dtype[Any], bins: int | npt.ArrayLike, limits: tuple[float, float] | None = None
) -> Bins:
    """Return the bins for elements of a dtype.

    Parameters
    ----------
    bins : number of equal bins, or ascending edges.
    limits : of equal bins: the first and last edge.

    Raises
    ------
    InvalidDispatch
        They are what `numpy.histogram` refuses, or a name of a rule, which is not supported.
    """
    if isinstance(bins, str):
        raise InvalidDispatch(f"bins is a number or edges; use numpy.histogram_bin_edges for {bins!r}.")
    equal = np.ndim(bins) == 0
    try:
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, limits)
    except (TypeError, ValueError) as error:
        raise InvalidDispatch(f"No histogram has these bins: {error}") from error
    if len(edges) < 2 or edges.dtype.kind not in "iuf" or np.isnan(edges).any():
        raise InvalidDispatch(f"bins are at least two edges, ascending real numbers; {bins!r} was given.")
    return _bins(dtype, edges, equal)


def _bins(dtype: np.dtype[Any], edges: npt.NDArray[Any], equal: bool) -> Bins:
    least, reachable = least_not_below(dtype, edges[:-1])
    greatest = greatest_not_above(dtype, edges[-1])
    keys: Keys = keys_of(least)
    if not reachable or not len(greatest) or int(keys_of(greatest)[0]) < int(keys[0]):
        return Bins(edges, np.empty(0, key_type(dtype)), 0, 0, Position(0, 0, 0, _SEARCH), equal)
    low, high = int(keys[0]), int(keys_of(greatest)[0])
    position, stray = Position(0, 0, 0, _SEARCH), 0.0
    if equal:
        stray = _stray(edges)
        if dtype.itemsize < 8:
            position = _position(dtype, edges, least, high - low, stray)
    kept = dtype.kind == "f" or (dtype.itemsize < 8 and edges.dtype == np.float64)
    as_numpy = kept and (not equal or _estimate_error(edges) + stray < 1)
    return Bins(edges, keys.astype(key_type(dtype)), low, high, position, as_numpy)


def _estimate_error(edges: npt.NDArray[Any]) -> float:
    """Return by how many bins NumPy's first estimate may be wrong, besides what the edges stray."""
    lo, hi = float(edges[0]), float(edges[-1])
    if hi - lo > float(np.finfo(edges.dtype).max):
        return float("inf")
    unit = float(np.finfo(edges.dtype).eps) * (len(edges) - 1)
    return unit * (4 + (abs(lo) + abs(hi)) / (hi - lo))


def _stray(edges: npt.NDArray[Any]) -> float:
    """Return how far edges are from where equal bins have them, in bins, rounded up."""
    exact = edges.astype(np.longdouble)
    width = exact[-1] - exact[0]
    place = (exact - exact[0]) / width * (len(edges) - 1)
    off = np.abs(place - np.arange(len(edges))).max()
    # Three roundings of this computation itself, of numbers up to len(edges).
    return float(off + 4 * np.finfo(np.longdouble).eps * len(edges)) if off else 0.0


def _position(
    dtype: np.dtype[Any], edges: npt.NDArray[Any], least: npt.NDArray[Any], span: int, stray: float
) -> Position:
    """Return how positions are computed for elements of fewer than 64 bits."""
    bins, lo, width = len(edges) - 1, float(edges[0]), float(edges[-1]) - float(edges[0])
    with np.errstate(all="ignore"):
        wanted = float(np.float64(bins) / width)
        scale = float(np.float32(wanted))
        origin = float(np.float32(lo)) if dtype.kind == "f" else 0.0
        bias = 0.0 if dtype.kind == "f" else float(np.float32((float(least[0]) - lo) * wanted))
    if not (2.0**-100 < scale < 2.0**100 and abs(origin) < 2.0**100):
        return Position(0, 0, 0, _SEARCH)
    power = scale == wanted and np.frexp(scale)[0] == 0.5
    steps = np.arange(bins + 1) / wanted
    if dtype.kind == "f":
        apart = abs(origin - lo) * wanted
        flushed = _FLUSHED[dtype.itemsize] * wanted
        error = apart + 4 * _U * (bins + apart) + 2 * flushed
        exact = power and lo == 0 and flushed < 1 and np.array_equal(edges, steps)
    else:
        error = 6 * _U * bins
        # Multiples of 2**-19 below 2**33: float64 holds them, and their sums, as they are.
        small = abs(lo) < 2**32 and width < 2**32 and scale <= 2**19
        exact = power and small and float(least[0]) == lo and span < 2**24
        exact = exact and np.array_equal(edges, lo + steps)
    if exact:
        return Position(origin, scale, bias, _NONE)
    margin = error + stray + 2 * _U
    return Position(origin, scale, bias, margin) if margin < 0.5 else Position(0, 0, 0, _SEARCH)
