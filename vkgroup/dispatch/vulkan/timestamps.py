"""Timestamps that the device writes around some work."""

from __future__ import annotations

import time
from typing import Any

from vkgroup.base.errors import DispatchTimeout
from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice

_TICKS = vk.ffi.integer_const("VK_QUERY_RESULT_64_BIT")
_LONGEST_WAIT = 10.0
"""Seconds after the end of the work until which its timestamps must be there."""


def seconds_between(device: LogicalDevice, queries: Any) -> float:
    """Return the seconds between the two timestamps of a query pool, once they are written.

    Raises DispatchTimeout: the device has ended the work, and does not write them.
    """
    ticks, start = vk.ffi.new("uint64_t[2]"), time.monotonic()
    # VK_QUERY_RESULT_WAIT_BIT would wait for ever on a device that executes nothing.
    while (
        code := device.functions.vkGetQueryPoolResults(device.handle, queries, 0, 2, 16, ticks, 8, _TICKS)
    ) == vk.VK_NOT_READY:
        if time.monotonic() - start > _LONGEST_WAIT:
            raise DispatchTimeout(
                f"The work has ended, but the device wrote no timestamps in {_LONGEST_WAIT:g} s."
            )
        time.sleep(1e-4)
    device.check(code, "reading timestamps")
    stamps = device.capabilities.timestamps
    elapsed = (ticks[1] - ticks[0]) & ((1 << stamps.valid_bits) - 1)
    return float(elapsed * stamps.period_ns * 1e-9)
