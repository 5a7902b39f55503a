"""Phrases used in reports."""

from __future__ import annotations

from collections.abc import Iterable


def join(numbers: Iterable[object]) -> str:
    """Return items as a list in words: ``"1, 4 and 8"``."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
