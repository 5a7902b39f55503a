"""Quarantine: failures are held until no worker failure near them in time can be the cause.

A GPU that is lost may end the work of other workers half done. Failures near a worker failure run again
alone, and so do the batches in which workers failed.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from vkgroup.results.record import Result
from vkgroup.runner.retry import BatchResults, Retry, Work, WorkerFailure, with_loss_remark

QUARANTINE_SECONDS = 30.0
"""Seconds around a worker failure in which failures of other workers of the device are not final."""


class Quarantine:
    """The worker failures of a run, the failures that are held, and the batches to run again.

    The parameter `device` of the methods names a device that can be lost without the others; "" where there
    is one only.

    Parameters
    ----------
    is_gpu : whether the device is a GPU, which may stay lost after a hang.

    Attributes
    ----------
    retries : batches to run alone, after all others.
    """

    def __init__(self, is_gpu: bool) -> None:
        self.retries: deque[Retry] = deque()
        self._is_gpu = is_gpu
        self._lock = threading.Lock()
        self._worker_failures: list[tuple[float, str, WorkerFailure]] = []
        self._held: deque[tuple[BatchResults, str]] = deque()
        self._hung: dict[str, str] = {}

    @property
    def holding(self) -> bool:
        """Whether failures are held."""
        return bool(self._held)

    def add_worker_failure(
        self, batch: Work, failure: WorkerFailure, device: str = "", *, alone: bool = False
    ) -> None:
        """Note that a worker failed in a batch; any thread may call this.

        Parameters
        ----------
        alone : whether no other worker was running.
        """
        with self._lock:
            self._worker_failures.append((time.monotonic(), device, failure))
            self.retries.append(Retry(batch, failure, alone=alone))

    def add(self, answer: BatchResults, device: str = "") -> list[Result]:
        """Hold the failures among a batch's results, and return the others, which are final."""
        final, held = answer.split()
        if held is not None:
            self._held.append((held, device))
        return final

    def release(self, *, everything: bool = False) -> list[Result]:
        """Return the failures that are final by now; those near a worker failure become retries.

        Parameters
        ----------
        everything : decide on all held failures, however recent.
        """
        results: list[Result] = []
        while self._held and (everything or self._held[0][0].when < time.monotonic() - QUARANTINE_SECONDS):
            answer, device = self._held.popleft()
            failure = self._near(answer, device)
            if failure is None:
                results += answer.results
            else:
                self.retries.append(Retry(answer.batch, failure, own=False))
        return results

    def _near(self, answer: BatchResults, device: str) -> WorkerFailure | None:
        """Return the first worker failure near an answer in time, on its device."""
        with self._lock:
            for when, where, failure in self._worker_failures:
                if where == device and abs(when - answer.when) <= QUARANTINE_SECONDS:
                    return failure
        return None

    def finish(self, retry: Retry, answer: list[Result] | WorkerFailure, device: str = "") -> list[Result]:
        """Return the results of a retry; after another failure, the parts of its batch become retries."""
        results, parts = retry.after(answer)
        self.retries.extendleft(reversed(parts))
        if not results:
            return []
        final = [with_loss_remark(result, self._hung.get(device, "")) for result in results]
        if isinstance(answer, WorkerFailure) and self._is_gpu:
            self._hung.setdefault(device, results[0].case)
        return final
