"""Judging a run in this process, without workers: a driver that crashes ends the process."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import closing

from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import DeviceLost, DispatchTimeout
from vkgroup.results.record import Result, ResultStream, Status
from vkgroup.runner.retry import Work
from vkgroup.runner.scheduler import DeviceSetup


class InProcess:
    """Judges batches in this process; see `vkgroup.runner.scheduler.Scheduler`.

    Parameters
    ----------
    jobs : the number that the run reports.
    """

    def __init__(self, device: DeviceInfo, capabilities: Capabilities, jobs: int) -> None:
        self.devices: Sequence[str] = (device.choice,)
        self.capabilities = capabilities
        self.jobs = jobs

    def run(
        self,
        setup: DeviceSetup,
        batches: Iterable[Work],
        *,
        deadline: float = math.inf,
        start_early: bool = False,
    ) -> ResultStream:
        """Judge all batches, and yield results as they arrive; a lost device is opened again."""
        waiting = deque(batches)
        while waiting and time.monotonic() < deadline:
            with closing(setup.open()) as session:
                while waiting and time.monotonic() < deadline:
                    batch = waiting.popleft()
                    try:
                        yield session.perform(batch)
                    except (DeviceLost, DispatchTimeout) as error:
                        if len(batch) == 1:
                            status = Status.TIMEOUT if isinstance(error, DispatchTimeout) else Status.CRASH
                            yield [Result(batch.cases[0].name, status, detail=str(error))]
                        else:
                            waiting.extendleft(reversed(batch.parts()))
                        break

    def drain(self) -> list[Result]:
        """Return nothing: every result is yielded at once."""
        return []
