"""Keeping a GPU busy between timed runs."""

from __future__ import annotations

import numpy as np

from vkgroup.bench.definition import Data
from vkgroup.bench.timing import GpuLoad, TimingTrial, gpu_load, time_rounds
from vkgroup.dispatch import Device


class _Noted:
    """A candidate that records its runs."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def overwrite_outputs(self) -> None:
        return

    def time(self) -> float:
        self._log.append("run")
        return 1.0

    def outputs(self) -> dict[str, np.ndarray]:
        return {}

    def close(self) -> None:
        return


class _NotedLoad(GpuLoad):
    """A GPU load that only records its calls."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def raise_clocks(self, seconds: float = 0.0) -> None:
        self._log.append("raise_clocks")

    def run(self) -> None:
        self._log.append("load")


def test_rounds_begin_and_stay_at_high_clocks() -> None:
    log: list[str] = []
    trials = [TimingTrial(name, "none", [_Noted(log)], [Data({})]) for name in "AB"]
    time_rounds(trials, seconds=0.01, load=_NotedLoad(log))
    assert log[0] == "raise_clocks"
    assert log[1:] == ["load", "run"] * (len(log) // 2)


def test_the_work_is_made_long_enough_and_done(vulkan_device: Device) -> None:
    with GpuLoad(vulkan_device) as work:
        work.raise_clocks(0.05)
        adapted = work._iterations
        assert adapted != 256  # what it begins with: it has been adapted to the device
        work.run()
        assert work._iterations == adapted


def test_processors_have_no_clocks_of_their_own(device: Device) -> None:
    assert gpu_load(device) is None
