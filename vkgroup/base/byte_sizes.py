"""Sizes of memory as texts."""

from __future__ import annotations


def size_text(count: int) -> str:
    """Return a number of bytes with its unit: ``"1.5 GiB"``, ``"16 KiB"`` or ``"12 B"``."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << power:
            return f"{count / (1 << power):,.4g} {unit}"
    return f"{count} B"
