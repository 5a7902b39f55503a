"""The batches of a run, which one pool takes from, or one for each of several devices."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from vkgroup.conformance.suspects import Work


class Supply:
    """Batches that are waiting; any thread may take them.

    Parameters
    ----------
    batches : those that are judged `alone` come last, in their order. None: they come with `fill`, and who
        wants to take one waits until then.
    """

    def __init__(self, batches: Iterable[Work] | None = None) -> None:
        self._filled = threading.Event()
        self._lock = threading.Lock()
        self._batches: deque[Work] = deque()
        self._last: deque[Work] = deque()
        if batches is not None:
            self.fill(batches)

    def fill(self, batches: Iterable[Work]) -> None:
        """Bring the batches, once; those who wait go on even where they cannot be brought."""
        try:
            for batch in batches:
                (self._last if batch.alone else self._batches).append(batch)
        finally:
            self._filled.set()

    def __len__(self) -> int:
        """Return how many are waiting that need not be judged alone."""
        self._filled.wait()
        return len(self._batches)

    def next(self) -> Work | None:
        """Take a batch that others may be judged beside; None when all are taken."""
        self._filled.wait()
        with self._lock:
            return self._batches.popleft() if self._batches else None

    def next_alone(self) -> Work | None:
        """Take one of those that are judged last, by one worker of a device; None when all are taken."""
        self._filled.wait()
        with self._lock:
            return self._last.popleft() if self._last else None
