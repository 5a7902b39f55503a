"""The cases of NV_shader_thread_group: what there is, drivers pass, planted errors are caught."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from mutants.changes import BALLOT, COPY_OBJECT, QUAD_BROADCAST, QUAD_SWAP, another_constant, swapped_builtins
from mutants.rewriting import boolean_constant, rewritten
from suite_runs import matching, results_of, results_with_error

import vkgroup.conformance as conformance
from vkgroup.conformance import AGAINST_THE_DEVICE, Status
from vkgroup.conformance.arrays import POISON
from vkgroup.conformance.thread_group import family
from vkgroup.conformance.thread_group.cases import CASES as TABLE
from vkgroup.conformance.thread_group.cases import FLOWS, OBSERVATIONS, STAGES, WarpFlow
from vkgroup.conformance.thread_group.family import THREAD_GROUP
from vkgroup.conformance.thread_group.program import (
    GROUPS,
    LOCAL_SIZE,
    ThreadGroupProgram,
    activity_fault,
    build,
    executions,
    layout_faults,
)
from vkgroup.device import Capabilities, SmBuiltins, Subgroup
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS
from vkgroup.workers.opening import select as select_device

CASES = tuple(TABLE())
BY_NAME = {case.name: case for case in CASES}

SHIFT_LEFT, SHIFT_RIGHT, FADD, FSUB, EQUAL, AT_MOST = 196, 194, 129, 131, 170, 178


def test_every_name_of_the_document_has_cases_in_each_stage_that_has_it() -> None:
    seen = {(case.axes.stage, case.axes.operation) for case in CASES}
    for name, row in THREAD_GROUP_OPERATIONS.items():
        assert {stage for stage in STAGES if (stage, name) in seen} == set(STAGES) & set(row.stages)
    assert {case.axes.operation for case in CASES} == {*THREAD_GROUP_OPERATIONS, *OBSERVATIONS}


def test_swizzles_have_cases_of_every_type_operand_flow_and_coverage() -> None:
    swizzles = Counter(case.axes.operation for case in CASES if case.axes.type)
    flows = sum(1 for flow in FLOWS.values() if not flow.partial)
    assert set(swizzles.values()) == {4 * 2 * flows * 2}
    assert len(swizzles) == 6


@pytest.mark.parametrize("flow", FLOWS.values(), ids=lambda flow: flow.name)
def test_every_flow_is_executed_by_somebody_in_warps_of_4(flow) -> None:
    for slot in range(len(flow.executes)):
        threads = flow.executing(slot, 32)
        assert threads.any()
        assert f"@OBSERVE({slot}u)" in flow.code + flow.function or "@OBSERVE(trip)" in flow.code


def test_flows_have_whole_and_divergent_quads() -> None:
    quads = {
        name: {
            int(bits.sum())
            for slot in range(len(flow.executes))
            for bits in flow.executing(slot, 32).reshape(8, 4)
        }
        for name, flow in FLOWS.items()
    }
    assert quads["all"] == {4}
    assert quads["first_quads"] == {0, 4}
    assert {0, 1, 2, 3, 4} <= set().union(*quads.values())
    assert {2, 4} <= quads["both_arms"]
    assert {3, 4} <= quads["some_divergent"]


def _threads_of_quads(flow: WarpFlow) -> set[int]:
    """Return how many threads of a quad execute a slot together, of every quad and slot."""
    slots = (flow.executing(slot, 32) for slot in range(len(flow.executes)))
    return {int(count) for threads in slots for count in threads.reshape(8, 4).sum(axis=1)}


def test_what_a_device_lacks_is_named() -> None:
    family = THREAD_GROUP
    full = Capabilities(
        name="full",
        type="cpu",
        subgroup=Subgroup(32, STAGES, ("basic", "ballot", "quad")),
        features=frozenset({"vertexPipelineStoresAndAtomics", "fragmentStoresAndAtomics"}),
        sm_builtins=SmBuiltins(4, 8),
    )
    assert not any(family.missing(case, full) for case in CASES)
    sm = BY_NAME["thread_group.compute.gl_SMIDNV.all"]
    assert family.missing(sm, replace(full, sm_builtins=None)) == ["shaderSMBuiltins"]
    wide = replace(full, subgroup=replace(full.subgroup, size=64))
    assert all("at most 32" in family.missing(case, wide)[0] for case in CASES)
    no_quads = replace(full, subgroup=replace(full.subgroup, supported_operations=("basic", "ballot")))
    swizzle = BY_NAME["thread_group.fragment.quadSwizzle0NV.float.one.all.whole"]
    helpers = BY_NAME["thread_group.fragment.helpers.all.edge"]
    for case in (swizzle, helpers):
        assert family.missing(case, no_quads) == ["VK_SUBGROUP_FEATURE_QUAD_BIT"]
    bare = replace(full, features=frozenset())
    assert family.missing(swizzle, bare) == ["fragmentStoresAndAtomics"]
    vertex = BY_NAME["thread_group.vertex.activeThreadsNV.odd"]
    assert family.missing(vertex, bare) == ["vertexPipelineStoresAndAtomics"]
    compute_only = replace(full, subgroup=replace(full.subgroup, supported_stages=("compute",)))
    assert "vertex stage" in family.missing(vertex, compute_only)[0]


@pytest.mark.slow
@pytest.mark.usefixtures("swiftshader")
def test_swiftshader_passes() -> None:
    found = conformance.run(select_device("swiftshader"), filters=("thread_group.*",), jobs=2)
    assert [result.case for result in found.failures] == []
    assert found.counts[Status.PASS] == len(CASES) - sum(_needs_sm(case) for case in CASES)


@pytest.mark.usefixtures("lavapipe")
def test_lavapipe_passes_and_leaves_helper_threads_out_of_ballots() -> None:
    """Results that depend on whether only a helper thread diverged are undefined and not compared."""
    filters = ("thread_group.fragment.*.one_missing.*", "thread_group.*.all*", "thread_group.*discard*")
    found = conformance.run(select_device("lavapipe"), filters=filters, jobs=2)
    assert [result.case for result in found.failures] == []
    assert found.counts[Status.PASS] > 250
    (edge,) = (
        r
        for r in found.results
        if r.case == "thread_group.fragment.quadSwizzle0NV.float.one.one_missing.edge"
    )
    assert edge.defined > edge.undefined > 0


@pytest.mark.parametrize("size", [1, 4, 32])
def test_the_reference_device_passes(size: int) -> None:
    found = conformance.run(
        select_device(f"reference:{size}"), filters=("thread_group.*.some_divergent*", "thread_group.*.all*")
    )
    assert [result.case for result in found.failures] == []
    assert found.counts[Status.PASS] > (10 if size < 4 else 200)


def _needs_sm(case) -> bool:
    row = THREAD_GROUP_OPERATIONS.get(case.axes.operation)
    return row is not None and row.sm_builtin


def _another(old: int, new: int, data: bytes) -> bytes:
    return rewritten(data, lambda i: [[new, *i[1:]]] if i[0] == old else [i])


def _direction(direction: int, data: bytes) -> bytes:
    return another_constant(QUAD_SWAP, 5, lambda value: direction, data)


def _thread(thread: int, data: bytes) -> bytes:
    return another_constant(QUAD_BROADCAST, 5, lambda value: thread, data)


def _ballots_of_all(data: bytes) -> bytes:
    data, true = boolean_constant(data, True)
    return rewritten(data, lambda i: [[*i[:4], true]] if i[0] == BALLOT else [i])


def _no_helpers(data: bytes) -> bytes:
    data, false = boolean_constant(data, False)
    return rewritten(data, lambda i: [[*i[:3], false]] if i[0] == COPY_OBJECT else [i])


# (what is planted, the case that must show it, the change)
PLANTED = (
    ("sums are differences", "fragment.quadSwizzle0NV.float.two.all.whole", partial(_another, FADD, FSUB)),
    ("x is y", "fragment.quadSwizzleXNV.vec2.one.all.whole", partial(_direction, 1)),
    ("y is x", "fragment.quadSwizzleYNV.vec4.two.all.edge", partial(_direction, 0)),
    ("x is diagonal", "fragment.neighbour_x.all.whole", partial(_direction, 2)),
    ("fragment 1 is fragment 2", "fragment.quadSwizzle1NV.vec3.one.all.edge", partial(_thread, 2)),
    ("no quad is divergent", "fragment.quadSwizzleXNV.float.one.one_missing.whole",
     partial(_another, EQUAL, AT_MOST)),
    ("after a return no quad is divergent", "fragment.quadSwizzle2NV.float.two.early_return.edge",
     partial(_another, EQUAL, AT_MOST)),
    ("masks are shifted down", "compute.gl_ThreadGeMaskNV.odd", partial(_another, SHIFT_LEFT, SHIFT_RIGHT)),
    ("all conditions hold", "compute.ballotThreadNV.all", _ballots_of_all),
    ("sizes and ids are swapped", "compute.gl_WarpSizeNV.all", partial(swapped_builtins, 36, 41)),
    ("nobody is a helper", "fragment.helpers.all.edge", _no_helpers),
)  # fmt: skip


@pytest.mark.mostly_slow(every=3)
@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize(("what", "name", "mutate"), PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_error_is_caught(what, name, mutate) -> None:
    cases = matching(f"thread_group.{name}")
    assert not {result.status for result in results_of("swiftshader", cases)} & set(AGAINST_THE_DEVICE)
    planted = results_with_error(partial(results_of, "swiftshader", cases), mutate)
    assert sum(result.status in AGAINST_THE_DEVICE for result in planted) == 1


def _program(flow: str) -> ThreadGroupProgram:
    return build([BY_NAME[f"thread_group.compute.activeThreadsNV.{flow}"].axes], seed=0)


def _outputs(program: ThreadGroupProgram, size: int) -> np.ndarray:
    """Return what a device with full warps of `size` records in a dispatch, the results left out."""
    outputs = np.full((program.recorder.planes, program.recorder.invocations), POISON, np.uint32)
    index = np.arange(GROUPS * LOCAL_SIZE)
    expected = program.flow.executing(0, size)
    outputs[0], outputs[1], outputs[2] = 1, index % size, size
    outputs[3], outputs[4] = index // size * size, (1 << size) - 1
    at = program.slot_at(0)
    outputs[at] = expected[index % size]
    outputs[at + 1 : at + 3] = sum(1 << thread for thread in np.flatnonzero(expected).tolist())
    return outputs


def _faults(program: ThreadGroupProgram, outputs: np.ndarray, size: int) -> list[str]:
    if faults := layout_faults(program, outputs, size):
        return faults
    fault = activity_fault(program, executions(program, outputs, 0, size))
    return [] if fault is None else [fault.words]


@pytest.mark.parametrize("flow", ["all", "odd", "some_divergent"])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_sound_records_have_no_faults(flow: str, size: int) -> None:
    program = _program(flow)
    assert _faults(program, _outputs(program, size), size) == []


@pytest.mark.parametrize(
    ("flow", "plane", "value", "says"),
    [
        ("all", 0, 0, "left no record"),
        ("all", 1, 9, "not below the subgroup size"),
        ("all", 2, 16, "gl_SubgroupSize is 16"),
        ("all", 4, POISON, "in part"),
        ("odd", "mask", 0b0101, "not in the mask"),
        ("odd", "mask", 0b1011, "does not execute"),
        ("all", "mask", 0b0001, "not in the mask"),
    ],
)
def test_records_that_contradict_themselves(flow: str, plane: int | str, value: int, says: str) -> None:
    program = _program(flow)
    outputs = _outputs(program, 4)
    outputs[program.slot_at(0) + 1 if plane == "mask" else plane, 5] = value
    (fault,) = _faults(program, outputs, 4)[:1]
    assert says in fault


def test_uniform_control_flow_keeps_warps_together() -> None:
    program = _program("all")
    outputs = _outputs(program, 4)
    mask = program.slot_at(0) + 1
    outputs[mask, 0:2], outputs[mask, 2:4] = 0b0011, 0b1100
    (fault,) = _faults(program, outputs, 4)
    assert "parted" in fault


def test_a_mask_names_those_who_executed_together() -> None:
    program = _program("some_divergent")
    outputs = _outputs(program, 4)
    outputs[program.slot_at(0) + 1, 3] = 0b1001
    (fault,) = _faults(program, outputs, 4)
    assert "did not execute with" in fault


def test_a_wrong_bit_counts_if_other_bits_are_undefined(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, mask = np.zeros((3, 1), np.uint32), np.full((3, 1), 0xF, np.uint32)
    monkeypatch.setattr(family, "_expected", lambda *_: family._masked(wanted, mask))
    entry = SimpleNamespace(at=0, planes=1, case=SimpleNamespace(operation="ballotThreadNV"))
    executed = SimpleNamespace(results=np.array([[0, 1, 0x10]], np.uint32))
    slot = family._Slot.of(entry, None, executed, None)
    assert slot.correct.tolist() == [True, False, True]
    assert slot.complete.tolist() == [False, True, False]
