"""Memory that something outside of vkgroup views: it is freed with the last view, not before."""

from __future__ import annotations

import threading
from typing import Protocol

#: Guards who frees what is lent.
lock = threading.RLock()
_left_to_process = False


def leave_to_process() -> None:
    """Free nothing any more when leases end: the process is ending, and frees all."""
    global _left_to_process
    _left_to_process = True


class Lendable(Protocol):
    """What has memory that can be lent.

    Attributes
    ----------
    leases : how many are out.
    """

    leases: int

    def end_leases(self) -> None:
        """Free the memory, if its owner was closed while it was lent."""


class Lease:
    """Keeps memory until it is released, or nothing refers to the lease any more.

    Arrays of other libraries hold one each for the memory they view, and may let go of it in any thread.
    """

    def __init__(self, lender: Lendable) -> None:
        self._lender: Lendable | None = lender
        with lock:
            lender.leases += 1

    def release(self) -> None:
        """Give the memory back; doing so again is allowed."""
        with lock:
            lender, self._lender = self._lender, None
            if lender is None:
                return
            lender.leases -= 1
            last = lender.leases == 0
        if last and not _left_to_process:
            lender.end_leases()

    def __del__(self) -> None:
        self.release()
