"""Displays of long work on standard error, if that is a terminal: bars, or the phase of the command.

Rich is imported in the functions, because some commands start faster without it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vkgroup.base import phases

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn
    from rich.text import Text

_PATIENCE = 2.0
"""Seconds of work before its phase is shown."""


def bars(*further: ProgressColumn) -> Progress:
    """Return a display of tasks with their numbers of steps; `further` columns follow."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from vkgroup.cli.console import Console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *further)
    is_shown = sys.stderr.isatty()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not is_shown)


def track(steps: Iterable[Any], total: int, what: str) -> Iterator[Any]:
    """Yield steps, and show how many of them are done."""
    from rich.progress import TimeElapsedColumn

    with bars(TimeElapsedColumn()) as progress:
        yield from progress.track(steps, total, description=what)


@contextmanager
def working(what: str = "") -> Iterator[None]:
    """Show what the block does, after two seconds; without a text, the phase of the command."""
    if not sys.stderr.isatty():
        yield
        return
    from vkgroup.cli.console import Console

    status = Console(stderr=True).status(_Work(what))
    timer = threading.Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


class _Work:
    """A text on what is done, and for how many seconds."""

    def __init__(self, what: str) -> None:
        self._what, self._start = what, time.monotonic()

    def __rich__(self) -> Text:
        from rich.text import Text

        seconds = time.monotonic() - self._start
        return Text(f"{self._what or phases.status().phase} ({seconds:.0f} s)", no_wrap=True)


def show_fetch(what: str, fraction: float) -> None:
    """Show the progress of a download on one line that is overwritten."""
    if sys.stderr.isatty():
        end = "\n" if fraction >= 1 else ""
        print(f"\r\x1b[Kfetching {what} {fraction:4.0%}", end=end, file=sys.stderr, flush=True)
