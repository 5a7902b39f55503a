"""Benchmarks of softmax and layer norm by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench import BenchmarkCase, Data, Definition, host, powers_of_two
from vkgroup.bench.definition import Arrays
from vkgroup.dispatch import Device
from vkgroup.kernels.rows import plan_layer_norm, plan_softmax

Array = npt.NDArray[Any]

_KINDS = 61
"""Number of distinct rows, whose results are computed in float64; each input row is one of them."""

_UNIT = 2.0**-23
_STEPS = 2000
"""Upper bound of the operations that any element or sum takes part in, even if 64 invocations add 65,536
elements one by one; error bounds use this number."""

_SWEEPS: dict[str, tuple[Any, ...]] = {
    "workgroup": (32, 64, 128, 256, 512, 1024),
    "items": (1, 2, 4, 8, 16),
    "team": (0, 8, 16, 32),
    "groups": (132, 264, 528, 1056, 2112, 4224, 8448, 65_535),
    "radix": (2, 4, 8, 16),
}


def _softmax(x: Array) -> tuple[Array, Array]:
    """Return softmax and its bounds; the error of exp is at most 3 + 2·|x| ULP (Vulkan)."""
    high = x.astype(np.float64)
    terms = np.exp(high - high.max(-1, keepdims=True))
    right = terms / terms.sum(-1, keepdims=True)
    spread = high.max(-1, keepdims=True) - high.min(-1, keepdims=True)
    return right, (_STEPS + 12 * spread) * _UNIT * right + 2.0**-126


def _layer_norm(x: Array, weight: Array, bias: Array) -> tuple[Array, Array]:
    """Return layer norm and its bounds, derived from the bounds of the mean and the variance."""
    high = x.astype(np.float64)
    deviation = np.sqrt(high.var(-1, keepdims=True) + 1e-5)
    apart = (high - high.mean(-1, keepdims=True)) / deviation
    wrong_mean = _STEPS * _UNIT * np.abs(high).max(-1, keepdims=True) / deviation
    error = np.abs(weight) * (
        np.abs(apart) * (_STEPS * _UNIT + 4 * wrong_mean * (1 + wrong_mean)) + 2 * wrong_mean
    )
    right = apart * weight + bias
    return right, error + 4 * _UNIT * (np.abs(right) + np.abs(bias))


def _verify(right: Array, bound: Array, kinds: Array, found: Arrays) -> str | None:
    """Compare each row with the expected result of its distinct row."""
    rows = found["result"].reshape(len(kinds), -1)

    def within(span: slice) -> str | None:
        part = kinds[span]
        fine = np.abs(rows[span] - right[part]) <= bound[part]
        if fine.all():
            return None
        row, column = np.argwhere(~fine)[0]
        got, wanted = rows[span][row, column], right[part[row], column]
        return f"row {span.start + row} has {got} in column {column} instead of {wanted}"

    return next(filter(None, host.each(within, host.row_spans(rows))), None)


def _case(name: str, columns: int, device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    shape = (max(1, size // columns), min(size, columns))

    def data(rng: np.random.Generator) -> Data:
        base = rng.standard_normal((_KINDS, shape[1]), dtype=np.float32)
        kinds = rng.integers(0, _KINDS, shape[0])
        x = np.empty(shape, np.float32)
        host.each(lambda rows: base.take(kinds[rows], 0, x[rows], "clip"), host.row_spans(x))
        inputs = {"x": x}
        if name == "softmax":
            right, bound = _softmax(base)
        else:
            inputs["weight"], inputs["bias"] = rng.standard_normal((2, shape[1]), dtype=np.float32)
            right, bound = _layer_norm(base, inputs["weight"], inputs["bias"])
        return Data(inputs, verify=partial(_verify, right, bound, kinds))

    def plan(implementation: str) -> Any:
        if name == "softmax":
            return plan_softmax(device, shape, np.float32, implementation=implementation, **tuning)
        return plan_layer_norm(
            device, shape, np.float32, weight=True, bias=True, implementation=implementation, **tuning
        )

    moved = 8 * shape[0] * shape[1]
    return BenchmarkCase(
        variants={implementation: partial(plan, implementation) for implementation in ("subgroup", "shared")},
        data=data,
        bytes=moved if name == "softmax" else moved + 8 * shape[1],
        items=shape[0],
        operations=(5 if name == "softmax" else 8) * shape[0] * shape[1],
        peers=_PEERS[name],
    )


def _torch_layer_norm(torch: Any, x: Any, weight: Any, bias: Any) -> dict[str, Any]:
    return {"result": torch.nn.functional.layer_norm(x, weight.shape, weight, bias)}


def _numpy_softmax(numpy: Any, x: Any) -> dict[str, Any]:
    terms = numpy.exp(x - x.max(-1, keepdims=True))
    return {"result": terms / terms.sum(-1, keepdims=True)}


def _numpy_layer_norm(numpy: Any, x: Any, weight: Any, bias: Any) -> dict[str, Any]:
    apart = x - x.mean(-1, keepdims=True)
    return {"result": apart / numpy.sqrt((apart * apart).mean(-1, keepdims=True) + 1e-5) * weight + bias}


_PEERS: dict[str, dict[str, Callable[..., Any]]] = {
    "softmax": {
        "torch": lambda torch, x: {"result": torch.softmax(x, -1)},
        "numpy": _numpy_softmax,
    },
    "layer_norm": {"torch": _torch_layer_norm, "numpy": _numpy_layer_norm},
}

DEFINITIONS = [
    Definition(
        name=f"{name}.float32.{columns}",
        title=f"{name.replace('_', ' ')} of rows of {columns}, by elements of all rows",
        make=partial(_case, name, columns),
        sizes=powers_of_two(10, 27),
        smoke=(1, 1021, 40_009),
        tuning=_SWEEPS,
    )
    for name in ("softmax", "layer_norm")
    for columns in (32, 1000, 1024, 2048, 4096, 8192, 65_536)
]
