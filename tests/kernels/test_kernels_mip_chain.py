"""Mip chains are NumPy's, bit for bit: each texel is made by the same three additions and one product."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.base.errors import Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.mip_chain import level_places, level_shapes, plan_mip_chain

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
SHAPES = [(2, 1), (64, 64), (37, 113), (1, 1000), (130, 65), (31, 40, 4), (70, 33, 4)]
UNIT = 2.0**-23


def _picture(shape: tuple[int, ...]) -> Array:
    """Four bits each: a mean of as many as a million texels has 24 bits, and no sum is ever rounded."""
    return np.random.default_rng(sum(shape)).integers(0, 16, shape).astype(np.float32)


def _levels(x: Array) -> list[Array]:
    """The definition, level by level."""
    found = []
    while max(x.shape[:2]) > 1:
        height, width = x.shape[:2]
        rows = np.minimum(np.arange(2 * max(1, height // 2)), height - 1)
        columns = np.minimum(np.arange(2 * max(1, width // 2)), width - 1)
        y = x[rows][:, columns]
        above, below = y[0::2, 0::2] + y[0::2, 1::2], y[1::2, 0::2] + y[1::2, 1::2]
        x = (above + below) * np.float32(0.25)
        found.append(x)
    return found


def _found(device: Device, x: Array, implementation: str, **options: Any) -> list[Array]:
    plan = plan_mip_chain(device, x.dtype, x.shape, implementation, **options)
    with device.buffer(x) as image, plan.record(image=image) as work:
        for _ in range(2):  # the counters begin anew each time
            work.run(timeout=100)
        texels = work.buffers["levels"].read()
    places = level_places(x.shape, options.get("levels"))
    return [texels[start : start + np.prod(shape)].reshape(shape) for start, shape in places]


def _check(device: Device, shape: tuple[int, ...], implementation: str, **tuning: Any) -> None:
    x = _picture(shape)
    found, wanted = _found(device, x, implementation, **tuning), _levels(x)
    assert [one.shape for one in found] == [one.shape for one in wanted] == level_shapes(shape)
    for number, (one, other) in enumerate(zip(found, wanted, strict=True), 1):
        assert np.array_equal(one, other), (shape, implementation, tuning, number)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_halves(reference: Device, implementation: str) -> None:
    """But sizes below 4 have no quads."""
    if implementation == "subgroup" and reference.capabilities.subgroup.size < 4:
        with pytest.raises(Unsupported, match="no quads"):
            _check(reference, (8, 8), implementation)
        return
    for shape in ((37, 113), (1, 300), (30, 17, 4)):
        _check(reference, shape, implementation)
    _check(reference, (67, 70), implementation, workgroup=256, block=2)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_halve(driver: Device, implementation: str) -> None:
    for shape in SHAPES:
        _check(driver, shape, implementation)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("shape", [(1023, 1025), (61681, 17)], ids=str)
def test_about_a_million_texels(driver: Device, shape: tuple[int, ...], implementation: str) -> None:
    """Tiles of 32 × 32 make stages of tiles, of which the last ones go on."""
    _check(driver, shape, implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("tuning", [{"workgroup": 4, "block": 2}, {"workgroup": 16, "block": 4}], ids=str)
def test_small_tiles_make_many_stages(
    references: dict[int, Device], implementation: str, tuning: dict[str, Any]
) -> None:
    _check(references[4], (77, 130), implementation, **tuning)


def test_rounding_stays_within_the_bound(driver: Device) -> None:
    """Of level n each texel was rounded 3 n times at most on its way."""
    x = np.random.default_rng(1).normal(size=(77, 123)).astype(np.float32)
    wanted, sizes = _levels(x.astype(np.float64)), _levels(np.abs(x.astype(np.float64)))
    for implementation in IMPLEMENTATIONS:
        for number, found in enumerate(_found(driver, x, implementation), 1):
            bound = ((1 + UNIT) ** (3 * number) - 1) * sizes[number - 1]
            assert np.all(np.abs(found - wanted[number - 1]) <= bound)


def test_some_levels(references: dict[int, Device]) -> None:
    x = _picture((40, 24))
    for implementation in IMPLEMENTATIONS:
        for levels in (1, 2, 3):
            found = _found(references[8], x, implementation, levels=levels, workgroup=16)
            assert all(map(np.array_equal, found, _levels(x)[:levels]))
            assert len(found) == levels


def test_arrays_and_buffers(references: dict[int, Device]) -> None:
    device, x = references[32], _picture((10, 7, 4))
    wanted = _levels(x)
    for found in (kernels.mip_chain(x, device=device), kernels.mip_chain(x, device=device, levels=2)):
        assert all(map(np.array_equal, found, wanted))
    with device.buffer(x) as buffer:
        views = kernels.mip_chain(buffer)
        assert all(isinstance(view, Buffer) for view in views)
        assert all(np.array_equal(view.read(), level) for view, level in zip(views, wanted, strict=True))
        again = kernels.transpose(views[0].view(np.uint64, (5, 6)))
        assert isinstance(again, Buffer)
        assert np.array_equal(again.read(), wanted[0].view(np.uint64).reshape(5, 6).T)
    image = device.image(x, levels=kernels.mip_chain(x, device=device))
    assert np.array_equal(image.read(1), wanted[0])


def test_one_pixel_has_no_smaller_level() -> None:
    assert kernels.mip_chain(np.ones((1, 1), np.float32)) == []


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing(checked: Any, implementation: str) -> None:
    """Two stages, and sizes that are odd at some levels."""
    x, places = _picture((37, 51)), level_places((37, 51))
    found = checked(
        f"mip_chain/{implementation}.comp",
        groups=(12,),
        inputs={
            "Image": x.ravel(),
            "Levels": np.zeros(places[-1][0] + 64, np.float32),
            "Counters": np.zeros(4, np.uint32),
        },
        push={"width": 51, "height": 37, "levels": len(places)},
        specialization={0: 16, "SIDE": 4},
        sizes=(4, 16),
    )
    assert found == ()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing_in_the_kernels_as_they_stand(checked: Any, implementation: str) -> None:
    assert checked(f"mip_chain/{implementation}.comp") == ()
