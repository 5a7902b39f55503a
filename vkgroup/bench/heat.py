"""Work that keeps a GPU busy between timed runs, so that its clocks stay high.

A GPU that is mostly idle lowers its clocks, and needs a third of a second of uninterrupted work to raise them
again. On an H200 with gaps of 5 ms between runs of 1 ms, a sum of 2^28 numbers took 2.4 times as long as
without the gaps (docs/bench.md). While the host prepares, verifies and compares data, the GPU is idle, so
later runs would be timed at low clocks.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np

from vkgroup.closing import Closing
from vkgroup.dispatch import Device
from vkgroup.resources import bench

SETTLE_SECONDS = 0.5
"""Seconds of uninterrupted work before a row's rounds; an H200 reached its full clocks within 0.3 s."""

KEEP_SECONDS = 3e-4
"""Seconds of work before each timed run; the host's work for a run takes about a tenth of this."""

_GROUPS = 4096
_FIRST_TURNS, _MOST_TURNS = 256, 1 << 22


class Heat(Closing):
    """Work that keeps a GPU busy: arithmetic without memory accesses, which does not change the caches.

    Parameters
    ----------
    device : a GPU with timestamps, which are used to determine the amount of work.
    """

    def __init__(self, device: Device) -> None:
        with ExitStack() as stack:
            result = stack.enter_context(device.buffer(np.zeros(1, np.float32)))
            pipeline = stack.enter_context(device.pipeline(device.compile(bench("shaders") / "heat.comp")))
            self._bound = stack.enter_context(pipeline.bind({"Result": result}))
            self._stack = stack.pop_all()
        self._turns = _FIRST_TURNS

    def settle(self, seconds: float = SETTLE_SECONDS) -> None:
        """Run work for some seconds without a pause."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            taken = self._bound.timed(_GROUPS, {"turns": self._turns}) or KEEP_SECONDS
            wanted = self._turns * KEEP_SECONDS / max(taken, 1e-7)
            self._turns = int(min(max(wanted, 1), _MOST_TURNS))

    def keep(self) -> None:
        """Run a short amount of work before a timed run."""
        self._bound.dispatch(_GROUPS, {"turns": self._turns})

    def close(self) -> None:
        """Free the pipelines and buffers of the work."""
        self._stack.close()


def heat(device: Device) -> Heat | None:
    """Return the work that keeps a device busy; None for CPU devices, which have no separate clocks."""
    capabilities = device.capabilities
    return Heat(device) if capabilities.is_gpu and capabilities.timestamps.valid_bits else None
