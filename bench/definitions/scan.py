"""Benchmarks of scans of arrays, rows and columns, and of methods to publish the states of tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from vkgroup.bench import BenchmarkCase, Data, Definition, host, powers_of_two
from vkgroup.dispatch import Device
from vkgroup.kernels.scan import plan_scan

_SMOKE = (1, 1021, 20_011)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 384, 512, 1024),
    "items": (4, 8, 12, 16, 20, 24, 32),
    "depth": (1, 2, 3, 4),
    "order": (0, 1),
    "payload": (16, 32),
    "group": (16, 32, 64),
    "spins": (64, 256, 1024),
}
_COLUMN_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 512),
    "items": (4, 8, 16, 32),
    "columns": (8, 16, 32, 64),
    "runs": (1, 8, 64, 1024),
    "narrow": (0, 16, 32, 64),
    "groups": (256, 512, 1024, 2048, 4096),
}
_EXACT = 2**23
_NUMPY = {"add": "cumsum", "mul": "cumprod"}


def _elements(rng: np.random.Generator, operation: str, dtype: str, size: int) -> Any:
    """Return elements whose scan is exact in every order of additions."""
    if operation == "max":
        return host.drawn(rng, size, dtype, lambda rng, count: rng.integers(0, 2**31, count, np.int32))
    if dtype.startswith("float"):
        # Integers for which the sum of any consecutive elements is exact in float32.
        return host.drawn(rng, size, dtype, lambda rng, count: rng.integers(-8, 9, count, np.int8))
    return host.drawn(rng, size, dtype, lambda rng, count: rng.integers(0, 2**32, count, np.uint32))


def _expected(x: Any, operation: str, exclusive: bool) -> Any:
    if operation == "max":
        return host.accumulated(np.maximum, x)
    found = np.empty_like(x)
    found[:1] = 0
    host.accumulated(np.add, x[:-1] if exclusive else x, found[1:] if exclusive else found)
    if x.dtype.kind == "f":
        _check_exact(found)
    return found


def _check_exact(sums: Any) -> None:
    """Raise ValueError unless sums of consecutive elements with these prefix sums are exact in float32."""
    flat = sums.reshape(-1)
    if max(host.each(lambda span: np.abs(flat[span]).max(), host.spans(flat.size))) >= _EXACT:
        raise ValueError("The prefix sums of the data are not exact in float32; choose smaller elements.")


def _torch(operation: str, dtype: str) -> Any:
    if operation == "max":
        return lambda torch, x: {"scanned": torch.cummax(x, 0).values}
    if dtype == "uint32":
        # torch does not add uint32; sums of int32 have the same bits.
        return lambda torch, x: {"scanned": torch.cumsum(x.view(torch.int32), 0, dtype=torch.int32)}
    return lambda torch, x: {"scanned": torch.cumsum(x, 0, dtype=x.dtype)}


def _case(
    operation: str, dtype: str, exclusive: bool, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    itemsize = np.dtype(dtype).itemsize

    def data(rng: np.random.Generator) -> Data:
        x = _elements(rng, operation, dtype, size)
        return Data({"x": x}, expected={"scanned": _expected(x, operation, exclusive)})

    def plan(implementation: str) -> Any:
        return plan_scan(
            device, operation, dtype, size, exclusive=exclusive, implementation=implementation, **tuning
        )

    peers: dict[str, Any] = {}
    if not exclusive:
        peers = {"torch": _torch(operation, dtype)}
        if operation == "add":
            peers["cupy"] = lambda cupy, x: {"scanned": cupy.cumsum(x, dtype=x.dtype)}
            peers["numpy"] = lambda numpy, x: {"scanned": numpy.cumsum(x, dtype=x.dtype)}
        else:
            peers["numpy"] = lambda numpy, x: {"scanned": numpy.maximum.accumulate(x)}
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=2 * itemsize * size,
        items=size,
        operations=size,
        peers=peers,
    )


def _rows_case(width: int, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of sums along rows; the size is rounded down to a multiple of the width."""
    shape = (max(1, size // width), min(width, size))

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, shape, np.float32, lambda rng, count: rng.integers(0, 9, count, np.int8))
        scanned = host.by_rows(lambda rows: np.cumsum(rows, 1, np.float32), x)
        return Data({"x": x}, expected={"scanned": scanned})

    def plan(implementation: str) -> Any:
        return plan_scan(device, "add", np.float32, shape, 1, implementation=implementation, **tuning)

    count = shape[0] * shape[1]
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=8 * count,
        items=count,
        operations=count,
        peers={
            "torch": lambda torch, x: {"scanned": torch.cumsum(x, 1)},
            "cupy": lambda cupy, x: {"scanned": cupy.cumsum(x, 1)},
            "numpy": lambda numpy, x: {"scanned": numpy.cumsum(x, 1)},
        },
    )


