"""Benchmarks of atomic aggregation: one atomic operation a subgroup, a workgroup, or an invocation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from vkgroup.bench import Case, Data, Definition
from vkgroup.bench.definition import Arrays
from vkgroup.dispatch import Device
from vkgroup.kernels.aggregation import EACH, plan_aggregation

_VARIANTS = ("subgroup", "shared", EACH)
_HALF = 0.5

_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (64, 128, 256, 512, 1024),
    "items": (1, 2, 4, 8, 16),
    "groups": (132, 528, 1056, 4224, 1 << 22),
}


def _contended(tuning: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tuning: unless there is a sweep, one vector for each invocation, so that operations meet."""
    return {"items": 1, "groups": 1 << 22, **tuning}


def _maximum(device: Device, size: int, tuning: Mapping[str, Any]) -> Case:
    def data(rng: np.random.Generator) -> Data:
        # Below 2^31: torch has no maximum of uint32, and sees the same numbers as int32.
        x = rng.integers(0, 2**31, size, dtype=np.uint32)
        return Data({"x": x}, expected={"value": np.array(x.max())})

    def plan(implementation: str) -> Any:
        return plan_aggregation(
            device, size, np.uint32, "maximum", None, implementation, **_contended(tuning)
        )

    return Case(
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


def _count(device: Device, size: int, tuning: Mapping[str, Any]) -> Case:
    def data(rng: np.random.Generator) -> Data:
        x = rng.random(size, np.float32)
        return Data({"x": x}, expected={"count": np.array(np.count_nonzero(x < _HALF), np.uint32)})

    def plan(implementation: str) -> Any:
        return plan_aggregation(
            device, size, np.float32, "count", ("<", _HALF), implementation, **_contended(tuning)
        )

    return Case(
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


def _append(device: Device, size: int, tuning: Mapping[str, Any]) -> Case:
    def data(rng: np.random.Generator) -> Data:
        x = rng.random(size, np.float32)
        kept = x[x < _HALF]
        count, total = len(kept), int(kept.view(np.uint32).sum(dtype=np.uint64))

        def verify(found: Arrays) -> str | None:
            got = found["kept"][:count]
            if int(found["count"]) != count:
                return f"count is {found['count']} instead of {count}"
            if not np.all(got < _HALF):
                return "something is kept that is not below the limit"
            if int(got.view(np.uint32).sum(dtype=np.uint64)) != total:
                return "other elements are kept than those below the limit"
            return None

        return Data({"x": x}, verify=verify)

    def plan(implementation: str) -> Any:
        return plan_aggregation(
            device, size, np.float32, "append", ("<", _HALF), implementation, **_contended(tuning)
        )

    return Case(
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
