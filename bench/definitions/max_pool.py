"""Benchmarks of 4 x 4 max pooling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.max_pool import DIRECT, plan_max_pool

_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "subgroup": ("subgroup", {"method": "shuffle", "cluster": 4}),
    "shared": ("shared", {}),
    "direct": (DIRECT, {}),
    "quad": ("subgroup", {"method": "quad", "cluster": 4}),
    "clustered": ("subgroup", {"method": "clustered", "cluster": 4}),
    "clustered 16": ("subgroup", {"method": "clustered", "cluster": 16}),
    "shuffle 16": ("subgroup", {"method": "shuffle", "cluster": 16}),
}


def _pooled(x: NDArray[Any]) -> NDArray[Any]:
    rows, columns = (size // 4 for size in x.shape)
    down: NDArray[Any] = x[: 4 * rows].reshape(rows, 4, -1).max(1)
    found: NDArray[Any] = down[:, : 4 * columns].reshape(rows, columns, 4).max(2)
    return found


def _make(dtype: Any, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of a nearly square image whose number of columns is a power of two."""
    columns = max(4, 1 << (math.isqrt(size).bit_length() - 1))
    shape = (max(4, size // columns), columns)

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, shape, dtype, lambda rng, count: rng.random(count, np.float32))
        strips = x[: shape[0] // 4 * 4].reshape(-1, 4, shape[1])
        maxima = host.by_rows(lambda part: _pooled(part.reshape(-1, shape[1])), strips)
        return Data({"x": x}, expected={"maxima": maxima})

    def plan(name: str) -> Any:
        implementation, ways = _WAYS[name]
        return plan_max_pool(device, shape, dtype, implementation, **{**ways, **tuning})

    elements = math.prod(shape)
    windows = shape[0] // 4 * (shape[1] // 4)
    pool = {"torch": lambda torch, x: {"maxima": torch.nn.functional.max_pool2d(x[None], 4)[0]}}
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in _WAYS},
        data=data,
        bytes=(elements + windows) * np.dtype(dtype).itemsize,
        items=elements,
        operations=15 * windows,
        peers={**pool, "numpy": lambda numpy, x: {"maxima": _pooled(x)}},
    )


DEFINITIONS = [
    Definition(
        name=f"max_pool.{np.dtype(dtype)}",
        title="the greatest element of each window of 4 x 4; size in elements",
        make=partial(_make, dtype),
        smoke=(16, 1021, 40_009),
        tuning={"workgroup": (64, 128, 256, 512, 1024), "items": (1, 2, 4, 8)},
    )
    for dtype in (np.float32, np.float16)
]
