"""Compactions keep what NumPy keeps, in its order, on every device and whatever the tiles publish."""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup
import vkgroup.kernels
from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.dispatch import Buffer, Device, Fill
from vkgroup.drivers import CachedDriver
from vkgroup.kernels.compact import plan_compact
from vkgroup.kernels.plan import Pass

Array = npt.NDArray[Any]

_COPY = """#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[0] = 1u; }
"""

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")
SMALL: dict[str, Any] = {"workgroup": 128, "items": 4, "depth": 1}
"""Tiles of 512 elements, so that short arrays have several."""

ALONE: dict[str, Any] = {"workgroup": None, "items": None, "depth": None, "one_group": 4096}
"""Without the tuning values of `SMALL`: one workgroup handles short arrays."""

RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _words(flags: Array) -> Array:
    padded = np.zeros(-(-flags.size // 4) * 4, np.uint8)
    padded[: flags.size] = flags
    return padded.view(np.uint32)


def _masks(length: int) -> dict[str, Array]:
    """All kept, none, the ends, every other one, half at random, and whole tiles."""
    place = np.arange(length)
    return {
        "all": place >= 0,
        "none": place < 0,
        "ends": (place == 0) | (place == length - 1),
        "every other": place % 2 == 1,
        "half": _rng(length).random(length) < 0.5,
        "whole tiles": place // 512 % 2 == 1,
    }


def _run(device: Device, x: Array, mask: Array, output: str, **options: Any) -> tuple[Array, int]:
    plan = plan_compact(device, x.dtype, x.shape, output=output, **{**SMALL, **options})
    with plan.record() as work:
        if "x" in plan.inputs:
            work.buffers["x"].write(x)
        work.buffers["mask"].write(_words(mask))
        work.run(timeout=60.0)
        total = int(work.buffers["total"].read())
        return (work.buffers["kept"].read() if "kept" in plan.outputs else x[:0]), total


def _check(device: Device, lengths: tuple[int, ...], outputs: tuple[str, ...], **options: Any) -> None:
    for length in lengths:
        x = _rng(1).integers(0, 2**32, length, dtype=np.uint32)
        for name, mask in _masks(length).items():
            wanted: dict[str, Array] = {
                "values": x[mask],
                "indices": np.flatnonzero(mask),
                "partition": np.concatenate([x[mask], x[~mask]]),
                "count": x[:0],
            }
            for output in outputs:
                found, total = _run(device, x, mask, output, **options)
                assert total == mask.sum(), (length, name, output)
                assert np.array_equal(found[: wanted[output].size], wanted[output]), (length, name, output)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_compact(driver: Device, implementation: str) -> None:
    _check(driver, (1, 3, 1021, 20_021), ("indices", "partition"), implementation=implementation)


@pytest.mark.mostly_slow(every=5, start=2)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_reference_compacts_at_every_subgroup_size(reference: Device, implementation: str) -> None:
    _check(reference, (1, 1021), ("values",), implementation=implementation)
    _check(reference, (2310,), ("partition",), implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("in_turn", [0, 4, 32])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_arrays_of_one_workgroup(driver: Device, implementation: str, in_turn: int) -> None:
    outputs = ("values", "indices", "partition")
    _check(driver, (1, 1021, 4096), outputs, implementation=implementation, in_turn=in_turn, **ALONE)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("in_turn", [0, 4, 32])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_arrays_of_one_workgroup_at_every_subgroup_size(
    reference: Device, implementation: str, in_turn: int
) -> None:
    _check(
        reference, (2310,), ("indices", "partition"), implementation=implementation, in_turn=in_turn, **ALONE
    )


@pytest.mark.parametrize("output", ["values", "indices", "partition"])
def test_arrays_of_one_workgroup_need_one_dispatch(references: dict[int, Device], output: str) -> None:
    for implementation in IMPLEMENTATIONS:
        options = {"output": output, "implementation": implementation}
        assert len(plan_compact(references[32], np.uint32, 4096, "nonzero", **options).steps) == 1
        longer = plan_compact(references[32], np.uint32, 4097, "nonzero", **options)
        assert len(longer.steps) == (4 if output == "partition" else 2)


def test_counts_and_indices(references: dict[int, Device]) -> None:
    for implementation in IMPLEMENTATIONS:
        _check(references[32], (1021,), ("indices", "count"), implementation=implementation)
    _check(references[8], (1021,), ("indices",), implementation="shared", staged=0)
    _check(references[128], (1021,), ("indices",), implementation="shared", staged=0)


def test_million(vulkan_device: Device) -> None:
    for length in (2**20 - 1, 2**20, 2**20 + 1):
        x = _rng(length).integers(0, 2**32, length, dtype=np.uint32)
        mask = x < 2**31
        found, total = _run(vulkan_device, x, mask, "values", items=8)
        assert total == mask.sum()
        assert np.array_equal(found[:total], x[mask])


def test_million_on_the_reference_device(references: dict[int, Device]) -> None:
    x = _rng().random(2**20 + 1, dtype=np.float32)
    assert np.array_equal(kernels.compact(x, "<", 0.5, device=references[32]), x[x < np.float32(0.5)])


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize(
    ("size", "implementation"), [(1, "subgroup"), (8, "subgroup"), (64, "subgroup"), (32, "shared")]
)
def test_absent_tiles_are_counted_by_others(
    references: dict[int, Device], size: int, implementation: str
) -> None:
    x = _rng().integers(0, 2**32, 5_011, dtype=np.uint32)
    mask = x < 2**31
    for faults in ({"silent": 1, "spins": 0}, {"silent": 4}, {"mute": 1}, {"mute": 2}):
        options = {"spins": 1, "group": 8, "implementation": implementation, **faults}
        found, total = _run(references[size], x, mask, "values", **options)
        assert total == mask.sum()
        assert np.array_equal(found[:total], x[mask]), faults


@pytest.mark.mostly_slow(every=5, start=1)
@pytest.mark.parametrize("faults", [{}, {"silent": 3, "spins": 1}], ids=["published", "some absent"])
@pytest.mark.parametrize(
    ("size", "tuning"),
    [
        (1, {"depth": 3}),
        (2, {"depth": 7, "order": 0}),
        (4, {"depth": 2, "items": 8, "spins": 0}),
        (32, {"implementation": "shared", "group": 1}),
        (32, {"implementation": "shared", "group": 5, "staged": 0, "order": 0}),
        (32, {"implementation": "shared", "group": 200, "staged": 1, "workgroup": 32}),
        (32, {"implementation": "shared", "group": 4, "items": 32, "staged": 0, "spins": 0}),
    ],
    ids=str,
)
def test_tuning_changes_no_result(
    references: dict[int, Device], size: int, tuning: dict[str, Any], faults: dict[str, int]
) -> None:
    x = _rng().integers(0, 2**32, 7_001, dtype=np.uint32)
    mask = x < 2**31
    options = {"implementation": "subgroup", "workgroup": 128, **tuning, **faults}
    found, total = _run(references[size], x, mask, "partition", **options)
    assert total == mask.sum()
    assert np.array_equal(found, np.concatenate([x[mask], x[~mask]]))


def test_tiles_fit_into_shared_memory(references: dict[int, Device]) -> None:
    """Shared memory holds counts in the shared version, and elements if they are staged."""

    def groups(implementation: str, **tuning: int) -> int:
        tuning = {"workgroup": 1024, "items": 32, **tuning}
        options = {"output": "indices", "implementation": implementation, **tuning}
        plan = plan_compact(references[32], np.uint32, 2**20, "<", 7, **options)
        (step,) = [step for step in plan.steps if isinstance(step, Pass)]
        return step.groups[0]

    assert groups("subgroup") == 32
    assert groups("shared", staged=0) == 32
    assert groups("shared", staged=0, group=1024) == 32
    assert groups("shared", staged=1) > 32
    assert groups("shared", workgroup=512, group=1024) > groups("shared", workgroup=512)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("dtype", ["f4", "u4", "i4", "f8", "u8", "i8", "f2"])
def test_comparisons_by_type(references: dict[int, Device], dtype: str) -> None:
    x = _rng().integers(0, 9, 700).astype(dtype)
    if dtype[0] != "u":
        x -= np.asarray(4, dtype)
    if dtype[0] == "f":
        x[:3] = [np.nan, np.inf, -0.0]
    for at, (relation, rule) in enumerate(RELATIONS.items()):
        implementation = IMPLEMENTATIONS[at % 2]
        limit = 3 if dtype[0] == "u" or at % 2 else -2
        found = kernels.compact(x, relation, limit, device=references[16], implementation=implementation)
        assert found.dtype == x.dtype
        assert np.array_equal(found, x[rule(x, limit)], equal_nan=True), relation


@pytest.mark.parametrize("dtype", ["f4", "u4", "i8", "f8", "f2", "i2", "?", "u1"])
def test_nonzero_by_type(references: dict[int, Device], dtype: str) -> None:
    x = _rng().integers(0, 2, (7, 11, 13)).astype(dtype)
    if dtype[0] == "f":
        x[0, 0, :4] = [-0.0, np.nan, np.finfo(dtype).smallest_subnormal, -np.inf]
    found = kernels.nonzero(x, device=references[32])
    assert len(found) == 3
    for ours, theirs in zip(found, np.nonzero(x), strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    assert np.array_equal(kernels.flatnonzero(x, device=references[32]), np.flatnonzero(x))


def test_elements_are_moved_as_bits(references: dict[int, Device]) -> None:
    mask = _rng().random(600) < 0.3
    for dtype in ("c8", "f8", "i2", "M8[s]"):
        x = _rng(1).integers(-(2**15), 2**15, 600).astype(np.int64).astype(dtype)
        assert np.array_equal(kernels.compress(mask, x, device=references[8]), np.compress(mask, x))
    nans = np.full(600, 0x7F800001, np.uint32).view(np.float32)
    parted, count = kernels.partition_by(mask, nans, device=references[8])
    assert count == mask.sum()
    assert np.array_equal(parted.view(np.uint32), nans.view(np.uint32))


def test_buffers_stay_on_their_device(references: dict[int, Device]) -> None:
    device = references[8]
    x = _rng().integers(0, 9, 600).astype(np.int32)
    mask = x > 4
    kept = kernels.compress(device.buffer(mask), device.buffer(x))
    assert isinstance(kept, Buffer)
    assert np.array_equal(kept.read(), x[mask])
    (places,) = kernels.nonzero(device.buffer(x))
    assert np.array_equal(places.read(), np.flatnonzero(x))
    parted, count = kernels.partition_by(device.buffer(mask), device.buffer(x))
    assert count == mask.sum()
    assert np.array_equal(parted.read(), np.concatenate([x[mask], x[~mask]]))


def test_empty_buffers(vulkan_device: Device) -> None:
    """A result without elements is a buffer; kernels take it as an empty array."""
    device, x = vulkan_device, np.arange(600, dtype=np.int32)
    for _ in range(2):  # the second call is the short way
        nothing = kernels.compact(device.buffer(x), ">", 600)
        assert isinstance(nothing, Buffer)
        assert (nothing.shape, nothing.nbytes, nothing.dtype) == ((0,), 0, np.int32)
        assert nothing.read().shape == (0,)
        assert kernels.sum(nothing) == 0
        for kernel in (kernels.sort, kernels.argsort, kernels.cumsum, kernels.unique, kernels.flatnonzero):
            assert np.asarray(kernel(nothing)).shape == (0,)
        assert kernels.compact(nothing, "<", 3).shape == (0,)
        assert kernels.matmul(nothing, nothing) == 0
        assert kernels.searchsorted(device.buffer(x), nothing).shape == (0,)
        assert [part.shape for part in kernels.nonzero(nothing)] == [(0,)]
        with pytest.raises(InvalidDispatch, match="empty"):
            device.run(_COPY, 1, {0: nothing})
        with pytest.raises(InvalidDispatch, match="empty"):
            device.sequence([Fill(nothing, 1)])
        with pytest.raises(InvalidDispatch):
            nothing.view()


def test_lengths_are_awaited_when_they_are_used(vulkan_device: Device) -> None:
    """A compaction is in flight after the call; each result has its own length."""
    device = vulkan_device
    x = np.random.default_rng(5).integers(0, 1000, 5000).astype(np.uint32)
    with device.buffer(x) as buffer:
        limits = range(0, 1000, 10)
        results = [kernels.compact(buffer, "<", limit) for limit in limits]
        assert all("shape" not in vars(result) for result in results[:3])
        for limit, result in zip(limits, results, strict=True):
            assert np.array_equal(result.read(), x[x < limit]), limit
        before = device.memory()
        for _ in range(300):  # results whose length is never read
            kernels.compact(buffer, "<", 500)
        assert kernels.compact(buffer, "<", 7).shape == ((x < 7).sum(),)
        device.synchronize()
        assert device.memory().allocations <= before.allocations


def test_lengths_of_a_closed_device_are_refused(swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name) as device:
        buffer = device.buffer(np.arange(4000, dtype=np.uint32))
        read, unread = (kernels.compact(buffer, "<", 7) for _ in range(2))
        assert read.shape == (7,)
        assert "computes" in repr(unread)
    assert read.shape == (7,)
    for use in (lambda: unread.shape, lambda: unread.nbytes, unread.read, lambda: kernels.sum(unread)):
        with pytest.raises(DriverError, match="closed"):
            use()
    assert "computes" in repr(unread)


def test_a_length_is_read_once_by_many_threads(vulkan_device: Device) -> None:
    x = np.arange(4000, dtype=np.uint32)
    with vulkan_device.buffer(x) as buffer, ThreadPoolExecutor(8) as threads:
        for limit in range(100, 120):
            result = kernels.compact(buffer, "<", limit)
            shapes = threads.map(lambda _, result=result: result.shape, range(8))
            assert set(shapes) == {(limit,)}


@pytest.mark.parametrize("lost", [False, True])
def test_an_unread_length_of_a_closed_device_is_an_error(swiftshader: CachedDriver, lost: bool) -> None:
    with vkgroup.open(swiftshader.name) as device, device.buffer(np.arange(100, dtype=np.uint32)) as buffer:
        result = kernels.compact(buffer, "<", 5)
        if lost:
            device.logical.lost = "a test"
    for use in (lambda: result.shape, lambda: result.nbytes, result.read, lambda: kernels.sort(result)):
        with pytest.raises(DriverError, match="lost earlier" if lost else "closed; open it anew"):
            use()
    assert repr(result) == "<vkgroup Buffer; the GPU computes its length>"
    result.close()


def test_empty_arrays_need_no_device() -> None:
    nothing = np.empty(0, np.float32)
    assert kernels.compress(np.empty(0, bool), nothing).shape == (0,)
    assert kernels.compact(nothing, "<", 1).dtype == np.float32
    assert kernels.flatnonzero(nothing).dtype == np.int64
    assert [part.shape for part in kernels.nonzero(np.empty((3, 0)))] == [(0,), (0,)]
    assert kernels.partition_by(np.empty(0, bool), nothing)[1] == 0


def test_bad_arguments(references: dict[int, Device]) -> None:
    device, x = references[32], np.ones(6, np.float32)
    for bad in (
        lambda: kernels.compress(np.ones(5, bool), x, device=device),
        lambda: kernels.compress(np.ones(6, np.uint32), x, device=device),
        lambda: kernels.compress(np.ones(6, bool), x.astype(np.int8), device=device),
        lambda: kernels.compress(device.buffer(np.ones(6, bool)), device.buffer(x)),
        lambda: kernels.compact(x, "~", 1, device=device),
        lambda: kernels.compact(x, "mask", 1, device=device),
        lambda: kernels.compact(x, "<", [1, 2], device=device),
        lambda: kernels.compact(x.astype(np.int32), "<", 1.5, device=device),
        lambda: kernels.compact(x.astype(np.uint32), "<", -1, device=device),
        lambda: kernels.compact(x.astype(np.uint32), "<", np.nan, device=device),
        lambda: kernels.compact(x.astype(np.complex64), "<", 1, device=device),
        lambda: kernels.flatnonzero(x.astype(np.complex64), device=device),
        lambda: kernels.nonzero(np.float32(1), device=device),
        lambda: kernels.nonzero(device.buffer(x.reshape(2, 3))),
        lambda: plan_compact(device, np.float32, 0),
        lambda: plan_compact(device, np.float32, 2**30),
        lambda: plan_compact(device, np.float32, 8, output="mask"),
        lambda: plan_compact(device, np.float32, 8, staged=2),
        lambda: plan_compact(device, np.float32, 8, items=3),
        lambda: plan_compact(device, np.float32, 8, payload=16),
    ):
        with pytest.raises(InvalidDispatch):
            bad()


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("path", ["compact/subgroup.comp", "compact/shared.comp"])
def test_check_finds_nothing(path: str, checked: Callable[..., Any]) -> None:
    assert checked(path) == ()
    x = _rng().random(4096, dtype=np.float32)
    kept, total = np.zeros(4096, np.uint32), np.uint32([(x[:4093] < 0.5).sum()])
    push = {"count": 4093, "limit": int(np.float32(0.5).view(np.uint32)), "limit_high": 0}
    shared = path.endswith("shared.comp")
    macros = {"STAGED": 0} if shared else {"DEPTH": 1}
    absent: dict[int | str, int] = {"SILENT": 2, "SPINS": 1} | ({"GROUP": 3} if shared else {})
    for output, more, constants, others in (
        ("VALUES", {}, absent, {1: kept}),
        ("PARTITION", macros, absent, {1: kept, 4: total}),
        ("INDICES", macros, {}, {1: kept}),
        ("COUNT", {}, {}, {}),
        ("PARTITION", {**macros, "ONE_GROUP": 1}, {"ITEMS": 32}, {1: kept}),
        ("VALUES", {**macros, "ONE_GROUP": 1}, {}, {1: kept}),
    ):
        found = checked(
            path,
            {"OUTPUT": output, **more},
            push=push,
            specialization={"ITEMS": 4, **constants},
            inputs={0: x.view(np.uint32), **others},
            sizes=(4, 32),
            groups=(1 if "ONE_GROUP" in more else 9, 1, 1),
        )
        assert found == (), output
