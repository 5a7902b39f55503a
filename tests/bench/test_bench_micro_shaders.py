"""Barriers, divergence, contention, ceilings: right on every kind of device, and wrong ones are seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from vkgroup.bench import Definition
from vkgroup.bench.catalogue import choose
from vkgroup.bench.host import first_error
from vkgroup.bench.plans import BenchmarkInputs, PlanCandidate
from vkgroup.bench.run import BenchmarkOptions, run
from vkgroup.dispatch import Device

NAMES = [
    one.name
    for one in choose(["micro.barrier", "micro.divergence", "micro.contention", "ceiling", "dispatch"])
]


def _definition(name: str) -> Definition:
    (one,) = choose([name])
    return one


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("name", NAMES)
def test_all_results_are_right(device: Device, name: str) -> None:
    result = run(device, [_definition(name)], BenchmarkOptions(seed=1, smoke=True), ceilings=(), peers={})
    for row in result.rows:
        assert row.wrong == {}
        assert row.right or all(" lacks: " in note for note in row.notes), row.notes


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("micro.barrier.exchange", ("shuffle", "barrier")),
        ("micro.divergence.switch", ("uniform", "divergent")),
        ("micro.contention.shared.same", ("aggregated", "plain")),
        ("dispatch.recorded", ("Sequence.run", "Bound.dispatch")),
    ],
)
def test_a_row_compares_the_two_that_it_is_about(
    vulkan_device: Device, name: str, pair: tuple[str, str]
) -> None:
    one = _definition(name)
    options = BenchmarkOptions(seed=1, seconds=0.01, sizes=one.smoke[-1:])
    (row,) = run(vulkan_device, [one], options, ceilings=(), peers={}).rows
    assert row.pair == pair
    assert row.ratio is not None
    assert row.ratio.median > 0
    assert set(pair) <= row.variants.keys()


@pytest.mark.parametrize("size", [1, 2, 1021, 4099, 40000])
@pytest.mark.parametrize("name", ["ceiling.copy", "ceiling.read", "ceiling.write"])
def test_memory_is_touched_once_whatever_its_size(vulkan_device: Device, name: str, size: int) -> None:
    for tuning in ({}, {"groups": 2}, {"workgroup": 64, "items": 3}):
        assert _outputs(vulkan_device, name, size, tuning)[2] is None


def _outputs(
    device: Device, name: str, size: int, tuning: Mapping[str, Any]
) -> tuple[Any, dict[str, Any], str | None]:
    """Run a definition's last variant; return its data, its outputs, and what is wrong with them."""
    case = _definition(name).make(device, size, tuning)
    data = case.data(np.random.default_rng(0))
    made = list(case.variants.values())[-1]()
    with BenchmarkInputs(device) as inputs:
        candidate: Any = made if hasattr(made, "prepare") else PlanCandidate(device, made, inputs)
        prepared = candidate.prepare(data)
        prepared.overwrite_outputs()
        prepared.time()
        found = {key: np.array(value) for key, value in prepared.outputs().items()}
        prepared.close()
    return data, found, first_error(data, found)


@pytest.mark.parametrize(
    ("name", "size", "output"),
    [
        ("micro.barrier.alone", 8, "stepped"),
        ("micro.barrier.exchange", 8, "results"),
        ("micro.barrier.exchange", 8, "stepped"),
        ("micro.divergence.if", 4, "results"),
        ("micro.divergence.loop", 4, "stepped"),
        ("micro.contention.global.subgroup", 100, "counters"),
        ("micro.contention.shared.same", 100, "sums"),
        ("ceiling.copy", 100, "target"),
        ("ceiling.read", 100, "result"),
        ("ceiling.write", 100, "target"),
        ("ceiling.shared", 3, "sums"),
        ("ceiling.arithmetic.int32", 3, "sums"),
    ],
)
def test_one_wrong_bit_is_seen(vulkan_device: Device, name: str, size: int, output: str) -> None:
    data, found, message = _outputs(vulkan_device, name, size, {})
    assert message is None
    found[output].view(np.uint32).ravel()[-1] ^= 1 << 20
    assert first_error(data, found) is not None
