"""A scheduler that judges each case of a device once, and then repeats its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from vkgroup import conformance
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.record.record import NoVerdict, Result, ResultStream
from vkgroup.record.run import Run
from vkgroup.workers.retry import WorkBatch
from vkgroup.workers.scheduler import DeviceSetup, LocalScheduler, read_capabilities

_kept: dict[tuple[str, int, str], Result] = {}
"""(device, seed, case) → the result of a worker process."""


@cache
def _capabilities(device: DeviceInfo) -> Capabilities:
    return read_capabilities(device)


class KeptResults:
    """Results of earlier runs of this process; only cases without one start a worker."""

    def __init__(self, device: DeviceInfo, jobs: int, seed: int) -> None:
        self.capabilities = _capabilities(device)
        self.devices = [device.choice]
        self.jobs = jobs
        self.peak_memory = 0
        self.without_verdict: list[NoVerdict] = []
        self._device, self._seed = device, seed

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[WorkBatch],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
        reduce: Callable[[Any], WorkBatch] | None = None,
        is_enough: Callable[[list[Result]], bool] | None = None,
    ) -> ResultStream:
        """Judge all batches."""
        for batch in batches if reduce is None else map(reduce, batches):
            if time.monotonic() >= deadline:
                return
            keys = [(self._device.choice, self._seed, case.name) for case in batch.cases]
            if not all(key in _kept for key in keys):
                worker = LocalScheduler([self._device], 1, self.capabilities)
                for results in worker.run(setup, [batch], deadline=deadline):
                    _kept.update(
                        ((self._device.choice, self._seed, result.case), result) for result in results
                    )
            yield [_kept[key] for key in keys]
            if is_enough is not None and is_enough([_kept[key] for key in keys]):
                return

    def drain(self) -> list[Result]:
        """Return nothing: `run` yields all results."""
        return []


def run(device: DeviceInfo, **options: Any) -> Run:
    """Run the suite as `vkgroup.conformance.run` does, with kept results."""
    jobs = options.get("jobs") or 1
    return conformance.run(device, **{**options, "scheduler": KeptResults(device, jobs, options["seed"])})
