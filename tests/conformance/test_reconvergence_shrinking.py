"""Programs of reconvergence made small: by rules, so that what is left is still known to be right."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import vkgroup
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.reconvergence import shrinking
from vkgroup.conformance.reconvergence.case import ConstructCase, RandomCase, all_cases
from vkgroup.conformance.reconvergence.nodes import (
    Call,
    Case,
    Elect,
    Fixed,
    If,
    LaneIn,
    Leave,
    Loop,
    Observe,
    OfTrip,
    Program,
    Promise,
    Switch,
    TripIs,
    Uniform,
    Vote,
    Work,
    walk,
)
from vkgroup.conformance.reconvergence.rules import well_formed
from vkgroup.conformance.reconvergence.running import run
from vkgroup.conformance.reconvergence.shrinking import digest, replay, shrink, statements
from vkgroup.results.record import Status

CASES = tuple(all_cases())
SEE, SECRETLY, ODD = Observe(1), Observe(2, loose=True), LaneIn(0xAAAA)
BREAK, CONTINUE, RETURN = Leave("break"), Leave("continue"), Leave("return")


def program(*body, promise=Promise.MAXIMAL, functions=()) -> Program:
    return Program(1, promise, False, (16, 1, 1), 1, functions, body)


def loop(*body, form="for", rest=(), **more) -> Loop:
    trips = None if form == "elect" else Fixed(2)
    return Loop(1, form, trips, body, rest, **more)


def switch(*body, falls=False) -> Switch:
    return Switch(Fixed(0), (Case((0,), body, falls=falls),))


def test_what_is_generated_keeps_to_the_rules() -> None:
    sample = [case for number, case in enumerate(CASES) if isinstance(case, ConstructCase) or not number % 7]
    assert [case.name for case in sample if not well_formed(case.program(3))] == []


KEPT = [
    ((SEE, loop(BREAK), switch(BREAK), RETURN), {}),
    ((loop(switch(CONTINUE)),), {}),
    ((loop(form="endless", rest=(CONTINUE,)),), {}),
    ((loop(If(TripIs(1), (SEE,)), Switch(OfTrip(1), (Case((0,), (SEE,)),))),), {}),
    ((If(Elect(), (SEE,)), loop(SEE, form="elect")), {}),
    ((If(Elect(), (SECRETLY,), loose=True),), {"promise": Promise.SUBGROUP}),
    ((loop(SECRETLY, form="elect", loose=True),), {"promise": Promise.SUBGROUP}),
    ((If(Elect(), (loop(BREAK),), loose=True),), {"promise": Promise.SUBGROUP}),
    ((Call(0),), {"functions": ((SEE, RETURN),)}),
    ((switch(SEE, falls=True),), {}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "more"), KEPT)
def test_what_has_a_known_outcome_is_kept_and_right(body, more) -> None:
    one = program(*body, **more)
    assert well_formed(one)
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=0)
        assert run(executor, one, "kept").status in (Status.PASS, Status.UNDEFINED)
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
        ((Switch(OfTrip(1), (Case((0,), (SEE,)),)),), {}),
        ((If(Elect(), (SECRETLY,)),), {"promise": Promise.SUBGROUP}),
        ((If(Elect(), (SEE,), loose=True),), {"promise": Promise.SUBGROUP}),
        ((If(Elect(), (RETURN,), loose=True),), {"promise": Promise.SUBGROUP}),
        ((loop(If(Elect(), (BREAK,), loose=True)),), {"promise": Promise.SUBGROUP}),
        ((loop(SECRETLY, form="elect"),), {"promise": Promise.WORKGROUP}),
        ((If(Elect(), (Call(0),), loose=True),), {"promise": Promise.SUBGROUP, "functions": ((RETURN,),)}),
        ((Call(0),), {"functions": ((BREAK,),)}),
        ((loop(farewell=(BREAK,), form="elect"),), {}),
        ((switch(falls=True),), {}),
        ((loop(SEE), loop(SEE)), {}),
        ((loop(loop(SEE)),), {}),
    ],
)
def test_what_has_no_known_outcome_is_none(body, more) -> None:
    assert not well_formed(program(*body, **more))


def test_whatever_is_left_out_the_rest_is_right() -> None:
    """Walks down from whole programs to nothing; the reference device agrees all the way."""
    dice, found = random.Random(5), {Status.PASS: 0, Status.UNDEFINED: 0}
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=0, timeout=100)
        for case in dice.sample(CASES, 14):
            one = case.program(0)
            while variants := [
                variant
                for variant in shrinking._variants(one)
                if shrinking._weight(variant) < shrinking._weight(one) and well_formed(variant)
            ]:
                one = dice.choice(sorted(variants, key=shrinking._weight)[len(variants) // 4 :])
                if dice.random() < 0.25:
                    verdict = run(executor, one, case.name)
                    assert verdict.status in found, f"{verdict.detail}: {one}"
                    found[verdict.status] += 1
        executor.close()
    assert found[Status.PASS] > 20


def _continues_in_a_switch(one: Program) -> bool:
    """Whether somebody may continue a loop out of a switch, as a driver may be wrong about."""
    return any(
        inside == CONTINUE
        for outer in walk(one.body)
        if isinstance(outer, Loop)
        for middle in walk(outer.body)
        if isinstance(middle, Switch)
        for inside in walk(tuple(case.body for case in middle.cases))
    )


def _failing() -> RandomCase:
    return next(
        case
        for case in CASES
        if isinstance(case, RandomCase) and case.nesting == 4 and _continues_in_a_switch(case.program(0))
    )


def test_what_is_left_is_what_it_takes_and_can_be_found_again() -> None:
    whole, asked = _failing().program(0), []

    def fails(one: Program) -> bool:
        asked.append(one)
        return _continues_in_a_switch(one)

    found = shrink(whole, fails, seconds=600)
    assert found.done
    assert statements(found.program) == 3
    assert [type(node).__name__ for node in walk(found.program.body)][:1] == ["Loop"]
    assert (found.program.invocations, found.program.functions) == (1, ())
    assert all(map(well_formed, asked))
    assert len(asked) == len(set(asked))
    again = replay(whole, found.path)
    assert again == found.program
    assert digest(again) == digest(found.program) != digest(whole)


def test_where_the_time_is_over_the_smallest_so_far_is_kept(monkeypatch) -> None:
    whole, clock = _failing().program(0), [0.0]
    monkeypatch.setattr(shrinking.time, "monotonic", lambda: clock[0])

    def fails(one: Program) -> bool:
        clock[0] += 1.0
        return _continues_in_a_switch(one)

    found = shrink(whole, fails, seconds=3.5)
    assert not found.done
    assert _continues_in_a_switch(found.program)
    assert replay(whole, found.path) == found.program
    assert clock[0] == 4.0


def test_what_nothing_can_be_left_out_of_is_left_as_it_is() -> None:
    whole = _failing().program(0)
    found = shrink(whole, lambda one: False, seconds=600)
    assert (found.program, found.path, found.done) == (whole, (), True)


@pytest.mark.parametrize("path", [[10**9], [-1], [0, 0]])
def test_a_path_that_leads_nowhere_is_told(path) -> None:
    with pytest.raises(ValueError, match="no such variant"):
        replay(program(SEE), path)


def test_functions_that_nobody_calls_go_with_the_call() -> None:
    three = program(Call(2), If(Uniform(True), (Call(0),)), functions=((SEE,), (Work("store"),), (Call(1),)))
    deep, plain = (replace(three, body=(statement,)) for statement in three.body)
    assert shrinking._without_uncalled(deep).functions == ((), (Work("store"),), (Call(1),))
    assert shrinking._without_uncalled(plain).functions == ((SEE,),)


def test_votes_are_made_simpler_from_outside_and_inside() -> None:
    simpler = set(shrinking._conditions(Vote(True, ODD)))
    assert {ODD, Uniform(True), Vote(True, Uniform(False))} <= simpler


def test_a_program_that_records_nothing_says_nothing() -> None:
    with vkgroup.open("reference", subgroup_size=8) as device:
        executor = Executor(device, seed=0)
        verdict = run(executor, program(Work("store")), "nothing")
        executor.close()
    assert (verdict.status, verdict.defined) == (Status.UNDEFINED, 0)
