"""Phrases of a report."""

from __future__ import annotations

from collections.abc import Iterable


def join(numbers: Iterable[object]) -> str:
    """Return things as in a sentence: ``"1, 4 and 8"``."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
