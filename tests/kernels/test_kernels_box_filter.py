"""The box filter gives the means that NumPy gives: exact sums bit for bit, others within the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.box_filter import plan_box_filter

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
UNIT = 2.0**-23


def _picture(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, 16, shape).astype(np.float32)


def _sums(x: Array, radius: int) -> Array:
    """Sums over the squares around each pixel, one axis after the other, by differences of running sums."""
    x = x.astype(np.float64)
    for axis in (0, 1):
        edges = [(radius, radius) if other == axis else (0, 0) for other in range(x.ndim)]
        running = np.cumsum(np.pad(x, edges, mode="edge"), axis)
        running = np.pad(running, [(1, 0) if other == axis else (0, 0) for other in range(x.ndim)])
        size = x.shape[axis]
        begins = np.arange(size)
        x = running.take(begins + 2 * radius + 1, axis) - running.take(begins, axis)
    return x


def _found(device: Device, x: Array, radius: int, implementation: str, **tuning: Any) -> Array:
    plan = plan_box_filter(device, x.dtype, x.shape, radius, implementation, **tuning)
    with device.buffer(x) as image, plan.record(image=image) as work:
        work.run(timeout=100)
        return work.buffers["filtered"].read()


def _check(device: Device, shape: tuple[int, ...], radius: int, implementation: str, **tuning: Any) -> None:
    """Whole sums are exact in any order; only the product with the scale is rounded, by one unit at most."""
    x = _picture(shape)
    found = _found(device, x, radius, implementation, **tuning).astype(np.float64)
    wanted = _sums(x, radius) * np.float64(np.float32(1 / (2 * radius + 1) ** 2))
    assert found.shape == shape
    assert np.all(np.abs(found - wanted) <= UNIT * wanted), (shape, radius, implementation, tuning)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_filters(reference: Device, implementation: str) -> None:
    """With a team that is large enough, and with one that is not."""
    for radius in (0, 1, 3, 5):
        _check(reference, (5, 33), radius, implementation)
    _check(reference, (7, 36), 2, implementation)
    _check(reference, (5, 13, 4), 1, implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_filter(driver: Device, implementation: str) -> None:
    for shape, radius in (((37, 113), 4), ((1, 1), 4), ((2, 700), 9), ((31, 40, 4), 2)):
        _check(driver, shape, radius, implementation)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_about_a_million_pixels(driver: Device, implementation: str) -> None:
    _check(driver, (1023, 1025), 2, implementation)


def test_wide_windows(references: dict[int, Device]) -> None:
    """The middle is added up in parts of four, or by doubling; windows may be larger than the picture."""
    for radius in (14, 21):
        _check(references[128], (6, 200), radius, "subgroup")
        _check(references[4], (6, 200), radius, "shared")
    _check(references[128], (5, 90, 4), 6, "subgroup")
    _check(references[4], (5, 90, 4), 6, "shared")
    _check(references[32], (3, 5), 7, "shared")


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    "tuning",
    [{"rows": 1, "blocks": 3}, {"rows": 10, "blocks": 1, "workgroup": 64}, {"rows": 3, "blocks": 2}],
    ids=str,
)
def test_tuning_changes_no_result(
    references: dict[int, Device], implementation: str, tuning: dict[str, Any]
) -> None:
    _check(references[32], (23, 67), 4, implementation, **tuning)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_rounding_stays_within_the_bound(driver: Device, implementation: str) -> None:
    """One huge pixel spoils the windows that it is in, and no other: nothing is ever subtracted."""
    x = np.random.default_rng(1).normal(size=(40, 60)).astype(np.float32)
    x[20, 30] = 1e30
    radius, count = 3, 49
    roundings = (count + 2) * UNIT
    bound = roundings / (1 - roundings) * _window_sums(np.abs(x), radius) / count
    wanted = _window_sums(x, radius) / count
    assert np.all(np.abs(_found(driver, x, radius, implementation) - wanted) <= bound)


def _window_sums(x: Array, radius: int) -> Array:
    """The same sums without a difference in it, in double precision."""
    padded = np.pad(x.astype(np.float64), radius, mode="edge")
    size = 2 * radius + 1
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size)).sum((-2, -1))


def test_auto_avoids_teams_that_only_serve(references: dict[int, Device]) -> None:
    assert plan_box_filter(references[32], np.float32, (9, 9), 8).implementation == "subgroup"
    assert plan_box_filter(references[32], np.float32, (9, 9), 40).implementation == "shared"
    assert plan_box_filter(references[4], np.float32, (9, 9), 8).implementation == "shared"


def test_arrays_and_buffers(references: dict[int, Device]) -> None:
    device, x = references[32], _picture((12, 20))
    wanted = _found(device, x, 1, "shared")
    assert np.array_equal(kernels.box_filter(x, 1, device=device), wanted)
    with device.buffer(x) as buffer:
        filtered = kernels.box_filter(buffer, 1)
        assert isinstance(filtered, Buffer)
        assert np.array_equal(filtered.read(), wanted)
    assert np.array_equal(kernels.box_filter(x, 0, device=device), x)


def test_empty_pictures_need_no_device() -> None:
    found = kernels.box_filter(np.empty((0, 4, 4), np.float32), 2)
    assert isinstance(found, np.ndarray)
    assert found.shape == (0, 4, 4)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("radius", [1, 5])
def test_the_check_finds_nothing(checked: Any, implementation: str, radius: int) -> None:
    x = _picture((5, 90))
    found = checked(
        f"box_filter/{implementation}.comp",
        groups=(2,),
        inputs={"Image": x.ravel(), "Filtered": np.zeros(x.size, np.float32)},
        push={"width": 90, "height": 5, "scale": 0.25},
        specialization={0: 32, "RADIUS": radius},
    )
    assert found == ()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing_in_the_kernels_as_they_stand(checked: Any, implementation: str) -> None:
    assert checked(f"box_filter/{implementation}.comp") == ()
