"""Scans along an axis that is not the last give what NumPy's do, however columns are divided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.plan import Pass, Plan
from vkgroup.kernels.scan import plan_scan
from vkgroup.kernels.scan_columns import divide
from vkgroup.kernels.tuning import tuned
from vkgroup.kernels.types import NUMBERS

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")

UFUNCS = {
    "add": (np.add, 0),
    "mul": (np.multiply, 1),
    "min": (np.minimum, np.iinfo(np.int32).max),
    "max": (np.maximum, np.iinfo(np.int32).min),
    "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0),
    "xor": (np.bitwise_xor, 0),
}

SHAPES = [
    (2, 301, 2),
    (1, 1000, 3),
    (3, 130, 7),
    (1, 131, 40),
    (2, 70, 131),
    (1, 5, 300),
    (90, 4, 3),
    (3, 1, 5),
]
"""Shapes whose middle axis is scanned: narrow and wide, long and short, with many slices, or without work."""

TUNINGS: dict[str, dict[str, Any]] = {
    "whole": {"columns": 32, "runs": 128, "narrow": 32, "groups": 1},
    "chunks": {"columns": 32, "runs": 128, "narrow": 32, "groups": 64, "items": 2},
    "chunks through registers": {"columns": 5, "runs": 128, "narrow": 0, "groups": 64, "items": 3},
    "one run": {"columns": 128, "runs": 1, "narrow": 0, "groups": 64, "items": 8},
}
"""Columns in one piece and in chunks; narrow rows through shared memory and without it; one run a column."""

GPU_VALUES = {"workgroup": 128, "items": 8, "columns": 32, "runs": 128, "narrow": 32, "groups": 64}


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _run(device: Device, x: Array, operation: str = "add", axis: int = 1, **options: Any) -> Array:
    plan = plan_scan(device, operation, x.dtype, x.shape, axis, **{"workgroup": 128, **options})
    with plan.record() as work:
        work.buffers["x"].write(x)
        work.run(timeout=60.0)
        return work.buffers["scanned"].read()


def _expected(
    x: Array, operation: str = "add", axis: int = 1, exclusive: bool = False, reverse: bool = False
) -> Array:
    """Scan with NumPy, in the dtype of the elements."""
    ufunc, identity = UFUNCS[operation]
    x = np.flip(x, axis) if reverse else x
    result = ufunc.accumulate(x, axis, dtype=x.dtype)
    if exclusive:
        result = np.roll(result, 1, axis)
        np.moveaxis(result, axis, 0)[0] = np.array(identity).astype(x.dtype)
    return np.flip(result, axis) if reverse else result


def _elements(shape: tuple[int, ...]) -> Array:
    """Return odd numbers of int32, of which products do not vanish."""
    return _rng(sum(shape)).integers(-9, 9, shape).astype(np.int32) | 1


def _check(device: Device, shape: tuple[int, ...], rule: dict[str, Any], **tuning: Any) -> None:
    x = _elements(shape)
    assert np.array_equal(_run(device, x, **rule, **tuning), _expected(x, **rule)), (shape, rule, tuning)


def _passes(plan: Plan) -> int:
    return sum(isinstance(step, Pass) for step in plan.steps)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("tuning", TUNINGS)
def test_drivers_scan(driver: Device, tuning: str, implementation: str) -> None:
    for shape in SHAPES:
        _check(driver, shape, {}, implementation=implementation, **TUNINGS[tuning])


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("tuning", TUNINGS)
def test_reference_scans_at_every_subgroup_size(reference: Device, tuning: str, implementation: str) -> None:
    for shape in SHAPES:
        _check(reference, shape, {}, implementation=implementation, **TUNINGS[tuning])


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("operation", UFUNCS)
def test_scans_in_every_way(references: dict[int, Device], operation: str, implementation: str) -> None:
    for exclusive, reverse in ((False, True), (True, False), (True, True)):
        rule = {"operation": operation, "exclusive": exclusive, "reverse": reverse}
        for shape in ((2, 301, 3), (2, 131, 40)):
            for tuning in TUNINGS.values():
                _check(references[16], shape, rule, implementation=implementation, **tuning)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_long_columns(vulkan_device: Device, implementation: str) -> None:
    """A million elements in a few columns, which are divided into chunks, with the device's values."""
    for inner in (2, 3, 7):
        x = _rng(inner).integers(0, 1000, (2**20 // inner + 1, inner)).astype(np.uint32)
        plan = plan_scan(vulkan_device, "add", x.dtype, x.shape, 0, implementation=implementation)
        assert _passes(plan) == 2
        for tuning in ({}, TUNINGS["chunks"]):
            result = _run(vulkan_device, x, axis=0, implementation=implementation, **tuning)
            assert np.array_equal(result, np.cumsum(x, 0, dtype=np.uint32))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_many_columns(vulkan_device: Device, implementation: str) -> None:
    """A million elements in many columns."""
    for shape in ((1, 33, 2**15 + 1), (2**15, 8, 4), (1, 1025, 1024)):
        x = _rng().integers(0, 1000, shape).astype(np.uint32)
        result = _run(vulkan_device, x, implementation=implementation)
        assert np.array_equal(result, np.cumsum(x, 1, dtype=np.uint32))


@pytest.mark.mostly_slow(every=5, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_types(references: dict[int, Device], dtype: np.dtype[Any], implementation: str) -> None:
    x = _rng().integers(0, 3, (2, 211, 5)).astype(dtype)
    for operation in ("add", "max"):
        for tuning in TUNINGS.values():
            result = _run(references[8], x, operation, implementation=implementation, **tuning)
            assert result.dtype == dtype
            assert np.array_equal(result, _expected(x, operation)), (operation, tuning)


# --- floats -----------------------------------------------------------------------------------------------


def _additions(device: Device, shape: tuple[int, int, int], tuning: dict[str, int]) -> int:
    """Return how many additions lie at most between an element and a result.

    See docs/benchmarks/reduce-and-scan.md.
    """
    values = tuned(device, "scan_columns", "subgroup", workgroup=128, **tuning)
    layout = divide(device, shape, 4, 32, values)
    runs = layout.runs
    tiles = -(-layout.chunk_rows // (runs * layout.items))
    # A shared scan adds at most three runs in each of log4 rounds, so `runs` bounds both versions.
    tile = 2 * layout.items + runs + 2 + tiles
    earlier = layout.items + tiles + -(-layout.chunks // runs) + 2 * (runs + 2)
    return tile + (earlier if layout.chunks > 1 else 0)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_float_sums_are_within_the_bound(references: dict[int, Device], implementation: str) -> None:
    for shape in ((1, 5003, 3), (2, 701, 40)):
        x = _rng().standard_normal(shape).astype(np.float32)
        exact = np.cumsum(x.astype(np.longdouble), 1)
        sizes = np.cumsum(np.abs(x).astype(np.longdouble), 1)
        for subgroup in (4, 32):
            for tuning in TUNINGS.values():
                device = references[subgroup]
                result = _run(device, x, implementation=implementation, **tuning)
                steps = _additions(device, shape, tuning) * 2.0**-24
                assert np.all(np.abs(result - exact) <= steps / (1 - steps) * sizes)


def test_float_sums_are_the_same_each_time(vulkan_device: Device) -> None:
    x = _rng().standard_normal((50_003, 3)).astype(np.float32)
    plan = plan_scan(vulkan_device, "add", x.dtype, x.shape, 0)
    with plan.record() as work:
        work.buffers["x"].write(x)
        results = set()
        for _ in range(5):
            work.run()
            results.add(work.buffers["scanned"].read().tobytes())
    assert len(results) == 1


def test_half_sums_are_rounded_once(references: dict[int, Device]) -> None:
    """Sums of these numbers are exact in float32, with which the kernel computes, and not in float16."""
    x = (_rng().integers(-64, 64, (1, 2000, 3)) / 8).astype(np.float16)
    wanted = np.cumsum(x, 1, dtype=np.float32).astype(np.float16)
    for tuning in TUNINGS.values():
        assert np.array_equal(_run(references[32], x, **tuning), wanted), tuning


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nan_and_infinity_are_as_in_numpy(references: dict[int, Device], dtype: Any) -> None:
    x = _rng().standard_normal((600, 3)).astype(dtype)
    x[:3, 0] = [-0.0, 0.0, np.inf]
    x[300, 1], x[400, 1], x[500, 2] = -np.inf, np.nan, -np.nan
    for operation, ufunc in (("max", np.maximum), ("min", np.minimum)):
        for tuning in TUNINGS.values():
            result = _run(references[16], x, operation, 0, **tuning)
            assert np.array_equal(result, ufunc.accumulate(x), equal_nan=True), (operation, tuning)
    first = _run(references[16], x, "min", 0, exclusive=True)[0]
    assert np.array_equal(first, np.full(3, np.inf, dtype))


# --- division into tiles ------------------------------------------------------------------------------------


def test_short_columns_leave_no_invocation_without_work(references: dict[int, Device]) -> None:
    layout = divide(references[32], (1, 8, 100_000), 4, 32, GPU_VALUES)
    assert (layout.width, layout.chunks) == (128, 1)
    layout = divide(references[32], (100_000, 8, 3), 4, 32, GPU_VALUES)
    assert (layout.width, layout.staged) == (126, True)
    layout = divide(references[32], (1, 100_000, 100_000), 4, 32, GPU_VALUES)
    assert (layout.width, layout.chunks) == (32, 1)


def test_chunks_cover_all_rows(references: dict[int, Device]) -> None:
    for sizes in ((1, 100_000, 2), (1, 100_001, 40), (2, 4097, 3), (5, 129, 33), (1, 2, 2)):
        layout = divide(references[32], sizes, 4, 32, GPU_VALUES)
        assert (layout.chunks - 1) * layout.chunk_rows < sizes[1] <= layout.chunks * layout.chunk_rows
        assert layout.across * layout.chunks <= 64 or layout.chunks == 1


def test_tiles_fit_into_shared_memory(references: dict[int, Device]) -> None:
    """Tiles of narrow rows of 64-bit numbers are smaller where shared memory is."""
    values = {**GPU_VALUES, "workgroup": 1024, "items": 32}
    device = references[32]
    room = int(device.capabilities.limits["maxComputeSharedMemorySize"])
    layout = divide(device, (1, 100_000, 2), 8, 64, values)
    slots = layout.workgroup * layout.items
    assert 8 * (slots + slots // 32 + 2 * layout.workgroup) <= room


# --- NumPy's names ----------------------------------------------------------------------------------------


def test_functions_on_buffers(references: dict[int, Device]) -> None:
    device = references[8]
    x = _rng().integers(0, 9, (6, 100, 4)).astype(np.int32)
    for axis in (0, 1, -2, -3):
        found = kernels.cumsum(device.buffer(x), axis)
        assert isinstance(found, Buffer)
        assert np.array_equal(found.read(), np.cumsum(x, axis))


def test_bad_arguments(references: dict[int, Device]) -> None:
    device, options = references[32], {"implementation": "subgroup"}
    for match, tuning in (
        ("multiple of the subgroup size 32", {"workgroup": 48}),
        ("no tuning value 'depth'", {"depth": 1}),
        ("items is a whole number", {"items": 64}),
        ("columns is a whole number", {"columns": 0}),
        ("groups is a whole number", {"groups": 0}),
    ):
        with pytest.raises(InvalidDispatch, match=match):
            plan_scan(device, "add", np.float32, (8, 8), 0, **options, **tuning)
    with pytest.raises(InvalidDispatch, match="axis 2 does not exist"):
        plan_scan(device, "add", np.float32, (8, 8), 2)


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_check_finds_nothing(implementation: str, checked: Callable[..., Any]) -> None:
    path = f"scan/columns_{implementation}.comp"
    assert checked(path) == ()
    elements = {0: np.ones(3000, np.float32), 1: np.zeros(3000, np.float32)}
    partials = np.ones(15, np.float32)
    for macros, columns, runs, more in (
        ({"STAGED": 1, "REVERSE": 1}, 6, 21, {}),
        ({"STEP": "SUMS"}, 5, 21, {2: np.zeros_like(partials)}),
        ({"STEP": "CHUNKS", "EXCLUSIVE": 1}, 5, 21, {2: partials}),
        ({"STEP": "CHUNKS", "STAGED": 1}, 3, 42, {2: partials}),
        ({"STEP": "CHUNKS"}, 3, 1, {2: partials}),
    ):
        found = checked(
            path,
            macros,
            push={"count": 3000, "length": 1000, "inner": 3, "chunk_rows": 336},
            specialization={"ITEMS": 4, "COLUMNS": columns, "RUNS": runs},
            inputs={**elements, **more},
            groups=(3, 1, 1),
            sizes=(4, 32),
        )
        assert found == (), macros
