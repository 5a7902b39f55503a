"""NaN, infinities, zeros of both signs and denormals: every kernel of floats on every driver, as NumPy.

Comparisons and sums are exact, or NaN and infinity absorb what is rounded, so that no tolerance is needed.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.dispatch import Device

NAN, INF, TINY = np.nan, np.inf, np.finfo(np.float32).smallest_subnormal
ROWS = np.array(
    [
        [1, NAN, 2, 3],
        [-NAN, 1, INF, -INF],
        [1, INF, 2, 3],
        [1, -INF, 2, 3],
        [INF, -INF, INF, 1],
        [INF, INF, INF, INF],
        [-INF, -INF, -INF, -INF],
        [0.0, -0.0, 0.0, -0.0],
        [TINY, -TINY, 3, -3],
    ],
    np.float32,
)
#: The values of a row 1, 7 and 70 times: in a few lanes, in several subgroups, in several workgroups.
WIDTHS = (1, 7, 70)

Answer = Callable[[npt.NDArray[Any]], Any]

#: By kernel: a call, and what NumPy says.
CALLS: dict[str, tuple[Callable[..., Any], Answer]] = {
    "sum": (kernels.sum, np.sum),
    "prod": (kernels.prod, np.prod),
    "min": (kernels.min, np.min),
    "max": (kernels.max, np.max),
    "argmin": (kernels.argmin, np.argmin),
    "argmax": (kernels.argmax, np.argmax),
    "cumsum": (kernels.cumsum, np.cumsum),
    "cumprod": (kernels.cumprod, np.cumprod),
    "maximum_accumulate": (kernels.maximum_accumulate, np.maximum.accumulate),
    "minimum_accumulate": (kernels.minimum_accumulate, np.minimum.accumulate),
    "scan": (lambda x, **o: kernels.scan(x, "max", **o), np.maximum.accumulate),
    "sort": (kernels.sort, np.sort),
    "argsort": (kernels.argsort, lambda x: np.argsort(x, kind="stable")),
    "sort_by_key": (
        lambda x, **o: kernels.sort_by_key(x, np.arange(len(x), dtype=np.uint32), **o)[1],
        lambda x: np.argsort(x, kind="stable"),
    ),
    "topk": (
        lambda x, **o: kernels.topk(x, 3, **o)[0],
        lambda x: np.array(sorted(x.tolist(), key=lambda v: (np.isnan(v), v))[::-1][:3], x.dtype),
    ),
    "unique": (kernels.unique, np.unique),
    "searchsorted": (
        lambda x, **o: kernels.searchsorted(np.sort(x), x, **o),
        lambda x: np.searchsorted(np.sort(x), x),
    ),
    "count": (lambda x, **o: kernels.count(x, "<=", 1, **o), lambda x: np.count_nonzero(x <= 1)),
    "compact": (lambda x, **o: kernels.compact(x, ">=", 1, **o), lambda x: x[x >= 1]),
    "compress": (lambda x, **o: kernels.compress(x >= 1, x, **o), lambda x: x[x >= 1]),
    "partition_by": (
        lambda x, **o: kernels.partition_by(x >= 1, x, **o)[0],
        lambda x: np.concatenate([x[x >= 1], x[~(x >= 1)]]),
    ),
    "flatnonzero": (kernels.flatnonzero, np.flatnonzero),
    "nonzero": (lambda x, **o: kernels.nonzero(x, **o)[0], lambda x: np.nonzero(x)[0]),
    "histogram": (
        lambda x, **o: kernels.histogram(x, [-INF, 0, 2, INF], **o)[0],
        lambda x: np.histogram(x[~np.isnan(x)], [-INF, 0, 2, INF])[0],
    ),
    "matvec": (
        lambda x, **o: kernels.matvec(np.stack([x, x]), np.ones_like(x), **o),
        lambda x: [x.sum()] * 2,
    ),
    "matmul": (lambda x, **o: kernels.matmul(x[None], np.ones_like(x)[:, None], **o), lambda x: [[x.sum()]]),
    "max_pool": (
        lambda x, **o: kernels.max_pool(np.stack([x] * 4), **o),
        lambda x: x.reshape(1, -1, 4).max(axis=2),
    ),
    "transpose": (lambda x, **o: kernels.transpose(x.reshape(2, -1), **o), lambda x: x.reshape(2, -1).T),
    "softmax": (kernels.softmax, lambda x: _meaningless(x, only_minus=True)),
    "layer_norm": (kernels.layer_norm, lambda x: _meaningless(x, only_minus=False)),
    "box_filter": (lambda x, **o: kernels.box_filter(x[None], 1, **o)[0], lambda x: _means(x)),
    "mip_chain": (lambda x, **o: kernels.mip_chain(x[None], levels=1, **o)[0], lambda x: _halved(x)[None]),
    "quad_mip": (
        lambda x, **o: kernels.quad_mip(np.repeat(x[None, :, None], 4, axis=2), **o)[1][..., 0],
        lambda x: _halved(x)[None],
    ),
}
WITHOUT_FLOATS = {"bincount"}
#: Kernels that add and multiply: a driver may flush their denormals to zero.
ARITHMETIC = {
    *("sum", "prod", "cumsum", "cumprod", "matvec", "matmul"),
    *("softmax", "layer_norm", "box_filter", "mip_chain", "quad_mip"),
}
#: Kernels whose finite results are rounded, which other tests measure: here, where they are finite.
ROUNDED = {"softmax", "layer_norm", "box_filter"}
#: The first tier has one driver, since lavapipe compiles for a minute here.
DRIVERS = [
    "swiftshader",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("lavapipe", "oldest lavapipe")),
]
#: Names of implementations other than "shared" and "subgroup".
OTHERS = {"quad_mip": ("fetch", "subgroup"), "max_pool": ("shared", "subgroup", "direct")}


def _meaningless(x: npt.NDArray[Any], *, only_minus: bool) -> npt.NDArray[Any]:
    """Return NaN for a row without a meaning, else anything finite."""
    bad = np.isnan(x).any() or (x == INF).any() or (x == -INF).all() or (not only_minus and np.isinf(x).any())
    return np.full(len(x), NAN if bad else 0)


def _means(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    edges = np.pad(x, 1, mode="edge").astype(np.float64)
    return edges[:-2] + edges[1:-1] + edges[2:]


def _halved(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    left, right = x[: len(x) // 2 * 2 : 2], x[1::2]
    return ((left + right) + (left + right)) * np.float32(0.25)


def test_every_kernel_is_here() -> None:
    functions = {name for name in kernels.__all__ if inspect.isfunction(getattr(kernels, name))}
    assert functions - {name for name in functions if name.startswith("plan_")} == set(CALLS) | WITHOUT_FLOATS


@pytest.mark.parametrize("driver", DRIVERS, indirect=True, scope="module")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_special_values_are_as_in_numpy(driver: Device, name: str) -> None:
    call, answer = CALLS[name]
    for row, width in itertools.product(ROWS[:-1] if name in ARITHMETIC else ROWS, WIDTHS):
        x = np.tile(row, width)
        wanted = np.asarray(answer(x))
        for implementation in OTHERS.get(name, ("shared", "subgroup")):
            found = np.asarray(call(x, device=driver, implementation=implementation))
            what = f"{row} x {width}, {implementation}: {found.reshape(-1)[:8]}"
            assert found.shape == wanted.shape, what
            if name in ROUNDED:
                assert np.array_equal(np.isnan(found), np.isnan(wanted)), what
                assert np.array_equal(found == INF, wanted == INF), what
                assert np.array_equal(found == -INF, wanted == -INF), what
            else:
                assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"), what
