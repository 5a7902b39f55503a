"""Notation of input sizes."""

from __future__ import annotations

import re

from vkgroup.errors import InvalidInput

_SIZE = re.compile(r"(\d+)(?:(\^|\*\*)(\d+)|([kKMG])i?)?")
_SUFFIXES = {"k": 10, "K": 10, "M": 20, "G": 30}


def parse_size(text: str) -> int:
    """Parse a size: ``"1000003"``, ``"2^20"``, ``"2**20"``, ``"64k"`` or ``"1Mi"`` (powers of 1024).

    Raises
    ------
    InvalidInput
        The text is not a size, or the size is out of range.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is not a size; write 1000003, 2^20, 64k or 1M.")
    base, power, exponent, suffix = match.groups()
    size = int(base) ** min(int(exponent), 64) if power else int(base)
    size <<= _SUFFIXES[suffix] if suffix else 0
    if not 0 < size <= 1 << 40:
        raise InvalidInput(f"{text!r}: a size must be in the range from 1 to 2^40.")
    return size


def power_text(size: int) -> str:
    """Return a size as text: ``"2^20"`` for a power of two of at least 2^10, otherwise in decimal."""
    return f"2^{size.bit_length() - 1}" if size >= 1024 and not size & (size - 1) else f"{size}"
