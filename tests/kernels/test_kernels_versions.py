"""Selection of a kernel's version by `"auto"`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import vkgroup
from vkgroup import kernels
from vkgroup.dispatch import Device
from vkgroup.kernels.plan import Plan

NEED_FULL: dict[str, Callable[[Device], Plan]] = {
    "reduce": lambda device: kernels.plan_reduce(device, 300, "f4", "add"),
    "softmax": lambda device: kernels.plan_softmax(device, (3, 100), "f4"),
    "layer_norm": lambda device: kernels.plan_layer_norm(device, (3, 100), "f4"),
    "matvec": lambda device: kernels.plan_matvec(device, (3, 100), "f4"),
    "scan": lambda device: kernels.plan_scan(device, "add", "f4", 300),
    "compact": lambda device: kernels.plan_compact(device, "u4", 300, "<", 7),
    "sort": lambda device: kernels.plan_radix_sort(device, 300, "u4"),
    "sort of rows": lambda device: kernels.plan_sort_rows(device, (3, 300), "u4"),
    "sort by ranks": lambda device: kernels.plan_rank_sort(device, 300, "u4"),
    "searchsorted": lambda device: kernels.plan_searchsorted(device, 300, 100, "u4"),
    "unique": lambda device: kernels.plan_unique(device, 300, "u4"),
    "topk": lambda device: kernels.plan_topk(device, 300, "u4", 10),
    "box_filter": lambda device: kernels.plan_box_filter(device, "f4", (8, 8), 2),
    "mip_chain": lambda device: kernels.plan_mip_chain(device, "f4", (8, 8)),
    "transpose": lambda device: kernels.plan_transpose(device, "f4", (8, 8)),
}


@pytest.fixture
def partial() -> Iterator[Device]:
    """A device that promises no full subgroups."""
    with vkgroup.open("reference", subgroup_size=8) as device:
        known = device.capabilities
        control = replace(known.size_control, compute_full_subgroups=False)
        device._base.capabilities = replace(known, size_control=control)
        yield device


@pytest.mark.parametrize("name", NEED_FULL)
def test_subgroups_that_have_to_be_full(name: str, partial: Device, references: dict[int, Device]) -> None:
    assert NEED_FULL[name](references[8]).implementation == "subgroup"
    assert NEED_FULL[name](partial).implementation == "shared"
