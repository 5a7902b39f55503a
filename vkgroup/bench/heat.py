"""Keeping a GPU at work between the runs that are timed, so that its clocks do not sink meanwhile.

A GPU that is idle for most of the time lowers its clocks, and needs a third of a second of uninterrupted work
to raise them again: on an H200 whose host left gaps of 5 ms between runs of 1 ms, a sum of 2^28 numbers took
2.4 times as long as without the gaps (docs/bench.md). What is timed while the host prepares, verifies and
compares would be timed at those clocks.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np

from vkgroup.closing import Closing
from vkgroup.dispatch import Device
from vkgroup.resources import bench

SETTLE_SECONDS = 0.5
"""Uninterrupted work before a row's rounds; an H200 had reached its full clocks after 0.3 s at the latest."""

KEEP_SECONDS = 3e-4
"""Work before each timed run; the host's part of one takes about a tenth of that."""

_GROUPS = 4096
_FIRST_TURNS, _MOST_TURNS = 256, 1 << 22


class Heat(Closing):
    """Work that keeps a GPU busy: arithmetic that touches no memory, so that caches stay as they are.

    Parameters
    ----------
    device : a GPU with timestamps, which tell how much work is enough.
    """

    def __init__(self, device: Device) -> None:
        with ExitStack() as stack:
            result = stack.enter_context(device.buffer(np.zeros(1, np.float32)))
            pipeline = stack.enter_context(device.pipeline(device.compile(bench("shaders") / "heat.comp")))
            self._bound = stack.enter_context(pipeline.bind({"Result": result}))
            self._stack = stack.pop_all()
        self._turns = _FIRST_TURNS

    def settle(self, seconds: float = SETTLE_SECONDS) -> None:
        """Work for some seconds without a pause."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            taken = self._bound.timed(_GROUPS, {"turns": self._turns}) or KEEP_SECONDS
            wanted = self._turns * KEEP_SECONDS / max(taken, 1e-7)
            self._turns = int(min(max(wanted, 1), _MOST_TURNS))

    def keep(self) -> None:
        """Work for a moment before a timed run."""
        self._bound.dispatch(_GROUPS, {"turns": self._turns})

    def close(self) -> None:
        """Free what the work needs."""
        self._stack.close()


def heat(device: Device) -> Heat | None:
    """Return what keeps a device busy; None for devices on the CPU, which have no clocks of their own."""
    capabilities = device.capabilities
    return Heat(device) if capabilities.is_gpu and capabilities.timestamps.valid_bits else None
