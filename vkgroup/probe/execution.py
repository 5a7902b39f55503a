"""Execution model: litmus tests of what the lanes of a subgroup, and the workgroups, do on their own.

Each test counts outcomes that Vulkan permits, in many runs with several parameters of `stress`. So an answer
says what was seen, not what the device promises. One test has an outcome that Vulkan forbids: a store that is
not visible after a barrier; it is also the case ``basic.compute.subgroupBarrier`` of ``conform``.

The questions are those of Vulkan-Docs #2548 (does a shuffle order memory?) and of the HLSL proposal 0050 (are
lanes in lockstep, do they reconverge, do they make progress on their own?).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vkgroup.probe.branches import CONSTRUCTS, keys, undeclared
from vkgroup.probe.litmus import LitmusResult, OutcomeCount, counted
from vkgroup.probe.stress import WAITS, Stress
from vkgroup.probe.subject import Subject

Words = NDArray[np.uint32]


_STEPS = 4
_WORKGROUPS = tuple(Stress(256, stride, rounds=1, tries=20_000) for stride in (1, 16))
_SETS_OF_KEYS = 32


def _visible_stores(subject: Subject, name: str, *, branch: bool, between: int) -> OutcomeCount:
    """Count the loads that see what another lane stored before."""
    module = subject.module("litmus_order", BRANCH=int(branch), BETWEEN=between)

    def blocks(run: Stress) -> dict[str, Words]:
        count = run.workgroups * subject.size
        return {
            "Key": _random(count),
            "Words": np.zeros(run.rounds * count * run.stride, np.uint32),
            "Work": np.zeros(count, np.uint32),
        }

    return counted(subject, name, module, blocks)


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
    answer = "order memory, as Vulkan requires"
    if forbidden:
        answer = f"broken: {forbidden}; to confirm: conform --filter basic.compute.subgroupBarrier.*"
    return LitmusResult(answer, (count,), forbidden)


def _seen_always(counts: Sequence[OutcomeCount], always: str, otherwise: str) -> str:
    return always if all(count.always for count in counts) else otherwise


def progress(subject: Subject) -> LitmusResult:
    """Answer whether two sides of a branch that wait for each other both advance."""
    module = subject.module("litmus_wait", STEPS=_STEPS)
    # Exchanges of each run by whether the first side saw the second, and the other way round: (runs, 2, 2).
    totals = np.zeros((len(WAITS), 2, 2), np.int64)
    for number, run in enumerate(WAITS):
        side = np.arange(run.workgroups * subject.size, dtype=np.uint32) % 2
        blocks = {
            "Side": side,
            "Words": np.zeros(run.rounds * run.workgroups * 2 * run.stride, np.uint32),
            "Seen": np.zeros((run.rounds, len(side)), np.uint32),
            **run.bindings(),
        }
        seen = subject.run_full_subgroups(module, run.all_workgroups, blocks)["Seen"]
        shaped = seen.astype(np.uint32, copy=False).reshape(run.rounds, run.workgroups, -1)
        totals[number] = exchanges(shaped, side.reshape(run.workgroups, -1))
    tried = totals.sum(axis=(1, 2)).tolist()
    counts = tuple(
        OutcomeCount.of(name, list(zip(totals[:, first, second].tolist(), tried, strict=True)))
        for name, first, second in (
            ("each side saw the other", 1, 1),
            ("only the first in the source saw the other", 1, 0),
            ("only the second in the source saw the other", 0, 1),
            ("neither", 0, 0),
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
    found = {name: OutcomeCount(texts[name], pair[0], pair[1]) for name, pair in counts.items()}
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
