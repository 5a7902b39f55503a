"""The tuning tables name values that there are, and kernels run with those of GPUs that are not here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup import kernels
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import parts
from vkgroup.kernels.plan import Pass, Plan
from vkgroup.kernels.tuning import TABLES, kinds, tuned

IMPLEMENTATIONS = ("subgroup", "shared")
GPUS = {"nvidia": 0x10DE, "any": 0}
"""Vendors that tables name, and one that none names."""

SHARED_MEMORY = 48 * 1024
"""Limits of a workgroup on NVIDIA's driver."""

PLANS: dict[str, Callable[[Device, str], Plan]] = {
    "reduce": lambda device, way: kernels.plan_reduce(device, 9000, "f4", "add", implementation=way),
    "rows": lambda device, way: kernels.plan_softmax(device, (3, 3000), "f4", implementation=way),
    "matvec": lambda device, way: kernels.plan_matvec(device, (9, 3000), "f4", implementation=way),
    "scan": lambda device, way: kernels.plan_scan(device, "add", "f4", 9000, implementation=way),
    "long scan": lambda device, way: kernels.plan_scan(device, "add", "i8", 9000, implementation=way),
    "columns": lambda device, way: kernels.plan_scan(device, "add", "f4", (900, 9), 0, implementation=way),
    "long columns": lambda device, way: kernels.plan_scan(
        device, "add", "i8", (9000, 2), 0, implementation=way
    ),
    "compact": lambda device, way: kernels.plan_compact(device, "u4", 9000, "<", 7, implementation=way),
    "long compact": lambda device, way: kernels.plan_compact(device, "u8", 9000, "<", 7, implementation=way),
    "radix_sort": lambda device, way: kernels.plan_radix_sort(device, 9000, "u4", implementation=way),
    "bitonic_sort": lambda device, way: kernels.plan_sort_rows(device, (9, 900), "u4", implementation=way),
    "rank_sort": lambda device, way: kernels.plan_rank_sort(device, 900, "u4", implementation=way),
    "pairs": lambda device, way: kernels.plan_radix_sort(device, 9000, "i8", values="f8", implementation=way),
    "searchsorted": lambda device, way: kernels.plan_searchsorted(
        device, 9000, 3000, "u8", implementation=way
    ),
    "unique": lambda device, way: kernels.plan_unique(
        device, 9000, "i8", index=True, counts=True, implementation=way
    ),
    "topk": lambda device, way: kernels.plan_topk(device, 1 << 20, "f8", 1000, implementation=way),
    "histogram": lambda device, way: kernels.plan_histogram(device, 9000, "f4", 256, (0, 1), way),
    "bincount": lambda device, way: kernels.plan_bincount(device, 9000, "i4", 1 << 16, way),
    "aggregation": lambda device, way: kernels.plan_aggregation(
        device, 9000, "u4", "maximum", implementation=way
    ),
    "box_filter": lambda device, way: kernels.plan_box_filter(device, "f4", (64, 64), 4, way),
    "max_pool": lambda device, way: kernels.plan_max_pool(device, (64, 64), "f4", way),
    "mip_chain": lambda device, way: kernels.plan_mip_chain(device, "f4", (64, 64), way),
    "matmul": lambda device, way: kernels.plan_matmul(device, "f4", (64, 64), (64, 64), way),
    "matmul of stacks": lambda device, way: kernels.plan_matmul(device, "f4", (9, 20, 8), (9, 8, 70), way),
    "transpose": lambda device, way: kernels.plan_transpose(device, "f4", (64, 64), way),
}


@pytest.fixture(params=GPUS)
def gpu(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The reference device with 32 lanes, which says that it is a GPU of that vendor."""
    with vkgroup.open("reference", subgroup_size=32) as device:
        known = device.capabilities
        limits = {**known.limits, "maxComputeSharedMemorySize": SHARED_MEMORY}
        device._base.capabilities = replace(
            known, type="discrete_gpu", vendor_id=GPUS[request.param], limits=limits
        )
        assert kinds(device)[0] == request.param
        yield device


def test_every_kind_is_a_device_s() -> None:
    named = {kind for table in TABLES.values() for kind in table}
    assert named == {"cpu", *GPUS}


@pytest.mark.parametrize("algorithm", TABLES)
def test_every_value_is_one_of_the_algorithm_s(algorithm: str) -> None:
    base = TABLES.get(algorithm.split(".")[0], {})
    known = {**base.get("any", {}), **TABLES[algorithm].get("any", {})}
    for kind, values in TABLES[algorithm].items():
        assert known.keys() >= values.keys(), kind


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", PLANS)
def test_plans_are_made_with_the_values_of_gpus(name: str, implementation: str, gpu: Device) -> None:
    plan = PLANS[name](gpu, implementation)
    assert any(isinstance(step, Pass) for step in plan.steps)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_no_tile_of_the_tables_is_made_smaller(implementation: str, gpu: Device) -> None:
    """With little shared memory, a compaction uses fewer items than its tuning value."""
    values = tuned(gpu, "compact", implementation)
    plan = kernels.plan_compact(gpu, np.uint32, 1 << 20, "<", 7, implementation=implementation)
    _fill, step = [step for step in plan.steps if isinstance(step, Pass)]
    assert step.groups[0] == parts(1 << 20, values["workgroup"] * values["items"])


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_results_are_right_with_the_values_of_gpus(implementation: str, gpu: Device) -> None:
    x = np.random.default_rng(1).integers(0, 1 << 32, 20_011, np.uint32)
    options: dict[str, Any] = {"device": gpu, "implementation": implementation}
    assert np.array_equal(kernels.cumsum(x, **options), np.cumsum(x, dtype=np.uint32))
    assert np.array_equal(kernels.compact(x, "<", 1 << 31, **options), x[x < 1 << 31])
    assert np.array_equal(kernels.sort(x, **options), np.sort(x))
    assert kernels.sum(x, **options) == np.sum(x, dtype=np.uint32)
    assert np.array_equal(kernels.bincount(x % 256, **options), np.bincount(x % 256))
