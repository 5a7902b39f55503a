"""Benchmarks of matrix-vector products: square, tall and wide matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.matvec import plan_matvec


def _square(size: int) -> tuple[int, int]:
    columns = math.isqrt(size)
    return size // columns, columns


def _tall(size: int) -> tuple[int, int]:
    return max(1, size // 64), min(size, 64)


def _wide(size: int) -> tuple[int, int]:
    return min(size, 8), max(1, size // 8)


def _signs(rng: np.random.Generator, count: int) -> npt.NDArray[np.int8]:
    return rng.integers(-1, 2, count, np.int8)


def _case(
    shaped: Callable[[int], tuple[int, int]], device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    rows, columns = shaped(size)

    def data(rng: np.random.Generator) -> Data:
        # Products are -1, 0 and 1, whose sums are exact in float32 in every order.
        matrix, vector = (host.drawn(rng, shape, np.float32, _signs) for shape in ((rows, columns), columns))
        return Data({"matrix": matrix, "vector": vector}, expected={"result": matrix @ vector})

    def plan(implementation: str) -> Any:
        return plan_matvec(device, (rows, columns), np.float32, implementation=implementation, **tuning)

    return BenchmarkCase(
        variants={implementation: partial(plan, implementation) for implementation in ("subgroup", "shared")},
        data=data,
        bytes=4 * (rows * columns + columns + rows),
        items=rows * columns,
        operations=2 * rows * columns,
        peers={
            "torch": lambda torch, matrix, vector: {"result": torch.mv(matrix, vector)},
            "cupy": lambda cupy, matrix, vector: {"result": matrix @ vector},
            "numpy": lambda numpy, matrix, vector: {"result": matrix @ vector},
        },
    )


DEFINITIONS = [
    Definition(
        name=f"matvec.{name}.float32",
        title=f"matrix times vector, {title}, by elements of the matrix",
        make=partial(_case, shaped),
        smoke=(1, 1021, 40_009),
        tuning={
            "workgroup": (64, 128, 256, 512),
            "items": (1, 2, 4, 8),
            "rows": (1, 2, 4),
            "groups": (528, 1056, 2112, 4224, 8448),
            "team": (0, 8, 16, 32),
        },
    )
    for name, title, shaped in (
        ("square", "as many rows as columns", _square),
        ("tall", "64 columns", _tall),
        ("wide", "8 rows", _wide),
    )
]
