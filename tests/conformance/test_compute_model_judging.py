"""The judges of the compute model, without a device: right results pass, wrong ones do not."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from vkgroup.conformance import Status, select
from vkgroup.conformance.compute_model import litmus, litmus_shader
from vkgroup.conformance.compute_model.atomics import FUNCTIONS, GROUPS, LOCAL, ROUNDS, data_of, judge_cells
from vkgroup.conformance.compute_model.builtins import (
    COLUMNS,
    SENTENCES,
    expected_records,
    judge_records,
)
from vkgroup.conformance.compute_model.litmus_shader import Writing, cell_of, cells_of_round
from vkgroup.conformance.compute_model.litmus_table import LITMUS
from vkgroup.conformance.compute_model.work import DispatchShape

CASES = select(("compute_model.*",))

# --- cases ---------------------------------------------------------------------------------------------


def test_names_are_unique_and_say_where_they_belong() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) > 700
    assert all(
        name.startswith(f"compute_model.{case.axes.topic}.") for name, case in zip(names, CASES, strict=True)
    )
    assert all(case.sentence.endswith(".") and "{" not in case.sentence for case in CASES)


def test_every_barrier_and_memory_has_message_passing_and_store_buffering() -> None:
    variants = {(case.axes.test, *case.axes.variant) for case in CASES if case.axes.topic == "litmus"}
    for test in ("message_passing", "store_buffering", "load_buffering"):
        for barrier, memories in litmus.BARRIERS.items():
            for memory in memories:
                placements = {v[4] for v in variants if v[:4] == (test, "atomic", memory, barrier)}
                reach = {"subgroup", "workgroup"}
                if memory != "shared" and barrier != "groupMemoryBarrier":
                    reach |= {"device"}
                assert placements == reach


# --- litmus tests --------------------------------------------------------------------------------------


def outcomes(test, sequences):
    """Return every outcome of executing accesses, one by one, in any of the given total orders."""
    found = []
    for sequence in sequences:
        memory, registers = {"x": 0, "y": 0}, dict.fromkeys(test.registers, 0)
        for access in sequence:
            if access.value is None:
                registers[access.register] = memory[access.location]
            else:
                memory[access.location] = access.value
        found.append({**registers, **{location: memory[location] for location in test.finals}})
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def in_order(test):
    """Yield the total orders of a test's accesses that keep each invocation's own order."""
    accesses = [(role, number) for role in (0, 1) for number in range(len(test.roles[role]))]
    for order in permutations(accesses):
        if all(
            [n for r, n in order if r == role] == sorted(n for r, n in order if r == role) for role in (0, 1)
        ):
            yield [test.roles[role][number] for role, number in order]


@pytest.mark.parametrize("test", LITMUS.values(), ids=LITMUS)
def test_no_order_of_the_accesses_gives_the_weak_outcome(test) -> None:
    assert not test.weak(outcomes(test, in_order(test))).any()


@pytest.mark.parametrize("test", LITMUS.values(), ids=LITMUS)
def test_accesses_out_of_order_give_the_weak_outcome(test) -> None:
    assert test.weak(outcomes(test, permutations([a for role in test.roles for a in role]))).any()


@pytest.mark.parametrize("test", LITMUS.values(), ids=LITMUS)
def test_one_weak_trial_fails_and_none_passes(test) -> None:
    writing = Writing(("buffer", "buffer"), "" if test.coherence else "memoryBarrier", "atomic")
    right = outcomes(test, in_order(test))
    assert litmus.verdict_of(test, writing, right).status == Status.PASS
    everything = outcomes(test, permutations([a for role in test.roles for a in role]))
    weak = np.flatnonzero(test.weak(everything))[0]
    wrong = {name: np.append(values, everything[name][weak]) for name, values in right.items()}
    verdict = litmus.verdict_of(test, writing, wrong)
    assert verdict.status == Status.FAIL
    assert (
        f"1 times an invocation {test.words}, in trials {len(next(iter(right.values())))};" in verdict.detail
    )


def test_without_a_barrier_weak_outcomes_are_counted_and_not_judged() -> None:
    test = LITMUS["store_buffering"]
    outcome = {"r0": np.array([0, 1, 0]), "r1": np.array([0, 0, 0])}
    verdict = litmus.verdict_of(test, Writing(("buffer", "buffer"), "", "coherent"), outcome)
    assert verdict.status == Status.UNDEFINED
    assert "2 times" in verdict.detail


def test_values_that_nobody_wrote_fail_even_where_nothing_is_promised() -> None:
    values = np.array([0, 4 + 1, 8 + 2, 4 + 1], np.uint32)
    decoded = litmus.decoded(values)
    assert decoded.tolist() == [0, 1, 2, 3]
    outcome = {"r0": decoded, "r1": np.zeros(4, np.int64)}
    verdict = litmus.verdict_of(
        LITMUS["message_passing"], Writing(("image", "image"), "", "coherent"), outcome
    )
    assert verdict.status == Status.FAIL
    assert "a value that was never written, the first: 3" in verdict.detail


@pytest.mark.parametrize("layout", range(litmus_shader.LAYOUTS))
def test_instances_do_not_share_locations(layout) -> None:
    instance = np.arange(1024, dtype=np.uint32)
    where = np.full(1024, layout, np.uint32)
    places = np.concatenate([cell_of(location, instance, 1024, where) for location in (0, 1)])
    assert len(np.unique(places)) == 2048
    assert places.max() < cells_of_round(1024)


@pytest.mark.parametrize("placement", litmus.PLACEMENTS)
@pytest.mark.parametrize("subgroup", [2, 4, 32])
def test_partners_are_as_far_away_as_the_placement_says(placement, subgroup) -> None:
    setting = litmus_shader.Setting(subgroup, 64, 16, 16)
    group, local = np.divmod(np.arange(setting.instances), setting.local)
    block, lane = np.divmod(local, subgroup)
    for away in litmus.plan_of(placement, setting):
        other_group = group ^ away[0]
        other_block = (block + away[1]) % (setting.local // subgroup)
        other = other_group * setting.local + other_block * subgroup + (lane + away[2]) % subgroup
        assert np.array_equal(np.sort(other), np.arange(setting.instances))
        if placement == "subgroup":
            assert np.all((other_group == group) & (other_block == block) & (other != group * 64 + local))
        elif placement == "workgroup":
            assert np.all((other_group == group) & (other_block != block))
        else:
            assert np.all(other_group != group)


# --- atomics -------------------------------------------------------------------------------------------

APPLY = {
    "atomicAdd": lambda old, new: old + new,
    "atomicMin": np.minimum,
    "atomicMax": np.maximum,
    "atomicAnd": lambda old, new: old & new,
    "atomicOr": lambda old, new: old | new,
    "atomicXor": lambda old, new: old ^ new,
    "atomicExchange": lambda old, new: new,
}


def executed(function, type_, seed):
    """Execute a case's atomics one after the other in a random order."""
    rng = np.random.default_rng(seed)
    first, given = data_of(function, type_, rng)
    after, returned = first.copy(), np.zeros_like(given)
    each = LOCAL * GROUPS // function.sharers
    for number in range(ROUNDS):
        for invocation in rng.permutation(LOCAL * GROUPS):
            cell, value = number * each + invocation % each, given[number, invocation]
            old = returned[number, invocation] = after[cell]
            if function.name != "atomicCompSwap":
                with np.errstate(over="ignore"):
                    after[cell] = APPLY[function.name](old, value)
            elif old == first[cell]:
                after[cell] = value
    return first, given, after, returned


