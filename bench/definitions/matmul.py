"""Benchmarks of products of square matrices, single and in stacks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host, powers_of_two
from vkgroup.bench.definition import PAIR
from vkgroup.dispatch import Device
from vkgroup.kernels.matmul import cooperative_shape, plan_matmul
from vkgroup.kernels.tuning import of_version

_WHOLE = {"f2": 1, "f4": 4, "i4": 4}
"""Elements are integers up to this magnitude. Sums of their products are exact for sizes up to 4096: float32
holds integers of 24 bits. float16 holds integers up to 2048, and sums beyond this are tens of standard
deviations away."""


def _make(dtype: npt.DTypeLike, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    kind = np.dtype(dtype)
    half, most = kind == np.float16, _WHOLE[kind.str[1:]]

    def draw(rng: np.random.Generator, count: int) -> npt.NDArray[np.int8]:
        return rng.integers(-most, most, count, np.int8, endpoint=True)

    def data(rng: np.random.Generator) -> Data:
        a, b = (host.drawn(rng, (size, size), kind, draw) for _ in range(2))
        product = a.astype(np.float32) @ b.astype(np.float32)
        return Data({"a": a, "b": b}, expected={"product": product.astype(kind)})

    def plan(implementation: str) -> Any:
        values = of_version("matmul", implementation, tuning)
        return plan_matmul(device, kind, (size, size), (size, size), implementation, **values)

    names = ["subgroup", "shared"] + (["cooperative"] if half else [])
    operations = 2 * size**3
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in names},
        data=data,
        bytes=3 * size * size * kind.itemsize,
        items=size * size,
        operations=operations,
        rate="operations",
        needs={} if half else {f"arithmetic.{kind}": operations},
        peers=_PEERS[kind.kind],
        pair=("cooperative", "shared") if half and cooperative_shape(device) else PAIR,
    )


def _stack_case(side: int, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of `size` products of matrices of float32 with equal sides."""
    shape = (size, side, side)
    most = _WHOLE["f4"]

    def draw(rng: np.random.Generator, count: int) -> npt.NDArray[np.int8]:
        return rng.integers(-most, most, count, np.int8, endpoint=True)

    def data(rng: np.random.Generator) -> Data:
        a, b = (host.drawn(rng, shape, np.float32, draw) for _ in range(2))
        return Data({"a": a, "b": b}, expected={"product": a @ b})

    def plan(implementation: str) -> Any:
        values = of_version("matmul", implementation, tuning)
        return plan_matmul(device, np.float32, shape, shape, implementation, **values)

    operations = 2 * size * side**3
    moved = 3 * 4 * size * side * side
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=moved,
        items=size,
        operations=operations,
        rate="operations",
        needs={"copy": moved, "arithmetic.float32": operations},
        peers=_FLOATS | {"numpy": lambda numpy, a, b: {"product": numpy.matmul(a, b)}},
    )


_FLOATS: dict[str, Any] = {
    "torch": lambda torch, a, b: {"product": torch.matmul(a, b)},
    "cupy": lambda cupy, a, b: {"product": cupy.matmul(a, b)},
}
_PEERS = {"f": _FLOATS, "i": {"numpy": lambda numpy, a, b: {"product": numpy.matmul(a, b)}}}

_TUNING: dict[str, tuple[Any, ...]] = {
    "workgroup": (64, 128, 256, 512),
    "rows": (4, 8, 16),
    "quads": (1, 2),
    "across": (8, 16, 32),
    "depth": (16, 32, 64),
    "down": (1, 2, 4),
    "along": (1, 2, 4),
    "parts_down": (1, 2, 4),
    "parts_along": (1, 2, 4),
}

DEFINITIONS = [
    *(
        Definition(
            name=f"matmul.{np.dtype(dtype)}",
            title="two square matrices; size is their side",
            make=partial(_make, dtype),
            sizes=(64, 128, 256, 512, 1024, 2048, 4096),
            smoke=(1, 37, 72),
            tuning=_TUNING,
        )
        for dtype in (np.float32, np.float16, np.int32)
    ),
    *(
        Definition(
            name=f"matmul.stack_of_{side}.float32",
            title=f"stacks of square matrices with {side} rows; size is the number of products",
            make=partial(_stack_case, side),
            sizes=powers_of_two(4, 14),
            smoke=(1, 5),
            tuning=_TUNING,
        )
        for side in (16, 64)
    ),
]
