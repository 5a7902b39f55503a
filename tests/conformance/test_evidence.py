"""Evidence of failures: what each family says of the lanes of one subgroup, from modules gone wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from mutants.changes import ALL, ANY, BALLOT, FADD, FMAX, another_opcode, swapped_builtins
from mutants.rewriting import Words, boolean_constant, rewritten

import vkgroup
from vkgroup.conformance import Status, cases_by_name, evidence
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_of
from vkgroup.conformance.reconvergence.comparison import expect, verdict_on_log
from vkgroup.conformance.reconvergence.shader import data_of, salt_of
from vkgroup.outputs.report.failures import drawing_of
from vkgroup.programs.invocation_sets import linear
from vkgroup.programs.nodes import If, IndexFrom, Observe, Promise, RandomProgram

MOST_BYTES = 4096
"""Of one failure's evidence, in subgroups of 8; only those of 128 lanes have more."""


def _second_ballot_of_nobody(data: bytes) -> bytes:
    data, nobody = boolean_constant(data, False)
    met: list[Words] = []

    def rewrite(i: Words) -> list[Words]:
        met.extend([i] * (i[0] == BALLOT))
        return [[*i[:4], nobody]] if i[0] == BALLOT and len(met) == 2 else [i]

    return rewritten(data, rewrite)


def _nobody(data: bytes) -> bytes:
    data, nobody = boolean_constant(data, False)
    return rewritten(data, lambda i: [[*i[:4], nobody]] if i[0] == BALLOT else [i])


def _derivative_in_y(data: bytes) -> bytes:
    return another_opcode(207, 208, data)


SIZE, LANE = 36, 41

WRONG: dict[str, tuple[Callable[[bytes], bytes], str, bool]] = {
    "vote.compute.subgroupAll.bool.nested.exact": (_second_ballot_of_nobody, "lane", True),
    "hlsl.compute.WaveActiveSum.float2.nested.exact": (partial(another_opcode, FADD, FMAX), "lane", False),
    "legacy_ballot.compute.dynamic_instances.lowered": (_second_ballot_of_nobody, "lane", True),
    "size_control.compute.default": (partial(swapped_builtins, SIZE, LANE), "lane", False),
    "fragment.vote.any.mixed.whole": (partial(another_opcode, ANY, ALL), "place in the quad", False),
    "quad_control.derivative_group.quads.dFdx.8x8x1": (_derivative_in_y, "place in the quad", False),
    "descriptor_indexing.compute.storage_buffer.atomic.first": (
        partial(another_opcode, 234, 236), "cell", False,
    ),
    "thread_group.compute.gl_ThreadInWarpNV.one_missing": (_nobody, "lane", True),
    "compute_model.builtins.gl_GlobalInvocationID.7x1x1.13_groups": (
        partial(swapped_builtins, 27, 28), "component", False,
    ),
    "cooperative_matrix.arithmetic.s32.c.divide.exact": (partial(another_opcode, 135, 132), "column", False),
    "reconvergence.maximal.compute.nesting2.0.4": (_second_ballot_of_nobody, "lane", True),
    "reconvergence.maximal.fragment.demote_entire_quad.whole": (_nobody, "lane", True),
}  # fmt: skip
"""Cases with a change to their modules, the unit of the evidence, and whether it has masks."""


@pytest.fixture(scope="module")
def wrong_results() -> dict[str, Any]:
    """Verdicts on `WRONG`, by name."""
    found = {}
    with vkgroup.open("reference", subgroup_size=8) as device:
        for name, (change, _, _) in WRONG.items():
            executor = Executor(device, seed=0, transform=change)
            case = cases_by_name()[name]
            found[name] = family_of(case).verdicts_on(executor, [case])[0]
            executor.close()
    return found


@pytest.mark.parametrize("name", WRONG)
def test_every_family_tells_lanes_from_each_other(name: str, wrong_results: dict[str, Any]) -> None:
    verdict, (_, unit, masks) = wrong_results[name], WRONG[name]
    assert verdict.status == Status.FAIL
    lanes = verdict.evidence
    assert lanes is not None
    assert lanes["wrong"]
    assert max(lanes["wrong"]) < lanes["size"] <= max(8, evidence.WINDOW)
    assert lanes.get("unit", "lane") == unit
    assert bool(lanes.get("masks")) == masks
    assert len(json.dumps(lanes)) < MOST_BYTES
    # What a report draws is what was recorded: its form is one that the page knows.
    result = vkgroup.conformance.Result(name, verdict.status, detail=verdict.detail, evidence=lanes)
    assert drawing_of(result) is lanes


