"""Quantities from the statistics of drivers, and their comparison."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.cost import FIELDS, CompileStatus, Cost, labels, regressions
from vkgroup.cost.comparing import paired
from vkgroup.dispatch.statistics import DRIVERS, quantities, statistics_of


def cost(
    status: CompileStatus = CompileStatus.COMPILED, device: str = "radv-26.1.6:navi31", **values: float
) -> Cost:
    return Cost(device, "RADV NAVI31", 64, status, quantities=values)


def test_quantities_are_sums_in_the_quantity_s_unit() -> None:
    spilled = {"Spilled SGPRs": 2, "Spilled VGPRs": 3, "VGPRs": 48}
    assert quantities("radv", spilled) == {"spills": 5, "vector_registers": 48}
    assert quantities("turnip Mesa driver", {"Code size": 10}) == {"code_size": 40}
    assert quantities("Honeykrisp", {"Threads": 1024}) == {"waves": 32}
    assert quantities("NVIDIA", {"Register Count": 40, "Unknown": 1}) == {"vector_registers": 40}


@pytest.mark.parametrize("driver", list(DRIVERS))
def test_sources_and_units_are_of_known_quantities(driver: str) -> None:
    statistics = statistics_of(driver)
    assert set(statistics.sources) <= set(FIELDS)
    assert set(statistics.units) | set(statistics.factors) <= set(statistics.sources)


def test_what_becomes_worse_is_a_regression() -> None:
    old = [cost(instructions=100, waves=16, spills=0)]
    assert regressions([cost(instructions=104, waves=16, spills=0)], old, 0.05) == []
    (more,) = regressions([cost(instructions=106, waves=16, spills=0)], old, 0.05)
    assert (more.name, more.old, more.new) == ("instructions", 100, 106)
    assert "instructions 100 → 106" in str(more)
    (fewer,) = regressions([cost(instructions=50, waves=8, spills=0)], old, 0.05)
    assert fewer.name == "waves"
    (first,) = regressions([cost(instructions=50, waves=32, spills=1)], old, 0.05)
    assert first.name == "spills"


def test_the_driver_s_version_does_not_matter_for_a_baseline() -> None:
    old = [cost(device="radv-25.0.7:navi31", instructions=100)]
    assert len(regressions([cost(instructions=200)], old, 0.05)) == 1
    assert regressions([cost(device="radv-26.1.6:vega10", instructions=200)], old, 0.05) == []


def test_a_shader_that_compiles_no_longer_is_a_regression() -> None:
    (change,) = regressions([cost(CompileStatus.CRASH)], [cost(instructions=1)], 0.05)
    assert (change.name, change.old, change.new) == ("status", "Compiled", "Crash")
    assert regressions([cost(instructions=1)], [cost(CompileStatus.REJECTED)], 0.05) == []


def test_costs_survive_json() -> None:
    before = cost(instructions=3)
    assert Cost.from_json(before.to_json(), "file") == before
    with pytest.raises(InvalidInput, match=r"file\.json: .*vkgroup cost --json"):
        Cost.from_json({"device": 1}, "file.json")


def test_a_statistic_that_nvidia_reports_wrongly_is_left_out() -> None:
    """Driver 580.159 on an H200, a shader with an array in local memory or without one."""
    statistics = {
        "Register Count": 32,
        "Binary Size": 6400,
        "Stack Size": 0,
        "Local Memory Size": 2**36,
        "Shared Memory Size": 512,
    }
    found = quantities("NVIDIA", statistics)
    assert found == {"vector_registers": 32, "scratch": 0, "shared_memory": 512, "code_size": 6400}


def test_labels_of_devices() -> None:
    absent = Cost("radv-26.1.6:navi31", "AMD Radeon Graphics (RADV NAVI31)", 64, CompileStatus.COMPILED)
    present = Cost("/usr/share/vulkan/icd.d/nvidia_icd.json", "NVIDIA H200", 32, CompileStatus.COMPILED)
    assert (absent.label, present.label) == ("radv:navi31", "NVIDIA H200")


def test_labels_have_the_version_where_a_driver_has_several() -> None:
    costs = [
        Cost(device, "A GPU", size, CompileStatus.COMPILED)
        for device in (
            "radv-25.0.7:navi31",
            "radv-26.1.6:navi31",
            "radv-26.1.6:navi33",
            "nvk-26.1.6:ga104",
            "0",
        )
        for size in (32, 64)
    ]
    assert labels(costs) == {
        "radv-25.0.7:navi31": "radv-25.0.7:navi31",
        "radv-26.1.6:navi31": "radv-26.1.6:navi31",
        "radv-26.1.6:navi33": "radv-26.1.6:navi33",
        "nvk-26.1.6:ga104": "nvk:ga104",
        "0": "A GPU",
    }


def test_labels_have_the_version_of_a_driver_that_is_not_the_newest() -> None:
    old = [Cost("radv-25.0.7:navi31", "A GPU", 32, CompileStatus.COMPILED)]
    assert labels(old, ["radv-26.1.6"]) == {"radv-25.0.7:navi31": "radv-25.0.7:navi31"}
    assert labels(old, ["radv-25.0.7"]) == {"radv-25.0.7:navi31": "radv:navi31"}


def versions(**registers: float) -> list[Cost]:
    """Return costs with several versions of RADV: ``v25=10.0`` is 10 registers with 25.0.0."""
    return [
        Cost(
            f"radv-{name[1:]}.0.0:navi31",
            "A GPU",
            32,
            CompileStatus.COMPILED,
            quantities={"vector_registers": many},
        )
        for name, many in registers.items()
    ]


def test_two_shaders_are_compared_with_the_same_version_of_the_driver() -> None:
    found = paired(versions(v25=10.0, v26=11.0), versions(v26=21.0))
    assert [other and other.device for _, other in found] == [None, "radv-26.0.0:navi31"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_baseline_s_same_version_counts_else_its_newest(order: int) -> None:
    baseline = versions(v9=40.0, v25=20.0, v26=30.0)[::order]
    assert [str(change) for change in regressions(versions(v27=35.0), baseline, 0.0)] == [
        "radv-27.0.0:navi31, subgroups of 32, old: radv-26.0.0:navi31: vector registers 30 → 35"
    ]
    assert [str(change) for change in regressions(versions(v25=21.0), baseline, 0.0)] == [
        "radv-25.0.0:navi31, subgroups of 32: vector registers 20 → 21"
    ]
