"""The cases of quads: what is expected of them, devices that pass, and errors that are seen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mutants.changes import QUAD_SWAP, another_constant
from mutants.rewriting import Words, boolean_constant, instructions, rewritten
from property_runs import assert_caught, chosen, judged

from vkgroup.compiler import TargetEnvironment, compile_source, validate
from vkgroup.conformance import Status, family_of
from vkgroup.conformance.fragment.derivatives import derivatives_of
from vkgroup.conformance.fragment.scenes import SCENES
from vkgroup.conformance.quad_control.derivatives import GROUPS, PROBES, layout_of
from vkgroup.conformance.quad_control.family import source_of
from vkgroup.conformance.quad_control.scene_tests import AFTER, TESTS
from vkgroup.device import Capabilities
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.reference.interpreter.values.arrangement import in_quads
from vkgroup.spirv import Module
from vkgroup.spirv.editor import Editor

QUAD_ALL, QUAD_ANY = 5110, 5111
DPDX, DPDY, FWIDTH, DPDX_FINE, DPDY_FINE, DPDX_COARSE = 207, 208, 209, 210, 211, 213
COPY_OBJECT, TERMINATE, RETURN, LABEL, BRANCH_CONDITIONAL = 83, 4416, 253, 248, 250
LOD_OPERAND = 2
EXECUTION_MODE, CAPABILITY, QUADS, LINEAR, QUADS_NEED, LINEAR_NEEDS = 16, 17, 5289, 5290, 5288, 5350


# --- what is expected -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", GROUPS["quads"])
def test_quads_of_two_by_two(shape: tuple[int, int, int]) -> None:
    layout = layout_of("quads", shape)
    x, y = layout.x[layout.members], (layout.y % shape[1])[layout.members]
    assert np.array_equal(x[1] - x[0], np.ones_like(x[0]))
    assert np.array_equal(y[2] - y[0], np.ones_like(y[0]))
    assert not (x[0] % 2).any()
    assert np.array_equal(in_quads(shape)[0] % 4, layout.place)
    assert np.array_equal(in_quads(shape)[0] // 4, layout.quad)


@pytest.mark.parametrize("shape", GROUPS["linear"])
def test_quads_of_four_in_a_row(shape: tuple[int, int, int]) -> None:
    layout = layout_of("linear", shape)
    assert np.array_equal(layout.members[0] % 4, np.zeros_like(layout.quad))
    assert np.array_equal(layout.members[3] - layout.members[0], np.full_like(layout.quad, 3))


def test_derivatives_are_differences() -> None:
    values = np.array([[10], [13], [20], [29]], np.float32)
    at = {place: np.array([place]) for place in range(4)}
    assert [value.tolist() for value in derivatives_of("dFdxFine", values, at[2])] == [[9]]
    assert [value.tolist() for value in derivatives_of("dFdx", values, at[2])] == [[9], [3]]
    assert [value.tolist() for value in derivatives_of("dFdyFine", values, at[1])] == [[16]]
    assert {value.item() for value in derivatives_of("fwidthCoarse", values, at[0])} == {13, 19, 25}


@pytest.mark.parametrize("after", AFTER)
def test_the_shaders_of_scenes_are_valid(after: str) -> None:
    tests = [test for test in TESTS.values() if test.leaves == after]
    source = source_of(replace(SCENES["triangle"], leaves=after), tests)
    module = compile_source(source, stage="fragment", target=TargetEnvironment.VULKAN_1_2, name="x")
    validate(module, TargetEnvironment.VULKAN_1_2)
    assert "QuadControlKHR" in module.reflection.capabilities
    modes = module.reflection.entry_point(None).execution_modes
    assert {"QuadDerivativesKHR", "RequireFullQuadsKHR", "MaximallyReconvergesKHR"} <= set(modes)


def test_what_a_device_lacks_is_named() -> None:
    def missing(name: str, capabilities: Capabilities) -> list[str]:
        (case,) = chosen(name)
        return family_of(case).missing(case, capabilities)

    nothing = replace(capabilities_of(32), features=frozenset())
    lacking = {
        name: missing(name, nothing)
        for name in (
            "quad_control.compute.subgroupQuadAll.nested",
            "quad_control.scene.terminate_any.left.triangle",
            "quad_control.derivative_group.quads.dFdx.8x8x1",
        )
    }
    in_fragments = ["shaderMaximalReconvergence", "fragmentStoresAndAtomics", "shaderTerminateInvocation"]
    assert list(lacking.values()) == [
        ["shaderQuadControl"],
        ["shaderQuadControl", *in_fragments],
        ["computeDerivativeGroupQuads"],
    ]  # fmt: skip
    small = missing("quad_control.derivative_group.linear.dFdx.5x4x3", capabilities_of(2))
    assert small == ["a subgroup size of at least 4 (smaller ones hold no quad)"]


# --- devices ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("lavapipe")
def test_a_driver_has_derivative_groups() -> None:
    found = judged("lavapipe", "quad_control.*")
    assert {result.status for result in found} == {Status.PASS}
    assert len(found) == len(PROBES) * sum(map(len, GROUPS.values()))


def test_the_reference_device_passes() -> None:
    found = judged("reference:64", "quad_control.*")
    assert {result.status for result in found} <= {Status.PASS, Status.UNDEFINED}
    assert sum(result.status is Status.PASS for result in found) > 500


# --- planted errors ---------------------------------------------------------------------------------------


def _another(old: int, new: int, data: bytes) -> bytes:
    return rewritten(data, lambda i: [[new, *i[1:]]] if i[0] == old else [i])


def own_value(opcode: int, data: bytes) -> bytes:
    """Let a vote be that of the invocation alone."""
    return rewritten(data, lambda i: [[COPY_OBJECT, *i[1:4]]] if i[0] == opcode else [i])


def _constant(opcode: int, value: bool, data: bytes) -> bytes:
    data, constant = boolean_constant(data, value)
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], constant]] if i[0] == opcode else [i])


def _other_group(data: bytes) -> bytes:
    """Let the quads be four in a row, where two by two are meant."""

    def rewrite(i: Words) -> list[Words]:
        if i[0] == EXECUTION_MODE and i[2] == QUADS:
            return [[*i[:2], LINEAR]]
        return [[CAPABILITY, LINEAR_NEEDS]] if i == [CAPABILITY, QUADS_NEED] else [i]

    return rewritten(data, rewrite)


def _first_level(data: bytes) -> bytes:
    """Let sampling take the first level, whatever the slope."""

    def explicit(editor: Editor, words: Words) -> list[Words]:
        zero = editor.constant(editor.declare("OpTypeFloat", 32), 0)
        return [editor.instruction("OpImageSampleExplicitLod", *words[1:], LOD_OPERAND, zero)]

    return Editor(Module.from_bytes(data)).rewrite({"OpImageSampleImplicitLod": explicit}).to_bytes()


VOTES = (
    ("All is Any", "quad_control.compute.subgroupQuadAll.*", partial(_another, QUAD_ALL, QUAD_ANY)),
    ("Any is All", "quad_control.fragment.subgroupQuadAny.*", partial(_another, QUAD_ANY, QUAD_ALL)),
    ("Any is the own value", "quad_control.compute.subgroupQuadAny.loop", partial(own_value, QUAD_ANY)),
    ("All is the own value", "quad_control.scene.all.mixed.dots", partial(own_value, QUAD_ALL)),
    ("Any is All (scene)", "quad_control.scene.any.mixed.triangle", partial(_another, QUAD_ANY, QUAD_ALL)),
    ("All is Any (branch)", "*.divergent_all.mixed.whole", partial(_another, QUAD_ALL, QUAD_ANY)),
    ("Any is true", "quad_control.scene.terminate_any.left.triangle", partial(_constant, QUAD_ANY, True)),
    ("All is false", "quad_control.scene.terminate_all.stayed.triangle", partial(_constant, QUAD_ALL, False)),
    ("All is true", "quad_control.scene.demote_all.covered.triangle", partial(_constant, QUAD_ALL, True)),
    ("Any is false", "quad_control.scene.any.helper.dots", partial(_constant, QUAD_ANY, False)),
    ("a loop's Any is All", "quad_control.scene.loop_any.mixed.odd", partial(_another, QUAD_ANY, QUAD_ALL)),
    (
        "diagonal is horizontal", "quad_control.scene.full.swapDiagonal.strip",
        partial(another_constant, QUAD_SWAP, 5, lambda value: 0 if value == 2 else value),
    ),
    ("dFdx is dFdy", "quad_control.scene.derivative.dFdx.triangle", partial(_another, DPDX, DPDY)),
    ("fine is coarse", "*.scene.derivative.dFdxFine.whole", partial(_another, DPDX_FINE, DPDX_COARSE)),
    ("the level is the first", "quad_control.scene.lod.sample.whole", _first_level),
)  # fmt: skip

GROUP_ERRORS = (
    ("dFdx is dFdy", "quads.dFdx.*", partial(_another, DPDX, DPDY)),
    ("dFdy is dFdx", "linear.branch.dFdyFine.*", partial(_another, DPDY_FINE, DPDX_FINE)),
    ("fwidth is dFdx", "linear.fwidth.*", partial(_another, FWIDTH, DPDX)),
    ("dFdx of a vector is dFdy", "quads.dFdx.vec3.*", partial(_another, DPDX, DPDY)),
    ("four in a row (vector)", "quads.dFdyFine.vec4.8x8x1", _other_group),
    ("four in a row", "quads.dFdyFine.8x8x1", _other_group),
    ("four in a row (swap)", "quads.swapVertical.32x4x1", _other_group),
    ("four in a row (lane)", "quads.lane.4x6x5", _other_group),
    ("the level is the first", "quads.lod.sample.*", _first_level),
    (
        "vertical is horizontal", "linear.swapVertical.*",
        partial(another_constant, QUAD_SWAP, 5, lambda value: 0 if value == 1 else value),
    ),
)  # fmt: skip


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize(("what", "name", "mutate"), VOTES, ids=[row[0] for row in VOTES])
def test_an_error_in_quads_is_caught(what: str, name: str, mutate) -> None:
    assert_caught("reference:8", name, mutate)


@pytest.mark.usefixtures("lavapipe")
@pytest.mark.parametrize(("what", "name", "mutate"), GROUP_ERRORS, ids=[row[0] for row in GROUP_ERRORS])
def test_an_error_in_derivative_groups_is_caught_on_a_driver(what: str, name: str, mutate) -> None:
    assert_caught("lavapipe", f"quad_control.derivative_group.{name}", mutate)


def _nobody_terminated(data: bytes) -> bytes:
    """Let every branch to a termination lead on: its condition is false."""
    body = instructions(data)
    ends, label = set(), 0
    for i in body:
        label = i[1] if i[0] == LABEL else label
        if i[0] == TERMINATE:
            ends.add(label)
    data, false = boolean_constant(data, False)

    def rewrite(i: Words) -> list[Words]:
        return [[i[0], false, *i[2:]]] if i[0] == BRANCH_CONDITIONAL and i[2] in ends else [i]

    return rewritten(data, rewrite)


TERMINATED = (
    ("they return", "fragment.helper.color.terminate", partial(_another, TERMINATE, RETURN)),
    ("they go on", "fragment.helper.stores.terminate", _nobody_terminated),
    ("they take part", "arithmetic.fragment.subgroupAdd.uint.terminate.exact", _nobody_terminated),
)


@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize(("what", "name", "mutate"), TERMINATED, ids=[row[0] for row in TERMINATED])
def test_fragments_that_are_not_terminated_are_seen(what: str, name: str, mutate) -> None:
    assert_caught("swiftshader", name, mutate)
