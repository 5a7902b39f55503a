"""Keeping a GPU busy between timed runs."""

from __future__ import annotations

import numpy as np

from vkgroup.bench.definition import Data
from vkgroup.bench.timing import Heat, Lane, heat, race
from vkgroup.dispatch import Device


class _Noted:
    """A contender that notes its runs."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def poison(self) -> None:
        return

    def time(self) -> float:
        self._log.append("run")
        return 1.0

    def outputs(self) -> dict[str, np.ndarray]:
        return {}

    def close(self) -> None:
        return


class _NotedHeat(Heat):
    """Heat that only notes when it is asked for."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def settle(self, seconds: float = 0.0) -> None:
        self._log.append("settle")

    def keep(self) -> None:
        self._log.append("keep")


def test_a_race_begins_hot_and_stays_so() -> None:
    log: list[str] = []
    lanes = [Lane(name, "none", [_Noted(log)], [Data({})]) for name in "AB"]
    race(lanes, seconds=0.01, heat=_NotedHeat(log))
    assert log[0] == "settle"
    assert log[1:] == ["keep", "run"] * (len(log) // 2)


def test_the_work_is_made_long_enough_and_done(vulkan_device: Device) -> None:
    with Heat(vulkan_device) as work:
        work.settle(0.05)
        settled = work._turns
        assert settled != 256  # what it begins with: it has been adapted to the device
        work.keep()
        assert work._turns == settled


def test_processors_have_no_clocks_of_their_own(device: Device) -> None:
    assert heat(device) is None
