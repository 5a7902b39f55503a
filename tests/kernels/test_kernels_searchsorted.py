"""Searches in a sorted array give NumPy's positions, on every device and with every number of splitters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.searchsorted import plan_searchsorted

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")
SIDES = ("left", "right")
DTYPES = ("f4", "u4", "i4", "f8", "u8", "i8", "f2")


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _drawn(dtype: str, size: int, seed: int = 0) -> Array:
    """Return random bits of a dtype; floats have NaNs of both signs, zeros, infinities and denormals."""
    kind = np.dtype(dtype)
    x = _rng(seed).integers(0, 256, size * kind.itemsize, np.uint8).view(kind)
    if kind.kind == "f":
        special = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 0.0, 0.0], kind)
        special[6:] = np.finfo(kind).smallest_subnormal * np.array([1, -1], kind)
        chosen = _rng(seed + 1).random(size) < 0.3
        x[chosen] = _rng(seed + 2).choice(special, int(chosen.sum()))
    return x


def _check(a: Array, v: Array, device: Device, **options: Any) -> None:
    for side in SIDES:
        found = kernels.searchsorted(a, v, side, device=device, **options)
        assert found.dtype == np.int64
        assert found.shape == v.shape
        assert np.array_equal(found, np.searchsorted(a, v, side)), (a.size, v.size, side)


def _planned(a: Array, v: Array, side: str, device: Device, **options: Any) -> Array:
    plan = plan_searchsorted(device, a.size, v.shape, a.dtype, side, **options)
    with plan.record() as work:
        work.buffers["a"].write(a)
        work.buffers["v"].write(v)
        work.run(timeout=60.0)
        return work.buffers["positions"].read()


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_search(driver: Device, implementation: str) -> None:
    for size in (1, 2, 127, 128, 1023, 1024, 1025, 20_021):
        a = np.sort(_rng(size).integers(0, size + 3, size, np.uint32))
        v = _rng(1).integers(0, size + 5, 1021, np.uint32)
        _check(a, v, driver, implementation=implementation)
    for dtype in ("f4", "i8", "f8"):
        _check(np.sort(_drawn(dtype, 3001)), _drawn(dtype, 700, 5), driver, implementation=implementation)


@pytest.mark.mostly_slow(every=5, start=2)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_reference_searches_at_every_subgroup_size(reference: Device, implementation: str) -> None:
    for size in (1, 3, 129, 1030):
        a = np.sort(_rng(size).integers(0, size, size).astype(np.float32))
        v = np.concatenate([a[:50], a[-50:] + 1, [-1, 0.5, np.nan, np.inf]]).astype(np.float32)
        _check(a, v, reference, implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_types(references: dict[int, Device], dtype: str) -> None:
    a, v = np.sort(_drawn(dtype, 600)), _drawn(dtype, 300, 3)
    for implementation in IMPLEMENTATIONS:
        _check(a, np.concatenate([v, a[:200]]), references[16], implementation=implementation)


def test_arrays_are_compared_in_the_common_type(references: dict[int, Device]) -> None:
    a = np.sort(_rng().integers(-99, 99, 200))
    for left, right in (("i4", "f8"), ("i1", "u1"), ("f2", "f4"), ("i4", "u8"), ("u2", "i8"), ("i2", "?")):
        _check(np.sort(a.astype(left)), (a + 1).astype(right), references[8])
    _check(a.astype(">i4"), a.astype(">i4"), references[8])


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize(
    ("size", "tuning"),
    [
        (1, {"registers": 1}),
        (2, {"registers": 7, "items": 1}),
        (4, {"registers": 32, "groups": 1}),
        (32, {"registers": 3, "items": 3, "workgroup": 64}),
        (32, {"implementation": "shared", "splitters": 1}),
        (32, {"implementation": "shared", "splitters": 1000, "workgroup": 48, "groups": 2}),
        (32, {"implementation": "shared", "splitters": 2048, "items": 2}),
    ],
    ids=str,
)
def test_tuning_changes_no_result(references: dict[int, Device], size: int, tuning: dict[str, Any]) -> None:
    options = {"implementation": "subgroup", **tuning}
    for count in (1, 2, 63, 64, 65, 1500):
        a = np.sort(_rng(count).integers(0, count, count, np.uint32))
        v = _rng(2).integers(0, count + 1, 517, np.uint32)
        for side in SIDES:
            found = _planned(a, v, side, references[size], **options)
            assert np.array_equal(found, np.searchsorted(a, v, side)), (count, side)


def test_greatest_keys(references: dict[int, Device]) -> None:
    """Keys of all ones are elements, and not places without a splitter."""
    for a in (np.full(300, 2**32 - 1, np.uint32), np.full(300, np.nan, np.float32), np.zeros(300, np.int64)):
        for implementation in IMPLEMENTATIONS:
            _check(a, a[:5], references[8], implementation=implementation)


def test_million(vulkan_device: Device) -> None:
    a = np.sort(_rng().random(2**20 + 1, np.float32))
    _check(a, _rng(1).random((17, 1021), np.float32), vulkan_device)


def test_shapes(references: dict[int, Device]) -> None:
    a = np.arange(10, dtype=np.int32)
    for v in (np.int32(4), np.zeros((2, 0, 3), np.int32), a.reshape(1, 5, 2), a[::-3]):
        _check(a, np.asarray(v), references[4])
    _check(a[:0], a.reshape(2, 5), references[4])
    assert kernels.searchsorted([1, 3, 5], [0, 3, 9], device=references[4]).tolist() == [0, 1, 3]


def test_buffers_stay_on_their_device(references: dict[int, Device]) -> None:
    device = references[8]
    for dtype in ("f4", "u8", "f2"):
        a, v = np.sort(_drawn(dtype, 250)), _drawn(dtype, 96, 3).reshape(8, 12)
        for implementation in IMPLEMENTATIONS:
            found = kernels.searchsorted(
                device.buffer(a), device.buffer(v), "right", implementation=implementation
            )
            assert isinstance(found, Buffer)
            assert (found.dtype, found.shape) == (np.uint32, v.shape)
            assert np.array_equal(found.read(), np.searchsorted(a, v, "right"))


def test_empty_arrays_need_no_device() -> None:
    nothing = np.empty(0, np.float32)
    assert kernels.searchsorted(nothing, np.ones((2, 3), np.float32)).tolist() == [[0] * 3] * 2
    assert kernels.searchsorted(np.ones(3), nothing).shape == (0,)


def test_bad_arguments(references: dict[int, Device]) -> None:
    device, x = references[32], np.ones(6, np.float32)
    for bad, message in (
        (lambda: kernels.searchsorted(x, x, "middle", device=device), "side must be"),
        (lambda: kernels.searchsorted(x.reshape(2, 3), x, device=device), "one dimension"),
        (lambda: kernels.searchsorted(np.float32(1), x, device=device), "one dimension"),
        (lambda: kernels.searchsorted(x.astype(np.complex64), x, device=device), "works on"),
        (lambda: kernels.searchsorted(x, np.array(["a"]), device=device), "works on|compared"),
        (lambda: kernels.searchsorted(x, np.array("2020", "M8[s]"), device=device), "works on|compared"),
        (lambda: kernels.searchsorted(device.buffer(x), x), "all as buffers"),
        (lambda: kernels.searchsorted(device.buffer(x), device.buffer(x.astype(np.int32))), "same dtype"),
        (lambda: kernels.searchsorted(x, x, device=device, implementation="fast"), "implementation"),
        (lambda: plan_searchsorted(device, 0, 5, "f4"), "at least one"),
        (lambda: plan_searchsorted(device, 5, 0, "f4"), "at least one"),
        (lambda: plan_searchsorted(device, 5, 5, "i2"), "works on"),
        (lambda: plan_searchsorted(device, 5, 5, "f4", registers=33), "registers"),
        (lambda: plan_searchsorted(device, 5, 5, "f4", implementation="shared", splitters=0), "splitters"),
        (lambda: plan_searchsorted(device, 5, 5, "f4", implementation="subgroup", workgroup=48), "multiple"),
    ):
        with pytest.raises(InvalidDispatch, match=message):
            bad()
    with pytest.raises(Unsupported, match="at most"):
        plan_searchsorted(device, 2**31, 5, "f4")


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("path", ["searchsorted/subgroup.comp", "searchsorted/shared.comp"])
def test_check_finds_nothing(path: str, checked: Callable[..., Any]) -> None:
    """Only with sorted elements: in others, positions depend on the subgroup size."""
    a, v = np.sort(_drawn("f4", 1500)), _drawn("f4", 700, 3)
    for side in SIDES:
        found = checked(
            path,
            {"SIDE": side.upper(), "KIND": "FLOATING"},
            push={"count": 1500, "value_count": 700},
            specialization={"ITEMS": 2},
            inputs={0: a.view(np.uint32), 1: v.view(np.uint32), 2: np.zeros(700, np.uint32)},
            sizes=(4, 32),
            groups=(2, 1, 1),
        )
        assert found == (), side
