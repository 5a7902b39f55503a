"""The cases of the microbenchmarks: every function with every type, and what their chains must give."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.bench import micro_cases, micro_shared
from vkgroup.bench.catalogue import definitions
from vkgroup.bench.micro_cases import MicroCase, all_cases
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.operations import EXTENDED_OPERATIONS, OPERATIONS
from vkgroup.spec.types import TYPES

CASES = {case.name: case for case in all_cases()}
ROWS = {**OPERATIONS, **EXTENDED_OPERATIONS}


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.result is not None])
def test_every_function_is_measured_with_every_scalar_type_that_it_takes(name: str) -> None:
    row = ROWS[name]
    types = {case.type for case in CASES.values() if case.operation is row}
    wanted = {type_ for type_ in row.types if type_.components == 1 or len(row.types) == 1}
    if name.startswith("read"):
        # SPV_KHR_shader_ballot has them for 32 bits alone.
        wanted = {type_ for type_ in wanted if type_.scalar.bits == 32}
    assert types == wanted


def test_every_case_has_a_latency_and_a_throughput() -> None:
    names = {one.name for one in definitions()}
    assert {f"micro.{what}.{name}" for what in ("latency", "throughput") for name in CASES} <= names


def test_a_case_takes_vectors() -> None:
    case = CASES["subgroupShuffleXor.int8_t.half"].with_components(3)
    assert case.name == "subgroupShuffleXor.i8vec3.half"
    assert CASES["subgroupBallot.bool"].with_components(3) is CASES["subgroupBallot.bool"]


def test_what_moves_values_has_an_alternative() -> None:
    without = {case.operation.name for case in CASES.values() if not micro_shared.has_alternative(case)}
    bits = {name for name in without if "Ballot" in name or name == "subgroupElect"}
    assert without - bits == {name for name in ROWS if "Partition" in name}
    assert "subgroupBallot" not in without


@pytest.mark.parametrize("size", [1, 2, 4, 8, 32, 128])
def test_operands_make_results_that_are_defined(size: int) -> None:
    for case in CASES.values():
        if case.least_size > size:
            continue
        values = micro_cases.operands(case, size, 3, np.random.default_rng(size))
        assert values.shape == (3, size, case.type.components)
        once = micro_cases.applied(case, values)
        assert once.defined.any(), case.name
        assert once.value.dtype == dtype_of(case.result.scalar), case.name


@pytest.mark.parametrize("name", ["subgroupAdd.uint", "subgroupShuffle.int", "subgroupInclusiveMul.uint16_t"])
def test_a_step_too_few_shows(name: str) -> None:
    case = CASES[name]
    values = micro_cases.operands(case, 8, 2, np.random.default_rng(0))
    steps = [micro_cases.stepped(case, values, count) for count in (7, 8)]
    valid = np.ones(values.shape, np.bool_)
    assert micro_cases.wrong_mask(case, steps[0].value, valid, steps[1]).any()
    assert not micro_cases.wrong_mask(case, steps[1].value, valid, steps[1]).any()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # 3 everywhere; then 1 ^ 3, 2 ^ 3, 0 ^ 3 and 0 ^ 3 add up to 2 + 1 + 3 + 3.
        ("subgroupAdd.uint", [9, 9, 9, 9]),
        # 2, 1, 0, 0; then 1 ^ 2, 2 ^ 1, 0 and 0, swapped.
        ("subgroupQuadSwapHorizontal.uint", [3, 3, 0, 0]),
    ],
)
def test_two_steps_by_hand(name: str, expected: list[int]) -> None:
    values = np.array([[[1], [2], [0], [0]]], np.uint32)
    assert micro_cases.stepped(CASES[name], values, 2).value.ravel().tolist() == expected


def test_results_of_another_type_change_the_first_component() -> None:
    ballots = np.array([[[5, 6, 7, 8]]], np.uint32)
    assert micro_cases.next_operand(ballots, np.array([[[3]]], np.uint32)).tolist() == [[[5 ^ 3, 6, 7, 8]]]
    truths = np.array([[[True], [True]]])
    assert micro_cases.next_operand(truths, np.array([[[2], [0]]], np.uint32)).tolist() == [[[False], [True]]]


def test_no_chain_steps_through_floats_or_undefined_lanes() -> None:
    for case in CASES.values():
        if micro_cases.can_step(case):
            assert case.type.scalar.kind != "float", case.name
            assert micro_cases.applied(
                case, micro_cases.operands(case, 16, 1, np.random.default_rng(0))
            ).defined.all(), case.name
    assert not micro_cases.can_step(MicroCase(OPERATIONS["subgroupAdd"], TYPES["float"]))
