"""Input sizes: their notation, and the largest size that a device can handle."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vkgroup.errors import InvalidInput

# Types only: ``bench --compare`` starts without the runtime.
if TYPE_CHECKING:
    from vkgroup.bench.definition import Definition
    from vkgroup.dispatch import Device

_SIZE = re.compile(r"(\d+)(?:(\^|\*\*)(\d+)|([kKMG])i?)?")
_MOST_AT_ONCE = 1 << 6
_SUFFIXES = {"k": 10, "K": 10, "M": 20, "G": 30}

MOST_OF_MEMORY = 0.25
"""Fraction of device memory that one set of data may use, since all variants and peers have outputs."""


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


def largest_in_memory(definition: Definition, device: Device) -> int:
    """Return the largest size of a definition whose case fits into the device's memory."""
    heaps = [nbytes for nbytes, flags in device.capabilities.memory_heaps if "device_local" in flags]
    room = max(heaps, default=1 << 32) * MOST_OF_MEMORY
    fitting = [size for size in definition.sizes if definition.make(device, size, {}).bytes <= room]
    return max(fitting, default=definition.sizes[0])


def largest_within(sizes: Sequence[int], seconds: float, spent: Callable[[int], float]) -> int:
    """Return approximately the largest size that takes no longer than `seconds`.

    The search assumes that time is proportional to size, and increases the size by a factor of at most 2^6.
    If a size takes too long, the result is interpolated between it and the previous size.

    Parameters
    ----------
    sizes : ascending sizes, at least one.
    seconds : maximum duration of one run.
    spent : function that runs a size and returns its seconds.
    """
    index, taken = 0, spent(sizes[0])
    while taken <= seconds and index < len(sizes) - 1:
        affordable = sizes[index] * min(seconds / max(taken, 1e-9), _MOST_AT_ONCE)
        higher = max(index + 1, _last_within(sizes, affordable))
        after = spent(sizes[higher])
        if after > seconds:
            growth = max(math.log(after / max(taken, 1e-9)) / math.log(sizes[higher] / sizes[index]), 1e-3)
            between = sizes[index] * (seconds / max(taken, 1e-9)) ** (1 / growth)
            return sizes[max(index, min(higher - 1, _last_within(sizes, between)))]
        index, taken = higher, after
    return sizes[index]


def _last_within(sizes: Sequence[int], most: float) -> int:
    return max((index for index, size in enumerate(sizes) if size <= most), default=0)


def seconds_of_call(run: Callable[[], object]) -> float:
    """Return the duration of a call in seconds."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
