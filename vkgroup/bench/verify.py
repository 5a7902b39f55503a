"""Is what a run computed right?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
    found = found.reshape(expected.shape).astype(expected.dtype, copy=False)
    if expected.dtype.kind in "fc":
        right = _close(expected, found, np.asarray(bound, np.float64))
    else:
        right = found == expected
    if right.all():
        return None
    first = np.unravel_index(int(np.argmin(right)), expected.shape)
    place = f"[{', '.join(map(str, first))}]" if expected.ndim else ""
    count = int(right.size - np.count_nonzero(right))
    more = f" ({count} of {right.size} elements are wrong)" if right.size > 1 else ""
    return f"{place} is {found[first]} instead of {expected[first]}{more}"


def _close(
    expected: npt.NDArray[Any], found: npt.NDArray[Any], bound: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Where floats are equal, both NaN, or no further apart than the bound."""
    same = (found == expected) | (np.isnan(expected) & np.isnan(found))
    if not bound.any():
        return np.asarray(same)
    with np.errstate(invalid="ignore", over="ignore"):
        # At least double: the difference must not be rounded in the type that is judged.
        distance = np.abs(found.astype(np.result_type(found, np.float64)) - expected)
    return np.asarray(same | (distance <= bound))
