"""Random programs: deterministic, valid, terminating, and defined by the rules."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from campaigns.random_programs.run import compiled
from campaigns.random_programs.shader import capacity, inputs, render
from campaigns.random_programs.targets import observe_reference
from campaigns.random_programs.vocabularies import of_device

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.programs.generator import generate
from vkgroup.programs.nodes import (
    Apply,
    Builtin,
    Communicate,
    Compare,
    If,
    Jump,
    Literal,
    Loop,
    Operate,
    PrivateVariable,
    Promise,
    RandomProgram,
    Set,
    Switch,
    SwitchCase,
    VariableRead,
)
from vkgroup.programs.rules import ANY_ACTIVE, value_faults
from vkgroup.programs.shrinker import shrink
from vkgroup.programs.traversal import nodes_of, walk
from vkgroup.programs.values import Values

SIZE = 8
EVERYTHING = of_device(capabilities_of(SIZE))
LANE = Builtin("gl_SubgroupInvocationID")
FEW = Compare("<", LANE, Literal("uint", (3,)))


def _program(promise: Promise, *body) -> RandomProgram:
    return RandomProgram(0, promise, (32, 1, 1), 1, (), body)


@pytest.mark.parametrize("promise", Promise)
def test_every_program_keeps_the_rules_compiles_and_validates(promise) -> None:
    for seed in range(100):
        program = generate(seed, Values(EVERYTHING, promise))
        assert value_faults(program, SIZE) == []
        compile_source(render(program), stage="compute", target=TargetEnvironment.VULKAN_1_2, cache=False)


def test_a_seed_gives_the_same_program_and_data() -> None:
    first, again, other = (generate(seed, Values(EVERYTHING, Promise.MAXIMAL)) for seed in (7, 7, 8))
    assert first == again != other
    assert render(first) == render(again)
    assert (inputs(first) == inputs(again)).all()


def test_programs_use_every_operation_and_every_kind_of_statement() -> None:
    programs = [generate(seed, Values(EVERYTHING, Promise.MAXIMAL)) for seed in range(400)]
    nodes = [node for program in programs for node in nodes_of(program)]
    assert {node.operation for node in nodes if isinstance(node, Communicate)} == set(EVERYTHING.uses)
    assert {node.form for node in nodes if isinstance(node, Loop)} == {"for", "while", "do", "endless"}
    assert {node.kind for node in nodes if isinstance(node, Jump)} == {"break", "continue", "return"}
    assert any(case.falls for case in nodes if isinstance(case, SwitchCase))
    assert {program.local_size[1] > 1 for program in programs} == {True, False}


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("promise", Promise)
@pytest.mark.parametrize("size", [1, 8, 32])
def test_programs_end_and_no_branch_depends_on_undefined_values(promise, size) -> None:
    for seed in range(12):
        program = generate(seed, Values(of_device(capabilities_of(size)), promise))
        found = observe_reference(program, compiled(program), size)
        assert found.complaint == ""
        # The last word of each invocation's region ends its records.
        assert (found.words[:, capacity(program) - 1] == 0).all()


def test_nothing_is_undefined_without_operations_that_may_be() -> None:
    vocabulary = of_device(capabilities_of(SIZE), undefined=False)
    for seed in range(12):
        program = generate(seed, Values(vocabulary, Promise.MAXIMAL))
        found = observe_reference(program, compiled(program), SIZE)
        assert found.undefined is not None
        assert not found.undefined.any()


OPERATE = Operate(1, ANY_ACTIVE)
UNIFORM = Compare("==", Builtin("gl_SubgroupID"), Literal("uint", (0,)))


@pytest.mark.parametrize(
    ("promise", "body", "allowed"),
    [
        (Promise.MAXIMAL, (If(FEW, (OPERATE,)),), True),
        (Promise.SUBGROUP, (If(FEW, (OPERATE,)),), False),
        (Promise.SUBGROUP, (If(UNIFORM, (OPERATE,)),), True),
        (Promise.WORKGROUP, (If(UNIFORM, (OPERATE,)),), False),
        (Promise.WORKGROUP, (If(FEW, ()), OPERATE), True),
        (Promise.MAXIMAL, (If(FEW, (Jump("return"),)), OPERATE), True),
        (Promise.SUBGROUP, (If(FEW, (Jump("return"),)), OPERATE), False),
        (Promise.MAXIMAL, (Jump("break", FEW),), False),
    ],
)
def test_positions_of_operations_and_jumps(promise, body, allowed) -> None:
    assert (value_faults(_program(promise, *body), SIZE) == []) is allowed


def test_short_circuit_operators_have_defined_operands() -> None:
    """The second operand of && and || is evaluated in a branch that the first one decides."""
    soft, firm = PrivateVariable("soft", "bool", undefined=True), PrivateVariable("firm", "bool")
    for operator, allowed in (("&&", False), ("||", False), ("^^", True)):
        statement = Set(soft, Apply(operator, "bool", (VariableRead(soft), VariableRead(firm))))
        assert (value_faults(_program(Promise.MAXIMAL, statement), SIZE) == []) is allowed


def _switch(*cases: SwitchCase, selector=LANE) -> RandomProgram:
    return _program(Promise.MAXIMAL, Switch(selector, cases, 3))


def test_a_case_with_unknown_active_invocations_has_no_operation() -> None:
    """SPV_KHR_maximal_reconvergence does not define the active invocations there."""
    sharp = SwitchCase((0,), (OPERATE,))
    assert value_faults(_switch(sharp), SIZE) == []
    assert value_faults(_switch(SwitchCase((0, 1), (OPERATE,))), SIZE)
    assert value_faults(_switch(replace(sharp, body=(), falls=True), SwitchCase((1,), (OPERATE,))), SIZE)
    assert value_faults(_switch(sharp, SwitchCase((), (OPERATE,), default=True)), SIZE)
    assert (
        value_faults(_switch(sharp, SwitchCase((1,), ()), SwitchCase((), (OPERATE,), default=True)), SIZE)
        == []
    )
    together = Builtin("gl_SubgroupID")
    assert value_faults(_switch(SwitchCase((0, 1), (OPERATE,)), selector=together), SIZE) == []


def test_a_shrunk_program_fails_and_keeps_the_rules() -> None:
    """Uses an artificial failure: an exclusive scan inside a loop."""

    def fails(program: RandomProgram) -> bool:
        loops = [node for node in nodes_of(program) if isinstance(node, Loop)]
        calls = [node for loop in loops for node in walk(loop) if isinstance(node, Communicate)]
        return any(call.operation.startswith("subgroupExclusive") for call in calls)

    def allowed(program: RandomProgram) -> bool:
        return not value_faults(program, SIZE)

    programs = (generate(seed, Values(EVERYTHING, Promise.MAXIMAL)) for seed in range(200))
    failing = [program for program in programs if fails(program)][:5]
    assert len(failing) == 5
    for program in failing:
        small = shrink(program, fails, allowed, seconds=300.0).program
        assert fails(small)
        assert value_faults(small, SIZE) == []
        kinds = [type(node) for node in walk(small.body)]
        assert (kinds.count(Loop), kinds.count(Operate)) == (1, 1)
        assert small.functions == ()
        assert small.invocations == 1


def test_an_output_folder_that_cannot_be_created_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "campaigns.random_programs", "--device", "reference:4", "--count", "1"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "file" / "inside")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "Not a directory" in done.stderr
