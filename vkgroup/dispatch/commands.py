"""Commands of bound work: a dispatch, a draw, or a launch of rays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vkgroup.dispatch.sources import Condition, Indirect
from vkgroup.errors import InvalidDispatch

Groups = tuple[int, int, int]
"""Numbers of workgroups, or of ray-generation invocations, in x, y and z."""

_MOST_REPEATS = 1_000_000


class DispatchCommand(NamedTuple):
    """One dispatch of a compute pipeline.

    Attributes
    ----------
    counts : numbers of workgroups.
    indirect : the buffer that the counts were read from; the device reads them from it again.
    condition : the number in a buffer by which the device may discard the dispatch.
    """

    counts: Groups
    indirect: Indirect | None = None
    condition: Condition | None = None

    @property
    def empty(self) -> bool:
        """Whether the command runs no invocation."""
        return 0 in self.counts


class DrawCommand(NamedTuple):
    """One draw of a graphics pipeline: what it draws is part of the bound work."""

    @property
    def empty(self) -> bool:
        """Whether the command does nothing: never, since a draw clears its attachments."""
        return False


class TraceCommand(NamedTuple):
    """One launch of a ray-tracing pipeline.

    Attributes
    ----------
    size : width, height and depth of the grid of ray-generation invocations.
    """

    size: Groups

    @property
    def empty(self) -> bool:
        """Whether the command runs no invocation."""
        return 0 in self.size


Command = DispatchCommand | DrawCommand | TraceCommand


def checked_repeat(repeat: Any) -> int:
    """Return a number of repetitions; `InvalidDispatch` where it is not a number from 1 on, or too large."""
    if not isinstance(repeat, int | np.integer) or not 1 <= repeat <= _MOST_REPEATS:
        raise InvalidDispatch(f"repeat must be a number from 1 to {_MOST_REPEATS}; {repeat!r} was given.")
    return int(repeat)


def padded_counts(groups: Any) -> tuple[Any, Any, Any]:
    """Return one to three numbers of workgroups as three, without checking the numbers."""
    several = isinstance(groups, Sequence) or (isinstance(groups, np.ndarray) and groups.ndim > 0)
    given: tuple[Any, ...] = tuple(groups) if several else (groups,)
    if not 1 <= len(given) <= 3:
        raise InvalidDispatch(f"groups are one to three numbers; {groups!r} was given.")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def checked_counts(groups: int | Sequence[int], limits: Groups) -> Groups:
    """Return the numbers of workgroups in x, y and z.

    Parameters
    ----------
    groups : one to three numbers.
    limits : the device's ``maxComputeWorkGroupCount``.

    Raises
    ------
    InvalidDispatch
        The numbers are negative, not whole, or over the limits.
    """
    counts = groups if type(groups) is tuple and len(groups) == 3 else padded_counts(groups)
    for count, most in zip(counts, limits, strict=True):
        if not isinstance(count, int | np.integer) or count < 0:
            raise InvalidDispatch(f"groups are whole numbers from 0 on; {groups!r} was given.")
        if count > most:
            raise InvalidDispatch(
                f"{counts} workgroups are over the device's maxComputeWorkGroupCount,"
                f" {tuple(limits)}. Dispatch in parts, or give each invocation more work."
            )
    return counts
