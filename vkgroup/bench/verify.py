"""Verification of the results of a run against expected outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import host
from vkgroup.bench.definition import Arrays, Data


def wrong(data: Data, found: Arrays) -> str | None:
    """Return the first error in the outputs of a run, in one line, or None if there is none.

    Parameters
    ----------
    data : the inputs and the expected outputs.
    found : the outputs of the run by name.
    """
    for name, expected in data.expected.items():
        if name not in found:
            return f"there is no output {name}"
        message = _difference(np.asarray(expected), np.asarray(found[name]), data.bounds.get(name, 0))
        if message is not None:
            return f"{name}{message}"
    return data.verify(found) if data.verify is not None else None


def _difference(expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.ArrayLike) -> str | None:
    """Compare one output; integers of another width or signedness must be equal modulo 2^bits."""
    if found.size != expected.size:
        return f" has {found.size} elements instead of {expected.size}"
    wanted, got, limits = expected.reshape(-1), found.reshape(-1), np.asarray(bound)
    if limits.ndim:
        limits = np.broadcast_to(limits, expected.shape).reshape(-1)

    def judge(span: slice) -> tuple[int, int]:
        """Return the number of wrong elements of a block, and the index of the first one."""
        right = _right(wanted[span], got[span], limits[span] if limits.ndim else limits)
        return int(right.size - np.count_nonzero(right)), span.start + int(np.argmin(right))

    wrongs = [span_errors for span_errors in host.each(judge, host.spans(expected.size)) if span_errors[0]]
    if not wrongs:
        return None
    count, first = sum(many for many, _ in wrongs), wrongs[0][1]
    index = f"[{', '.join(map(str, np.unravel_index(first, expected.shape)))}]" if expected.ndim else ""
    total = f" ({count} of {expected.size} elements are wrong)" if expected.size > 1 else ""
    return f"{index} is {got[first : first + 1].astype(expected.dtype)[0]} instead of {wanted[first]}{total}"


def _right(
    expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Return a mask of correct elements."""
    found = found.astype(expected.dtype, copy=False)
    if expected.dtype.kind in "fc":
        return _close(expected, found, bound.astype(np.float64))
    return np.asarray(found == expected)


def _close(
    expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Return a mask of floats that are equal, both NaN, or differ by at most the bound."""
    same = found == expected
    if same.all():
        return np.asarray(same)
    same |= np.isnan(expected) & np.isnan(found)
    if not bound.any():
        return np.asarray(same)
    with np.errstate(invalid="ignore", over="ignore"):
        # Compute the difference at least in double, so that it is not rounded in the type of the result.
        distance = np.abs(found.astype(np.result_type(found, np.float64)) - expected)
    return np.asarray(same | (distance <= bound))
