"""Benchmarks of histograms: few and many bins, best-case and worst-case keys, and methods to match lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.histogram import MATCHES, plan_bincount, plan_histogram

Words = NDArray[np.uint32]

_SMOKE = (1, 1021, 40_009)


def _uniform(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    keys = host.drawn(rng, size, np.uint32, lambda rng, count: rng.integers(0, bins, count, np.uint32))
    return keys, host.counted(keys, bins).astype(np.uint32)


def _equal(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    key = int(rng.integers(bins))
    counts = np.zeros(bins, np.uint32)
    counts[key] = size
    return host.made(size, np.uint32, lambda span: key), counts


def _alternating(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    first, second = (int(key) for key in rng.choice(bins, 2, replace=False))
    # Blocks begin at even indices.
    both = np.resize(np.array([first, second], np.uint32), host.BLOCK)
    keys = host.made(size, np.uint32, lambda span: both[: span.stop - span.start])
    counts = np.zeros(bins, np.uint32)
    counts[first], counts[second] = (size + 1) // 2, size // 2
    return keys, counts


def _sorted(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    counts = rng.multinomial(size, np.full(bins, 1 / bins)).astype(np.uint32)
    ends = np.cumsum(counts, dtype=np.int64)

    def keys(span: slice) -> Words:
        first, last = np.searchsorted(ends, [span.start, span.stop - 1], "right")
        often: Any = np.diff(np.concatenate([[span.start], ends[first:last], [span.stop]]))
        return np.repeat(np.arange(first, last + 1, dtype=np.uint32), often)

    return host.made(size, np.uint32, keys), counts


_PATTERNS: dict[str, Callable[[np.random.Generator, int, int], tuple[Words, Words]]] = {
    "uniform": _uniform,
    "equal": _equal,
    "alternating": _alternating,
    "sorted": _sorted,
}

_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 512, 1024),
    "items": (1, 2, 4, 8),
    "groups": (132, 264, 528, 1056, 2112),
    "copies": (1, 2, 4, 8, 16, 32),
    "interleaved": (False, True),
    "vote": (False, True),
    "match": MATCHES,
    "runs": (False, True),
}


def _float_case(pattern: str, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of 256 bins of floats in [0, 1); keys lie inside bins and on their edges."""
    bins = 256

    def data(rng: np.random.Generator) -> Data:
        keys, counts = _PATTERNS[pattern](rng, size, bins)
        # Multiples of 2^-10 below 1 are added and divided without rounding.
        inside = rng.integers(0, 1 << 10, min(size, host.BLOCK)) / (1 << 10)
        x = host.made(size, np.float32, lambda span: (keys[span] + inside[: span.stop - span.start]) / bins)
        return Data({"x": x}, expected={"counts": counts})

    def plan(implementation: str) -> Any:
        return plan_histogram(device, size, np.float32, bins, (0, 1), implementation, **tuning)

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=4 * size,
        items=size,
        peers={
            "torch": lambda torch, x: {"counts": torch.histc(x, bins, 0, 1)},
            "cupy": lambda cupy, x: {"counts": cupy.histogram(x, bins, (0, 1))[0]},
            "numpy": lambda numpy, x: {"counts": numpy.histogram(x, bins, (0, 1))[0]},
        },
    )


def _key_case(pattern: str, bins: int, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    def data(rng: np.random.Generator) -> Data:
        keys, counts = _PATTERNS[pattern](rng, size, bins)
        return Data({"x": keys.view(np.int32)}, expected={"counts": counts})

    def plan(implementation: str) -> Any:
        return plan_bincount(device, size, np.int32, bins, implementation, **tuning)

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=4 * size + 4 * bins,
        items=size,
        peers={
            "torch": lambda torch, x: {"counts": torch.bincount(x, minlength=bins)},
            "cupy": lambda cupy, x: {"counts": cupy.bincount(x, minlength=bins)},
            "numpy": lambda numpy, x: {"counts": numpy.bincount(x, minlength=bins)},
        },
    )


def _match_case(pattern: str, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of 256 bins in one shared-memory copy, to compare methods to match lanes."""
    bins = 256
    alone = {"copies": 1, **tuning}

    def data(rng: np.random.Generator) -> Data:
        keys, counts = _PATTERNS[pattern](rng, size, bins)
        return Data({"x": keys}, expected={"counts": counts})

    def plan(match: str) -> Any:
        given = {**alone, "vote": False, "match": match}
        return plan_bincount(device, size, np.uint32, bins, "subgroup", **given)

    variants: dict[str, Any] = {name: partial(plan, name) for name in MATCHES[1:]}
    variants["vote"] = lambda: plan_bincount(device, size, np.uint32, bins, "subgroup", vote=True, **alone)
    variants["shared"] = lambda: plan_bincount(device, size, np.uint32, bins, "shared", **alone)
    return BenchmarkCase(variants=variants, data=data, bytes=4 * size, items=size, pair=("ballots", "shared"))


DEFINITIONS = [
    *(
        Definition(
            name=f"histogram.256.float32.{pattern}",
            title=f"256 bins of floats in [0, 1), {pattern}",
            make=partial(_float_case, pattern),
            smoke=_SMOKE,
            tuning=_SWEEPS,
        )
        for pattern in _PATTERNS
    ),
    *(
        Definition(
            name=f"bincount.{bins}.int32.{pattern}",
            title=f"how often each of {bins} keys occurs, keys {pattern}",
            make=partial(_key_case, pattern, bins),
            smoke=_SMOKE[1:2],
            tuning=_SWEEPS | ({"slots": (256, 1024, 2048, 4096)} if bins > 1 << 14 else {}),
        )
        for bins in (16, 256, 4096, 1 << 16, 1 << 20)
        for pattern in _PATTERNS
    ),
    *(
        Definition(
            name=f"match.256.uint32.{pattern}",
            title=f"lanes with the same of 256 keys matched, or left to atomics; keys {pattern}",
            make=partial(_match_case, pattern),
            smoke=_SMOKE[1:],
            tuning={name: _SWEEPS[name] for name in ("workgroup", "items", "groups", "copies")},
        )
        for pattern in _PATTERNS
    ),
]
