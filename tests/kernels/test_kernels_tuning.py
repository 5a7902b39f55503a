"""Tuning values that make no sense are refused before anything is compiled; NumPy's numbers are numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vkgroup import kernels
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device

PLANS: dict[str, Callable[..., Any]] = {
    "reduce": lambda device, **tuning: kernels.plan_reduce(device, 300, "u4", "add", **tuning),
    "scan": lambda device, **tuning: kernels.plan_scan(device, "add", "u4", 300, **tuning),
    "columns": lambda device, **tuning: kernels.plan_scan(device, "add", "u4", (100, 3), 0, **tuning),
    "compact": lambda device, **tuning: kernels.plan_compact(device, "u4", 300, "<", 7, **tuning),
    "searchsorted": lambda device, **tuning: kernels.plan_searchsorted(device, 300, 9, "u4", **tuning),
    "unique": lambda device, **tuning: kernels.plan_unique(device, 300, "u4", **tuning),
    "topk": lambda device, **tuning: kernels.plan_topk(device, 300, "u4", 9, **tuning),
    "histogram": lambda device, **tuning: kernels.plan_histogram(device, 300, "u4", 10, (0, 9), **tuning),
    "bincount": lambda device, **tuning: kernels.plan_bincount(device, 300, "u4", 10, **tuning),
    "aggregation": lambda device, **tuning: kernels.plan_aggregation(device, 300, "u4", "maximum", **tuning),
    "softmax": lambda device, **tuning: kernels.plan_softmax(device, (3, 100), "f4", **tuning),
    "matvec": lambda device, **tuning: kernels.plan_matvec(device, (3, 100), "f4", **tuning),
    "max_pool": lambda device, **tuning: kernels.plan_max_pool(device, (12, 25), "u4", "shared", **tuning),
}
FURTHER: dict[str, tuple[str, ...]] = {
    "scan": ("depth", "group"),
    "compact": ("depth", "group"),
    "reduce": ("radix",),
    "searchsorted": ("registers", "groups"),
    "topk": ("groups",),
    "histogram": ("copies", "groups"),
}


@pytest.mark.parametrize("value", [2**20, 2**40, 0, -1, "8", 2.0, float("nan"), True, [1]], ids=str)
@pytest.mark.parametrize("name", PLANS)
def test_values_that_make_no_sense_are_refused(name: str, value: Any, references: dict[int, Device]) -> None:
    for tuning in ("items", *FURTHER.get(name, ())):
        if tuning in ("groups", "copies") and value == 2**20:
            continue
        with pytest.raises(InvalidDispatch, match=f"{tuning} is a whole number"):
            PLANS[name](references[4], **{tuning: value})


@pytest.mark.parametrize("tuning", [{"items": np.uint8(2)}, {"team": np.int64(4)}], ids=str)
def test_numbers_of_numpy_are_tuning_values(tuning: dict[str, Any], references: dict[int, Device]) -> None:
    x = np.arange(300, dtype=np.uint32)
    plan = kernels.plan_reduce(references[4], 300, np.uint32, "add", workgroup=np.uint8(128), **tuning)
    with plan.record() as work:
        work.buffers["x"].write(x)
        work.run()
        assert work.buffers["result"].read() == x.sum()


@pytest.mark.parametrize("name", ["reduce", "softmax", "matvec"])
def test_workgroups_consist_of_whole_subgroups_and_teams(name: str, references: dict[int, Device]) -> None:
    """Teams of lanes that were not there left rows out."""
    with pytest.raises(InvalidDispatch, match="subgroup size, 4; not 6"):
        PLANS[name](references[4], implementation="subgroup", workgroup=6)
    with pytest.raises(InvalidDispatch, match="team, 16; not 33"):
        PLANS[name](references[4], implementation="shared", workgroup=33, team=16)


def test_reductions_finish_with_whole_subgroups(references: dict[int, Device]) -> None:
    """The default of 64 invocations for the second dispatch is half a subgroup here."""
    x = np.arange(300_000, dtype=np.uint32).reshape(3000, 100)
    found = kernels.sum(x, axis=0, device=references[128], implementation="subgroup")
    assert np.array_equal(np.asarray(found), x.sum(axis=0, dtype=np.uint32))


def test_any_workgroup_gets_teams_that_fill_it(references: dict[int, Device]) -> None:
    """The plan chooses the team, also in the shared version."""
    matrix = np.arange(41 * 63, dtype=np.uint32).reshape(41, 63)
    for tuning in ({"workgroup": 3}, {"workgroup": 33}, {"team": 0, "finish_workgroup": 5, "items": 1}):
        plan = kernels.plan_matvec(
            references[4], matrix.shape, np.uint32, implementation="shared", **{"workgroup": 3, **tuning}
        )
        with plan.record() as work:
            work.buffers["matrix"].write(matrix)
            work.buffers["vector"].write(np.arange(63, dtype=np.uint32))
            work.run()
            assert np.array_equal(work.buffers["result"].read(), matrix @ np.arange(63, dtype=np.uint32))
    x = np.ones((41, 63), np.float32)
    rows = kernels.plan_softmax(references[4], x.shape, x.dtype, implementation="shared", workgroup=33)
    with rows.record() as work:
        work.buffers["x"].write(x)
        work.run()
        assert np.allclose(work.buffers["result"].read(), 1 / 63)
