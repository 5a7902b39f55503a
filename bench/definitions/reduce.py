"""Benchmarks of reductions: whole arrays, rows and columns; values and indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.reduce_plan import plan_reduce

Array = npt.NDArray[Any]

_GREATEST = 100
"""A value far above all samples of a normal distribution."""

_SMOKE = (1, 1021, 40_009)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (64, 128, 256, 512, 1024),
    "items": (1, 2, 4, 8, 16),
    "groups": (132, 264, 528, 1056, 2112, 4224, 8448, 16_896),
    "contiguous": (False, True),
    "finish": ("second", "ticket"),
    "finish_workgroup": (64, 128, 256, 512, 1024),
    "radix": (2, 4, 8, 16),
    "team": (0, 1, 2, 4, 8, 16, 32),
}


def _signs(rng: np.random.Generator, count: int) -> Array:
    """Return random -1, 0 and 1; sums of 2^28 of them stay far below 2^24 and are exact."""
    return rng.integers(-1, 2, count, np.int8)


def _words(rng: np.random.Generator, count: int) -> Array:
    return rng.integers(-(1 << 31), 1 << 31, count, np.int32)


def _normal(rng: np.random.Generator, count: int) -> Array:
    return rng.standard_normal(count, np.float32)


def _reduced(operation: np.ufunc, x: Array, axis: int | None, dtype: npt.DTypeLike) -> Array:
    """Reduce blocks of rows in a dtype with exact sums; integers wrap around at the end."""

    def part(rows: slice) -> Array:
        return np.asarray(operation.reduce(x[rows], axis, dtype))

    parts = host.each(part, host.row_spans(x))
    found = np.concatenate(parts) if axis == 1 else np.asarray(operation.reduce(parts, 0))
    return found.astype(x.dtype)


_UFUNCS: dict[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "xor": np.bitwise_xor}


def _peers(name: str, axis: int | None, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the same reduction in other packages, if they support the type."""
    keyword = {} if axis is None else {"axis": axis}
    dim = {} if axis is None else {"dim": axis}
    if name == "sum":
        peers = {
            "cupy": lambda cupy, x: {"result": cupy.sum(x, dtype=dtype, **keyword)},
            "numpy": lambda numpy, x: {"result": numpy.sum(x, dtype=dtype, **keyword)},
        }
        if dtype.kind == "f" or dtype == np.int32:
            peers["torch"] = lambda torch, x: {"result": torch.sum(x, dtype=x.dtype, **dim)}
        return peers
    if name == "xor":
        return {"numpy": lambda numpy, x: {"result": numpy.bitwise_xor.reduce(x, axis=axis)}}
    return {
        "cupy": lambda cupy, x: {"result": getattr(cupy, name)(x, **keyword)},
        "numpy": lambda numpy, x: {"result": getattr(numpy, name)(x, **keyword)},
        "torch": lambda torch, x: {
            "result": torch.argmax(x, **dim) if name == "argmax" else torch.amax(x, **dim)
        },
    }


def _case(
    name: str,
    dtype: np.dtype[Any],
    shaped: Callable[[int], tuple[tuple[int, ...], int | None]],
    device: Device,
    size: int,
    tuning: Mapping[str, Any],
) -> BenchmarkCase:
    shape, axis = shaped(size)
    operation = "add" if name == "sum" else name
    draw = _words if dtype.kind != "f" else _signs if name == "sum" else _normal

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, shape, dtype, draw)
        if name == "argmax":
            # There is only one greatest element, since not all packages guarantee the first of several.
            place = rng.integers(x.size)
            x[place] = _GREATEST
            return Data({"x": x}, expected={"result": np.asarray(place)})
        exact = x.dtype if name != "sum" else np.float64 if dtype.kind == "f" else np.int64
        return Data({"x": x}, expected={"result": _reduced(_UFUNCS[name], x, axis, exact)})

    def plan(implementation: str, **more: Any) -> Any:
        return plan_reduce(
            device, shape, dtype, operation, axis, implementation=implementation, **{**tuning, **more}
        )

    variants: dict[str, Callable[[], Any]] = {
        implementation: partial(plan, implementation) for implementation in ("subgroup", "shared")
    }
    if axis is None and not {"finish", "team"} & tuning.keys():
        variants["subgroup in one dispatch"] = partial(plan, "subgroup", finish="ticket")
    elements = int(np.prod(shape))
    results = 1 if axis is None else shape[1 - axis]
    return BenchmarkCase(
        variants=variants,
        data=data,
        bytes=elements * dtype.itemsize + results * (8 if name == "argmax" else dtype.itemsize),
        items=elements,
        operations=elements - results,
        peers=_peers(name, axis, dtype),
    )


def _whole(size: int) -> tuple[tuple[int, ...], int | None]:
    return (size,), None


def _rows(length: int, size: int) -> tuple[tuple[int, ...], int | None]:
    return (max(1, size // length), min(size, length)), 1


def _columns(width: int, size: int) -> tuple[tuple[int, ...], int | None]:
    return (max(1, size // width), min(size, width)), 0


def _definition(
    what: str, title: str, name: str, dtype: Any, shaped: Callable[[int], tuple[tuple[int, ...], int | None]]
) -> Definition:
    kind = np.dtype(dtype)
    return Definition(
        name=f"reduce.{what}.{kind}",
        title=title,
        make=partial(_case, name, kind, shaped),
        smoke=_SMOKE,
        tuning=_SWEEPS,
    )


DEFINITIONS = [
    *(
        _definition("sum", "sum of all elements of an array", "sum", dtype, _whole)
        for dtype in (np.float32, np.uint32, np.int32)
    ),
    _definition("max", "greatest element of an array, NaN as in NumPy", "max", np.float32, _whole),
    _definition("xor", "exclusive-or of all elements of an array", "xor", np.uint32, _whole),
    _definition("argmax", "place of the greatest element of an array", "argmax", np.float32, _whole),
    *(
        _definition(
            f"rows.{length}",
            f"sum of each row of {length} elements",
            "sum",
            np.float32,
            partial(_rows, length),
        )
        for length in (16, 1000, 65_536)
    ),
    *(
        _definition(
            f"columns.{width}", f"sum of each of {width} columns", "sum", np.float32, partial(_columns, width)
        )
        for width in (3, 1024)
    ),
]
