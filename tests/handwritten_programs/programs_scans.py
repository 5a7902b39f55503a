"""Reductions, scans, compaction, histograms, run lengths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
from program import Array, Claim, Outcome, Program, close, exact, growth, subgroups_of


def _words(rng: np.random.Generator, shape: Any, high: int = 2**32) -> Array:
    return rng.integers(0, high, shape).astype(np.uint32)


def _reduce(outcome: Outcome) -> Iterator[Claim]:
    values = outcome.inputs["Values"][:1000].astype(np.uint64)
    sums = [values[start : start + 256].sum() % 2**32 for start in range(0, 1024, 256)]
    yield exact(outcome, "Sums", np.array(sums, np.uint32))
    yield exact(outcome, "Total", [values.sum() % 2**32])


def _argmax_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Few different values, so that the greatest comes several times."""
    values = rng.integers(-9, 9, 512).astype(np.float32)
    return {"Values": values, "Result": np.zeros(4, np.dtype([("value", "f4"), ("index", "u4")]))}


def _argmax(outcome: Outcome) -> Iterator[Claim]:
    values, best = outcome.inputs["Values"].reshape(4, 128), outcome.outputs["Result"]
    yield Claim("value", best["value"], values.max(axis=1))
    yield Claim("index", best["index"], values.argmax(axis=1) + 128 * np.arange(4))


def _dot_inputs(rng: np.random.Generator) -> dict[str, Array]:
    a, b = rng.normal(size=(2, 6, 700)).astype(np.float32)
    return {"A": a, "B": b, "Products": np.zeros(6, np.float32)}


def _dot(outcome: Outcome) -> Iterator[Claim]:
    """In any order, each term takes part in one multiplication and at most 699 additions."""
    terms = outcome.inputs["A"].astype(np.float64) * outcome.inputs["B"]
    yield close(outcome, "Products", terms.sum(axis=1), growth(700) * np.abs(terms).sum(axis=1))


def _extremes(outcome: Outcome) -> Iterator[Claim]:
    values = outcome.inputs["Values"]
    keys = [int(np.float32(value).view(np.int32)) for value in (values.min(), values.max())]
    keys = [~key % 2**32 if key < 0 else key + 2**31 for key in keys]
    yield exact(outcome, "Extremes", np.array([*keys, np.sum(values < 0)], np.uint32))


def _exclusive(outcome: Outcome) -> Iterator[Claim]:
    values = outcome.inputs["Values"].reshape(-1, 128)
    yield exact(outcome, "Sums", (np.cumsum(values, axis=1, dtype=np.uint32) - values).ravel())


def _inclusive(outcome: Outcome) -> Iterator[Claim]:
    values = outcome.inputs["Values"].reshape(-1, 256)
    yield exact(outcome, "Sums", np.cumsum(values, axis=1, dtype=np.int32).ravel())


def _lookback(outcome: Outcome) -> Iterator[Claim]:
    sums = np.cumsum(outcome.inputs["Values"], dtype=np.uint32)
    yield exact(outcome, "Sums", sums)
    yield exact(outcome, "State", np.concatenate([[32], sums[63::64] | 2**31]))


def _lookback_of_the_first(outcome: Outcome) -> Iterator[Claim]:
    """The first workgroup does not wait."""
    sums = np.cumsum(outcome.inputs["Values"][:64], dtype=np.uint32)
    yield Claim("the first sums", outcome.outputs["Sums"][:64], sums)
    yield Claim(
        "the tickets and the first state", outcome.outputs["State"][:2], np.uint32([32, sums[63] | 2**31])
    )


def _segmented_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "Values": rng.integers(-999, 999, 512).astype(np.int32),
        "Flags": (rng.random(512) < np.repeat([0.5, 0.1, 0.02, 0], 128)).astype(np.uint32),
        "Sums": np.zeros(512, np.int32),
    }


def _segmented(outcome: Outcome) -> Iterator[Claim]:
    flags = outcome.inputs["Flags"].copy()
    flags[::128] = 1
    begins = np.flatnonzero(flags)
    segments = np.split(outcome.inputs["Values"], begins[1:])
    yield exact(outcome, "Sums", np.concatenate([np.cumsum(segment) for segment in segments]))


def _running(outcome: Outcome) -> Iterator[Claim]:
    values, wanted = outcome.inputs["Values"], np.zeros(192, np.int32)
    for invocations, _ in subgroups_of(outcome.outputs["Lanes"], 96):
        wanted[invocations] = np.maximum.accumulate(values[invocations])
    yield exact(outcome, "Running", wanted)


