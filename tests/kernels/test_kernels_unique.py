"""Unique elements, their indices, inverse and counts are NumPy's, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.unique import plan_unique

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")
ALL = {"return_index": True, "return_inverse": True, "return_counts": True}


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _arrays(size: int) -> dict[str, Array]:
    """All equal, all different, few values, long and short runs, and ends that differ."""
    ramp = np.arange(size, dtype=np.uint32)
    return {
        "equal": np.full(size, 2**32 - 1, np.uint32),
        "different": _rng(size).permutation(ramp),
        "few": _rng(size).integers(0, 3, size, np.uint32),
        "runs": _rng(size).geometric(0.01, size).astype(np.uint32),
        "pairs": ramp // 2,
        "ends": ((ramp == 0) | (ramp == size - 1)).astype(np.uint32),
    }


def _with_specials(dtype: str, size: int) -> Array:
    """Return floats with NaNs of both signs, zeros of both signs, infinities and denormals."""
    kind = np.dtype(dtype)
    x = _rng(1).integers(-3, 3, size).astype(kind)
    special = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 0.0, 0.0], kind)
    special[6:] = np.finfo(kind).smallest_subnormal * np.array([1, -1], kind)
    chosen = _rng(2).random(size) < 0.4
    x[chosen] = _rng(3).choice(special, int(chosen.sum()))
    return x


def _same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if not isinstance(found, tuple):
        found, wanted = (found,), (wanted,)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")


def _check(x: Array, device: Device, **options: Any) -> None:
    _same(kernels.unique(x, device=device, **options), np.unique(x))
    _same(kernels.unique(x, **ALL, device=device, **options), np.unique(x, **ALL))


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_find_unique_elements(driver: Device, implementation: str) -> None:
    for size in (1, 1023, 1024, 1025):
        _check(_arrays(size)["pairs"], driver, implementation=implementation)
    for x in _arrays(5021).values():
        _check(x, driver, implementation=implementation)
    for dtype in ("f4", "f8"):
        _check(_with_specials(dtype, 2000), driver, implementation=implementation)


@pytest.mark.mostly_slow(every=5, start=2)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_reference_at_every_subgroup_size(reference: Device, implementation: str) -> None:
    for size, name in ((1, "few"), (1021, "pairs"), (1300, "few"), (1300, "different")):
        _check(_arrays(size)[name], reference, implementation=implementation)


@pytest.mark.parametrize("name", ["equal", "runs", "ends"])
def test_runs(references: dict[int, Device], name: str) -> None:
    for implementation in IMPLEMENTATIONS:
        _check(_arrays(3000)[name], references[32], implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("flags", range(8))
def test_each_combination_of_results(references: dict[int, Device], flags: int) -> None:
    options = {name: bool(flags >> bit & 1) for bit, name in enumerate(ALL)}
    x = _rng().integers(0, 50, 700, np.uint32)
    for implementation in IMPLEMENTATIONS:
        found = kernels.unique(x, **options, device=references[8], implementation=implementation)
        _same(found, np.unique(x, **options))


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("dtype", ["f4", "u4", "i4", "f8", "u8", "i8", "f2", "i2", "u1", "?", ">i4"])
def test_types(references: dict[int, Device], dtype: str) -> None:
    x = _rng().integers(0, 60, 600).astype(dtype)
    if x.dtype.kind == "f":
        x = _with_specials(dtype, 600)
    elif x.dtype.kind == "i":
        x -= np.asarray(30, x.dtype)
    for implementation in IMPLEMENTATIONS:
        found = kernels.unique(x, **ALL, device=references[16], implementation=implementation)
        for ours, theirs in zip(found, np.unique(x, **ALL), strict=True):
            assert ours.dtype.newbyteorder("=") == theirs.dtype.newbyteorder("=")
            assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")


def test_words_of_64_bits_differ_in_either_half(references: dict[int, Device]) -> None:
    x = np.array([1, 1 << 32, 1, (1 << 32) + 1, 0, 1 << 32] * 50, np.uint64)
    for dtype in (np.uint64, np.int64):
        _check(x.astype(dtype), references[4])


def test_million(vulkan_device: Device) -> None:
    _check(_rng().integers(0, 2**19, 2**20 + 1, np.int32), vulkan_device)


def test_shapes(references: dict[int, Device]) -> None:
    x = _rng().integers(0, 9, (3, 4, 5)).astype(np.int32)
    for given in (x, x[0, 0, 0], x[:, ::2].T, [3, 1, 3]):
        _check(np.asarray(given), references[4])


@pytest.mark.mostly_slow(every=4, start=1)
@pytest.mark.parametrize(
    ("size", "tuning"),
    [
        (1, {"workgroup": 128, "items": 4, "depth": 3}),
        (4, {"workgroup": 64, "items": 32, "silent": 2, "spins": 1}),
        (32, {"implementation": "shared", "group": 5, "items": 8}),
        (32, {"implementation": "shared", "group": 8, "silent": 3, "spins": 0}),
    ],
    ids=str,
)
def test_tuning_changes_no_result(references: dict[int, Device], size: int, tuning: dict[str, Any]) -> None:
    x = _rng().integers(0, 900, 3011, np.uint32)
    options = {"implementation": "subgroup", "index": True, "inverse": True, "counts": True, **tuning}
    plan = plan_unique(references[size], x.size, x.dtype, **options)
    with plan.record() as work:
        work.buffers["x"].write(x)
        work.run(timeout=60.0)
        total = int(work.buffers["total"].read())
        wanted = dict(zip(("values", "index", "inverse", "counts"), np.unique(x, **ALL), strict=True))
        assert total == wanted["values"].size
        for name, array in wanted.items():
            assert np.array_equal(work.buffers[name].read()[: array.size], array), name


def test_buffers_stay_on_their_device(references: dict[int, Device]) -> None:
    device = references[8]
    for dtype, implementation in (("f4", "shared"), ("i8", "subgroup")):
        x = _rng().integers(-20, 20, (15, 40)).astype(dtype)
        buffer = device.buffer(x)
        found = kernels.unique(buffer, **ALL, implementation=implementation)
        for ours, theirs in zip(found, np.unique(x, **ALL), strict=True):
            assert isinstance(ours, Buffer)
            assert ours.shape == theirs.shape
            assert np.array_equal(ours.read(), theirs)
        assert np.array_equal(kernels.unique(buffer, implementation=implementation).read(), np.unique(x))
        assert np.array_equal(buffer.read(), x)


def test_empty_arrays_need_no_device() -> None:
    for nothing in (np.empty(0, np.float32), np.empty((3, 0), np.int16)):
        _same(kernels.unique(nothing), np.unique(nothing))
        _same(kernels.unique(nothing, **ALL), np.unique(nothing, **ALL))


def test_bad_arguments(references: dict[int, Device]) -> None:
    device, x = references[32], np.ones(6, np.float32)
    for bad, message in (
        (lambda: kernels.unique(x.astype(np.complex64), device=device), "real numbers"),
        (lambda: kernels.unique(np.array(["a"]), device=device), "real numbers"),
        (lambda: kernels.unique(device.buffer(x.astype(np.float16))), "must be"),
        (lambda: kernels.unique(x, device=device, implementation="fast"), "implementation"),
        (lambda: kernels.unique(x, device="gpu"), "device"),
        (lambda: plan_unique(device, 0, "f4"), "takes 1 to"),
        (lambda: plan_unique(device, 2**30, "f4"), "takes 1 to"),
        (lambda: plan_unique(device, 8, "i2"), "must be"),
        (lambda: plan_unique(device, 8, "f4", items=3), "items"),
        (lambda: plan_unique(device, 8, "f4", payload=16), "no tuning value"),
    ):
        with pytest.raises(InvalidDispatch, match=message):
            bad()


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("path", ["compact/subgroup.comp", "compact/shared.comp"])
def test_check_finds_nothing(path: str, checked: Callable[..., Any]) -> None:
    size = 3016  # whole vectors; the last elements are not given to the kernel
    x = np.sort(_rng().integers(0, 500, size)).astype(np.float32)
    origins = _rng(1).permutation(size).astype(np.uint32)
    room = {slot: np.zeros(size, np.uint32) for slot in (1, 6, 7, 8)}
    for macros, inputs in (
        ({"OUTPUT": "RUNS", "FIRSTS": 1, "INVERSE": 1, "LENGTHS": 1}, {5: origins, **room}),
        ({"OUTPUT": "VALUES"}, {1: room[1]}),
    ):
        found = checked(
            path,
            {"WHERE": "RUN_HEADS", "KIND": "FLOATING", **macros},
            push={"count": size - 3, "limit": 0, "limit_high": 0},
            specialization={"ITEMS": 4},
            inputs={0: x.view(np.uint32), **inputs},
            sizes=(4, 32),
            groups=(7, 1, 1),
        )
        assert found == (), macros
