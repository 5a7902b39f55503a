"""What holds something until it is closed, and is a context manager for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Closes itself at the end of a ``with`` block.

    An object that sets `_holding` is also closed when nothing refers to it any more.
    """

    _holding = False

    @abstractmethod
    def close(self) -> None:
        """Free what is held; doing so again is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._holding:
            self.close()
