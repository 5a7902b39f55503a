"""Bins of a histogram for the kernel: edges as keys, and error bounds of computed positions.

An element x is in bin k if edges[k] <= x < edges[k + 1], compared exactly; the last bin includes its upper
edge. The edges are NumPy's (`numpy.histogram_bin_edges`). For bins of equal width the kernel computes the
position

    p = (x - origin) * scale,    or for integers    p = float(x - low) * scale + bias,

in float32. Because of rounding, the kernel relies on p only if p is farther than `margin` from every integer.

The margin is derived as follows. Let F(x) = (x - lo) n / (hi - lo), exactly, for n bins from lo to hi, and u
= 2**-23. The relative error of a correctly rounded result in Vulkan is at most u in every rounding mode, but
results below the least normal number m may be flushed to zero. Let e = |origin - lo|.

- floats: the rounding of origin changes F by e * scale. Subtraction, multiplication and the rounding of scale
  change it by at most ((1 + u)**3 - 1) (n + e * scale) < 4 u (n + e * scale). Flushed operands and results
  change it by at most 2 m * scale.
- integers: x - low is exact. The conversion, the multiplication, the sum, and the rounding of scale and bias
  change F by less than 6 u n.

So |p - F(x)| <= error. The edges themselves are rounded: F(edges[k]) = k + s with |s| <= `stray`. If p is
more than error + stray above k and below k + 1, then F(x) is more than stray away from both, and x is in bin
k. Otherwise p is near one integer k. If error + stray < 1 / 2, then x is between edges[k - 1] and edges[k +
1], and the kernel compares x with edges[k]. Otherwise the margin is 1, and the kernel does a binary search.
The fraction of p is computed with an error of at most u; the margin adds 2 u for this error and for its own
rounding.

NumPy's result is the same if its estimate of k is wrong by at most one. Its estimate is ((x - lo) / (hi -
lo)) * n in the type of the edges, or in a wider type. Let v be the machine epsilon of that type (2**-23 or
2**-52). The rounding error of the estimate is less than 4 v n, and the rounding of lo and hi to edges shifts
it by at most v n (|lo| + |hi|) / (hi - lo). If the sum of both and stray is less than 1, the results must
agree, and `Bins.as_numpy` is true. NumPy also converts integers to the type of the edges first. If that type
is not float64, or the integers have 64 bits, values may change, and `as_numpy` is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.kernels.histogram_keys import Keys, greatest_not_above, key_type, keys_of, least_not_below

_U = 2.0**-23
_FLUSHED = {2: 2.0**-14, 4: 2.0**-126}
_SEARCH = 1.0
_NONE = -1.0


@dataclass(frozen=True)
class Position:
    """Parameters of the kernel's position formula for bins of equal width: float32 numbers; see the module.

    The margin is 1 if positions cannot be used, and below 0 if they are exact.
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
    edges : NumPy's edges, one more than bins.
    keys : the key of the least element of each bin that elements can be in, with the dtype of keys in memory;
        empty if no element can be in any bin.
    low, high : keys of the least and the greatest element that are in a bin.
    position : see `Position`.
    as_numpy : whether `numpy.histogram` is guaranteed to give the same counts.
    """

    edges: npt.NDArray[Any]
    keys: npt.NDArray[Any]
    low: int
    high: int
    position: Position
    as_numpy: bool

    @property
    def exact(self) -> bool:
        """Whether the kernel does not need to read edges."""
        return self.position.margin < 0


def bins_of(
    dtype: np.dtype[Any], bins: int | npt.ArrayLike, limits: tuple[float, float] | None = None
) -> Bins:
    """Return the bins for elements of a dtype: a number of equal bins between `limits`, or ascending edges.

    Raise `InvalidDispatch` if `numpy.histogram` rejects the bins, or for the name of a rule.
    """
    if isinstance(bins, str):
        raise InvalidDispatch(f"bins must be a number or edges; use numpy.histogram_bin_edges for {bins!r}.")
    equal = np.ndim(bins) == 0
    try:
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, limits)
    except (TypeError, ValueError) as error:
        raise InvalidDispatch(f"These bins are invalid: {error}") from error
    if len(edges) < 2 or edges.dtype.kind not in "iuf" or np.isnan(edges).any():
        raise InvalidDispatch(f"bins must be at least two edges, ascending real numbers; {bins!r} was given.")
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
    exact_conversion = dtype.kind == "f" or (dtype.itemsize < 8 and edges.dtype == np.float64)
    as_numpy = exact_conversion and (not equal or _estimate_error(edges) + stray < 1)
    return Bins(edges, keys.astype(key_type(dtype)), low, high, position, as_numpy)


def _estimate_error(edges: npt.NDArray[Any]) -> float:
    """Return the maximum error of NumPy's first estimate, in bins, without the rounding of the edges."""
    lo, hi = float(edges[0]), float(edges[-1])
    if hi - lo > float(np.finfo(edges.dtype).max):
        return float("inf")
    unit = float(np.finfo(edges.dtype).eps) * (len(edges) - 1)
    return unit * (4 + (abs(lo) + abs(hi)) / (hi - lo))


def _stray(edges: npt.NDArray[Any]) -> float:
    """Return the maximum distance of the edges from exactly equal bins, in bins, rounded up."""
    exact = edges.astype(np.longdouble)
    width = exact[-1] - exact[0]
    positions = (exact - exact[0]) / width * (len(edges) - 1)
    distance = np.abs(positions - np.arange(len(edges))).max()
    # The second term bounds three roundings of this computation, of numbers up to len(edges).
    return float(distance + 4 * np.finfo(np.longdouble).eps * len(edges)) if distance else 0.0


def _position(
    dtype: np.dtype[Any], edges: npt.NDArray[Any], least: npt.NDArray[Any], span: int, stray: float
) -> Position:
    """Return the parameters of the position formula for elements of fewer than 64 bits."""
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
        # Multiples of 2**-19 below 2**33: float64 represents them and their sums exactly.
        small = abs(lo) < 2**32 and width < 2**32 and scale <= 2**19
        exact = power and small and float(least[0]) == lo and span < 2**24
        exact = exact and np.array_equal(edges, lo + steps)
    if exact:
        return Position(origin, scale, bias, _NONE)
    margin = error + stray + 2 * _U
    return Position(origin, scale, bias, margin) if margin < 0.5 else Position(0, 0, 0, _SEARCH)
