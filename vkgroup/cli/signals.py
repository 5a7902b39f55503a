"""Ctrl-C, SIGTERM and SIGHUP: commands exit cleanly, report saved results and end their processes."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from vkgroup.base import phases
from vkgroup.base.unraisable import drops_exceptions

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a command."""

_MOMENT = 0.001
"""Delay in seconds before a signal whose exception would be lost is sent again."""


class Ended(KeyboardInterrupt):
    """The command was interrupted by a signal.

    `number`: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _send_again(number: int) -> None:
    """Send a signal to the main thread after a moment, which finalizers and callbacks need to end."""
    time.sleep(_MOMENT)
    # To that thread, so that it interrupts what the thread waits for.
    signal.pthread_kill(threading.main_thread().ident or 0, number)


@contextmanager
def orderly(received: list[Ended] | None = None) -> Iterator[None]:
    """Raise `Ended` in the main thread at the first signal; a second signal ends the process immediately.

    `received`: list to which the raised exception is added, because a library may replace it by another.

    A supervised process ignores the second signal, because its parent ends it. A service manager or `pkill`
    sends each signal to both processes, and the parent passes it on: the process receives it twice.

    Signals that the parent process set to be ignored (``nohup``) stay ignored. In other threads than the main
    thread, which cannot set handlers, this has no effect.
    """
    before: dict[int, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        if drops_exceptions(frame):
            _thread.start_new_thread(_send_again, (number,))
            return
        for other in before:
            signal.signal(other, signal.SIG_IGN if phases.is_shared() else signal.SIG_DFL)
        ended = Ended(number)
        if received is not None:
            received.append(ended)
        raise ended

    try:
        for number in ENDING:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, end)
    except ValueError:
        before.clear()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def keeping(what: Callable[[], str]) -> Iterator[None]:
    """Add a note to an interruption: the saved results, and the command that continues."""
    try:
        yield
    except KeyboardInterrupt as end:
        end.add_note(what())
        raise
