"""The experiments on real drivers."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.dispatch import Device
from vkgroup.probe import EXPERIMENTS, NotSupported, Observed, Probe, orders, probe
from vkgroup.probe.addition import AdditionOrders
from vkgroup.probe.branches import READINGS, InactiveLanes, Reconvergence
from vkgroup.probe.floats import SpecialValues
from vkgroup.probe.layout import InvocationMapping
from vkgroup.probe.size import FullSubgroups, SubgroupSize
from vkgroup.probe.subject import Subject


@pytest.fixture(scope="module")
def found(device: Device) -> Probe:
    return probe(device)


def observed(found: Probe, name: str, kind: type):
    """The observation of an experiment, which must have been made."""
    outcome = found.outcomes[name]
    assert isinstance(outcome, Observed), outcome
    assert isinstance(outcome.observation, kind)
    return outcome.observation


def test_nothing_fails(found: Probe) -> None:
    assert not found.lost
    assert {each.status for each in found.outcomes.values()} <= {"observed", "not_supported"}


def test_size(found: Probe) -> None:
    size = observed(found, "subgroup_size", SubgroupSize)
    assert size.met.is_exactly(found.capabilities.subgroup.size)
    control = found.capabilities.size_control
    assert sorted(size.required) == [
        1 << bit for bit in range(8) if control.min_size <= 1 << bit <= control.max_size
    ]
    assert all(met.is_exactly(required) for required, met in size.required.items())


def test_layout(found: Probe) -> None:
    mapping = observed(found, "invocation_mapping", InvocationMapping)
    assert len(mapping.workgroups) == 7
    assert mapping.linear
    assert not any(workgroup.contradictions for workgroup in mapping.workgroups)
    filled = observed(found, "full_subgroups", FullSubgroups)
    assert filled.full_in_multiples
    assert filled.only_last_partial


def test_inactive_lanes(found: Probe) -> None:
    reads = observed(found, "inactive_lanes", InactiveLanes).reads
    operations = found.capabilities.subgroup.supported_operations
    expected = [reading.name for reading in READINGS if reading.category in operations]
    assert [read.operation for read in reads] == [name for name in expected for _ in (0, 1)]
    size = found.capabilities.subgroup.size
    assert all(size // 4 <= sum(read.lanes.values()) <= size // 2 for read in reads)


def test_reconvergence(found: Probe) -> None:
    seen = observed(found, "reconvergence", Reconvergence)
    assert all(construct.parted_inside for construct in seen.constructs), (
        "a construct did not part the invocations"
    )
    assert seen.always


def test_the_order_found_foretells_other_sums(found: Probe, device: Device) -> None:
    reduction, inclusive, exclusive = observed(found, "addition_order", AdditionOrders).operations
    subject = Subject(device)
    draw = np.random.default_rng(99)
    rows = draw.normal(size=(200, subject.size)).astype(np.float32)
    got = subject.run_full_subgroups(
        subject.module("addition"),
        len(rows),
        {"Term": rows, **{name: np.zeros_like(rows) for name in ("Reduced", "Inclusive", "Exclusive")}},
    )
    assert (got["Reduced"] == orders.SUMS[reduction.order](rows)[:, None]).all()
    assert (got["Inclusive"] == orders.SCANS[inclusive.order](rows)).all()
    assert (got["Exclusive"] == orders.exclusive(orders.SCANS[exclusive.order])(rows)).all()


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_special_values(found: Probe, bits: int) -> None:
    outcome = found.outcomes[f"special_values_float{bits}"]
    has = bits == 32 or f"shaderFloat{bits}" in found.capabilities.features
    if not has:
        assert isinstance(outcome, NotSupported)
        assert f"shaderFloat{bits}" in outcome.missing
        return
    findings = observed(found, f"special_values_float{bits}", SpecialValues).findings
    assert len(findings) == 24
    denormals = {each.gives for each in findings if "denormal" in each.subject}
    assert denormals <= {"kept", "flushed"}
    if bits == 32:
        # KHR_shader_subgroup, Chapter 8: "if for any two <value>s of them is a NaN, the other is chosen".
        chosen = {
            each.gives
            for each in findings
            if each.operation in ("subgroupMin", "subgroupMax")
            and each.subject in ("NaN and a number", "a number and NaN")
        }
        assert chosen == {"number"}


def test_every_outcome_has_words_and_a_title(found: Probe) -> None:
    assert [experiment.name for experiment in EXPERIMENTS] == list(found.outcomes)
    for outcome in found.outcomes.values():
        assert all(line.strip() for line in outcome.lines())
