"""Benchmarks of histograms: few and many bins, friendly and hostile keys, and ways to match lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.bench import Case, Data, Definition
from vkgroup.dispatch import Device
from vkgroup.kernels.histogram import MATCHES, plan_bincount, plan_histogram

Words = NDArray[np.uint32]

_CHUNK = 1 << 22
_SMOKE = (1, 1021, 40_009)


def _uniform(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    keys = rng.integers(0, bins, size, dtype=np.uint32)
    counts = np.zeros(bins, np.int64)
    for first in range(0, size, _CHUNK):
        counts += np.bincount(keys[first : first + _CHUNK], minlength=bins)
    return keys, counts.astype(np.uint32)


def _equal(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    key = int(rng.integers(bins))
    counts = np.zeros(bins, np.uint32)
    counts[key] = size
    return np.full(size, key, np.uint32), counts


def _alternating(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    first, second = (int(key) for key in rng.choice(bins, 2, replace=False))
    keys = np.empty(size, np.uint32)
    keys[::2], keys[1::2] = first, second
    counts = np.zeros(bins, np.uint32)
    counts[first], counts[second] = (size + 1) // 2, size // 2
    return keys, counts


def _sorted(rng: np.random.Generator, size: int, bins: int) -> tuple[Words, Words]:
    counts = rng.multinomial(size, np.full(bins, 1 / bins)).astype(np.uint32)
    return np.repeat(np.arange(bins, dtype=np.uint32), counts), counts


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


def _float_case(pattern: str, device: Device, size: int, tuning: Mapping[str, Any]) -> Case:
    """256 bins of floats in [0, 1), each key somewhere in its bin, also on the bin's edge."""
    bins = 256

    def data(rng: np.random.Generator) -> Data:
        keys, counts = _PATTERNS[pattern](rng, size, bins)
        x = keys.astype(np.float32)
        # Multiples of 2^-10 below 1: added and divided without rounding.
        inside = rng.integers(0, 1 << 10, min(size, _CHUNK)).astype(np.float32) / np.float32(1 << 10)
        for first in range(0, size, _CHUNK):
            part = x[first : first + _CHUNK]
            part += inside[: len(part)]
        x /= np.float32(bins)
        return Data({"x": x}, expected={"counts": counts})

    def plan(implementation: str) -> Any:
        return plan_histogram(device, size, np.float32, bins, (0, 1), implementation, **tuning)

    return Case(
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


def _key_case(pattern: str, bins: int, device: Device, size: int, tuning: Mapping[str, Any]) -> Case:
    def data(rng: np.random.Generator) -> Data:
        keys, counts = _PATTERNS[pattern](rng, size, bins)
        return Data({"x": keys.view(np.int32)}, expected={"counts": counts})

    def plan(implementation: str) -> Any:
        return plan_bincount(device, size, np.int32, bins, implementation, **tuning)

    return Case(
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


def _match_case(pattern: str, device: Device, size: int, tuning: Mapping[str, Any]) -> Case:
    """One copy of 256 bins in shared memory, in which lanes meet; and what each way to match them saves."""
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
    return Case(variants=variants, data=data, bytes=4 * size, items=size, pair=("ballots", "shared"))


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
