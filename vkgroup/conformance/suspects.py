"""What a batch that a worker died of means: whom to judge again, alone, and what to say of it in the end."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status


class Named(Protocol):
    """A case, or what else is judged alone in the end."""

    @property
    def name(self) -> str:
        """The name of its result."""


class Work(Protocol):
    """What a worker judges at a time: a batch."""

    @property
    def cases(self) -> Sequence[Named]:
        """What has results."""

    @property
    def alone(self) -> bool:
        """Whether it is judged when all others are done, by one worker."""

    def __len__(self) -> int:
        """Return how many they are."""

    def parts(self) -> Sequence[Work]:
        """Return it split."""

    def only(self, names: Collection[str]) -> Work:
        """Return what it has of these."""


@dataclass(frozen=True)
class Answer:
    """What a worker said of a batch, and when."""

    batch: Work
    results: list[Result]
    when: float = field(default_factory=time.monotonic)

    def split(self) -> tuple[list[Result], Answer | None]:
        """Return what can be believed at once, and what others' deaths make doubtful: failures."""
        against = [result for result in self.results if result.status in AGAINST_THE_DEVICE]
        if not against:
            return self.results, None
        names = {result.case for result in against}
        believed = [result for result in self.results if result.case not in names]
        return believed, Answer(self.batch.only(names), against, self.when)


@dataclass(frozen=True)
class Death:
    """What a worker died of, in words, and the status of a case that is to blame."""

    status: Status
    detail: str


@dataclass(frozen=True)
class Suspect:
    """A batch that a worker died of, or that failed while another died.

    Attributes
    ----------
    death : what a worker died of before; None if none has.
    own : whether the worker died of this batch.
    alone : whether that worker was the only one, so that nobody else is to blame.
    """

    batch: Work
    death: Death | None = None
    alone: bool = False
    own: bool = True

    def after(self, answer: list[Result] | Death) -> tuple[list[Result], list[Suspect]]:
        """Return what follows from judging it alone: its results, or its parts, to be judged alone in turn.

        Who dies alone and is one case is to blame; its result says so.
        """
        if isinstance(answer, list):
            return [self._excused(result) for result in answer], []
        if len(self.batch) == 1:
            return [Result(self.batch.cases[0].name, answer.status, detail=answer.detail)], []
        return [], [Suspect(part, answer) for part in self.batch.parts()]

    def _excused(self, result: Result) -> Result:
        """Return a result with what came before it in its detail."""
        if self.death is None:
            return result
        how = "a worker had died of its batch" if self.own else "it had failed while another worker died"
        before = f"judged again after {how}: {self.death.detail}"
        return replace(result, detail=f"{result.detail}\n{before}".strip())


def doubted(result: Result, hung: str) -> Result:
    """Add to a failure that the device hung before: an H200 did not recover from that by itself.

    Parameters
    ----------
    hung : the case that the GPU was lost in; empty if in none.
    """
    if not hung or result.status not in AGAINST_THE_DEVICE:
        return result
    doubt = f"the device was lost before, in {hung}: judge this again on one that has been reset"
    return replace(result, detail=f"{result.detail}\n{doubt}")
