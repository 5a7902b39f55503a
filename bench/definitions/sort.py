"""Benchmarks of the radix sort: keys, keys with values, and indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.bench.definition import Arrays
from vkgroup.dispatch import Device
from vkgroup.kernels.radix_sort import plan_radix_sort
from vkgroup.kernels.radix_sort_tuning import CLAIMS, MATCHES

Array = npt.NDArray[Any]
Tuning = Mapping[str, Any]

_SMOKE = (1, 1021, 5003)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 384, 512),
    "items": (8, 12, 14, 16, 18, 20, 22, 24),
    "radix_bits": (4, 5, 6, 7, 8),
    "match": MATCHES,
    "claim": CLAIMS,
    "early": (False, True),
    "look": (1, 2, 4, 8, 16),
    "spins": (16, 64, 256, 1024),
    "tickets": (False, True),
    "clear": (False, True),
    "histogram_workgroup": (128, 256, 512, 1024),
    "histogram_items": (4, 8, 16, 32),
    "histogram_groups": (132, 264, 528, 1056, 2112),
    "histogram_copies": (1, 2, 4),
}


def _uniform(rng: np.random.Generator, size: int, dtype: np.dtype[Any]) -> Array:
    """Return uniform integers of the dtype, or uniform floats in [0, 1), whose digits are not uniform."""
    return host.drawn(rng, size, dtype, partial(_uniform_block, dtype))


def _uniform_block(dtype: np.dtype[Any], rng: np.random.Generator, count: int) -> Array:
    if dtype.kind == "f":
        return rng.random(count, dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, count, dtype, endpoint=True)


def _narrow(rng: np.random.Generator, size: int, dtype: np.dtype[Any]) -> Array:
    """Return numbers below 2^16, so that half of the digits of 32-bit keys are the same in all keys."""
    return host.drawn(rng, size, dtype, lambda rng, count: rng.integers(0, 1 << 16, count, np.uint16))


def _equal(rng: np.random.Generator, size: int, dtype: np.dtype[Any]) -> Array:
    key = rng.integers(0, 1 << 31)
    return host.made(size, dtype, lambda span: key)


def _skewed(rng: np.random.Generator, size: int, dtype: np.dtype[Any]) -> Array:
    """Return keys of which nine in ten are the same number."""

    def draw(rng: np.random.Generator, count: int) -> Array:
        keys = _uniform_block(dtype, rng, count)
        keys[rng.random(count, np.float32) < 0.9] = 12345
        return keys

    return host.drawn(rng, size, dtype, draw)


_PATTERNS: dict[str, Callable[[np.random.Generator, int, np.dtype[Any]], Array]] = {
    "uniform": _uniform,
    "narrow": _narrow,
    "equal": _equal,
    "skewed": _skewed,
}


def _keys(pattern: str, dtype: np.dtype[Any], device: Device, size: int, tuning: Tuning) -> BenchmarkCase:
    def data(rng: np.random.Generator) -> Data:
        keys = _PATTERNS[pattern](rng, size, dtype)
        return Data({"keys": keys}, {"sorted_keys": host.ordered(keys)})

    def plan(implementation: str) -> Any:
        return plan_radix_sort(device, size, dtype, implementation=implementation, **tuning)

    peers: dict[str, Any] = {
        "cupy": lambda cupy, keys: {"sorted_keys": cupy.sort(keys)},
        "numpy": lambda numpy, keys: {"sorted_keys": numpy.sort(keys)},
    }
    if dtype.kind != "u":  # torch does not sort unsigned integers.
        peers["torch"] = lambda torch, keys: {"sorted_keys": torch.sort(keys)[0]}
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=2 * size * dtype.itemsize,
        items=size,
        peers=peers,
    )


def _stable(keys: Array, order: Array, found: Array | None) -> str | None:
    """Return the first error in the indices of a stable sort and in the keys in their order, or None.

    Keys must ascend, and indices of equal keys must ascend. Then no index occurs twice, so all indices occur.
    """
    if order.shape != keys.shape:
        return f"there are {order.size} indices for {keys.size} keys"

    def within(span: slice) -> str | None:
        """Check a block and the element before it."""
        part = slice(max(0, span.start - 1), span.stop)
        index = order[part].astype(np.int64)
        if index.min() < 0 or index.max() >= keys.size:
            return f"an index of those from {part.start} on is none"
        key = keys[index]
        if found is not None and not np.array_equal(found[part], key):
            return f"a key of those from {part.start} on is not that of its value"
        rising = key[:-1] < key[1:]
        if not rising.all() and not np.all(rising | ((key[:-1] == key[1:]) & (index[:-1] < index[1:]))):
            return f"the order is wrong behind place {part.start}"
        return None

    return next(filter(None, host.each(within, host.spans(keys.size))), None)


def _pairs(dtype: np.dtype[Any], device: Device, size: int, tuning: Tuning) -> BenchmarkCase:
    """Return the case of keys with values; the values are indices, since torch sorts no other values."""

    def data(rng: np.random.Generator) -> Data:
        keys = _uniform(rng, size, dtype)
        values = host.made(size, np.int32, lambda span: np.arange(span.start, span.stop))

        def verify(found: Arrays) -> str | None:
            return _stable(keys, np.asarray(found["sorted_values"]), np.asarray(found["sorted_keys"]))

        return Data({"keys": keys, "values": values}, verify=verify)

    def plan(implementation: str) -> Any:
        return plan_radix_sort(device, size, dtype, values=np.int32, implementation=implementation, **tuning)

    def torch_sort(torch: Any, keys: Any, values: Any) -> dict[str, Any]:
        found, order = torch.sort(keys, stable=True)
        return {"sorted_keys": found, "sorted_values": order}

    def cupy_sort(cupy: Any, keys: Any, values: Any) -> dict[str, Any]:
        # CuPy has no sort by key, so values are gathered by the sorted indices.
        order = cupy.argsort(keys)
        return {"sorted_keys": cupy.take(keys, order), "sorted_values": order}

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=2 * size * (dtype.itemsize + 4),
        items=size,
        peers={"cupy": cupy_sort} | ({} if dtype.kind == "u" else {"torch": torch_sort}),
    )


def _indices(dtype: np.dtype[Any], device: Device, size: int, tuning: Tuning) -> BenchmarkCase:
    def data(rng: np.random.Generator) -> Data:
        keys = _uniform(rng, size, dtype)
        return Data({"keys": keys}, verify=lambda found: _stable(keys, np.asarray(found["indices"]), None))

    def plan(implementation: str) -> Any:
        return plan_radix_sort(device, size, dtype, indices=True, implementation=implementation, **tuning)

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=size * (dtype.itemsize + 4),
        items=size,
        peers={
            "torch": lambda torch, keys: {"indices": torch.argsort(keys, stable=True)},
            "cupy": lambda cupy, keys: {"indices": cupy.argsort(keys)},
            "numpy": lambda numpy, keys: {"indices": numpy.argsort(keys, kind="stable")},
        },
    )


def _definition(name: str, title: str, make: Any) -> Definition:
    return Definition(name=name, title=title, make=make, smoke=_SMOKE, tuning=_SWEEPS)


DEFINITIONS = [
    *(
        _definition(
            f"sort.keys.{kind}", "stable sort of uniform keys", partial(_keys, "uniform", np.dtype(kind))
        )
        for kind in ("uint32", "int32", "float32", "uint64", "int64", "float64")
    ),
    *(
        _definition(
            f"sort.keys.{pattern}.uint32",
            f"stable sort of {pattern} keys",
            partial(_keys, pattern, np.dtype(np.uint32)),
        )
        for pattern in ("narrow", "equal", "skewed")
    ),
    *(
        _definition(
            f"sort.pairs.{kind}",
            "stable sort of uniform keys with values of 32 bits",
            partial(_pairs, np.dtype(kind)),
        )
        for kind in ("uint32", "int32", "float32", "int64")
    ),
    *(
        _definition(
            f"argsort.{kind}", "indices that sort uniform keys stably", partial(_indices, np.dtype(kind))
        )
        for kind in ("int32", "float32", "int64")
    ),
]
