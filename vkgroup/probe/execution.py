"""Execution model: litmus tests of what the lanes of a subgroup, and the workgroups, do on their own.

Each test counts outcomes that Vulkan permits, in many runs with several parameters of stress: how many
workgroups run at once, and how far apart in memory their words are. So an answer says what was seen, not what
the device promises. One test has an outcome that Vulkan forbids: a store that is not visible after a barrier.

The questions are those of Vulkan-Docs #2548 (does a shuffle order memory?) and of the HLSL proposal 0050 (are
lanes in lockstep, do they reconverge, do they make progress on their own?).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.branches import CONSTRUCTS, keys, undeclared
from vkgroup.probe.outcome import Observation
from vkgroup.probe.subject import Subject

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Stress:
    """Parameters of one run."""

    workgroups: int
    stride: int  # words from the word of a lane, side or workgroup to the next
    rounds: int = 64
    tries: int = 0  # loads after which a wait is given up; 0 where nothing waits


STRESS = tuple(Stress(workgroups, stride) for workgroups in (1, 64) for stride in (1, 16))
"""Runs of stores and loads."""

WAITS = (*(replace(run, tries=1_000) for run in STRESS), Stress(1, 1, rounds=4, tries=50_000))
"""Runs of the sides of a branch; a device may change sides only after a while, so the last waits long."""

_STEPS = 4
_WORKGROUPS = tuple(Stress(256, stride, rounds=1, tries=20_000) for stride in (1, 16))
_SETS_OF_KEYS = 32


@dataclass(frozen=True)
class OutcomeCount:
    """How often one outcome was seen, under all parameters of stress together."""

    name: str  # what was done, for people
    seen: int  # times that the outcome was seen
    tried: int  # times that it could be seen

    @property
    def always(self) -> bool:
        """Whether it was seen each time."""
        return self.seen == self.tried

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
        """Return the answer and a line for each count."""
        return [self.answer, *(f"  {count}" for count in self.counts)]


def _visible_stores(subject: Subject, name: str, *, branch: bool, between: int) -> OutcomeCount:
    """Count the loads that see what another lane stored before."""
    seen = tried = 0
    for run in STRESS:
        count = run.workgroups * subject.size
        module = subject.module("litmus_order", BRANCH=int(branch), BETWEEN=between, STRIDE=run.stride)
        result = subject.run_full_subgroups(
            module,
            run.workgroups,
            {
                "Key": _random(count),
                "Words": np.zeros(run.rounds * count * run.stride, np.uint32),
                "Seen": np.zeros(count, np.uint32),
                "Work": np.zeros(count, np.uint32),
            },
        )["Seen"]
        seen += int(result.astype(np.int64).sum())
        tried += run.rounds * count
    return OutcomeCount(name, seen, tried)


def lockstep(subject: Subject) -> LitmusResult:
    """Answer whether a lane sees each store that another made one step before, with nothing in between."""
    counts = (
        _visible_stores(subject, "saw the other lane's store", branch=False, between=0),
        _visible_stores(subject, "the same after a branch", branch=True, between=0),
    )
    return LitmusResult(_seen_always(counts, "in lockstep in these runs", "not in lockstep"), counts)


def shuffles(subject: Subject) -> LitmusResult:
    """Answer whether a shuffle makes the stores before it visible to other lanes."""
    counts = (
        _visible_stores(subject, "saw the store before it", branch=False, between=1),
        _visible_stores(subject, "the same after a branch", branch=True, between=1),
    )
    return LitmusResult(_seen_always(counts, "order memory in these runs", "do not order memory"), counts)


def barriers(subject: Subject) -> LitmusResult:
    """Check that stores before a subgroup barrier are visible after it (Vulkan 1.4, "Availability …")."""
    count = _visible_stores(subject, "saw the store before it", branch=False, between=2)
    forbidden = None if count.always else f"{count.tried - count.seen:,} stores were not visible after it"
    answer = f"broken: {forbidden}" if forbidden else "order memory, as Vulkan requires"
    return LitmusResult(answer, (count,), forbidden)


def _seen_always(counts: Sequence[OutcomeCount], always: str, otherwise: str) -> str:
    return always if all(count.always for count in counts) else otherwise


def progress(subject: Subject) -> LitmusResult:
    """Answer whether two sides of a branch that wait for each other both advance."""
    totals = np.zeros((2, 2), np.int64)  # by whether the first side saw the second, and the other way round
    for run in WAITS:
        side = np.arange(run.workgroups * subject.size, dtype=np.uint32) % 2
        seen = subject.run_full_subgroups(
            subject.module("litmus_wait", STEPS=_STEPS, STRIDE=run.stride, TRIES=run.tries),
            run.workgroups,
            {
                "Side": side,
                "Words": np.zeros(run.rounds * run.workgroups * 2 * run.stride, np.uint32),
                "Seen": np.zeros((run.rounds, len(side)), np.uint32),
            },
        )["Seen"].astype(np.uint32, copy=False)
        totals += exchanges(seen.reshape(run.rounds, run.workgroups, -1), side.reshape(run.workgroups, -1))
    tried = int(totals.sum())
    counts = tuple(
        OutcomeCount(name, int(number), tried)
        for name, number in (
            ("each side saw the other", totals[1, 1]),
            ("only the first in the source saw the other", totals[1, 0]),
            ("only the second in the source saw the other", totals[0, 1]),
            ("neither", totals[0, 0]),
        )
    )
    return LitmusResult(_progress_in_words(counts), counts, runs=WAITS)


def exchanges(seen: Words, side: Words) -> NDArray[np.int64]:
    """Count the exchanges by whether the first side saw the second, and the second the first: (2, 2).

    `seen`: (rounds, subgroups, lanes), not zero where a lane saw the other side; `side`: (subgroups, lanes).
    """
    flags = seen != 0
    first, second = ((flags | (side != number)).all(axis=2) for number in (0, 1))
    counts: NDArray[np.int64] = np.zeros((2, 2), np.int64)
    np.add.at(counts, (first.ravel().astype(int), second.ravel().astype(int)), 1)
    return counts


def _progress_in_words(counts: Sequence[OutcomeCount]) -> str:
    both, only_first, only_second, _ = counts
    if both.always:
        return "advance while they wait for each other, in these runs"
    if both.seen:
        return "advance while they wait for each other, but not always"
    if only_first.seen and only_second.seen:
        return "run one after the other, in either order"
    earlier = "second" if only_first.seen else "first"
    return f"run one after the other: the {earlier} in the source first"


def branch_masks(subject: Subject, seeds: Iterable[int]) -> Words:
    """Return the masks that ``reconvergence.comp`` records: (sets of keys, constructs, 3, size, 4)."""
    module, size = subject.module("reconvergence"), subject.size
    masks = [
        subject.run_full_subgroups(
            module,
            1,
            {
                "Key": key,
                "Mask": np.zeros((len(CONSTRUCTS), 3, size, 4), np.uint32),
                "Work": np.zeros(size, np.uint32),
            },
        )["Mask"]
        for seed in seeds
        for key in keys(size, seed)
    ]
    return np.stack(masks).astype(np.uint32, copy=False)


def reconverging(subject: Subject) -> LitmusResult:
    """Answer whether lanes are together again after branches of a shader that does not declare it."""
    together = undeclared(branch_masks(subject, range(_SETS_OF_KEYS // 2)))
    counts = tuple(OutcomeCount(f"together after {name}", *pair) for name, pair in together.items())
    answer = _seen_always(counts, "after all constructs in these runs", "not after every construct")
    return LitmusResult(answer, counts, runs=(Stress(1, 1, rounds=_SETS_OF_KEYS),))


def workgroups(subject: Subject) -> LitmusResult:
    """Answer in which order workgroups start, and whether they advance while others wait."""
    counts = {name: [0, 0] for name in ("order", "later", "earlier")}
    for later in (True, False):
        for run in _WORKGROUPS:
            module = subject.module("litmus_workgroups", LATER=int(later), STRIDE=run.stride, TRIES=run.tries)
            result = subject.run_full_subgroups(
                module,
                run.workgroups,
                {
                    "Starts": np.zeros(1, np.uint32),
                    "Words": np.zeros((run.workgroups + 1) * run.stride, np.uint32),
                    "Place": np.zeros(run.workgroups, np.uint32),
                    "Seen": np.zeros(run.workgroups, np.uint32),
                },
            )
            places = result["Place"].astype(np.int64)
            _add(counts["order"], places[1:] > places[:-1])
            waited = result["Seen"][result["Seen"] != 2]
            _add(counts["later" if later else "earlier"], waited == 1)
    texts = {
        "order": "started after the one numbered before it",
        "later": "saw a later one start while it waited",
        "earlier": "saw the earlier one end while it waited",
    }
    found = {name: OutcomeCount(texts[name], *pair) for name, pair in counts.items()}
    answers = [
        "start in order" if found["order"].always else "start in any order",
        "those that started advance" if found["earlier"].always else "a started one may stay behind",
    ]
    return LitmusResult(", ".join(answers), tuple(found.values()), runs=_WORKGROUPS)


def _add(pair: list[int], flags: NDArray[np.bool_]) -> None:
    pair[0] += int(flags.sum())
    pair[1] += len(flags)


def _random(count: int) -> Words:
    return np.random.default_rng(1).integers(0, 2**32, count, np.uint32)
