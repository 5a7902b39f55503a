"""Changes of the system clock during a run."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from vkgroup import conformance
from vkgroup.workers.opening import select as select_device

FILTER = "vote.compute.subgroupAll.bool.*"


@pytest.mark.usefixtures("swiftshader")
def test_a_clock_that_jumps_does_not_change_durations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumps = itertools.cycle((1e9, -1e9, 0.0))
    honest = time.time
    monkeypatch.setattr(time, "time", lambda: honest() + next(jumps))
    device = select_device("swiftshader")
    found = conformance.run(device, filters=(FILTER,), jobs=1, out=tmp_path, timeout=30.0)
    assert not found.failures
    assert 0 < found.seconds < 120
    assert all(0 <= result.seconds < 60 for result in found.results)
