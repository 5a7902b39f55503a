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
"""Part of the device's memory that one set of a case may take: all variants and peers have outputs."""


def parse_size(text: str) -> int:
    """Return a size: ``"1000003"``, ``"2^20"``, ``"2**20"``, ``"64k"`` or ``"1Mi"`` (powers of 1024).

    Raises
    ------
    InvalidInput
        It is none of these, or 0.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is no size; write 1000003, 2^20, 64k or 1M.")
    base, power, exponent, suffix = match.groups()
    size = int(base) ** min(int(exponent), 64) if power else int(base)
    size <<= _SUFFIXES[suffix] if suffix else 0
    if not 0 < size <= 1 << 40:
        raise InvalidInput(f"{text!r}: sizes are from 1 to 2^40.")
    return size


def power_text(size: int) -> str:
    """Return a size for people: ``"2^20"`` where it is a power of two from 2^10 on, else its digits."""
    return f"2^{size.bit_length() - 1}" if size >= 1024 and not size & (size - 1) else f"{size}"


def largest_in_memory(definition: Definition, device: Device) -> int:
    """Return the largest size of a definition whose case has room in the device's memory."""
    heaps = [nbytes for nbytes, flags in device.capabilities.memory_heaps if "device_local" in flags]
    room = max(heaps, default=1 << 32) * MOST_OF_MEMORY
    fitting = [size for size in definition.sizes if definition.make(device, size, {}).bytes <= room]
    return max(fitting, default=definition.sizes[0])


def climb(sizes: Sequence[int], seconds: float, spent: Callable[[int], float]) -> int:
    """Return about the largest size that takes no longer than it may.

    Goes up as if time grew in proportion to size, by at most 2^6 at once; where a size took too long, the
    growth between it and the last one that did not tells the size between.

    Parameters
    ----------
    sizes : ascending, at least one.
    seconds : that one run may take.
    spent : runs a size and returns its seconds.
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


def time_once(run: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
