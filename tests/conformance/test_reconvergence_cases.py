"""Reconvergence cases: the set of cases, the simulator, verdicts on drivers, planted errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from mutants.changes import BALLOT, COPY_OBJECT, ELECT
from mutants.program_mutants import CHANGES, mutants
from mutants.rewriting import boolean_constant, rewritten
from suite_runs import results_of

import vkgroup
import vkgroup.conformance.reconvergence.family as reconvergence_run
from vkgroup.conformance import Status, cases_by_name
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.reconvergence.comparison import expect, verdict_on_log
from vkgroup.conformance.reconvergence.family import KINDS, RECONVERGENCE, all_cases
from vkgroup.conformance.reconvergence.shader import ELECTED, data_of, render, salt_of
from vkgroup.conformance.reconvergence.termination_family import TERMINATED_FRAGMENTS
from vkgroup.programs.generator import generate
from vkgroup.programs.invocation_sets import Fields, LaneLayout, linear, to_flags, to_set
from vkgroup.programs.nodes import (
    Elect,
    Fixed,
    FunctionCall,
    If,
    IndexFrom,
    Jump,
    LaneIn,
    Loop,
    Observe,
    OfLane,
    ProgramFunction,
    Promise,
    RandomProgram,
    Statement,
    Switch,
    SwitchCase,
)
from vkgroup.programs.observations import LOCAL_SIZES, Observations
from vkgroup.programs.simulator import ObservationEvent, Simulator
from vkgroup.programs.traversal import nodes_of, walk

CASES = tuple(all_cases())
SEED = 5
DEMOTE, TERMINATE, KILL, RETURN = 5380, 4416, 252, 253

# Number of programs in the Vulkan CTS by nesting depth, in each of 8 groups.
PROGRAMS = {2: 50, 3: 50, 4: 50, 5: 20, 6: 10}


def random_programs(promise: Promise, count: int, *, elect: bool = False) -> list[RandomProgram]:
    return [
        generate(101 * number, Observations(promise, elect, 2 + number % 4, LOCAL_SIZES[number % 8]))
        for number in range(count)
    ]


def program_of(*body: Statement, promise: Promise = Promise.MAXIMAL, functions=()) -> RandomProgram:
    numbered = tuple(ProgramFunction(number, body) for number, body in enumerate(functions))
    return RandomProgram(1, promise, (8, 1, 1), 1, numbered, body)


def events_of(program: RandomProgram, size: int = 8) -> list[ObservationEvent]:
    return Simulator(program, linear(size, program.local_invocations, data_of(program))).run()


def seen(program: RandomProgram) -> list[tuple[int, int]]:
    return [(event.place, event.members) for event in events_of(program)]


# The set of cases


def test_there_are_as_many_random_programs_as_in_the_cts() -> None:
    counts = Counter(case.name.rpartition(".")[0] for case in CASES if not case.construct)
    wanted = {
        f"reconvergence.{kind}.compute.nesting{nesting}.{group}": number
        for kind in KINDS
        for nesting, number in PROGRAMS.items()
        for group in range(8)
        if nesting <= 4 or kind == "maximal"
    }
    assert counts == wanted
    assert sum(counts.values()) == 1440 + 4 * 1200
    assert "reconvergence.maximal.compute.nesting6.7.9" in cases_by_name()


def test_every_construct_and_every_termination_has_cases() -> None:
    names = cases_by_name()
    for shape in ("large_full", "large_full_control", "small_full", "small_full_control"):
        for number in range(21):
            for observed in ("elect", "ballot"):
                assert f"reconvergence.subgroup_uniform.{shape}.reconverge{number:02}.{observed}" in names
    for name in ("bit_count", "oob_read", "quad_any", "terminate_helpers"):
        assert f"reconvergence.terminate_invocation.{name}.whole.full_quads" in names
    halves = [f"demote_half_quad_{name}" for name in ("backslash", "bottom", "left", "right", "slash", "top")]
    for name in (*halves, "demote_entire_quad", "demote_invocation", "terminate_invocation"):
        for scene in ("whole", "triangle", "dots"):
            assert f"reconvergence.maximal.fragment.{name}.{scene}" in names
    assert "reconvergence.subgroup_uniform.discard.nobody.whole" in names


def test_programs_depend_only_on_the_name_and_the_seed() -> None:
    first, second = CASES[0], CASES[1]
    assert first.program(0) == first.program(0)
    assert len({first.program(0), first.program(1), second.program(0)}) == 3


def test_programs_use_every_statement_and_record_known_masks() -> None:
    for promise in Promise:
        programs = random_programs(promise, 60)
        nodes = [node for program in programs for node in nodes_of(program)]
        kinds = {type(node).__name__ for node in nodes}
        assert kinds >= {
            "If",
            "Loop",
            "Switch",
            "FunctionCall",
            "Jump",
            "Effect",
            "Elect",
            "Counter",
            "SubgroupOdd",
        }
        assert {node.form for node in nodes if isinstance(node, Loop)} == {
            "for", "while", "do", "endless", "elect",
        }  # fmt: skip
        assert {node.kind for node in nodes if isinstance(node, Jump)} == {"break", "continue", "return"}
        for program in programs:
            certain = sum(event.certain.bit_count() for event in events_of(program, 32))
            assert certain, "nothing to compare"


@pytest.mark.parametrize("promise", [Promise.SUBGROUP, Promise.WORKGROUP])
def test_elections_with_unknown_outcome_decide_nothing_compared(promise) -> None:
    for program in random_programs(promise, 60):
        for node in nodes_of(program):
            elects = isinstance(node, If) and isinstance(node.condition, Elect)
            if elects or (isinstance(node, Loop) and node.form == "elect"):
                assert node.unpredictable
                inner = list(walk((node.then, node.otherwise) if elects else (node.body, node.rest)))
                assert all(one.unpredictable for one in inner if isinstance(one, Observe))


# Sets


@pytest.mark.parametrize("width", [1, 2, 3, 8, 32, 128])
def test_fields_agree_with_numpy(width) -> None:
    generator = np.random.default_rng(width)
    for density in (0.02, 0.3, 0.9):
        flags = generator.random((5, width)) < density
        fields, members = Fields(width, 5), to_set(flags.ravel())
        any_ = np.broadcast_to(flags.any(axis=1)[:, None], flags.shape)
        lowest = flags & (np.cumsum(flags, axis=1) == 1)
        assert fields.with_any(members) == to_set(any_.ravel())
        assert fields.lowest(members) == to_set(lowest.ravel())
        assert (to_flags([members], 5 * width) == flags.ravel()).all()
        assert fields.repeat(to_set(flags[0])) == to_set(np.tile(flags[0], 5))


# The simulator, against results worked out by hand


def test_branches_reconverge_after_their_end() -> None:
    inner = If(LaneIn(0b11), (Observe(1),), (Observe(2),))
    assert seen(program_of(If(LaneIn(0b1111), (inner, Observe(3))), Observe(4))) == [
        (1, 0b11), (2, 0b1100), (3, 0b1111), (4, 0xFF),
    ]  # fmt: skip


def test_loops_reconverge_at_the_continue_target_and_after_their_end() -> None:
    leave = If(LaneIn(1), (Jump("continue"),), (If(LaneIn(2), (Jump("break"),)),))
    loop = Loop(1, "for", OfLane(4, 1), (leave, Observe(1)), between=Observe(2))
    # Lane 0 and 4 make one trip, lane 1 breaks, lanes 2 and 6 make three, and so on.
    assert seen(program_of(loop, Observe(3))) == [
        (1, 0b11111100), (2, 0b11111101),
        (1, 0b11101100), (2, 0b11101100),
        (1, 0b11001100), (2, 0b11001100),
        (1, 0b10001000), (2, 0b10001000),
        (3, 0xFF),
    ]  # fmt: skip


def test_elected_invocations_leave_a_loop_one_by_one() -> None:
    loop = Loop(1, "elect", None, (Observe(1),), before_exit=(Observe(2),))
    found = seen(program_of(If(LaneIn(0b1010), (loop,)), Observe(3)))
    assert found == [(1, 0b1010), (2, 0b10), (1, 0b1000), (2, 0b1000), (3, 0xFF)]


def test_a_call_reconverges_only_under_maximal_reconvergence() -> None:
    function = (If(LaneIn(1), (Jump("return"),)), Observe(1))
    body = (If(LaneIn(0xFF), (FunctionCall(0), Observe(2))), Observe(3))
    for promise, certain in ((Promise.MAXIMAL, [0xFE, 0xFF, 0xFF]), (Promise.SUBGROUP, [0, 0, 0xFF])):
        events = events_of(program_of(*body, promise=promise, functions=(function,)))
        assert [event.members for event in events] == [0xFE, 0xFF, 0xFF]
        assert [event.certain for event in events] == certain


def test_invocations_with_different_selectors_may_be_apart_in_a_case() -> None:
    merged = SwitchCase((0, 1), (Observe(1),))
    falling = SwitchCase((2,), (Observe(2),), falls=True)
    events = events_of(
        program_of(Switch(OfLane(4), (merged, falling, SwitchCase((3,), (Observe(3),)))), Observe(4))
    )
    assert [(event.place, event.members) for event in events] == [(1, 0x33), (2, 0x44), (3, 0xCC), (4, 0xFF)]
    assert [event.parts for event in events] == [(0x11, 0x22), (), (0x44, 0x88), ()]


@pytest.mark.parametrize(
    ("elected", "status"),
    [
        ((0, 2), Status.PASS),  # Lanes 0, 1, 4 and 5 together, and so 2, 3, 6 and 7.
        ((0, 1, 2, 3), Status.PASS),  # The lanes of each selector by themselves.
        ((0, 1, 2), Status.PASS),  # One case as a whole, and the other in parts.
        ((0, 2, 4), Status.FAIL),  # Lane 4 has the selector of lane 0, and cannot be parted from it.
        ((1, 2), Status.FAIL),  # Lane 0 is the lowest in any case.
    ],
)
def test_invocations_that_may_be_apart_may_each_be_elected(elected, status) -> None:
    cases = (SwitchCase((0, 1), (Observe(1),)), SwitchCase((2, 3), (Observe(2),)))
    program = replace(program_of(Switch(OfLane(4), cases)), elect=True)
    layout = linear(8, program.local_invocations, data_of(program))
    expected = expect(program, layout)
    lane = np.arange(8)
    place = np.where(lane % 4 < 2, 1, 2) + salt_of(program) + ELECTED * np.isin(lane, elected)
    heads = np.array([0 * lane, lane, 8 + 0 * lane, 1 + 0 * lane, 0 * lane, 0 * lane], np.uint32)
    verdict = verdict_on_log(program, expected, heads, place.astype(np.uint32).reshape(1, 1, 8))
    assert verdict.status == status


@pytest.mark.parametrize(
    ("elected", "status"),
    [
        ((0,), Status.UNDEFINED),
        ((0, 1, 2, 3), Status.UNDEFINED),
        ((0, 3), Status.UNDEFINED),
        ((), Status.FAIL),
        ((1,), Status.FAIL),
        ((1, 2, 3), Status.FAIL),
    ],
)
def test_the_lowest_lane_of_all_is_elected_whichever_lanes_execute_together(elected, status) -> None:
    body = If(IndexFrom(4), (Jump("return"),), (Observe(1),))
    program = replace(program_of(body, promise=Promise.SUBGROUP), elect=True)
    layout = linear(8, program.local_invocations, data_of(program))
    lane = np.arange(8)
    log = poisoned(1, 1, 8)
    log[0, 0, :4] = (1 + salt_of(program) + ELECTED * np.isin(lane, elected))[:4]
    heads = np.array([0 * lane, lane, 8 + 0 * lane, lane < 4, 0 * lane, 0 * lane], np.uint32)
    verdict = verdict_on_log(program, expect(program, layout), heads, log)
    assert verdict.status == status
    assert ("expected place 1 with lane 0 elected" in verdict.detail) == (status is Status.FAIL)


def test_a_store_of_an_inactive_invocation_behind_its_entries_is_a_failure() -> None:
    program = program_of(If(IndexFrom(4), (), (Observe(1),)))
    layout = linear(8, program.local_invocations, data_of(program))
    expected = expect(program, layout)
    lane, none = np.arange(8), np.zeros(8)
    heads = np.array([none, lane, none + 8, lane < 4, none, none], np.uint32)
    log = poisoned(2, 2, 8)
    log[0, 0, :4], log[0, 1, :4] = 1 + salt_of(program), 0xF
    assert verdict_on_log(program, expected, heads, log).status is Status.PASS
    log[0, 1, 6] = 0xF
    verdict = verdict_on_log(program, expected, heads, log)
    assert verdict.status is Status.FAIL
    assert "invocation 6" in verdict.detail
    assert verdict.evidence is not None
    assert verdict.evidence["wrong"] == [6]


def test_only_masks_of_whole_groups_are_known_under_uniform_control_flow() -> None:
    body = (If(IndexFrom(4), (Jump("return"),), (Observe(1),)), Observe(2))
    apart = Loop(1, "for", Fixed(2), (If(LaneIn(1), (Jump("continue"),)), Observe(3)))
    for size, certain in ((4, [0xF, 0xF, 0, 0]), (8, [0, 0, 0, 0])):
        events = events_of(program_of(*body, apart, promise=Promise.SUBGROUP), size)
        assert [event.certain for event in events] == certain
    whole = program_of(apart, Observe(4), promise=Promise.WORKGROUP)
    assert [event.certain for event in events_of(whole, 4)] == [0, 0, 0xFF]


# The simulator against the reference device


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64, 128])
def test_the_reference_device_agrees_with_the_simulator(size) -> None:
    with vkgroup.open(f"reference:{size}") as device:
        executor = Executor(device, seed=SEED)
        for promise in Promise:
            elect = promise is Promise.WORKGROUP
            program = generate(size, Observations(promise, elect, 4, LOCAL_SIZES[size % 7]))
            verdict = reconvergence_run.run(executor, program, "a random program")
            assert verdict.status == Status.PASS, verdict.detail


def test_subgroups_may_be_formed_in_any_way(monkeypatch) -> None:
    def reversed_(size: int, local: int, data) -> LaneLayout:
        found = linear(size, local, data)
        return replace(found, subgroup=found.subgroup[::-1].copy(), lane=found.lane[::-1].copy())

    # The log is made for a layout that is not the device's, and may be too short at first.
    monkeypatch.setattr(reconvergence_run, "linear", reversed_)
    with vkgroup.open("reference:8") as device:
        for program in random_programs(Promise.MAXIMAL, 4):
            verdict = reconvergence_run.run(Executor(device, seed=SEED), program, "a random program")
            assert verdict.status == Status.PASS, verdict.detail


# Planted errors


def _visible(program: RandomProgram, mutant: RandomProgram) -> bool:
    """Return whether, by the simulator, a mutant records something that the program must not record."""
    layout = linear(8, program.local_invocations, data_of(program))
    first, second = expect(program, layout), expect(mutant, layout)
    if first.lengths.tolist() != second.lengths.tolist():
        return True
    rows, others = (np.lexsort((one.number, one.invocation)) for one in (first, second))
    if (first.place[rows] != second.place[others]).any():
        return True
    least, most, mask = first.least[rows], first.most[rows], second.most[others]
    return bool((mask & ~most | least & ~mask).any())


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_wrong_program_is_caught(change, monkeypatch) -> None:
    caught = 0
    with vkgroup.open("reference:8") as device:
        executor = Executor(device, seed=SEED)
        for program in random_programs(Promise.MAXIMAL, 24):
            mutant = next((one for one in mutants(program, change) if _visible(program, one)), None)
            if mutant is None:
                continue

            def rendered(_: RandomProgram, mutant: RandomProgram = mutant, **options):
                return render(mutant, **options)

            with monkeypatch.context() as patch:
                patch.setattr(reconvergence_run, "render", rendered)
                verdict = reconvergence_run.run(executor, program, "a mutant")
            assert verdict.status == Status.FAIL
            assert "expected" in verdict.detail or "instead of" in verdict.detail
            caught += 1
            if caught == 5:
                return
    assert caught >= 3


def _empty_ballot(data: bytes) -> bytes:
    data, false = boolean_constant(data, value=False)
    return rewritten(data, lambda i: [[*i[:4], false]] if i[0] == BALLOT else [i])


def _all_elected(data: bytes) -> bytes:
    data, true = boolean_constant(data, value=True)
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], true]] if i[0] == ELECT else [i])


def judge(driver: str, names: tuple[str, ...], transform=None) -> Counter[Status]:
    cases = [cases_by_name()[name] for name in names]
    results = results_of(driver, cases, seed=SEED, transform=transform)
    details = [result.detail for result in results]
    assert not any("InvalidModule" in detail for detail in details), details
    return Counter(result.status for result in results)


WORKGROUP = tuple(
    f"reconvergence.workgroup_uniform_control_flow_{kind}.compute.nesting{nesting}.{group}.0"
    for kind, nesting, group in (("ballot", 2, 0), ("ballot", 3, 4), ("elect", 2, 5), ("elect", 4, 6))
) + tuple(f"reconvergence.workgroup_uniform.small_full.reconverge{number:02}.ballot" for number in (0, 8, 20))


@pytest.mark.usefixtures("swiftshader")
def test_swiftshader_keeps_workgroups_together_and_wrong_answers_are_caught() -> None:
    assert judge("swiftshader", WORKGROUP) == {Status.PASS: len(WORKGROUP)}
    ballots = tuple(name for name in WORKGROUP if "elect" not in name)
    assert judge("swiftshader", ballots, _empty_ballot) == {Status.FAIL: len(ballots)}
    elections = tuple(name for name in WORKGROUP if "elect" in name)
    assert judge("swiftshader", elections, _all_elected) == {Status.FAIL: len(elections)}


MAXIMAL = (
    "reconvergence.maximal.compute.nesting2.0.1",
    "reconvergence.maximal.compute.nesting3.5.2",
    "reconvergence.maximal.small_full_control.reconverge10.ballot",
    "reconvergence.maximal.large_full.reconverge02.elect",
)


@pytest.mark.usefixtures("lavapipe")
def test_lavapipe_reconverges_and_wrong_ballots_are_caught() -> None:
    assert judge("lavapipe", MAXIMAL) == {Status.PASS: len(MAXIMAL)}
    ballots = tuple(name for name in MAXIMAL if not name.endswith("elect"))
    assert judge("lavapipe", ballots[1:], _empty_ballot) == {Status.FAIL: len(ballots) - 1}


LEAVING = (
    "reconvergence.maximal.fragment.demote_half_quad_slash.whole",
    "reconvergence.maximal.fragment.demote_entire_quad.dots",
    "reconvergence.maximal.fragment.terminate_invocation.whole",
    "reconvergence.terminate_invocation.bit_count.triangle",
    "reconvergence.terminate_invocation.oob_read.whole",
    "reconvergence.terminate_invocation.terminate_helpers.dots",
)


def _without(opcode: int, *instead: int):
    return lambda data: rewritten(data, lambda i: [list(instead)] * bool(instead) if i[0] == opcode else [i])


@pytest.mark.usefixtures("lavapipe")
def test_lavapipe_terminates_fragments_and_missing_terminations_are_caught() -> None:
    assert judge("lavapipe", LEAVING) == {Status.PASS: len(LEAVING)}
    assert judge("lavapipe", LEAVING[:1], _without(DEMOTE)) == {Status.FAIL: 1}
    # A fragment that returns instead of terminating writes an undefined color.
    assert judge("lavapipe", LEAVING[3:4], _without(TERMINATE, RETURN)) == {Status.FAIL: 1}
    assert judge("lavapipe", LEAVING[5:], _empty_ballot) == {Status.FAIL: 1}


def test_quads_and_discards_are_judged_on_the_reference_device() -> None:
    names = (
        "reconvergence.terminate_invocation.quad_any.triangle.full_quads",
        "reconvergence.subgroup_uniform.discard.nobody.triangle",
        "reconvergence.subgroup_uniform.discard.corner.whole",
        "reconvergence.maximal.fragment.terminate_all_but_one.triangle.full_quads",
    )
    assert judge("reference:16", names) == {Status.PASS: len(names)}
    assert judge("reference:16", names[2:3], _without(KILL, RETURN)) == {Status.FAIL: 1}


def test_missing_features_are_named() -> None:
    with vkgroup.open("reference:2") as device:
        bare = device.capabilities
    subgroup = replace(bare.subgroup, supported_operations=frozenset({"basic"}))
    bare = replace(bare, features=frozenset(), subgroup=subgroup)
    family, leaving = RECONVERGENCE, TERMINATED_FRAGMENTS
    ballot = "VK_SUBGROUP_FEATURE_BALLOT_BIT"
    for name, needs in (
        ("maximal.compute.nesting2.0.0", ["shaderMaximalReconvergence", ballot]),
        ("subgroup_uniform_control_flow_elect.compute.nesting2.0.0", ["shaderSubgroupUniformControlFlow"]),
        ("workgroup_uniform_control_flow_ballot.compute.nesting2.0.0", [ballot]),
        ("workgroup_uniform.small_full.reconverge19.elect", [ballot]),
    ):
        assert family.missing(cases_by_name()[f"reconvergence.{name}"], bare) == needs
    needs = leaving.missing(
        cases_by_name()["reconvergence.terminate_invocation.bit_count.dots.full_quads"], bare
    )
    assert {"shaderMaximalReconvergence", "shaderTerminateInvocation", "shaderQuadControl", ballot} <= set(
        needs
    )
    assert any("subgroup size of at least 4" in need for need in needs)


def test_a_program_without_observations_has_an_undefined_result() -> None:
    program = replace(program_of(If(IndexFrom(4), (Jump("return"),), ())), elect=True)
    layout = linear(8, program.local_invocations, data_of(program))
    lane = np.arange(8)
    heads = np.array([0 * lane, lane, 8 + 0 * lane, 0 * lane, 0 * lane, 0 * lane], np.uint32)
    log = poisoned(1, 1, 8)
    assert verdict_on_log(program, expect(program, layout), heads, log).status is Status.UNDEFINED
