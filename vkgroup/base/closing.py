"""Base class of objects that are closed explicitly, by a ``with`` block, or when they are deleted."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