def test_lanes_out_of_range_are_left_out_and_the_first_of_two_counts() -> None:
    found = evidence.of_lanes(
        "here", np.array([1, 1, 9, 2**31]), np.array([True, False, True, True]), {"got": "abcd"}, size=4
    )
    assert found["rows"] == {"got": [None, "a", None, None]}
    assert found["wrong"] == [1]
    assert found["active"] is None
    assert "masks" not in found


def test_masks_say_who_is_missing_and_who_should_not_be_there() -> None:
    must = np.array([[True, True, True, False]] * 3)
    got = np.array([[True, True, True, False], [False, True, True, True], [True, True, True, False]])
    assert evidence.masks_of(np.array([0, 1, 2]), got, must, must) == [
        {"name": "expected", "mask": "0x7", "wrong": "0x0"},
        {"name": "got by lanes 0, 2", "mask": "0x7", "wrong": "0x0"},
        {"name": "got by lane 1", "mask": "0xe", "wrong": "0x9"},
    ]


def test_values_are_those_around_the_first_wrong_one() -> None:
    expected = np.arange(200, dtype=np.uint32).reshape(2, 100, 1)
    got = expected.copy()
    got[1, 97] = 5
    found = evidence.of_values("words", {"expected": expected, "got": got}, got != expected, ("row", "word"))
    assert (found["where"], found["unit"], found["size"]) == ("words, row 1", "word", 4)
    assert (found["names"], found["wrong"]) == (["96", "97", "98", "99"], [1])
    assert found["rows"]["got"] == ["196", "5", "198", "199"]


def test_a_ballot_with_a_stranger_is_drawn_beside_the_others() -> None:
    """Lanes 0 to 3 execute place 1; lane 2 gets a mask that names lane 6 too and lacks lane 0."""
    body = (If(IndexFrom(4), (), (Observe(1),)), Observe(2))
    program = RandomProgram(1, Promise.MAXIMAL, (8, 1, 1), 1, (), body)
    expected = expect(program, linear(8, 8, data_of(program)))
    log = poisoned(2, 2, 8)
    log[expected.number, 0, expected.invocation] = expected.place + salt_of(program)
    log[expected.number, 1, expected.invocation] = expected.most[:, 0]
    lane, none = np.arange(8), np.zeros(8)
    heads = np.array([none, lane, none + 8, expected.lengths, none, none], np.uint32)
    assert verdict_on_log(program, expected, heads, log).status == Status.PASS
    log[0, 1, 2] = 0x4E
    verdict = verdict_on_log(program, expected, heads, log)
    assert verdict.evidence == {
        "where": "workgroup 0 subgroup 0", "slot": 0, "size": 8, "active": "0xf", "wrong": [2],
        "rows": {
            "invocation": ["0", "1", "2", "3", None, None, None, None],
            "entry": ["0", "0", "0", "0", None, None, None, None],
            "expected": ["0xf", "0xf", "0xf", "0xf", None, None, None, None],
            "got": ["0xf", "0xf", "0x4e", "0xf", None, None, None, None],
        },
        "masks": [
            {"name": "expected", "mask": "0xf", "wrong": "0x0"},
            {"name": "got by lanes 0–1, 3", "mask": "0xf", "wrong": "0x0"},
            {"name": "got by lane 2", "mask": "0x4e", "wrong": "0x41"},
        ],
        "code": "record(1u,",
    }  # fmt: skip
    # Wrong observation recorded later: the evidence has the observation and no mask.
    log[0, :, 2] = log[1, :, 2]
    verdict = verdict_on_log(program, expected, heads, log)
    assert verdict.evidence is not None
    assert verdict.evidence["rows"]["expected"][2] == "place 1: 0xf"
    assert verdict.evidence["rows"]["got"][2] == "place 2: 0xff"
    assert [mask["name"] for mask in verdict.evidence["masks"]] == ["expected", "got by lanes 0–1, 3"]
