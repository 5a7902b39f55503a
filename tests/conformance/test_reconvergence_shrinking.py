"""Shrinking of programs that record observations, and the rules that smaller programs keep."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import vkgroup
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.reconvergence.family import ReconvergenceCase, all_cases, run
from vkgroup.programs import shrinker
from vkgroup.programs.nodes import (
    Counter,
    Effect,
    Elect,
    Fixed,
    FunctionCall,
    If,
    Jump,
    LaneIn,
    Loop,
    Observe,
    ProgramFunction,
    Promise,
    RandomProgram,
    Switch,
    SwitchCase,
    TripIs,
    UniformValue,
    Vote,
)
from vkgroup.programs.rules import observation_faults
from vkgroup.programs.shrinker import (
    digest,
    expressional,
    replay,
    shrink,
    simpler_conditions,
    structural,
    weight,
)
from vkgroup.programs.traversal import called_functions, count_statements, walk
from vkgroup.record.record import Status

CASES = tuple(all_cases())
SEE, SECRETLY, ODD = Observe(1), Observe(2, unpredictable=True), LaneIn(0xAAAA)
BREAK, CONTINUE, RETURN = Jump("break"), Jump("continue"), Jump("return")


def program(*body, promise=Promise.MAXIMAL, functions=()) -> RandomProgram:
    numbered = tuple(ProgramFunction(number, body) for number, body in enumerate(functions))
    return RandomProgram(1, promise, (16, 1, 1), 1, numbered, body)


def well_formed(candidate: RandomProgram) -> bool:
    return not observation_faults(candidate)


def smaller_ones(candidate: RandomProgram) -> list[RandomProgram]:
    """Return the variants of a program that are smaller and keep the rules, sorted by weight."""
    variants = [*structural(candidate), *expressional(candidate)]
    smaller = [
        variant for variant in variants if weight(variant) < weight(candidate) and well_formed(variant)
    ]
    return sorted(smaller, key=weight)


def loop(*body, form="for", rest=(), **more) -> Loop:
    trips = None if form == "elect" else Fixed(2)
    return Loop(1, form, trips, body, rest, **more)


def switch(*body, falls=False) -> Switch:
    return Switch(Fixed(0), (SwitchCase((0,), body, falls=falls),))


def test_generated_programs_keep_the_rules() -> None:
    sample = [case for number, case in enumerate(CASES) if case.construct or not number % 7]
    assert [case.name for case in sample if not well_formed(case.program(3))] == []


KEPT = [
    ((SEE, loop(BREAK), switch(BREAK), RETURN), {}),
    ((loop(switch(CONTINUE)),), {}),
    ((loop(form="endless", rest=(CONTINUE,)),), {}),
    ((loop(If(TripIs(1), (SEE,)), Switch(Counter(1), (SwitchCase((0,), (SEE,)),))),), {}),
    ((If(Elect(), (SEE,)), loop(SEE, form="elect")), {}),
    ((If(Elect(), (SECRETLY,), unpredictable=True),), {"promise": Promise.SUBGROUP}),
    ((loop(SECRETLY, form="elect", unpredictable=True),), {"promise": Promise.SUBGROUP}),
    ((If(Elect(), (loop(BREAK),), unpredictable=True),), {"promise": Promise.SUBGROUP}),
    ((FunctionCall(0),), {"functions": ((SEE, RETURN),)}),
    ((switch(SEE, falls=True),), {}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "more"), KEPT)
def test_programs_with_a_known_outcome_are_allowed_and_pass(body, more) -> None:
    whole = program(*body, **more)
    assert well_formed(whole)
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=0)
        assert run(executor, whole, "allowed").status in (Status.PASS, Status.UNDEFINED)
        executor.close()


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ((BREAK,), {}),
        ((CONTINUE,), {}),
        ((switch(CONTINUE),), {}),
        ((loop(CONTINUE, form="endless"),), {}),
        ((loop(CONTINUE, form="elect"),), {}),
        ((If(TripIs(1), (SEE,)),), {}),
        ((Switch(Counter(1), (SwitchCase((0,), (SEE,)),)),), {}),
        ((If(Elect(), (SECRETLY,)),), {"promise": Promise.SUBGROUP}),
        ((If(Elect(), (SEE,), unpredictable=True),), {"promise": Promise.SUBGROUP}),
        ((If(Elect(), (RETURN,), unpredictable=True),), {"promise": Promise.SUBGROUP}),
        ((loop(If(Elect(), (BREAK,), unpredictable=True)),), {"promise": Promise.SUBGROUP}),
        ((loop(SECRETLY, form="elect"),), {"promise": Promise.WORKGROUP}),
        (
            (If(Elect(), (FunctionCall(0),), unpredictable=True),),
            {"promise": Promise.SUBGROUP, "functions": ((RETURN,),)},
        ),
        ((FunctionCall(0),), {"functions": ((BREAK,),)}),
        ((loop(before_exit=(BREAK,), form="elect"),), {}),
        ((switch(falls=True),), {}),
        ((loop(SEE), loop(SEE)), {}),
        ((loop(loop(SEE)),), {}),
    ],
)
def test_programs_with_an_unknown_outcome_are_not_allowed(body, more) -> None:
    assert not well_formed(program(*body, **more))


@pytest.mark.slow
def test_smaller_programs_pass_on_the_reference_device() -> None:
    """Shrinks programs step by step to nothing; the reference device agrees in every step."""
    dice, found = random.Random(5), {Status.PASS: 0, Status.UNDEFINED: 0}
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=0, timeout=100)
        for case in dice.sample(CASES, 14):
            smaller = case.program(0)
            while variants := smaller_ones(smaller):
                smaller = dice.choice(variants[len(variants) // 4 :])
                if dice.random() < 0.25:
                    verdict = run(executor, smaller, case.name)
                    assert verdict.status in found, f"{verdict.detail}: {smaller}"
                    found[verdict.status] += 1
        executor.close()
    assert found[Status.PASS] > 20


def _continues_in_a_switch(candidate: RandomProgram) -> bool:
    """Return whether a switch contains a `continue` of the enclosing loop, which some drivers get wrong."""
    return any(
        inside == CONTINUE
        for outer in walk(candidate.body)
        if isinstance(outer, Loop)
        for middle in walk(outer.body)
        if isinstance(middle, Switch)
        for inside in walk(tuple(case.body for case in middle.cases))
    )


def _failing() -> ReconvergenceCase:
    return next(case for case in CASES if case.nesting == 4 and _continues_in_a_switch(case.program(0)))


def test_the_smallest_failing_program_is_found_and_replayed() -> None:
    whole, asked = _failing().program(0), []

    def fails(candidate: RandomProgram) -> bool:
        asked.append(candidate)
        return _continues_in_a_switch(candidate)

    found = shrink(whole, fails, well_formed, seconds=600)
    assert found.done
    assert count_statements(found.program) == 3
    assert [type(node).__name__ for node in walk(found.program.body)][:1] == ["Loop"]
    assert (found.program.invocations, found.program.functions) == (1, ())
    assert all(map(well_formed, asked))
    assert len(asked) == len(set(asked))
    again = replay(whole, found.path, well_formed)
    assert again == found.program
    assert digest(again) == digest(found.program) != digest(whole)


def test_the_smallest_program_so_far_is_returned_after_the_time_limit(monkeypatch) -> None:
    whole, clock = _failing().program(0), [0.0]
    monkeypatch.setattr(shrinker.time, "monotonic", lambda: clock[0])

    def fails(candidate: RandomProgram) -> bool:
        clock[0] += 1.0
        return _continues_in_a_switch(candidate)

    found = shrink(whole, fails, well_formed, seconds=3.5)
    assert not found.done
    assert _continues_in_a_switch(found.program)
    assert replay(whole, found.path, well_formed) == found.program
    assert clock[0] == 4.0


def test_a_program_without_smaller_failing_ones_is_returned() -> None:
    whole = _failing().program(0)
    found = shrink(whole, lambda candidate: False, well_formed, seconds=600)
    assert (found.program, found.path, found.done) == (whole, (), True)


@pytest.mark.parametrize("path", [[10**9], [-1], [0, 0]])
def test_a_path_of_another_program_is_rejected(path) -> None:
    with pytest.raises(ValueError, match="no such variant"):
        replay(program(SEE), path, well_formed)


def test_functions_are_removed_with_their_last_call() -> None:
    three = program(
        FunctionCall(2),
        If(UniformValue(True), (FunctionCall(0),)),
        functions=((SEE,), (Effect("store"),), (FunctionCall(1),)),
    )
    through_another, direct = (replace(three, body=(statement,)) for statement in three.body)
    assert called_functions(through_another) == three.functions[1:]
    assert called_functions(direct) == three.functions[:1]
    assert all(smaller.functions == called_functions(smaller) for smaller in smaller_ones(three))


def test_votes_are_simplified_as_a_whole_and_inside() -> None:
    simpler = set(simpler_conditions(Vote(True, ODD)))
    assert {ODD, UniformValue(True), Vote(True, UniformValue(False))} <= simpler


def test_a_program_that_records_nothing_has_no_verdict() -> None:
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=0)
        verdict = run(executor, program(Effect("store")), "nothing")
        executor.close()
    assert (verdict.status, verdict.defined) == (Status.UNDEFINED, 0)
