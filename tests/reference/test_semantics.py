"""The specification's own tables, rules and examples, as it states them."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.reference.dtypes import dtype_of
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import SCALARS, TYPES

FLOATS = ("float", "double", "float16_t")
SIGNED = ("int", "int8_t", "int16_t", "int64_t")
UNSIGNED = ("uint", "uint8_t", "uint16_t", "uint64_t")


def lanes(*values, dtype):
    """Return one subgroup of scalars."""
    return np.array(values, dtype=dtype).reshape(1, -1, 1)


def mask(text):
    """Return the active mask of one subgroup from ``"1101"``, lane 0 first."""
    return np.array([[letter == "1" for letter in text]])


def ballot(*bits, size):
    """Return one subgroup in which each lane holds the ballot with these bits."""
    words = np.zeros(4, dtype=np.uint32)
    for bit in bits:
        words[bit // 32] |= np.uint32(1 << (bit % 32))
    return np.tile(words, (1, size, 1))


def defined(result):
    """Return the lanes of one subgroup whose result is defined, by number."""
    return {
        int(lane): result.value[0, lane].tolist() for lane in np.flatnonzero(result.defined[0].all(axis=1))
    }


# Section 3.8, the table of identities


def limits(scalar):
    info = np.iinfo(dtype_of(SCALARS[scalar]))
    return info.min, info.max


IDENTITIES = [
    *(("Add", scalar, 0.0) for scalar in FLOATS),
    *(("Add", scalar, 0) for scalar in SIGNED + UNSIGNED),
    *(("Mul", scalar, 1.0) for scalar in FLOATS),
    *(("Mul", scalar, 1) for scalar in SIGNED + UNSIGNED),
    *(("Min", scalar, np.inf) for scalar in FLOATS),
    *(("Min", scalar, limits(scalar)[1]) for scalar in SIGNED + UNSIGNED),
    *(("Max", scalar, -np.inf) for scalar in FLOATS),
    *(("Max", scalar, limits(scalar)[0]) for scalar in SIGNED),
    *(("Max", scalar, 0) for scalar in UNSIGNED),
    *(("And", scalar, -1) for scalar in SIGNED),
    *(("And", scalar, limits(scalar)[1]) for scalar in UNSIGNED),
    ("And", "bool", True),
    *((operator, scalar, 0) for operator in ("Or", "Xor") for scalar in SIGNED + UNSIGNED),
    ("Or", "bool", False),
    ("Xor", "bool", False),
]


@pytest.mark.parametrize(("operator", "scalar", "expected"), IDENTITIES)
def test_exclusive_scan_gives_the_first_active_lane_the_identity(operator, scalar, expected) -> None:
    dtype = dtype_of(SCALARS[scalar])
    value = lanes(1, 1, 1, 1, dtype=dtype)
    result = reference_of(f"subgroupExclusive{operator}")(value, mask("0110"))
    first = result.value[0, 1, 0]
    assert result.defined[0, :, 0].tolist() == [False, True, True, False]
    assert first.dtype == dtype
    assert first == expected
    assert not np.signbit(first) or expected < 0
    assert result.value[0, 2, 0] == 1


def test_identities_cover_the_types_of_the_table() -> None:
    covered = {(operator, scalar) for operator, scalar, _ in IDENTITIES}
    rows = {
        (operation.operator, type_.scalar.name)
        for operation in OPERATIONS.values()
        if operation.group_operation == "ExclusiveScan" and operation.operator
        for type_ in operation.types
    }
    assert covered == rows


def test_a_scan_runs_over_the_active_lanes_in_order() -> None:
    value, active = lanes(2, 3, 5, 7, dtype=np.int32), mask("1011")
    assert defined(reference_of("subgroupInclusiveMul")(value, active)) == {0: [2], 2: [10], 3: [70]}
    assert defined(reference_of("subgroupExclusiveMul")(value, active)) == {0: [1], 2: [2], 3: [10]}
    assert defined(reference_of("subgroupMul")(value, active)) == {0: [70], 2: [70], 3: [70]}


@pytest.mark.parametrize("scalar", SIGNED + UNSIGNED)
def test_integers_wrap_without_a_warning(scalar, recwarn) -> None:
    low, high = limits(scalar)
    value = lanes(high, 1, dtype=dtype_of(SCALARS[scalar]))
    assert reference_of("subgroupAdd")(value, mask("11")).value[0, 0, 0] == low
    value = lanes(high, 2, dtype=dtype_of(SCALARS[scalar]))
    assert reference_of("subgroupMul")(value, mask("11")).value[0, 0, 0] == (-2 if low else high - 1)
    assert not recwarn.list


# Section 3.8, minimum and maximum: the rule on NaN


@pytest.mark.parametrize("scalar", FLOATS)
def test_a_nan_gives_way_to_any_other_value(scalar) -> None:
    nan, dtype = np.nan, dtype_of(SCALARS[scalar])
    value = lanes(nan, 3, nan, -2, dtype=dtype)
    assert defined(reference_of("subgroupMin")(value, mask("1111"))) == {lane: [-2] for lane in range(4)}
    assert defined(reference_of("subgroupMax")(value, mask("1110"))) == {lane: [3] for lane in range(3)}
    # Lane 0 uses nothing but a NaN.
    assert defined(reference_of("subgroupInclusiveMin")(value, mask("1111"))) == {1: [3], 2: [3], 3: [-2]}
    # Lane 0 uses no value at all, lane 1 nothing but a NaN.
    assert defined(reference_of("subgroupExclusiveMax")(value, mask("1111"))) == {
        0: [-np.inf],
        2: [3],
        3: [3],
    }
    assert defined(reference_of("subgroupClusteredMax")(value, mask("1011"), 2)) == {2: [-2], 3: [-2]}


def test_all_nan_is_undefined_in_that_component_alone() -> None:
    value = np.array([[[np.nan, 1], [np.nan, np.nan]]], dtype=np.float32)
    result = reference_of("subgroupMax")(value, mask("11"))
    assert result.defined.tolist() == [[[False, True], [False, True]]]
    assert result.value[0, :, 1].tolist() == [1, 1]


def test_a_nan_in_an_inactive_lane_does_not_matter() -> None:
    value = lanes(np.nan, 1, dtype=np.float32)
    assert defined(reference_of("subgroupMin")(value, mask("01"))) == {1: [1]}


def test_the_sign_of_a_zero_that_is_chosen_from_both_is_open() -> None:
    assert defined(reference_of("subgroupMin")(lanes(0.0, -0.0, dtype=np.float32), mask("11"))) == {}
    assert defined(reference_of("subgroupMin")(lanes(0.0, -0.0, -1.0, dtype=np.float32), mask("111")))[0] == [
        -1
    ]
    assert np.signbit(
        reference_of("subgroupMax")(lanes(-0.0, -0.0, dtype=np.float32), mask("11")).value
    ).all()


# Section 3.8, ballots


def test_a_ballot_has_lane_0_in_bit_0_and_lane_32_in_the_next_component() -> None:
    value = np.zeros((1, 128, 1), dtype=bool)
    value[0, [0, 31, 32, 63, 64, 127]] = True
    result = reference_of("subgroupBallot")(value, np.ones((1, 128), dtype=bool))
    assert result.value[0, 5].tolist() == [0x80000001, 0x80000001, 0x00000001, 0x80000000]


def test_a_ballot_has_zeros_for_inactive_and_absent_lanes() -> None:
    active = mask("0110")
    true, false = np.ones((1, 4, 1), dtype=bool), np.zeros((1, 4, 1), dtype=bool)
    assert defined(reference_of("subgroupBallot")(true, active)) == {1: [6, 0, 0, 0], 2: [6, 0, 0, 0]}
    assert defined(reference_of("subgroupBallot")(false, active)) == {1: [0] * 4, 2: [0] * 4}


def test_bits_beyond_the_subgroup_are_ignored() -> None:
    active = np.ones((1, 8), dtype=bool)
    value = ballot(1, 6, 8, 31, 100, size=8)
    assert reference_of("subgroupBallotBitCount")(value, active).value[0, :, 0].tolist() == [2] * 8
    inclusive = reference_of("subgroupBallotInclusiveBitCount")(value, active)
    assert inclusive.value[0, :, 0].tolist() == [0, 1, 1, 1, 1, 1, 2, 2]
    exclusive = reference_of("subgroupBallotExclusiveBitCount")(value, active)
    assert exclusive.value[0, :, 0].tolist() == [0, 0, 1, 1, 1, 1, 1, 2]
    assert reference_of("subgroupBallotFindLSB")(value, active).value[0, 0, 0] == 1
    assert reference_of("subgroupBallotFindMSB")(value, active).value[0, 0, 0] == 6


@pytest.mark.parametrize(
    "find", [reference_of("subgroupBallotFindLSB"), reference_of("subgroupBallotFindMSB")]
)
def test_the_first_or_last_bit_of_none_is_undefined(find) -> None:
    active = np.ones((1, 8), dtype=bool)
    assert not find(ballot(size=8), active).defined.any()
    assert not find(ballot(8, size=8), active).defined.any()
    assert find(ballot(7, size=8), active).defined.all()


def test_a_bit_is_extracted_up_to_the_size_and_no_further() -> None:
    index = np.array([[0, 7, 8, 2**32 - 1]], dtype=np.uint32).repeat(2, axis=1)
    result = reference_of("subgroupBallotBitExtract")(
        ballot(7, 8, size=8), np.ones((1, 8), dtype=bool), index
    )
    assert result.defined[0, :, 0].tolist() == [True, True, True, True, False, False, False, False]
    assert result.value[0, :4, 0].tolist() == [False, False, True, True]


def test_an_inverse_ballot_needs_the_same_value_in_all_active_lanes() -> None:
    value = ballot(0, 2, size=4)
    value[0, 3, 0] = 0
    assert defined(reference_of("subgroupInverseBallot")(value, mask("1110"))) == {
        0: [True],
        1: [False],
        2: [True],
    }
    assert not reference_of("subgroupInverseBallot")(value, mask("1111")).defined.any()


def test_a_broadcast_needs_the_same_id_in_all_active_lanes() -> None:
    value, id_ = lanes(10, 11, 12, 13, dtype=np.int32), np.array([[2, 2, 2, 1]], dtype=np.uint32)
    assert defined(reference_of("subgroupBroadcast")(value, mask("0110"), id_)) == {1: [12], 2: [12]}
    assert defined(reference_of("subgroupBroadcast")(value, mask("1111"), id_)) == {}
    assert defined(reference_of("subgroupBroadcast")(value, mask("1100"), id_)) == {}


# Section 7.1, the masks


def test_the_masks_hold_no_bit_beyond_the_size() -> None:
    active = np.ones((1, 64), dtype=bool)
    greater = reference_of("gl_SubgroupGtMask")(active).value[0]
    assert greater[31].tolist() == [0, 0xFFFFFFFF, 0, 0]
    assert greater[63].tolist() == [0, 0, 0, 0]
    assert reference_of("gl_SubgroupGeMask")(active).value[0, 63].tolist() == [0, 0x80000000, 0, 0]
    assert reference_of("gl_SubgroupLeMask")(active).value[0, 32].tolist() == [0xFFFFFFFF, 1, 0, 0]


# Section 3.8, clusters: the example with a subgroup of 8 lanes and clusters of 2


def test_the_clustered_example_of_the_specification() -> None:
    value = lanes(42.0, 13.0, -56.0, 0.0, 128.0, -1.0, 7.0, 3.5, dtype=np.float32)
    result = reference_of("subgroupClusteredAdd")(value, mask("11111111"), 2)
    assert result.value[0, :, 0].tolist() == [55.0, 55.0, -56.0, -56.0, 127.0, 127.0, 10.5, 10.5]
    assert result.defined.all()


def test_clusters_of_one_and_of_the_whole_subgroup() -> None:
    value, active = lanes(1, 2, 4, 8, dtype=np.uint32), mask("1101")
    assert defined(reference_of("subgroupClusteredOr")(value, active, 1)) == {0: [1], 1: [2], 3: [8]}
    assert defined(reference_of("subgroupClusteredOr")(value, active, 4)) == {0: [11], 1: [11], 3: [11]}
    assert defined(reference_of("subgroupClusteredOr")(value, active, 8)) == {}


# Section 3.8 and 8.18, quads: 0 1 above 2 3


@pytest.mark.parametrize(
    ("swap", "after"),
    [
        (reference_of("subgroupQuadSwapHorizontal"), "badc"),
        (reference_of("subgroupQuadSwapVertical"), "cdab"),
        (reference_of("subgroupQuadSwapDiagonal"), "dcba"),
    ],
)
def test_quad_swaps_are_those_of_the_pictures(swap, after) -> None:
    before = lanes(*map(ord, "abcdabcd"), dtype=np.int32)
    result = swap(before, mask("11111111"))
    assert "".join(map(chr, result.value[0, :, 0])) == after * 2
    alone = swap(before, mask("11110001"))
    assert not alone.defined[0, 7]


def test_a_quad_broadcast_stays_in_the_quad() -> None:
    value = lanes(*range(8), dtype=np.int32)
    one, four = np.ones((1, 8), dtype=np.uint32), np.full((1, 8), 4, dtype=np.uint32)
    result = reference_of("subgroupQuadBroadcast")(value, mask("11111011"), one)
    assert defined(result) == {lane: [1] for lane in range(4)}
    assert not reference_of("subgroupQuadBroadcast")(value, mask("11111111"), four).defined.any()


# Section 8.18, shuffles: nothing wraps around


def test_relative_shuffles_do_not_wrap() -> None:
    value, active = lanes(10, 11, 12, 13, dtype=np.int32), mask("1111")
    one, huge = np.ones((1, 4), dtype=np.uint32), np.full((1, 4), 2**32 - 1, dtype=np.uint32)
    assert defined(reference_of("subgroupShuffleUp")(value, active, one)) == {1: [10], 2: [11], 3: [12]}
    assert defined(reference_of("subgroupShuffleDown")(value, active, one)) == {0: [11], 1: [12], 2: [13]}
    assert defined(reference_of("subgroupShuffleUp")(value, active, huge)) == {}
    assert defined(reference_of("subgroupShuffleDown")(value, active, huge)) == {}


def test_a_shuffle_from_an_inactive_lane_is_undefined() -> None:
    value, id_ = lanes(10, 11, 12, 13, dtype=np.int32), np.array([[3, 2, 1, 0]], dtype=np.uint32)
    assert defined(reference_of("subgroupShuffle")(value, mask("1101"), id_)) == {0: [13], 3: [10]}


# Section 8.18, votes and elect


def test_all_equal_compares_floats_as_numbers() -> None:
    zeros, nans = lanes(0.0, -0.0, dtype=np.float32), lanes(np.nan, np.nan, dtype=np.float32)
    assert defined(reference_of("subgroupAllEqual")(zeros, mask("11"))) == {0: [True], 1: [True]}
    assert defined(reference_of("subgroupAllEqual")(nans, mask("11"))) == {0: [False], 1: [False]}
    assert defined(reference_of("subgroupAllEqual")(nans, mask("10"))) == {}


def test_elect_takes_the_lowest_active_lane() -> None:
    assert defined(reference_of("subgroupElect")(mask("0011"))) == {2: [True], 3: [False]}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_no_active_lane_means_nothing_is_defined(operation) -> None:
    type_ = (operation.types or (TYPES["uint"],))[0]
    active = np.zeros((2, 4), dtype=bool)
    arguments = [
        np.zeros((2, 4, type_.components), dtype=dtype_of(type_.scalar)),
        active,
        np.zeros((2, 4), np.uint32),
    ]
    if not operation.operands:
        arguments = [active]
    elif operation.group_operation == "ClusteredReduce":
        arguments[2] = 2
    assert not reference_of(operation.name)(*arguments[: len(operation.operands) + 1]).defined.any()
