"""Benchmarks of unique elements: the elements alone, and with their indices, inverse and counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.unique import plan_unique

_SMOKE = (1, 1021, 5003)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 512),
    "items": (4, 8, 16, 24),
    "spins": (64, 256, 1024),
}
_RESULTS = ("values", "index", "inverse", "counts")


def _unique(
    results: tuple[str, ...], share: float, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    """Return the case of int32 numbers below a share of their number; `results` besides the elements."""
    most = max(1, int(share * size))

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, size, np.int32, lambda rng, count: rng.integers(0, most, count, np.int32))
        flags = {f"return_{name}": name in results for name in _RESULTS[1:]}
        found = np.unique(x, **flags)
        wanted = dict(zip(("values", *results), found if results else (found,), strict=True))

        def verify(found: Mapping[str, Any]) -> str | None:
            for name, array in wanted.items():
                part = np.asarray(found[name]).reshape(-1)[: array.size] if name in found else array
                if not np.array_equal(part, array):
                    return f"{name} is wrong"
            return None

        return Data({"x": x}, verify=verify)

    def plan(implementation: str) -> Any:
        flags = dict.fromkeys(results, True)
        return plan_unique(device, size, np.int32, **flags, implementation=implementation, **tuning)

    def torch_unique(torch: Any, x: Any) -> Mapping[str, Any]:
        flags = {f"return_{name}": name in results for name in ("inverse", "counts")}
        found = torch.unique(x, **flags)
        names = ("values", *(name for name in ("inverse", "counts") if name in results))
        return dict(zip(names, found if results else (found,), strict=True))

    def array_unique(module: Any, x: Any) -> Mapping[str, Any]:
        flags = {f"return_{name}": name in results for name in _RESULTS[1:]}
        found = module.unique(x, **flags)
        return dict(zip(("values", *results), found if results else (found,), strict=True))

    peers: dict[str, Any] = {"cupy": array_unique, "numpy": array_unique}
    if "index" not in results:  # torch has no indices of first elements.
        peers["torch"] = torch_unique
    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=4 * size + 4 * min(size, most) * (1 + len(results)),
        items=size,
        peers=peers,
    )


DEFINITIONS = [
    Definition(
        name=f"unique.{name}",
        title=f"unique elements of int32 numbers below {share:g} times their number{title}",
        make=partial(_unique, results, share),
        smoke=_SMOKE,
        tuning=_SWEEPS,
    )
    for name, results, share, title in (
        ("values", (), 0.5, ""),
        ("few", (), 0.001, ""),
        ("counts", ("counts",), 0.5, ", and their counts"),
        ("inverse", ("inverse", "counts"), 0.5, ", with inverse and counts"),
        ("all", ("index", "inverse", "counts"), 0.5, ", with indices, inverse and counts"),
    )
]
