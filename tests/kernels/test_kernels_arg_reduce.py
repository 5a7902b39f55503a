"""argmin and argmax find the first place that NumPy finds, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.reduce import plan_arg_reduce
from vkgroup.kernels.reduce_plan import macros_of
from vkgroup.kernels.types import NUMBERS

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
NUMPY: dict[str, Callable[..., Any]] = {"argmin": np.argmin, "argmax": np.argmax}


def _few(dtype: npt.DTypeLike, shape: Any, seed: int = 0) -> Array:
    """Make elements of few different values, so that the extreme ones come several times."""
    kind = np.dtype(dtype)
    x = np.random.default_rng(seed).integers(0, 40, shape)
    if kind.kind == "u":
        return x.astype(kind) + kind.type(np.iinfo(kind).max // 2)
    return (x - 20).astype(kind)


def _check(device: Device, x: Array, axis: int | None = None, **options: Any) -> None:
    for operation, numpy in NUMPY.items():
        plan = plan_arg_reduce(device, x.shape, x.dtype, operation, axis, **options)
        with device.buffer(x) as buffer, plan.record(x=buffer) as work:
            work.run()
            found = work.buffers["result"].read()
        wanted = numpy(x, axis)
        assert found.dtype == np.int64
        assert np.array_equal(found, wanted), (operation, x.dtype, x.shape, axis, options)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_finds_places(reference: Device, implementation: str) -> None:
    options: dict[str, Any] = {"implementation": implementation, "workgroup": 128, "items": 1}
    _check(reference, _few(np.float32, 4099), **options)
    _check(reference, _few(np.int32, (21, 37)), 1, **options)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_find_places(driver: Device, implementation: str) -> None:
    for size in (1, 2, 5, 1021, 4099):
        _check(driver, _few(np.float32, size), implementation=implementation)
    _check(driver, _few(np.uint32, (21, 37)), 1, implementation=implementation)
    _check(driver, _few(np.int32, (2001, 3)), 0, implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("finish", ["second", "ticket"])
@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1])
def test_a_million_elements(references: dict[int, Device], size: int, finish: str) -> None:
    x = _few(np.float32, size)
    implementation = "shared" if size % 2 else "subgroup"
    _check(references[32], x, finish=finish, contiguous=size % 2 == 0, implementation=implementation)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_type(references: dict[int, Device], dtype: np.dtype[Any]) -> None:
    for implementation in IMPLEMENTATIONS:
        _check(references[8], _few(dtype, (9, 61)), 1, implementation=implementation)
    _check(references[8], _few(dtype, (200, 12)), 0)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32])
def test_all_equal_finds_the_first(references: dict[int, Device], implementation: str, dtype: Any) -> None:
    """Also where all are the least or greatest number there is, which a state begins with."""
    kind = np.dtype(dtype)
    extremes: tuple[Any, ...] = (0, -np.inf, np.inf, np.nan)
    if kind.kind != "f":
        extremes = (0, np.iinfo(kind).min, np.iinfo(kind).max)
    for value in extremes:
        _check(references[16], np.full((2, 1029), value, kind), 1, implementation=implementation)
    _check(references[16], np.full((500, 3), extremes[1], kind), 0, implementation=implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_one_extreme_at_every_kind_of_place(references: dict[int, Device], implementation: str) -> None:
    """Before the first whole vector of a row, in one, behind the last; at seams of tiles and parts."""
    for place in (0, 1, 3, 511, 512, 2047, 2050, 2052):
        x = np.zeros((3, 2053), np.int32)
        x[1, place] = 1
        x[2, place] = -1
        _check(references[32], x, 1, implementation=implementation, workgroup=32, items=2, groups=12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nan_and_zeros_are_as_in_numpy(references: dict[int, Device], dtype: Any) -> None:
    """The first NaN of either sign is found; -0 and 0 are the same number."""
    nan = np.array(np.nan, dtype)
    special: tuple[tuple[Any, ...], ...] = (
        (nan, nan),
        (-nan, nan),
        (nan, -nan),
        (np.inf, nan),
        (-np.inf, -nan),
        (-np.inf, np.inf),
    )
    for number, values in enumerate(special):
        x = np.zeros(500, dtype)
        x[np.sort(np.random.default_rng(number).choice(500, 2, replace=False))] = values
        for implementation in IMPLEMENTATIONS:
            _check(references[8], x, implementation=implementation)
    x = np.tile(np.array([0.0, -0.0], dtype), 50)
    _check(references[8], x)
    _check(references[8], -x)


def test_places_of_users(references: dict[int, Device], driver: Device) -> None:
    x = _few(np.float32, (5, 6, 7))
    for device in (references[4], driver):
        for axis in (None, 0, 1, -1):
            found = kernels.argmin(x, axis, device=device)
            assert np.array_equal(found, np.argmin(x, axis))
            kept = kernels.argmax(x, axis, keepdims=True, device=device)
            assert np.array_equal(kept, np.argmax(x, axis, keepdims=True))
    with driver.buffer(x) as buffer:
        places = kernels.argmax(buffer, -1)
        assert isinstance(places, Buffer)
        assert np.array_equal(places.read(), np.argmax(x, -1))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("finish", ["DIRECT", "TICKET"])
def test_the_kernels_are_clean(checked: Callable[..., Any], implementation: str, finish: str) -> None:
    found = checked(
        f"reduce/{implementation}.comp",
        {**macros_of("argmax", np.dtype(np.float32)), "FINISH": finish},
        inputs={"values": np.arange(2004, dtype=np.int32)},
        push={"length": 1002, "rows": 2} | ({"parts": 3} if finish == "TICKET" else {}),
        specialization={0: 64, "ITEMS": 1, "SUBGROUPS": 64},
        groups=(6,),
    )
    assert not found
