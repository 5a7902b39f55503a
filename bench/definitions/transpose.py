"""Benchmarks of transposition: square matrices, and matrices whose rows are not a multiple of 16 bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.transpose import plan_transpose
from vkgroup.kernels.tuning import of_version


def _make(
    dtype: npt.DTypeLike, odd: bool, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    kind = np.dtype(dtype)
    rows = 1 << (size.bit_length() - 1) // 2 if size & (size - 1) == 0 else isqrt(size)
    columns = size // rows
    if odd:
        rows, columns = max(1, rows - 1), max(1, columns - 1)

    def data(rng: np.random.Generator) -> Data:
        limit = 1 << 8 * kind.itemsize
        x = host.drawn(
            rng, (rows, columns), kind, lambda rng, count: rng.integers(0, limit, count, kind.type)
        )
        return Data({"x": x}, expected={"transposed": host.by_rows(np.ascontiguousarray, x.T)})

    def plan(implementation: str) -> Any:
        values = of_version("transpose", implementation, tuning)
        return plan_transpose(device, f"u{kind.itemsize}", (rows, columns), implementation, **values)

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=2 * rows * columns * kind.itemsize,
        items=rows * columns,
        peers={
            "torch": lambda torch, x: {"transposed": x.t().contiguous()},
            "cupy": lambda cupy, x: {"transposed": cupy.ascontiguousarray(x.T)},
            "numpy": lambda numpy, x: {"transposed": numpy.ascontiguousarray(x.T)},
        },
    )


_TUNING: dict[str, tuple[Any, ...]] = {
    "workgroup": (64, 128, 256, 512, 1024),
    "words": (1, 2, 4),
    "items": (1, 2, 4, 8),
    "width": (4, 8, 16, 32),
    "tile": (4, 8, 16, 32),
}

DEFINITIONS = [
    Definition(
        name=f"transpose.{8 * np.dtype(dtype).itemsize}bit{'.odd' if odd else ''}",
        title=f"a matrix of {np.dtype(dtype).itemsize}-byte elements{' with odd sides' if odd else ''};"
        " size in elements",
        make=partial(_make, dtype, odd),
        smoke=(1, 1021, 40_000),
        tuning=_TUNING,
    )
    for dtype, odd in (
        (np.uint32, False),
        (np.uint32, True),
        (np.uint64, False),
        (np.uint16, False),
        (np.uint8, False),
    )
]
