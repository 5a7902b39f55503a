"""Tuning values that make no sense are refused before anything is compiled; NumPy's numbers are numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vkgroup import kernels
from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch

PLANS: dict[str, Callable[..., Any]] = {
    "reduce": lambda device, **tuning: kernels.plan_reduce(device, 300, "u4", "add", **tuning),
    "scan": lambda device, **tuning: kernels.plan_scan(device, "add", "u4", 300, **tuning),
    "columns": lambda device, **tuning: kernels.plan_scan(device, "add", "u4", (100, 3), 0, **tuning),
    "compact": lambda device, **tuning: kernels.plan_compact(device, "u4", 300, "<", 7, **tuning),
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
    "histogram": ("copies", "groups"),
}


@pytest.mark.parametrize("value", [2**20, 2**40, 0, -1, "8", 2.0, float("nan"), True, [1]], ids=str)
@pytest.mark.parametrize("name", PLANS)
def test_values_that_make_no_sense_are_refused(name: str, value: Any, references: dict[int, Device]) -> None:
    for tuning in ("items", *FURTHER.get(name, ())):
        if tuning in ("groups", "copies") and value == 2**20:
            continue
        with pytest.raises(InvalidDispatch, match=f"{tuning} is a whole number, at least . and at most"):
            PLANS[name](references[4], **{tuning: value})


def test_box_filters_and_sorts_refuse_what_would_be_unrolled_for_hours(references: dict[int, Device]) -> None:
    with pytest.raises(InvalidDispatch, match="rows is a whole number, at least 1 and at most 64"):
        kernels.plan_box_filter(references[4], np.float32, (8, 8), 2, rows=2**20)
    with pytest.raises(InvalidDispatch, match="look is a whole number, at least 1 and at most 64"):
        kernels.plan_radix_sort(references[4], 9, np.uint32, look=2**20)
    with pytest.raises(InvalidDispatch, match="vote is True or False; 2 was given"):
        kernels.plan_bincount(references[4], 9, np.uint32, 5, vote=2)


@pytest.mark.parametrize("tuning", [{"items": np.uint8(2)}, {"team": np.int64(4)}], ids=str)
def test_numbers_of_numpy_are_tuning_values(tuning: dict[str, Any], references: dict[int, Device]) -> None:
    x = np.arange(300, dtype=np.uint32)
    plan = kernels.plan_reduce(references[4], 300, np.uint32, "add", workgroup=np.uint8(128), **tuning)
    with plan.record() as work:
        work.buffers["x"].write(x)
        work.run()
        assert work.buffers["result"].read() == x.sum()
