"""Is what a run computed right?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import host
from vkgroup.bench.definition import Arrays, Data


def wrong(data: Data, found: Arrays) -> str | None:
    """Say what is wrong with the outputs of a run, in one line; None where all is right.

    Parameters
    ----------
    data : what was put in, and what is expected.
    found : the outputs by name.
    """
    for name, expected in data.expected.items():
        if name not in found:
            return f"there is no output {name}"
        message = _difference(np.asarray(expected), np.asarray(found[name]), data.bounds.get(name, 0))
        if message is not None:
            return f"{name}{message}"
    return data.verify(found) if data.verify is not None else None


def _difference(expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.ArrayLike) -> str | None:
    """Compare one output; an integer of another width or signedness must be the same modulo 2^bits."""
    if found.size != expected.size:
        return f" has {found.size} elements instead of {expected.size}"
    wanted, got, limits = expected.reshape(-1), found.reshape(-1), np.asarray(bound)
    if limits.ndim:
        limits = np.broadcast_to(limits, expected.shape).reshape(-1)

    def judge(span: slice) -> tuple[int, int]:
        """Return how many elements of a block are wrong, and the first of them."""
        right = _right(wanted[span], got[span], limits[span] if limits.ndim else limits)
        return int(right.size - np.count_nonzero(right)), span.start + int(np.argmin(right))

    wrongs = [one for one in host.each(judge, host.spans(expected.size)) if one[0]]
    if not wrongs:
        return None
    count, first = sum(many for many, _ in wrongs), wrongs[0][1]
    place = f"[{', '.join(map(str, np.unravel_index(first, expected.shape)))}]" if expected.ndim else ""
    more = f" ({count} of {expected.size} elements are wrong)" if expected.size > 1 else ""
    return f"{place} is {got[first : first + 1].astype(expected.dtype)[0]} instead of {wanted[first]}{more}"


def _right(
    expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Where elements are what was expected."""
    found = found.astype(expected.dtype, copy=False)
    if expected.dtype.kind in "fc":
        return _close(expected, found, bound.astype(np.float64))
    return np.asarray(found == expected)


def _close(
    expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Where floats are equal, both NaN, or no further apart than the bound."""
    same = found == expected
    if same.all():
        return np.asarray(same)
    same |= np.isnan(expected) & np.isnan(found)
    if not bound.any():
        return np.asarray(same)
    with np.errstate(invalid="ignore", over="ignore"):
        # At least double: the difference must not be rounded in the type that is judged.
        distance = np.abs(found.astype(np.result_type(found, np.float64)) - expected)
    return np.asarray(same | (distance <= bound))
