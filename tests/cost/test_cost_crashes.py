"""Crashes of a driver while shaders are compiled for their cost."""

from __future__ import annotations

from typing import Any

import pytest

from vkgroup.cost import CompileJob, CompileStatus, Cost, costs_of_jobs, measuring
from vkgroup.device import Capabilities
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import WorkerDied


class Process:
    """A worker process whose driver has memory for some shaders, and crashes on every shader named `bad`."""

    shaders = 3
    started = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        Process.started += 1
        self.left = self.shaders

    def ask(self, request: Any, _: float) -> Any:
        """Return an answer, or die."""
        if request == "describe":
            return object.__new__(Capabilities)
        self.left -= 1
        if self.left < 0 or request.job.code == b"bad":
            raise WorkerDied("killed by signal 11")
        return Cost("0", "GPU", request.size, CompileStatus.COMPILED)

    def kill(self) -> None:
        """End."""

    def close(self) -> None:
        """End."""


def test_a_crash_counts_if_it_occurs_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "WorkerProcess", Process)
    Process.started = 0
    codes = [b"good", b"good", b"bad", b"good", b"good", b"good", b"good"]
    costs = costs_of_jobs(select("reference"), [CompileJob(code, sizes=(32,)) for code in codes])
    statuses = ["Crash" if code == b"bad" else "Compiled" for code in codes]
    assert [cost.status for (cost,) in costs] == statuses
    # The first process, a new one for the crash, one after it, and one when its memory was used up.
    assert Process.started == 4
