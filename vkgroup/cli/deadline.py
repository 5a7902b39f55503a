"""Deadline of a command in its own process: it ends in order, with the results so far.

At the deadline, `DeadlineReached` is raised in the main thread wherever Python executes. A process that is
inside a driver or a library then does not notice it; its parent ends it (`vkgroup.cli.supervisor`).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from vkgroup.base import phases

RUN_PART = 5
"""One run may take this part of the time of a command: others are left where one does not end."""

_started = time.monotonic()

_SHORTEST = 1e-3


def begin(start: float | None = None) -> float:
    """Set and return the `time.monotonic` from which the deadline of a command counts; None is now."""
    global _started
    _started = time.monotonic() if start is None else start
    return _started


def remaining() -> float:
    """Return the seconds until the deadline, at least a short time."""
    return max(phases.status().deadline - time.monotonic(), _SHORTEST)


def reached() -> bool:
    """Return whether the deadline was reached."""
    return time.monotonic() >= phases.status().deadline


@contextmanager
def within(seconds: float, *, since_start: bool = True) -> Iterator[None]:
    """Raise DeadlineReached in the block when the time is over; only in the main thread, and with SIGALRM.

    `since_start`: whether the time counts from the start of the command; otherwise from now.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise phases.DeadlineReached

    start = _started if since_start else time.monotonic()
    phases.update(seconds=seconds, deadline=start + seconds, phase="starting", owner=phases.CodeOwner.HOST)
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, end)
    timer = signal.setitimer(signal.ITIMER_REAL, remaining())
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)
        if not since_start:
            phases.update(deadline=math.inf)
