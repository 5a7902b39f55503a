"""Processes that a test started, also indirectly, read from /proc."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def descendants(process: int) -> set[int]:
    """Return the child processes of a process, and theirs."""
    found = set()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for word in file.read_text().split():
                found |= {int(word), *descendants(int(word))}
    return found


def alive(process: int) -> bool:
    """Return whether a process runs."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False
