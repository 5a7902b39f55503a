"""Progress of downloads on a terminal."""

from __future__ import annotations

import sys


def show_progress(what: str, fraction: float) -> None:
    """Print progress on one line that is overwritten, if standard error is a terminal."""
    if sys.stderr.isatty():
        end = "\n" if fraction >= 1 else ""
        print(f"\r\x1b[Kfetching {what} {fraction:4.0%}", end=end, file=sys.stderr, flush=True)
