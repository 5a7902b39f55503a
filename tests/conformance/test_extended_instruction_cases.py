"""Cases of GLSL.std.450: drivers pass, another instruction and a wrong rounding are caught."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mutants.rewriting import Words, rewritten
from suite_runs import results_of

from vkgroup.conformance import Status, select
from vkgroup.conformance.comparison import legal
from vkgroup.conformance.extended_instructions.family import EXTENDED_INSTRUCTIONS
from vkgroup.conformance.extended_instructions.instructions import INSTRUCTIONS
from vkgroup.conformance.show import show
from vkgroup.device import Capabilities
from vkgroup.dispatch.reference import capabilities

CASES = tuple(EXTENDED_INSTRUCTIONS.cases())
EXT_INST, NEGATE, ADD = 12, 126, 128
#: By instruction: its number, and that of another one with the same operands.
OTHERS = {
    "Exp": (27, 29), "InverseSqrt": (32, 31), "Floor": (8, 9), "FMax": (40, 37), "SMin": (39, 42),
    "SMax": (42, 39), "UMin": (38, 41), "UMax": (41, 38), "SClamp": (45, 44), "SAbs": (5, 7),
    "FindUMsb": (75, 73), "PackHalf2x16": (58, 57), "UnpackHalf2x16": (62, 61),
}  # fmt: skip


def test_names_and_sentences_are_unique() -> None:
    assert len({case.name for case in CASES}) == len({case.sentence for case in CASES}) == len(CASES)
    assert set(select(("extended_instruction.*",))) == set(CASES)


def test_what_a_device_lacks_is_named() -> None:
    nothing = Capabilities(name="none", type="cpu")
    lacking = {
        case.name.partition("compute.")[2]: EXTENDED_INSTRUCTIONS.missing(case, nothing) for case in CASES
    }
    assert lacking["Exp.float"] == lacking["UMax.uvec4"] == []
    assert lacking["SMin.i64vec4"] == ["shaderInt64"]
    assert lacking["PackDouble2x32.double"] == ["shaderFloat64", "shaderInt64"]
    assert lacking["UnpackDouble2x32.uvec2"] == ["shaderFloat64"]
    without = replace(capabilities.capabilities_of(4), features=frozenset({"shaderInt64", "shaderFloat64"}))
    assert not any(EXTENDED_INSTRUCTIONS.missing(case, without) for case in CASES)


@pytest.mark.usefixtures("lavapipe", "swiftshader")
@pytest.mark.parametrize("driver", ["reference:8", "lavapipe", "swiftshader"])
def test_drivers_pass(driver: str) -> None:
    statuses = Counter(result.status for result in results_of(driver, CASES, seed=3))
    assert statuses[Status.PASS] == len(CASES) - statuses[Status.NOT_SUPPORTED]
    assert statuses[Status.NOT_SUPPORTED] == (10 if driver == "swiftshader" else 0)


@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize(("driver", "exponential"), [("reference:8", "nan"), ("swiftshader", "inf")])
def test_open_results_are_told_and_not_compared(driver: str, exponential: str) -> None:
    """SwiftShader's exponential of NaN is infinity, which no sentence forbids."""
    (result,) = results_of(driver, [case for case in CASES if case.name.endswith(".Exp.float")], seed=3)
    assert (result.status, result.undefined) == (Status.PASS, 3)
    assert f"no sentence requires them: Exp(nan) = {exponential}, Exp(inf) = inf" in result.detail


def test_what_is_open_is_shown() -> None:
    for case in CASES:
        row, text = INSTRUCTIONS[case.axes.instruction], show(case)
        defined, size = map(int, re.findall(r"(\d+) of (\d+) elements are defined", text)[0])
        assert (defined < size) == bool(row.open), case.name
        assert defined > 0.8 * size, case.name
        assert ("no sentence requires its result for" in text.splitlines()[1]) == bool(row.open)


@pytest.mark.parametrize("name", OTHERS)
def test_another_instruction_is_caught(name: str) -> None:
    old, new = OTHERS[name]

    def other(words: Words) -> list[Words]:
        return [[*words[:4], new, *words[5:]] if words[0] == EXT_INST and words[4] == old else words]

    cases = [case for case in CASES if case.axes.instruction == name]
    planted = results_of("reference:8", cases, transform=lambda data: rewritten(data, other))
    assert {result.status for result in planted} == {Status.FAIL}
    assert not any("InvalidModule" in result.detail for result in planted)


def test_packed_doubles_with_other_words_are_caught() -> None:
    """The only operands of these instructions have no other instruction: other operands are planted."""
    random = np.random.default_rng(1)
    for name in ("PackDouble2x32", "UnpackDouble2x32"):
        row = INSTRUCTIONS[name]
        (operand,) = row.data(random, np.dtype(np.uint32 if name == "PackDouble2x32" else np.float64))
        words = operand.view(np.uint32).reshape(-1, 2)
        expected = row.required(operand)
        for planted, right in ((words, True), (words[:, ::-1], False), (words ^ np.uint32(1), False)):
            got = np.ascontiguousarray(planted).view(expected.low.dtype).reshape(expected.low.shape)
            assert legal(got, expected)[expected.defined].all() == right


@pytest.mark.parametrize(("name", "units"), [("Exp", 3.0), ("InverseSqrt", 2.0), ("Floor", 0.0)])
def test_the_error_is_bounded_as_in_vulkans_table(name: str, units: float) -> None:
    """One unit in the last place more than allowed is illegal, as many as allowed are legal."""
    operands = INSTRUCTIONS[name].data(np.random.default_rng(2), np.dtype(np.float32))
    expected = INSTRUCTIONS[name].required(*operands)
    wide: list[Any] = [operand[expected.defined].astype(np.float64) for operand in operands]
    exact = {
        "Exp": lambda x: np.exp(x),
        "InverseSqrt": lambda x: 1 / np.sqrt(x),
        "Floor": lambda x: np.floor(x),
    }[name](*wide)
    bound = units + (2 * np.abs(wide[0]) if name == "Exp" else 0)
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    for factor, right in ((0, True), (bound * 0.99, True), (-bound * 0.99, True), (bound + 1, False)):
        got = np.zeros(expected.low.shape)
        got[expected.defined] = exact + factor * unit
        assert legal(got, expected)[expected.defined].all() == right
        assert legal(got, expected)[expected.defined].any() == right


def test_a_half_is_rounded_to_a_neighbour() -> None:
    row = INSTRUCTIONS["PackHalf2x16"]
    pairs = np.array([[1.0, 2**-11 + 1], [-1.0, -(2**-12) - 1], [np.inf, 1.0], [2.0**-20, 70000]], np.float32)
    expected = row.required(pairs)
    assert expected.low.tolist()[:2] == [[1, 1], [-1, -1 - 2**-10]]
    assert expected.high.tolist()[:2] == [[1, 1 + 2**-10], [-1, -1]]
    assert expected.defined.tolist() == [[True, True], [True, True], [False, False], [False, False]]