@pytest.mark.parametrize("type_", ["uint", "int"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_atomics_in_any_order_are_right(function, type_) -> None:
    for seed in range(3):
        first, given, after, returned = executed(function, type_, seed)
        verdict = judge_cells(function, given, returned, first, after)
        assert verdict.status == Status.PASS, verdict.detail
        assert judge_cells(function, given, None, first, after).status == Status.PASS


@pytest.mark.parametrize("type_", ["uint", "int"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_one_wrong_result_or_a_lost_operation_is_found(function, type_) -> None:
    first, given, after, returned = executed(function, type_, 5)
    told = returned.copy()
    # Two invocations that share a cell are told the same, as where an operation is not atomic.
    each = LOCAL * GROUPS // function.sharers
    mine = returned[0, 0::each]
    changed = np.flatnonzero(mine != first[0]) if function.name == "atomicCompSwap" else np.arange(len(mine))
    order = changed[np.argsort(mine[changed].view(np.uint32))]
    told[0, order[-1] * each] = told[0, 0::each][order[0]] ^ 1
    assert judge_cells(function, given, told, first, after).status == Status.FAIL
    lost = after.copy()
    lost[1] ^= 1 << 7
    assert judge_cells(function, given, returned, first, lost).status == Status.FAIL


# --- built-in variables --------------------------------------------------------------------------------


def test_records_as_the_formulas_have_them_pass_in_any_order() -> None:
    shape = DispatchShape((3, 5, 7), (2, 3, 4))
    records = np.random.default_rng(0).permutation(expected_records(shape))
    verdicts = judge_records(list(SENTENCES), shape, shape.total, records)
    assert {verdict.status for verdict in verdicts} == {Status.PASS}


@pytest.mark.parametrize("test", [name for name in SENTENCES if name in COLUMNS])
def test_a_wrong_variable_of_one_invocation_is_found(test) -> None:
    shape = DispatchShape((3, 5, 7), (2, 3, 4))
    records = expected_records(shape)
    records[100, COLUMNS[test].start] += 1
    assert judge_records([test], shape, shape.total, records)[0].status == Status.FAIL


def test_an_invocation_too_many_or_twice_is_found() -> None:
    shape = DispatchShape((4, 1, 1), (3, 1, 1))
    records = expected_records(shape)
    assert judge_records(["every_invocation_once"], shape, 13, records)[0].status == Status.FAIL
    records[3] = records[2]
    assert judge_records(["every_invocation_once"], shape, 12, records)[0].status == Status.FAIL
