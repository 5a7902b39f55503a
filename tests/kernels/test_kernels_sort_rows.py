"""Sorts of short rows order each row as NumPy does, stably, at every subgroup size, on every driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.plan import Pass, Plan
from vkgroup.kernels.radix_sort import KEY_DTYPES
from vkgroup.kernels.rank_sort import plan_rank_sort, prefers_ranks
from vkgroup.kernels.sort_rows import longest_row, plan_sort_rows

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")

Planner = Callable[..., Plan]
PLANNERS = (plan_sort_rows, plan_rank_sort)


def _keys(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """Make keys of which many are equal; floats with every special value."""
    rng, kind = np.random.default_rng(len(shape) + shape[-1]), np.dtype(dtype)
    if kind.kind != "f":
        return rng.integers(0, 50, shape).astype(kind) * np.asarray(2**31 // 40, kind)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-45, -1e-45], kind)
    return np.where(rng.random(shape) < 0.5, rng.normal(size=shape), rng.choice(special, shape)).astype(kind)


def _order(rows: Array, descending: bool) -> Array:
    """Return the indices that sort each row stably, NaN last in both directions."""
    if not descending:
        return np.argsort(rows, axis=-1, kind="stable")
    # Ranks of the values, so that their order can be reversed.
    _, ranks = np.unique(rows, return_inverse=True)
    ranks = -ranks.reshape(rows.shape).astype(np.int64)
    if rows.dtype.kind == "f":
        ranks[np.isnan(rows)] = 1
    return np.argsort(ranks, axis=-1, kind="stable")


def _check(device: Device, planner: Planner, rows: Array, descending: bool = False, **options: Any) -> None:
    """Compare keys, indices and values of a plan with NumPy."""
    order = _order(rows, descending)
    values = np.arange(rows.size, dtype=np.uint64).reshape(rows.shape)
    options = {"descending": descending, **options}
    plan = planner(device, rows.shape, rows.dtype, values=values.dtype, **options)
    assert [type(step) for step in plan.steps] == [Pass]
    with plan.record() as work:
        work.buffers["keys"].write(rows)
        work.buffers["values"].write(values)
        work.run(timeout=120)
        found = work.buffers["sorted_keys"].read(), work.buffers["sorted_values"].read()
    bits = f"u{rows.itemsize}"
    assert np.array_equal(found[0].view(bits), np.take_along_axis(rows, order, -1).view(bits))
    assert np.array_equal(found[1], np.take_along_axis(values, order, -1))
    with planner(device, rows.shape, rows.dtype, indices=True, **options).record() as work:
        work.buffers["keys"].write(rows)
        work.run(timeout=120)
        assert np.array_equal(work.buffers["indices"].read(), order)


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", KEY_DTYPES, ids=str)
def test_every_type_in_both_directions(
    references: dict[int, Device], dtype: np.dtype[Any], implementation: str, planner: Planner
) -> None:
    for descending in (False, True):
        _check(references[8], planner, _keys((5, 77), dtype), descending, implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_driver(driver: Device, implementation: str, planner: Planner) -> None:
    longest = longest_row(driver, np.dtype(np.float32))
    if "22.3" in driver.capabilities.driver_info:
        # lavapipe 22.3.6 leaves the loops of a thread after 65,536 rounds. A thread executes many workgroups:
        # the rank sort of n keys has up to n² / 128 rounds of vectors of eight invocations.
        longest = min(longest, 2048)
    for shape in ((1,), (3, 2), (70, 31), (2, 3, 100), (longest,)):
        _check(driver, planner, _keys(shape, np.float32), implementation=implementation)


@pytest.mark.mostly_slow(every=3, start=1)
def test_every_subgroup_size(reference: Device) -> None:
    """Teams are smaller than, as large as, and larger than subgroups."""
    for length, items in ((3, 1), (61, 1), (128, 4), (257, 2)):
        for planner in PLANNERS:
            _check(reference, planner, _keys((3, length), np.int32), implementation="subgroup", items=items)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("items", [1, 2, 8, 16])
def test_items(references: dict[int, Device], items: int, implementation: str, planner: Planner) -> None:
    options = {"items": items, "workgroup": 32, "implementation": implementation}
    for shape in ((1, 1), (9, 16), (4, 130)):
        _check(references[16], planner, _keys(shape, np.uint32), **options)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_ranks_with_every_batch_and_team(references: dict[int, Device], implementation: str) -> None:
    """Batches reach beyond the elements that they may count, at the part's beginning and the row's end."""
    rows = _keys((3, 67), np.float32)
    for batch, team, items in ((1, 1, 32), (3, 4, 5), (16, 32, 1)):
        options = {"batch": batch, "team": team, "items": items, "implementation": implementation}
        _check(references[4], plan_rank_sort, rows, **options)


def test_ranks_are_for_short_rows(vulkan_device: Device) -> None:
    """The kind of device decides how many comparisons take less time than the steps of other sorts."""
    assert prefers_ranks(vulkan_device, (1, 4))
    assert not prefers_ranks(vulkan_device, (1 << 20,))
    assert not prefers_ranks(vulkan_device, (0,))


def test_functions_sort_rows_in_one_dispatch(vulkan_device: Device) -> None:
    rows = _keys((40, 90), np.float32)
    buffer = vulkan_device.buffer(rows)
    found, indices = kernels.sort(buffer), kernels.argsort(buffer, axis=1, descending=True)
    assert isinstance(found, Buffer)
    assert np.array_equal(found.read(), np.sort(rows, kind="stable"), equal_nan=True)
    assert np.array_equal(indices.read(), _order(rows, True))
    assert np.array_equal(kernels.sort(buffer, axis=None).read(), np.sort(rows, axis=None), equal_nan=True)
    kept = vulkan_device.memory().plans
    for axis in (0, 1):
        expected = np.sort(rows, axis, kind="stable")
        assert np.array_equal(kernels.sort(rows, axis, device=vulkan_device), expected, equal_nan=True)
    # Of both axes one plan, which the buffer's sort had made for the last axis.
    assert vulkan_device.memory().plans == kept + 1


def test_bad_arguments(references: dict[int, Device]) -> None:
    device = references[8]
    longest = longest_row(device, np.dtype(np.uint32))
    with pytest.raises(Unsupported, match="plan_radix_sort"):
        plan_sort_rows(device, longest + 1, np.uint32)
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: plan_sort_rows(device, (3, 0), "u4"), "1 to"),
        (lambda: plan_sort_rows(device, (), "u4"), "1 to"),
        (lambda: plan_sort_rows(device, 3, "u2"), "Keys must be"),
        (lambda: plan_sort_rows(device, 3, "u4", items=3), "power of two"),
        (lambda: plan_rank_sort(device, (3, 0), "u4"), "1 to"),
        (lambda: plan_rank_sort(device, 3, "u4", team=3), "power of two"),
        (lambda: plan_rank_sort(device, 3, "u4", batch=33), "at most 32"),
        (lambda: plan_sort_rows(device, 3, "u4", items=32), "at most 16"),
        (lambda: plan_sort_rows(device, 3, "u4", values="u4", indices=True), "either values or indices"),
        (lambda: kernels.sort(device.buffer(np.zeros((2, 3), "u4")), 0), "last axis"),
        (lambda: kernels.sort(device.buffer(np.zeros((2, longest + 1), "u4"))), "several rows"),
    )
    for call, message in calls:
        with pytest.raises(InvalidDispatch, match=message):
            call()


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("folder", ["bitonic_sort", "rank_sort"])
def test_check_finds_nothing(checked: Callable[..., Any], implementation: str, folder: str) -> None:
    path = f"{folder}/{implementation}.comp"
    ranks = folder == "rank_sort"
    team = {} if ranks and implementation == "subgroup" else {"TEAM": 64}
    rows, groups = (2, 100) if ranks else (7, 4)
    keys = np.random.default_rng(0).integers(0, 9, 700).astype(np.uint32)
    for macros, more in (
        ({}, {1: keys}),
        ({"VALUE_WORDS": 1, "UNROLL": 0}, {1: keys, 2: keys, 3: keys}),
        ({"INDICES": 1}, {1: keys}),
    ):
        found = checked(
            path,
            macros,
            push={"rows": rows, "row_length": 100},
            specialization={"ITEMS": 2, **team},
            inputs={0: keys, **more},
            groups=(groups, 1, 1),
            sizes=(4, 32),
        )
        assert found == (), macros
