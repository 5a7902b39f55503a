"""Retries: batches that run again alone after a worker failed, split until one case is left."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from vkgroup.results.record import AGAINST_THE_DEVICE, Result, Status


class Named(Protocol):
    """A case, or another item that has one result."""

    @property
    def name(self) -> str:
        """The name of its result."""


class Work(Protocol):
    """A batch: the cases that a worker judges in one job."""

    @property
    def cases(self) -> Sequence[Named]:
        """The cases of the batch."""

    @property
    def alone(self) -> bool:
        """Whether one worker judges it after all others are done."""

    def __len__(self) -> int:
        """Return the number of cases."""

    def parts(self) -> Sequence[Work]:
        """Return the batch split into smaller ones."""

    def only(self, names: Collection[str]) -> Work:
        """Return the batch with these cases only."""


@dataclass(frozen=True)
class BatchResults:
    """The results of a batch, and the `time.monotonic` at which they arrived."""

    batch: Work
    results: list[Result]
    when: float = field(default_factory=time.monotonic)

    def split(self) -> tuple[list[Result], BatchResults | None]:
        """Return the final results, and the failures, which another worker's crash may have caused."""
        against = [result for result in self.results if result.status in AGAINST_THE_DEVICE]
        if not against:
            return self.results, None
        names = {result.case for result in against}
        final = [result for result in self.results if result.case not in names]
        return final, BatchResults(self.batch.only(names), against, self.when)


@dataclass(frozen=True)
class WorkerFailure:
    """A worker that crashed or hung: the status for the case that caused it, and a description."""

    status: Status
    detail: str


@dataclass(frozen=True)
class Retry:
    """A batch to run again alone: a worker failed in it, or it failed near another worker's failure.

    Attributes
    ----------
    failure : the worker's failure before; None for a batch that was planned to run alone.
    own : whether the worker failed in this batch.
    alone : whether that worker was the only one, so that no other can be the cause.
    """

    batch: Work
    failure: WorkerFailure | None = None
    alone: bool = False
    own: bool = True

    def after(self, answer: list[Result] | WorkerFailure) -> tuple[list[Result], list[Retry]]:
        """Return the results of running it alone, or its parts, to be run alone in turn.

        A single case in which the worker fails again is the cause; its result says so.
        """
        if isinstance(answer, list):
            return [self._with_history(result) for result in answer], []
        if len(self.batch) == 1:
            return [Result(self.batch.cases[0].name, answer.status, detail=answer.detail)], []
        return [], [Retry(part, answer) for part in self.batch.parts()]

    def _with_history(self, result: Result) -> Result:
        """Return a result with the earlier failure in its detail."""
        if self.failure is None:
            return result
        reason = "a worker had died of its batch" if self.own else "it had failed while another worker died"
        before = f"judged again after {reason}: {self.failure.detail}"
        return replace(result, detail=f"{result.detail}\n{before}".strip())


def with_loss_remark(result: Result, hung: str) -> Result:
    """Add to a failure that the device was lost before: an H200 did not recover from a hang by itself.

    Parameters
    ----------
    hung : the case in which the GPU was lost; empty if in none.
    """
    if not hung or result.status not in AGAINST_THE_DEVICE:
        return result
    remark = f"the device was lost before, in {hung}: judge this again on one that has been reset"
    return replace(result, detail=f"{result.detail}\n{remark}")