def _compacted(outcome: Outcome) -> Iterator[Claim]:
    values, kept = outcome.inputs["Values"][:900], outcome.outputs["Kept"]
    wanted = np.sort(values[(values % 3 == 0) | (values % 5 == 0)])
    yield exact(outcome, "Count", [len(wanted)])
    yield Claim("kept, sorted", np.sort(kept[: len(wanted)]), wanted)
    yield Claim("the room behind", kept[len(wanted) :], np.zeros(len(kept) - len(wanted), np.uint32))


def _stable(outcome: Outcome) -> Iterator[Claim]:
    values = outcome.inputs["Values"]
    kept = values[values != 0]
    yield exact(outcome, "Kept", np.concatenate([kept, np.zeros(len(values) - len(kept), np.int32)]))
    yield exact(outcome, "Count", [len(kept)])


def _bytes(outcome: Outcome) -> Iterator[Claim]:
    counts = np.bincount(outcome.inputs["Words"].view(np.uint8) % 64, minlength=64)
    yield exact(outcome, "Counts", counts)


def _matched(outcome: Outcome) -> Iterator[Claim]:
    yield exact(outcome, "Counts", np.bincount(outcome.inputs["Values"] % 13, minlength=13))


def _run_inputs(rng: np.random.Generator) -> dict[str, Array]:
    symbols = np.repeat(rng.integers(0, 4, 256), rng.geometric(0.3, 256))[:256].astype(np.uint32)
    return {"Symbols": symbols, "Runs": np.zeros((256, 2), np.uint32), "Count": np.zeros(1, np.uint32)}


def _runs(outcome: Outcome) -> Iterator[Claim]:
    runs = [(symbol, len(list(run))) for symbol, run in groupby(outcome.inputs["Symbols"].tolist())]
    wanted = np.zeros((256, 2), np.uint32)
    wanted[: len(runs)] = runs
    yield exact(outcome, "Runs", wanted)
    yield exact(outcome, "Count", [len(runs)])


PROGRAMS = (
    Program(
        "reduce_two_level",
        4,
        lambda rng: {
            "Values": _words(rng, 1024),
            "Sums": np.zeros(4, np.uint32),
            "Total": np.zeros(1, np.uint32),
        },
        _reduce,
        push={"count": 1000},
    ),
    Program("argmax_tree", 4, _argmax_inputs, _argmax),
    Program("dot_product", 6, _dot_inputs, _dot, push={"length": 700}),
    Program(
        "extremes",
        8,
        lambda rng: {
            "Values": rng.normal(size=512).astype(np.float32),
            "Extremes": np.array([2**32 - 1, 0, 0], np.uint32),
        },
        _extremes,
    ),
    Program(
        "scan_subgroups",
        8,
        lambda rng: {"Values": _words(rng, 1024), "Sums": np.zeros(1024, np.uint32)},
        _exclusive,
    ),
    Program(
        "scan_shared",
        4,
        lambda rng: {
            "Values": rng.integers(-(2**20), 2**20, 1024).astype(np.int32),
            "Sums": np.zeros(1024, np.int32),
        },
        _inclusive,
    ),
    Program(
        "scan_lookback",
        32,
        lambda rng: {
            "Values": _words(rng, 2048, 1000),
            "Sums": np.zeros(2048, np.uint32),
            "State": np.zeros(33, np.uint32),
        },
        _lookback,
        cut_short=_lookback_of_the_first,
    ),
    Program("scan_segmented", 4, _segmented_inputs, _segmented),
    Program(
        "scan_shuffle_up",
        2,
        lambda rng: {
            "Values": rng.integers(-999, 999, 192).astype(np.int32),
            "Running": np.zeros(192, np.int32),
            "Lanes": np.zeros((192, 2), np.uint32),
        },
        _running,
        per_subgroup=True,
    ),
    Program(
        "compact_ballot",
        8,
        lambda rng: {
            "Values": _words(rng, 1024),
            "Count": np.zeros(1, np.uint32),
            "Kept": np.zeros(1024, np.uint32),
        },
        _compacted,
        push={"count": 900},
    ),
    Program(
        "compact_stable",
        1,
        lambda rng: {
            "Values": (rng.integers(-99, 99, 1000) * rng.integers(0, 2, 1000)).astype(np.int32),
            "Kept": np.zeros(1000, np.int32),
            "Count": np.zeros(1, np.uint32),
        },
        _stable,
    ),
    Program(
        "histogram_shared",
        6,
        lambda rng: {"Words": _words(rng, 768), "Counts": np.zeros(64, np.uint32)},
        _bytes,
    ),
    Program(
        "histogram_match",
        8,
        lambda rng: {"Values": _words(rng, 512), "Counts": np.zeros(13, np.uint32)},
        _matched,
    ),
    Program("run_length", 1, _run_inputs, _runs),
)
