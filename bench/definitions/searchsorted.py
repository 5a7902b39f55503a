"""Benchmarks of searches in a sorted array: random values, sorted values, and few sorted elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.searchsorted import plan_searchsorted

_SMOKE = (1, 1021, 20_011)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (64, 128, 256, 512),
    "items": (1, 2, 4, 8),
    "groups": (264, 528, 1056, 2112),
}
_FEW = 1000
_RANGE = 2**31 - 1


def _search(
    dtype: str, few: bool, rising: bool, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    """Return the case of as many values as sorted elements, or of few elements; the values may be sorted."""
    count = min(size, _FEW) if few else size

    def draw(rng: np.random.Generator, number: int) -> Any:
        return rng.random(number, np.float32) if dtype == "float32" else rng.integers(0, _RANGE, number)

    def data(rng: np.random.Generator) -> Data:
        a = host.ordered(host.drawn(rng, count, dtype, draw))
        v = host.drawn(rng, size, dtype, draw)
        v = host.ordered(v) if rising else v
        wanted = host.made(size, np.int64, lambda span: np.searchsorted(a, v[span]))

        def verify(found: Mapping[str, Any]) -> str | None:
            place = host.first_difference(np.asarray(found["positions"]).astype(np.int64), wanted)
            return None if place is None else f"positions[{place}] is wrong"

        return Data({"a": a, "v": v}, verify=verify)

    def plan(implementation: str) -> Any:
        return plan_searchsorted(device, count, size, dtype, implementation=implementation, **tuning)

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=np.dtype(dtype).itemsize * (count + size) + 4 * size,
        items=size,
        peers={
            "torch": lambda torch, a, v: {"positions": torch.searchsorted(a, v, out_int32=True)},
            "cupy": lambda cupy, a, v: {"positions": cupy.searchsorted(a, v)},
            "numpy": lambda numpy, a, v: {"positions": numpy.searchsorted(a, v)},
        },
    )


def _definition(name: str, title: str, **options: Any) -> Definition:
    make = partial(_search, options["dtype"], options.get("few", False), options.get("rising", False))
    return Definition(name=f"searchsorted.{name}", title=title, make=make, smoke=_SMOKE, tuning=_SWEEPS)


DEFINITIONS = [
    *(
        _definition(dtype, f"random {dtype} values in as many sorted elements", dtype=dtype)
        for dtype in ("float32", "int32", "int64")
    ),
    _definition("rising", "sorted float32 values in as many sorted elements", dtype="float32", rising=True),
    _definition("few", f"random float32 values in {_FEW} sorted elements", dtype="float32", few=True),
]
