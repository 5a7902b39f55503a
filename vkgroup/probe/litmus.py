"""Litmus tests: how often an outcome was seen, in which runs, and the answer that the counts give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.outcome import Observation
from vkgroup.probe.stress import STRESS, Stress
from vkgroup.probe.subject import Subject
from vkgroup.spirv import Module

Words = NDArray[np.uint32]

_WIDTH = 68  # of the lines on a rare outcome


@dataclass(frozen=True)
class OutcomeCount:
    """How often one outcome was seen, under all parameters of stress together."""

    name: str  # what was done, for people
    seen: int  # times that the outcome was seen
    tried: int  # times that it could be seen
    #: Times that it was seen, and could be seen, in each run of the result; empty if that was not counted.
    by_run: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, name: str, by_run: Sequence[tuple[int, int]]) -> OutcomeCount:
        """Return the count of several runs."""
        return cls(name, sum(seen for seen, _ in by_run), sum(tried for _, tried in by_run), tuple(by_run))

    @property
    def always(self) -> bool:
        """Whether it was seen each time."""
        return self.seen == self.tried

    def rare(self, runs: Sequence[Stress]) -> str | None:
        """Return in which run the outcome, or its absence, was most frequent, whichever of them is rare.

        None: neither is rare (at most 1 in 100), or the runs were not counted.
        """
        is_rare = 2 * self.seen <= self.tried
        total = self.seen if is_rare else self.tried - self.seen
        if not 0 < 100 * total <= self.tried or not self.by_run:
            return None
        counts = [seen if is_rare else tried - seen for seen, tried in self.by_run]
        shares = [count / max(tried, 1) for count, (_, tried) in zip(counts, self.by_run, strict=True)]
        most = int(np.argmax(shares))
        word = "seen" if is_rare else "not seen"
        tried = self.by_run[most][1]
        return f"{counts[most]:,} of the {total:,} times {word} were in a run of {tried:,}: {runs[most]}"

    def __str__(self) -> str:
        return f"{self.seen:,} of {self.tried:,}: {self.name}"


@dataclass(frozen=True)
class LitmusResult(Observation):
    """Answer to one question, and the counts that it rests on."""

    answer: str  # for people
    counts: tuple[OutcomeCount, ...]
    forbidden: str | None = None  # the outcome that Vulkan forbids and that was seen; None if none was
    runs: tuple[Stress, ...] = STRESS

    def lines(self) -> list[str]:
        """Return the answer, a line for each count, and one for the run in which a rare outcome was seen."""
        lines = [self.answer]
        for count in self.counts:
            lines.append(f"  {count}")
            rare = count.rare(self.runs)
            lines += [f"    {line}" for line in wrap(rare or "", _WIDTH)]
        return lines


def counted(
    subject: Subject,
    name: str,
    module: Module,
    bindings: Callable[[Stress], Mapping[str, Words]],
    runs: Sequence[Stress] = STRESS,
) -> OutcomeCount:
    """Count the rounds in which lanes saw an outcome: the block "Seen" has the number of each lane.

    `bindings` returns the contents of the other blocks, besides those of ``litmus_stress.glsl``.
    """
    by_run = []
    for run in runs:
        lanes = run.workgroups * subject.size
        blocks = {**bindings(run), **run.bindings(), "Seen": np.zeros(lanes, np.uint32)}
        seen = subject.run_full_subgroups(module, run.all_workgroups, blocks)["Seen"]
        by_run.append((int(seen.astype(np.int64).sum()), run.rounds * lanes))
    return OutcomeCount.of(name, by_run)
