"""Errors that Khronos found in the tests of VK-GL-CTS in 2025 and 2026 are not in the suite.

Each test names the fix, and shows that the suite judges what the test there did not.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from simulated_device import SimulatedDevice
from suite_runs import matching, results_of

from vkgroup.conformance import Status, cases_by_name
from vkgroup.conformance.quad_control import derivatives
from vkgroup.conformance.reconvergence.termination import SELECTIONS, TESTS
from vkgroup.conformance.subgroup.expectation import expected_of, verdict_on
from vkgroup.device import barriers, vk
from vkgroup.programs.nodes import Observe
from vkgroup.programs.traversal import nodes_of
from vkgroup.spec.operations import SUBGROUP_OPERATIONS

EXCLUSIVE = [name for name, operation in SUBGROUP_OPERATIONS.items() if name.startswith("subgroupExclusive")]


@pytest.mark.parametrize("type_", ["int", "u8vec2", "float", "double"])
@pytest.mark.parametrize("operation", EXCLUSIVE)
def test_identities_of_exclusive_scans_are_compared(operation: str, type_: str) -> None:
    """4d09bffba: the first active lane's result had not been compared in scans of Min and Max."""
    case = cases_by_name().get(f"arithmetic.compute.{operation}.{type_}.odd.exact")
    if case is None:
        assert operation.removeprefix("subgroupExclusive") in ("And", "Or", "Xor")
        assert type_ in ("float", "double")
        return
    device = SimulatedDevice([case], size=8)
    (entry,) = device.program.entries
    first = device.lane == 1  # the first active lane of this pattern

    def verdict() -> Status:
        return verdict_on(entry, device.program, device.instances(), device.outputs).status

    assert verdict() is Status.PASS
    # Another exponent or low bit of the first component, in the words that hold it.
    device.result(entry)[-1 if type_ == "double" else 0, first] ^= 0x00700001
    assert verdict() is Status.FAIL


@pytest.mark.parametrize("shape", [shape for shape in derivatives.GROUPS["quads"] if shape[0] > 2])
def test_a_wrong_local_index_in_quads_is_caught(shape, monkeypatch: pytest.MonkeyPatch) -> None:
    """8df189813: drivers that order invocations by quads must not change gl_LocalInvocationIndex."""
    honest = derivatives.source_of

    def in_quads(group, shape, probes):
        text = honest(group, shape, probes)
        wrong = text.replace("uint row =", "index = quad * 4u + place;\n    uint row =")
        assert wrong != text
        return wrong

    monkeypatch.setattr(derivatives, "source_of", in_quads)
    cases = matching(f"quad_control.derivative_group.quads.dFd?Fine.{'x'.join(map(str, shape))}")
    results = results_of("reference:8", cases, transform=lambda data: data)
    assert {result.status for result in results} == {Status.FAIL}


def test_workgroups_with_derivatives_are_larger_than_four_by_four() -> None:
    """d532da5a3: drivers that emulate derivatives were wrong in workgroups of more than 4 × 4."""
    assert sum(x > 4 and y >= 4 for x, y, _ in derivatives.GROUPS["quads"]) >= 2


def test_the_vote_on_helpers_after_termination_expects_none_that_never_left() -> None:
    """497bbdf1a: implementations may start helper invocations, which the vote then finds."""
    (vote,) = (test for test in TESTS.values() if test.probe == "quad_any")
    assert SELECTIONS[vote.selection].helpers


def test_the_bound_of_rounding_grows_with_the_lanes() -> None:
    """471aaaaee: a tolerance was too small for 128 lanes. Here it follows from the number of summands."""
    case = cases_by_name()["arithmetic.compute.subgroupAdd.float.all.rounding"]
    widths = []
    for size in (8, 32, 128):
        device = SimulatedDevice([case], size=size)
        (entry,) = device.program.entries
        instances = device.instances()
        expected = expected_of(entry, instances, np.zeros((*instances.member.shape, 1), np.float32))
        widths.append(float((expected.high.astype(np.float64) - expected.low)[expected.defined].max()))
    assert 0 < widths[0] < widths[1] < widths[2]


def test_a_random_program_observes_something_and_is_the_same_each_time() -> None:
    """faf358f63: the shader and the expected result came from two programs, and some programs were empty."""
    cases = matching("reconvergence.maximal.compute.nesting?.*")[::25]
    assert len(cases) > 20
    for case in cases:
        program = case.program(seed=7)
        assert any(isinstance(node, Observe) for node in nodes_of(program)), case.name
        assert program == case.program(seed=7)


def test_recorded_work_ends_with_a_barrier_for_the_host() -> None:
    """978255ca3: nothing made the results of a dispatch visible to the host."""
    calls: list[tuple[object, ...]] = []
    functions = SimpleNamespace(vkCmdPipelineBarrier=lambda *arguments: calls.append(arguments))
    barriers.barrier(functions, None)
    ((_, source, target, _, count, memory, *_),) = calls
    assert source == vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
    assert target & vk.VK_PIPELINE_STAGE_HOST_BIT
    assert count == 1
    assert memory.srcAccessMask & vk.VK_ACCESS_MEMORY_WRITE_BIT
    assert memory.dstAccessMask & vk.VK_ACCESS_MEMORY_READ_BIT
