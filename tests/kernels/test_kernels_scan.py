"""Scans give what NumPy's do, on every device, and whatever the tiles tell each other or do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from refusals import lacks

import vkgroup
import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.drivers import CachedDriver
from vkgroup.kernels.scan import plan_scan
from vkgroup.kernels.types import NUMBERS

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")
SMALL: dict[str, Any] = {"workgroup": 128, "items": 4, "depth": 1}
"""Tiles of 512 elements, so that short arrays have several."""

UFUNCS = {
    "add": (np.add, 0),
    "mul": (np.multiply, 1),
    "min": (np.minimum, np.iinfo(np.int32).max),
    "max": (np.maximum, np.iinfo(np.int32).min),
    "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0),
    "xor": (np.bitwise_xor, 0),
}

CASES: dict[str, dict[str, Any]] = {
    "add": {},
    "reverse max by flags": {"operation": "max", "reverse": True, "segments": True},
}
"""Between them all that a tile does: compiled for every driver, and run at every subgroup size."""

FURTHER: dict[str, dict[str, Any]] = {
    "reverse exclusive mul of rows": {"operation": "mul", "exclusive": True, "reverse": True, "axis": 1},
    "min by flags": {"operation": "min", "segments": True},
    "exclusive xor": {"operation": "xor", "exclusive": True},
    "reverse or": {"operation": "or", "reverse": True},
    "exclusive and by flags": {"operation": "and", "exclusive": True, "segments": True},
    "reverse exclusive add by flags": {"exclusive": True, "reverse": True, "segments": True},
    "max of rows": {"operation": "max", "axis": 1},
}


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _words(flags: Array) -> Array:
    padded = np.zeros(-(-flags.size // 4) * 4, np.uint8)
    padded[: flags.size] = flags
    return padded.view(np.uint32)


def _run(device: Device, x: Array, heads: Array | None = None, **options: Any) -> Array:
    options = {"operation": "add", **SMALL, **options}
    operation, axis = options.pop("operation"), options.pop("axis", None)
    plan = plan_scan(device, operation, x.dtype, x.shape, axis, segments=heads is not None, **options)
    with plan.record() as work:
        work.buffers["x"].write(x)
        if heads is not None:
            work.buffers["heads"].write(_words(heads))
        work.run(timeout=60.0)
        return work.buffers["scanned"].read()


def _line(x: Array, operation: str, exclusive: bool, reverse: bool) -> Array:
    """Scan one segment with NumPy, in the dtype of the elements."""
    ufunc, identity = UFUNCS[operation]
    x = x[::-1] if reverse else x
    found = ufunc.accumulate(x, dtype=x.dtype)
    if exclusive:
        first = np.array([identity]).astype(x.dtype)
        found = np.concatenate([first, found[:-1]])
    return found[::-1] if reverse else found


def _expected(x: Array, heads: Array | None = None, **options: Any) -> Array:
    operation, axis = options.get("operation", "add"), options.get("axis")
    rule = (operation, options.get("exclusive", False), options.get("reverse", False))
    if axis is not None:
        return np.apply_along_axis(_line, axis, x, *rule)
    flat = x.reshape(-1)
    cuts = [] if heads is None else [at for at in np.flatnonzero(heads) if at]
    return np.concatenate([_line(part, *rule) for part in np.split(flat, cuts)])


ALONE: dict[str, Any] = {"workgroup": None, "items": None, "depth": None, "one_group": 4096}
"""Without the tuning values of `SMALL`: one workgroup handles short arrays."""


def _data(length: int, case: dict[str, Any]) -> tuple[Array, Array | None]:
    """Make int32 elements, of which products do not vanish, and heads, few and many."""
    x = _rng(length).integers(-9, 9, length).astype(np.int32) | 1
    if case.get("axis") is not None:
        width = next(divisor for divisor in (7, 5, 3, 1) if length % divisor == 0)
        return x.reshape(width, -1), None
    if not case.get("segments"):
        return x, None
    heads = _rng(1).random(length) < np.repeat([0.001, 0.2, 0.0], -(-length // 3))[:length]
    heads[512 : length : 512 * 3] = True
    return x, heads


def _check(device: Device, case: dict[str, Any], lengths: tuple[int, ...], **more: Any) -> None:
    options = {name: value for name, value in case.items() if name != "segments"}
    for length in lengths:
        x, heads = _data(length, case)
        found = _run(device, x, heads, **options, **more)
        assert np.array_equal(found, _expected(x, heads, **options)), (case, length)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("case", CASES)
def test_drivers_scan(driver: Device, case: str, implementation: str) -> None:
    _check(driver, CASES[case], (1, 2, 5, 513, 1021, 20_020), implementation=implementation)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_reference_scans_at_every_subgroup_size(reference: Device, implementation: str) -> None:
    for case in CASES.values():
        _check(reference, case, (1, 2310), implementation=implementation)


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_scans_in_every_way(
    references: dict[int, Device], swiftshader: CachedDriver, implementation: str
) -> None:
    with vkgroup.open(swiftshader.name) as opened:
        for device in (references[16], opened):
            for case in FURTHER.values():
                _check(device, case, (3, 2310), implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("in_turn", [0, 4, 32])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_arrays_of_one_workgroup(driver: Device, implementation: str, in_turn: int) -> None:
    for case in (*CASES.values(), FURTHER["reverse exclusive mul of rows"]):
        _check(driver, case, (1, 3, 1021, 4096), implementation=implementation, in_turn=in_turn, **ALONE)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("in_turn", [0, 4, 32])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_arrays_of_one_workgroup_at_every_subgroup_size(
    reference: Device, implementation: str, in_turn: int
) -> None:
    for case in CASES.values():
        _check(reference, case, (1, 2310), implementation=implementation, in_turn=in_turn, **ALONE)
    x = _rng().integers(-9, 9, 1021).astype(np.int64)
    assert np.array_equal(
        _run(reference, x, implementation=implementation, in_turn=in_turn, **ALONE), np.cumsum(x)
    )


def test_which_arrays_one_workgroup_handles(references: dict[int, Device]) -> None:
    for count, tuning, steps in (
        (4096, {}, 1),
        (4097, {}, 2),
        (4096, {"one_group": 0}, 2),
        (9, {"items": 4}, 2),
    ):
        plan = plan_scan(references[32], "add", np.float32, count, **tuning)
        assert len(plan.steps) == steps, (count, tuning)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_million(vulkan_device: Device, implementation: str) -> None:
    for length in (2**20 - 1, 2**20, 2**20 + 1):
        x = _rng(length).integers(0, 1000, length).astype(np.uint32)
        found = _run(vulkan_device, x, items=8, implementation=implementation)
        assert np.array_equal(found, np.cumsum(x, dtype=np.uint32))


def test_million_on_the_reference_device(references: dict[int, Device]) -> None:
    x = _rng().integers(0, 1000, 2**20 + 1).astype(np.uint32)
    found = _run(references[32], x, workgroup=128, items=32)
    assert np.array_equal(found, np.cumsum(x, dtype=np.uint32))


@pytest.mark.mostly_slow(every=5, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_types(references: dict[int, Device], dtype: np.dtype[Any], implementation: str) -> None:
    x = _rng().integers(0, 3, 1021).astype(dtype)
    for operation, payload in (("add", 16), ("max", 32)):
        found = _run(references[8], x, operation=operation, payload=payload, implementation=implementation)
        assert found.dtype == dtype
        assert np.array_equal(found, _expected(x, operation=operation)), operation


# --- floats -----------------------------------------------------------------------------------------------


def _additions(length: int, subgroup: int, tuning: dict[str, int]) -> int:
    """Return the bound of docs/benchmarks/reduce-and-scan.md on the additions from an element to a result."""
    subgroups = tuning["workgroup"] // subgroup
    tiles = -(-length // (tuning["workgroup"] * tuning["items"]))
    lane = 3 + subgroup + tuning["items"] // 4
    parts = subgroup + -(-subgroups // subgroup)
    look_back = subgroup + -(-tiles // subgroup)
    return lane + parts + look_back + 4


def test_float_sums_are_within_the_bound(references: dict[int, Device]) -> None:
    x = _rng().standard_normal(20_021).astype(np.float32)
    exact, sizes = np.cumsum(x.astype(np.longdouble)), np.cumsum(np.abs(x).astype(np.longdouble))
    for subgroup in (4, 32):
        found = _run(references[subgroup], x, implementation="subgroup")
        steps = _additions(x.size, subgroup, SMALL) * 2.0**-24
        assert np.all(np.abs(found - exact) <= steps / (1 - steps) * sizes)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_float_sums_are_the_same_whatever_is_published(
    references: dict[int, Device], implementation: str
) -> None:
    x = _rng().standard_normal(10_007).astype(np.float32)
    first = _run(references[8], x, implementation=implementation)
    for name, every in (("silent", 2), ("mute", 1), ("mute", 2)):
        faults: dict[str, Any] = {name: every, "spins": 1}
        again = _run(references[8], x, implementation=implementation, **faults)
        assert np.array_equal(first.view(np.uint32), again.view(np.uint32)), faults


def test_float_sums_are_the_same_each_time(vulkan_device: Device) -> None:
    x = _rng().standard_normal(100_003).astype(np.float32)
    plan = plan_scan(vulkan_device, "add", x.dtype, x.shape, **SMALL)
    with plan.record() as work:
        work.buffers["x"].write(x)
        found = []
        for _ in range(5):
            work.run()
            found.append(work.buffers["scanned"].read().tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nan_and_infinity_are_as_in_numpy(references: dict[int, Device], dtype: Any) -> None:
    x = _rng().standard_normal(1500).astype(dtype)
    x[:3] = [-0.0, 0.0, np.inf]
    x[700], x[900], x[1200] = -np.inf, np.nan, -np.nan
    for start in (0, 3):
        part = x[start:]
        assert np.array_equal(
            kernels.maximum_accumulate(part, device=references[16]),
            np.maximum.accumulate(part),
            equal_nan=True,
        )
        assert np.array_equal(
            kernels.minimum_accumulate(part, device=references[16]),
            np.minimum.accumulate(part),
            equal_nan=True,
        )
    first = kernels.scan(x, "min", exclusive=True, device=references[16])[0]
    assert first == np.inf
    assert kernels.scan(x, "max", exclusive=True, device=references[16])[0] == -np.inf


# --- tiles that do not answer -----------------------------------------------------------------------------


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize(
    ("size", "implementation"), [(1, "subgroup"), (4, "subgroup"), (64, "subgroup"), (32, "shared")]
)
def test_absent_tiles_are_computed_by_others(
    references: dict[int, Device], size: int, implementation: str
) -> None:
    add, by_flags = CASES["add"], CASES["reverse max by flags"]
    for case, faults in (
        (add, {"silent": 1, "spins": 0}),
        (by_flags, {"silent": 2}),
        (add, {"silent": 4}),
        (add, {"mute": 1}),
        (add, {"mute": 2}),
        (by_flags, {"mute": 3}),
    ):
        more = {"spins": 1, "group": 8, "implementation": implementation, **faults}
        _check(references[size], case, (5_010,), **more)


@pytest.mark.mostly_slow(every=5, start=1)
@pytest.mark.parametrize("faults", [{}, {"silent": 3, "spins": 1}], ids=["published", "some absent"])
@pytest.mark.parametrize(
    ("size", "tuning"),
    [
        (1, {"depth": 3}),
        (2, {"depth": 7, "order": 0, "payload": 16}),
        (4, {"depth": 2, "items": 8, "spins": 0, "payload": 32}),
        (32, {"implementation": "shared", "group": 1, "payload": 16}),
        (32, {"implementation": "shared", "group": 5, "order": 0, "payload": 32}),
        (32, {"implementation": "shared", "group": 200, "workgroup": 32}),
        (32, {"implementation": "shared", "group": 4, "items": 32, "spins": 0}),
    ],
    ids=str,
)
def test_tuning_changes_no_result(
    references: dict[int, Device], size: int, tuning: dict[str, Any], faults: dict[str, int]
) -> None:
    for case in CASES.values():
        _check(references[size], case, (7_001,), **{"implementation": "subgroup", **tuning, **faults})


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_absent_tiles_on_drivers(vulkan_device: Device, implementation: str) -> None:
    for faults in ({"silent": 1}, {"silent": 5, "group": 8}):
        _check(vulkan_device, CASES["add"], (20_020,), spins=3, implementation=implementation, **faults)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_tiles_by_number(vulkan_device: Device, implementation: str) -> None:
    _check(vulkan_device, CASES["add"], (20_020,), order=0, implementation=implementation)


def test_packed_and_split_states_agree(vulkan_device: Device) -> None:
    x = _rng().integers(-(2**31), 2**31, 50_021).astype(np.int32)
    split = _run(vulkan_device, x, payload=16)
    assert np.array_equal(split, np.cumsum(x, dtype=np.int32))
    if "shaderBufferInt64Atomics" in vulkan_device.capabilities.features:
        assert np.array_equal(split, _run(vulkan_device, x, payload=32))
    else:
        with lacks("Int64"):
            _run(vulkan_device, x, payload=32)


# --- NumPy's names ----------------------------------------------------------------------------------------


def test_functions(references: dict[int, Device]) -> None:
    device = references[32]
    x = _rng().integers(1, 4, (3, 5, 7)).astype(np.uint32)
    for axis in (None, 0, 1, 2, -1, -3):
        assert np.array_equal(kernels.cumsum(x, axis, device=device), np.cumsum(x, axis, dtype=np.uint32))
    assert np.array_equal(kernels.cumprod(x, 1, device=device), np.cumprod(x, 1, dtype=np.uint32))
    assert np.array_equal(kernels.maximum_accumulate(x, device=device), np.maximum.accumulate(x))
    assert np.array_equal(kernels.minimum_accumulate(x, 2, device=device), np.minimum.accumulate(x, 2))
    assert np.array_equal(kernels.cumsum(np.float32(5), device=device), np.cumsum(np.float32(5)))
    strided = x[::2, :, ::3]
    assert np.array_equal(kernels.cumsum(strided, device=device), np.cumsum(strided, dtype=np.uint32))


def test_segments_as_bools_and_bytes(references: dict[int, Device]) -> None:
    x = np.arange(1, 8, dtype=np.int32)
    heads = np.array([0, 0, 1, 0, 0, 2, 0], np.uint8)
    forward = np.array([1, 3, 3, 7, 12, 6, 13])
    for given in (heads, heads != 0):
        assert np.array_equal(kernels.scan(x, segments=given, device=references[4]), forward)
    backward = kernels.scan(x, segments=heads, reverse=True, exclusive=True, device=references[4])
    assert np.array_equal(backward, [2, 0, 9, 5, 0, 7, 0])


def test_buffers_stay_on_their_device(references: dict[int, Device]) -> None:
    device = references[8]
    x = _rng().integers(0, 9, (6, 100)).astype(np.int32)
    heads = _rng(1).random(600) < 0.1
    found = kernels.cumsum(device.buffer(x), axis=1)
    assert isinstance(found, Buffer)
    assert np.array_equal(found.read(), np.cumsum(x, axis=1))
    scanned = kernels.scan(device.buffer(x), segments=device.buffer(heads))
    assert np.array_equal(scanned.read(), _expected(x, heads))


def test_empty_arrays_need_no_device() -> None:
    empty = kernels.cumsum(np.empty((0, 3), np.float32))
    assert empty.shape == (0,)
    assert empty.dtype == np.float32
    assert kernels.maximum_accumulate(np.empty((4, 0), np.int32)).shape == (4, 0)


def test_bad_arguments(references: dict[int, Device]) -> None:
    device, x = references[32], np.ones(6, np.float32)
    for bad in (
        lambda: kernels.scan(x, "average", device=device),
        lambda: kernels.scan(x, "xor", device=device),
        lambda: kernels.cumsum(x.astype(np.int8), device=device),
        lambda: kernels.cumsum(x, 1, device=device),
        lambda: kernels.cumsum(x, implementation="best", device=device),
        lambda: kernels.scan(x, segments=np.ones(5, bool), device=device),
        lambda: kernels.scan(x, segments=np.ones(6, np.uint32), device=device),
        lambda: kernels.scan(device.buffer(x), segments=device.buffer(np.ones(6, bool))),
        lambda: plan_scan(device, "add", np.float32, 0),
        lambda: plan_scan(device, "add", np.float32, 8, 0, segments=True),
        lambda: plan_scan(device, "add", np.float32, 8, workgroup=48),
        lambda: plan_scan(device, "add", np.float32, 8, items=6),
        lambda: plan_scan(device, "add", np.float32, 8, items=64),
        lambda: plan_scan(device, "add", np.float32, 8, payload=30),
        lambda: plan_scan(device, "add", np.float32, 8, depth=0),
        lambda: plan_scan(device, "add", np.float32, 8, group=0),
        lambda: plan_scan(device, "add", np.float32, 8, wide=True),
        lambda: plan_scan(device, "add", np.float32, 8, one_group=4097),
    ):
        with pytest.raises(InvalidDispatch):
            bad()


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("path", ["scan/subgroup.comp", "scan/shared.comp"])
def test_check_finds_nothing(path: str, checked: Callable[..., Any]) -> None:
    assert checked(path) == ()
    inputs = {0: np.ones(4096, np.float32), 1: np.zeros(4096, np.float32)}
    flags = (_rng().random(4096) < 0.001).astype(np.uint8).view(np.uint32)
    push = {"count": 4093, "row": 1021}
    absent: dict[int | str, int] = {"SILENT": 2, "SPINS": 1}
    if path.endswith("shared.comp"):
        absent["GROUP"] = 3
    for macros, constants, more in (
        ({}, {}, {}),
        ({"DEPTH": 1}, absent, {}),
        ({"SEGMENTS": "FLAGS", "REVERSE": 1}, absent, {3: flags}),
        ({"SEGMENTS": "ROWS", "EXCLUSIVE": 1, "DEPTH": 3}, {}, {}),
        ({"ONE_GROUP": 1, "REVERSE": 1}, {"ITEMS": 32}, {}),
        ({"ONE_GROUP": 1, "SEGMENTS": "FLAGS"}, {}, {3: flags}),
    ):
        found = checked(
            path,
            macros,
            push=push,
            specialization={"ITEMS": 4, **constants},
            inputs={**inputs, **more},
            groups=(1 if "ONE_GROUP" in macros else 9, 1, 1),
            sizes=(4, 32),
        )
        assert found == (), macros
