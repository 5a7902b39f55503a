"""Ctrl-C, SIGTERM and SIGHUP: a command ends in order, says what it has kept, and leaves nobody behind."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """The command was told to end.

    Attributes
    ----------
    number : of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(end: KeyboardInterrupt) -> int:
    """Return 128 and the number of the signal, as a shell reports a process that it ended."""
    return 128 + (end.number if isinstance(end, Ended) else signal.SIGINT)


@contextmanager
def orderly() -> Iterator[None]:
    """Raise `Ended` in the main thread at the first signal; a second one ends the process at once.

    A signal that whoever started the process has it ignore (``nohup``) stays ignored, and in another thread
    than the main one, which cannot have handlers, nothing is changed.
    """
    before: dict[int, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_DFL)
        raise Ended(number)

    try:
        for number in _ENDING:
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
    """Add to an interruption what was kept of the work, and what to do with it."""
    try:
        yield
    except KeyboardInterrupt as end:
        end.add_note(what())
        raise
