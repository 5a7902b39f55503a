"""Matrix-vector products equal NumPy's on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.matvec import plan_matvec
from vkgroup.kernels.types import NUMBERS

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
SHAPES = ((1, 1), (7, 5), (5, 64), (2, 6000), (3, 3001))
UNIT = 2.0**-23
"""Relative error bound of one float32 operation; Vulkan does not define the rounding mode."""


def _exact(dtype: npt.DTypeLike, shape: tuple[int, int], seed: int = 0) -> tuple[Array, Array]:
    """Make a matrix and a vector of which every sum of products is exact; integers wrap around."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind != "f":
        return (
            rng.integers(0, 1 << 62, shape, np.uint64).astype(kind),
            rng.integers(0, 1 << 62, shape[1], np.uint64).astype(kind),
        )
    return rng.integers(-2, 3, shape).astype(kind), rng.integers(-1, 2, shape[1]).astype(kind)


def _found(device: Device, matrix: Array, vector: Array, **options: Any) -> Array:
    rows, columns = matrix.shape
    plan = plan_matvec(device, (rows, columns), matrix.dtype, **options)
    with device.buffer(matrix) as a, device.buffer(vector) as x, plan.record(matrix=a, vector=x) as work:
        work.run()
        return work.buffers["result"].read()


def _check(device: Device, dtype: npt.DTypeLike, shape: tuple[int, int], **options: Any) -> None:
    matrix, vector = _exact(dtype, shape)
    found = _found(device, matrix, vector, **options)
    assert np.array_equal(found, matrix @ vector), (dtype, shape, options)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_multiplies(reference: Device, implementation: str) -> None:
    for shape in ((13, 37), (3, 3001)):
        _check(reference, np.float32, shape, implementation=implementation, items=2)
    _check(reference, np.int32, (9, 64), implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_multiply(driver: Device, implementation: str) -> None:
    for shape in SHAPES:
        _check(driver, np.float32, shape, implementation=implementation, items=1, rows=2)
    _check(driver, np.uint32, (30, 100), implementation=implementation, items=1)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_type(references: dict[int, Device], dtype: np.dtype[Any]) -> None:
    for implementation in IMPLEMENTATIONS:
        _check(references[8], dtype, (5, 203), implementation=implementation)
    _check(references[8], dtype, (2, 4096))


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("shape", [(2**20 - 1, 1), (1, 2**20), (3, 2**20 + 1)], ids=str)
def test_a_million_elements(references: dict[int, Device], shape: tuple[int, int]) -> None:
    _check(references[32], np.float32, shape)


TUNING: tuple[dict[str, Any], ...] = (
    {"rows": 1, "items": 1},
    {"rows": 2, "team": 4, "workgroup": 64},
    {"rows": 3, "team": 1},
    {"team": 0, "groups": 64, "workgroup": 32, "items": 1},
    {"team": 0, "workgroup": 96, "radix": 3},
    {"items": 8, "finish_workgroup": 32, "team_columns": 16, "workgroup": 32, "groups": 1000},
)


@pytest.mark.mostly_slow(every=5, start=1)
@pytest.mark.parametrize("tuning", TUNING, ids=str)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_tuning_changes_no_result(
    references: dict[int, Device], implementation: str, tuning: dict[str, Any]
) -> None:
    for shape in ((5, 1003), (41, 256)):
        _check(references[16], np.int32, shape, implementation=implementation, **tuning)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_products_are_as_exact_as_their_depth_allows(driver: Device, implementation: str) -> None:
    """One rounding of the product, and one for each addition that it takes part in."""
    rng = np.random.default_rng(0)
    matrix, vector = rng.normal(size=(4, 5003)).astype(np.float32), rng.normal(size=5003).astype(np.float32)
    found = _found(
        driver, matrix, vector, implementation=implementation, workgroup=64, items=1, groups=16, team=0
    )
    terms = matrix.astype(np.float64) * vector
    depth = 1 + -(-5003 // (4 * 64)) + 2 + 64 + 16
    bound = depth * UNIT / (1 - depth * UNIT) * np.abs(terms).sum(1)
    assert (np.abs(found - terms.sum(1)) <= bound).all()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_what_lies_behind_the_end_does_not_count(references: dict[int, Device], implementation: str) -> None:
    """The last row and column are loaded in place of what is not there: an infinity there stays there."""
    matrix, vector = np.ones((6, 37), np.float32), np.ones(37, np.float32)
    matrix[5, 36] = np.inf
    found = _found(references[8], matrix, vector, implementation=implementation)
    assert np.array_equal(found, [37] * 5 + [np.inf])


def test_products_of_users(references: dict[int, Device], driver: Device) -> None:
    matrix, vector = _exact(np.float32, (20, 30))
    for array in (matrix, np.asfortranarray(matrix)):
        assert np.array_equal(kernels.matvec(array, vector, device=references[4]), matrix @ vector)
    with driver.buffer(matrix) as a, driver.buffer(vector) as x:
        found = kernels.matvec(a, x)
        assert isinstance(found, Buffer)
        assert np.array_equal(found.read(), matrix @ vector)


def test_empty_products_need_no_device() -> None:
    assert np.array_equal(kernels.matvec(np.zeros((3, 0), np.int32), np.zeros(0, np.int32)), np.zeros(3))
    assert kernels.matvec(np.zeros((0, 3), np.int32), np.zeros(3, np.int32)).shape == (0,)


@pytest.mark.parametrize(
    ("matrix", "vector"),
    [
        (np.zeros((2, 3), np.float32), np.zeros(2, np.float32)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.float64)),
        (np.zeros(3, np.float32), np.zeros(3, np.float32)),
        (np.zeros((2, 3), np.complex64), np.zeros(3, np.complex64)),
    ],
)
def test_what_does_not_fit_is_refused(matrix: Array, vector: Array) -> None:
    with pytest.raises(InvalidDispatch):
        kernels.matvec(matrix, vector)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_kernels_are_clean(checked: Callable[..., Any], implementation: str) -> None:
    assert not checked(f"matvec/{implementation}.comp")


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_teams_and_parts_are_clean(checked: Callable[..., Any], implementation: str) -> None:
    """Whole vectors, several rows, rows in parts; and teams that share a subgroup."""
    matrix = {"matrix": np.ones((6, 200), np.float32), "factors": np.ones(200, np.float32)}
    shared = {0: 32, "ITEMS": 1, "SUBGROUPS": 32, "ALIGNED": True}
    path = f"matvec/{implementation}.comp"
    assert not checked(
        path,
        {"FINISH": "SECOND"},
        inputs=matrix,
        push={"length": 200, "rows": 6, "parts": 3},
        specialization=shared,
    )
    assert not checked(
        path, inputs=matrix, push={"length": 200, "rows": 6}, specialization=shared | {"TEAM": 8}
    )
