"""Sorting, by radix, in networks, by merging, in registers, and by votes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from program import Array, Claim, Outcome, Program, exact, subgroups_of


def _radix_inputs(rng: np.random.Generator) -> dict[str, Array]:
    keys, payloads = rng.integers(0, 2**32, (2, 256)).astype(np.uint32)
    keys[:32] = keys[0]
    return {"Keys": keys, "Payloads": payloads, "SortedKeys": 0 * keys, "SortedPayloads": 0 * keys}


def _radix(outcome: Outcome) -> Iterator[Claim]:
    keys = outcome.inputs["Keys"]
    order = np.argsort((keys >> 12) & 15, kind="stable")
    yield exact(outcome, "SortedKeys", keys[order])
    yield exact(outcome, "SortedPayloads", outcome.inputs["Payloads"][order])


def _bitonic(outcome: Outcome) -> Iterator[Claim]:
    yield exact(outcome, "Values", np.sort(outcome.inputs["Values"].reshape(-1, 128), axis=1).ravel())


def _merge_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"Pairs": np.stack([rng.integers(-40, 40, 256), np.arange(256)], axis=1).astype(np.int32)}


def _merged(outcome: Outcome) -> Iterator[Claim]:
    pairs = outcome.inputs["Pairs"]
    yield exact(outcome, "Pairs", pairs[np.argsort(pairs[:, 0], kind="stable")])


def _inserted(outcome: Outcome) -> Iterator[Claim]:
    values = np.sort(outcome.inputs["Values"], axis=1)
    yield exact(outcome, "Values", values)
    spread = values[:, -1] - values[:, 0]
    yield exact(outcome, "Quartiles", np.stack([values[:, 3], values[:, 6], values[:, 9], spread], axis=1))


def _top_inputs(rng: np.random.Generator) -> dict[str, Array]:
    values = rng.integers(0, 50, 192).astype(np.uint32)
    return {"Values": values, "Top": np.full(192, 99, np.uint32), "Lanes": np.zeros((192, 2), np.uint32)}


def _top(outcome: Outcome) -> Iterator[Claim]:
    values, wanted = outcome.inputs["Values"].astype(np.int64), np.zeros(192, np.uint32)
    for invocations, _ in subgroups_of(outcome.outputs["Lanes"], 64):
        order = np.argsort(-values[invocations], kind="stable")
        wanted[invocations[order]] = np.minimum(np.arange(len(order)), 8)
    yield exact(outcome, "Top", wanted)


PROGRAMS = (
    Program("radix_pass", 1, _radix_inputs, _radix, push={"shift": 12}),
    Program(
        "bitonic_shuffle",
        3,
        lambda rng: {"Values": rng.integers(-(2**31), 2**31, 384).astype(np.int32)},
        _bitonic,
    ),
    Program("merge_sort", 1, _merge_inputs, _merged),
    Program(
        "local_insertion_sort",
        2,
        lambda rng: {
            "Values": rng.integers(-99, 99, (128, 12)).astype(np.int32),
            "Quartiles": np.zeros((128, 4), np.int32),
        },
        _inserted,
    ),
    Program("top_k", 3, _top_inputs, _top, per_subgroup=True),
)
