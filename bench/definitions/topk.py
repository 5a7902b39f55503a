"""Benchmarks of top-k selections: one long row, many rows, and keys of which many are equal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host
from vkgroup.dispatch import Device
from vkgroup.kernels.topk import plan_topk

_SMOKE = (1, 1021, 70_001)
_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (128, 256, 512),
    "items": (2, 4, 8, 16),
    "row": (4096, 16_384, 65_536),
    "groups": (132, 264, 528, 1056),
    "block": (64, 128, 256, 512),
}
_COLUMNS = 4096


def _topk(
    dtype: str, k: int, columns: int, most: int, device: Device, size: int, tuning: Mapping[str, Any]
) -> BenchmarkCase:
    """Return the case of rows of `columns` elements (0: one row); int32 numbers are below `most`."""
    length = min(size, columns) if columns else size
    rows, taken = max(1, size // length), min(k, length)

    def draw(rng: np.random.Generator, count: int) -> npt.NDArray[Any]:
        return rng.random(count, np.float32) if dtype == "float32" else rng.integers(0, most, count)

    def data(rng: np.random.Generator) -> Data:
        x = host.drawn(rng, (rows, length), dtype, draw)
        wanted = host.by_rows(lambda part: -np.sort(np.partition(-part, taken - 1)[:, :taken]), x)

        def verify(found: Mapping[str, Any]) -> str | None:
            values = np.asarray(found["values"]).reshape(rows, taken)
            indices = np.asarray(found["indices"]).reshape(rows, taken).astype(np.int64)
            if not np.array_equal(values, wanted):
                return "values are wrong"
            same = np.array_equal(np.take_along_axis(x, indices, 1), wanted)
            return None if same else "indices are not those of the values"

        return Data({"x": x}, verify=verify)

    def plan(implementation: str) -> Any:
        return plan_topk(device, (rows, length), dtype, taken, implementation=implementation, **tuning)

    def torch_topk(torch: Any, x: Any) -> Mapping[str, Any]:
        return dict(zip(("values", "indices"), torch.topk(x, taken), strict=True))

    def array_topk(module: Any, x: Any) -> Mapping[str, Any]:
        # Neither NumPy nor CuPy has a top-k selection: a partition, and a sort of its part.
        chosen = module.argpartition(-x, taken - 1, axis=1)[:, :taken]
        values = module.take_along_axis(x, chosen, axis=1)
        order = module.argsort(-values, axis=1)
        return {
            "values": module.take_along_axis(values, order, axis=1),
            "indices": module.take_along_axis(chosen, order, axis=1),
        }

    return BenchmarkCase(
        variants={name: partial(plan, name) for name in ("subgroup", "shared")},
        data=data,
        bytes=4 * rows * length + 8 * rows * taken,
        items=rows * length,
        peers={"torch": torch_topk, "cupy": array_topk, "numpy": array_topk},
    )


DEFINITIONS = [
    Definition(
        name=f"topk.{name}",
        title=title,
        make=partial(_topk, dtype, k, columns, most),
        smoke=_SMOKE,
        tuning=_SWEEPS,
    )
    for name, dtype, k, columns, most, title in (
        ("float32.10", "float32", 10, 0, 0, "the 10 greatest of float32 in one row"),
        ("float32.1000", "float32", 1000, 0, 0, "the 1000 greatest of float32 in one row"),
        ("int32.1000", "int32", 1000, 0, 2**31, "the 1000 greatest of int32 in one row"),
        ("equal.1000", "int32", 1000, 0, 10, "the 1000 greatest of int32 below 10 in one row"),
        ("rows.10", "float32", 10, _COLUMNS, 0, f"the 10 greatest of each row of {_COLUMNS} float32"),
        ("rows.100", "float32", 100, _COLUMNS, 0, f"the 100 greatest of each row of {_COLUMNS} float32"),
    )
]
