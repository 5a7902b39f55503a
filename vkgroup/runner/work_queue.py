"""The work queue of a run: batches that pools take, one pool for each device."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from vkgroup.runner.retry import Work


class WorkQueue:
    """Batches that are waiting; any thread may take them.

    Parameters
    ----------
    batches : those that are judged `alone` come last, in their order. None: `fill` adds them later, and a
        thread that takes a batch waits until then.
    """

    def __init__(self, batches: Iterable[Work] | None = None) -> None:
        self._filled = threading.Event()
        self._lock = threading.Lock()
        self._batches: deque[Work] = deque()
        self._last: deque[Work] = deque()
        if batches is not None:
            self.fill(batches)

    def fill(self, batches: Iterable[Work]) -> None:
        """Add the batches, once; waiting threads continue even if `batches` raises an error."""
        try:
            for batch in batches:
                (self._last if batch.alone else self._batches).append(batch)
        finally:
            self._filled.set()

    def __len__(self) -> int:
        """Return the number of waiting batches that need not run alone."""
        self._filled.wait()
        return len(self._batches)

    def next(self) -> Work | None:
        """Take a batch that may run beside others; None when all are taken."""
        self._filled.wait()
        with self._lock:
            return self._batches.popleft() if self._batches else None

    def next_alone(self) -> Work | None:
        """Take a batch that one worker of a device runs last; None when all are taken."""
        self._filled.wait()
        with self._lock:
            return self._last.popleft() if self._last else None
