"""Benchmarks of atomic aggregation: one atomic operation per subgroup, workgroup or invocation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.bench.definition import Arrays
from vkgroup.dispatch import Device
from vkgroup.kernels.aggregation import EACH, plan_aggregation

_VARIANTS = ("subgroup", "shared", EACH)
_HALF = 0.5
_VALUES = 1 << 16
"""Number of distinct values in data of unordered results, which are verified by counting each value."""


_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (64, 128, 256, 512, 1024),
    "items": (1, 2, 4, 8, 16),
    "groups": (132, 528, 1056, 4224, 1 << 22),
}


def _contended(tuning: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tuning: without a sweep, one vector per invocation, so that atomic operations collide."""
    return {"items": 1, "groups": 1 << 22, **tuning}


def _maximum(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    def data(rng: np.random.Generator) -> Data:
        # Numbers are below 2^31, since torch has no maximum of uint32 and reads the same numbers as int32.
        x = host.drawn(rng, size, np.uint32, lambda rng, count: rng.integers(0, 2**31, count, np.uint32))
        highest = max(host.each(lambda span: x[span].max(), host.spans(size)))
        return Data({"x": x}, expected={"value": np.array(highest)})

    def plan(implementation: str) -> Any:
        return plan_aggregation(
            device, size, np.uint32, "maximum", None, implementation, **_contended(tuning)
        )

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in _VARIANTS},
        data=data,
        bytes=4 * size,
        items=size,
        peers={
            "torch": lambda torch, x: {"value": torch.max(x.view(torch.int32))},
            "cupy": lambda cupy, x: {"value": cupy.max(x)},
            "numpy": lambda numpy, x: {"value": numpy.max(x)},
        },
    )


def _count(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, size, np.float32, lambda rng, count: rng.random(count, np.float32))
        count = sum(host.each(lambda span: np.count_nonzero(x[span] < _HALF), host.spans(size)))
        return Data({"x": x}, expected={"count": np.array(count, np.uint32)})

    def plan(implementation: str) -> Any:
        return plan_aggregation(
            device, size, np.float32, "count", ("<", _HALF), implementation, **_contended(tuning)
        )

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in _VARIANTS},
        data=data,
        bytes=4 * size,
        items=size,
        peers={
            "torch": lambda torch, x: {"count": torch.count_nonzero(x < _HALF)},
            "cupy": lambda cupy, x: {"count": cupy.count_nonzero(x < _HALF)},
            "numpy": lambda numpy, x: {"count": numpy.count_nonzero(x < _HALF)},
        },
    )


def _numbers(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the indices of values below the limit, and -1 for all other values."""
    numbers = values * np.float32(_VALUES)
    known = (values >= 0) & (values < _HALF) & (numbers == np.floor(numbers))
    return np.where(known, numbers, np.float32(-1))


def _append(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    def data(rng: np.random.Generator) -> Data:
        whole = host.drawn(rng, size, np.int32, lambda rng, count: rng.integers(0, _VALUES, count, np.int32))
        x = host.made(size, np.float32, lambda span: whole[span] / _VALUES)
        counts = host.counted(whole, _VALUES)[: int(_HALF * _VALUES)]
        count = int(counts.sum())

        def verify(found: Arrays) -> str | None:
            """Count the occurrences of each kept value, which verifies a result in any order."""
            if int(found["count"]) != count:
                return f"count is {found['count']} instead of {count}"
            got = found["kept"][:count]
            numbers = host.made(count, np.int32, lambda span: _numbers(got[span]))
            if numbers.size and numbers.min() < 0:
                return "something is kept that is no element below the limit"
            if not np.array_equal(host.counted(numbers, counts.size), counts):
                return "other elements are kept than those below the limit"
            return None

        return Data({"x": x}, verify=verify)

    def plan(implementation: str) -> Any:
        return plan_aggregation(
            device, size, np.float32, "append", ("<", _HALF), implementation, **_contended(tuning)
        )

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in _VARIANTS},
        data=data,
        bytes=4 * size + 2 * size,
        items=size,
    )


DEFINITIONS = [
    Definition(
        name="aggregation.maximum.uint32",
        title="the greatest element by atomicMax",
        make=_maximum,
        tuning=_SWEEPS,
    ),
    Definition(
        name="aggregation.count.float32",
        title="how many elements are below a limit, by atomicAdd",
        make=_count,
        tuning=_SWEEPS,
    ),
    Definition(
        name="aggregation.append.float32",
        title="the half of the elements below a limit, in any order, with places by atomicAdd",
        make=_append,
        tuning={name: _SWEEPS[name] for name in ("workgroup", "groups")},
    ),
]