def _square(size: int) -> tuple[int, int]:
    return max(1, size // math.isqrt(size)), math.isqrt(size)


def _by_4(size: int) -> tuple[int, int]:
    return max(1, size // 4), 4


def _columns_case(
    shaped: Callable[[int], tuple[int, int]], device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    """Return the case of sums along axis 0."""
    shape = shaped(size)

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, shape, np.float32, lambda rng, count: rng.integers(-8, 9, count, np.int8))
        scanned = np.cumsum(x, 0, np.float32)
        _check_exact(scanned)
        return Data({"x": x}, expected={"scanned": scanned})

    def plan(implementation: str) -> Any:
        return plan_scan(device, "add", np.float32, shape, 0, implementation=implementation, **tuning)

    count = shape[0] * shape[1]
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=8 * count,
        items=count,
        operations=count,
        peers={
            "torch": lambda torch, x: {"scanned": torch.cumsum(x, 0)},
            "cupy": lambda cupy, x: {"scanned": cupy.cumsum(x, 0)},
            "numpy": lambda numpy, x: {"scanned": numpy.cumsum(x, 0)},
        },
    )


def _states_case(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    """Return the case of states in one 64-bit or two 32-bit atomics, and of tiles by ticket or by number."""

    def data(rng: np.random.Generator) -> Data:
        x = _elements(rng, "add", "uint32", size)
        return Data({"x": x}, expected={"scanned": _expected(x, "add", False)})

    def plan(**more: Any) -> Any:
        return plan_scan(device, "add", np.uint32, size, implementation="subgroup", **{**tuning, **more})

    return BenchmarkCase(
        variants={
            "packed": partial(plan, payload=32),
            "split": partial(plan, payload=16),
            "by number": partial(plan, order=0),
            "by ticket": partial(plan, order=1),
        },
        data=data,
        bytes=8 * size,
        items=size,
        operations=size,
        pair=("packed", "split"),
    )


DEFINITIONS = [
    *(
        Definition(
            name=f"scan.{'exclusive_' if exclusive else ''}{operation}.{dtype}",
            title=f"{'exclusive' if exclusive else 'inclusive'} scan by {operation} of {dtype}",
            make=partial(_case, operation, dtype, exclusive),
            smoke=_SMOKE,
            tuning=_SWEEPS,
            sizes=powers_of_two(10, 28 if np.dtype(dtype).itemsize == 4 else 27),
        )
        for operation, dtype, exclusive in (
            ("add", "float32", False),
            ("add", "uint32", False),
            ("add", "float32", True),
            ("max", "int32", False),
            ("add", "int64", False),
        )
    ),
    *(
        Definition(
            name=f"scan.rows_of_{width}.float32",
            title=f"sums along rows of {width} float32; the size counts all elements",
            make=partial(_rows_case, width),
            smoke=_SMOKE[1:],
            tuning=_SWEEPS,
        )
        for width in (37, 1024, 100_000)
    ),
    *(
        Definition(
            name=f"scan.axis_0_{name}.float32",
            title=f"sums along axis 0 of {title} of float32; the size counts all elements",
            make=partial(_columns_case, shaped),
            smoke=_SMOKE[1:],
            tuning=_COLUMN_SWEEPS,
        )
        for name, title, shaped in (
            ("square", "a square matrix", _square),
            ("by_4", "a matrix with 4 columns", _by_4),
        )
    ),
    Definition(
        name="scan.states.uint32",
        title="scan of uint32, the tiles' states in one 64-bit atomic or in two of 32 bits",
        make=_states_case,
        smoke=_SMOKE[1:2],
        tuning={name: _SWEEPS[name] for name in ("workgroup", "items", "depth", "spins")},
    ),
]
