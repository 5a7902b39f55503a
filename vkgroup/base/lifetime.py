"""Lifetime of objects: explicit closing, and a pause of the garbage collection."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class Closeable(ABC):
    """Closes itself at the end of a ``with`` block.

    An object that sets `_holding` is also closed when it is deleted.
    """

    _holding = False

    @abstractmethod
    def close(self) -> None:
        """Free the held resources; further calls do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._holding:
            self.close()


@contextmanager
def paused() -> Iterator[None]:
    """Pause garbage collection, which takes longer than the creation of half a million objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
