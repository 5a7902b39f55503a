"""References from outside of vkgroup to memory, which is freed only after the last of them."""

from __future__ import annotations

import threading
from typing import Protocol

#: Guards the counts of references, and the decision to free memory.
lock = threading.RLock()
_process_ends = False


def keep_until_exit() -> None:
    """Leave referenced memory allocated from now on: the process is ending, and frees everything."""
    global _process_ends
    _process_ends = True


class Referenced(Protocol):
    """Memory that can be referenced.

    Attributes
    ----------
    references : how many references there are.
    """

    references: int

    def free_unreferenced(self) -> None:
        """Free the memory, if its buffer was closed while it was referenced."""


class Reference:
    """Keeps memory until it is released, or nothing refers to the reference any more.

    Arrays of other libraries hold one each for the memory they view, and may release it in any thread.
    """

    def __init__(self, memory: Referenced) -> None:
        self._memory: Referenced | None = memory
        with lock:
            memory.references += 1

    def release(self) -> None:
        """Release the memory; doing so again is allowed."""
        with lock:
            memory, self._memory = self._memory, None
            if memory is None:
                return
            memory.references -= 1
            last = memory.references == 0
        if last and not _process_ends:
            memory.free_unreferenced()

    def __del__(self) -> None:
        self.release()
