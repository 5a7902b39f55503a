"""The functions of other extensions against plain loops, and the examples in their texts."""

from __future__ import annotations

import warnings

import numpy as np
import plain_extended
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import SIZES, generators, masks_of, operand_of, values_of
from test_semantics_loops import compare

from vkgroup.reference.dtypes import dtype_of
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import subset_of
from vkgroup.spec.operations import EXTENDED_OPERATIONS, OperandKind


def ballots_of(rng, shape):
    """Return ballots (subgroups, size, 4): mostly a partition, then one with a bit or a lane wrong."""
    subgroups, size = shape
    label = rng.integers(0, rng.choice([1, 2, 3, size]), shape)
    bits = label[:, :, None] == label[:, None, :]
    kind = rng.integers(4)
    if kind == 0:
        row, lane, other = rng.integers(0, [subgroups, size, size])
        bits[row, lane, other] ^= True
    elif kind == 1:
        row, lane = rng.integers(0, [subgroups, size])
        bits[row, lane] = rng.random(size) < 0.5
    words = np.zeros((*shape, 4), np.uint32)
    for place in range(size):
        words[:, :, place // 32] |= bits[:, :, place].astype(np.uint32) << np.uint32(place % 32)
    if size < 128 and rng.random() < 0.5:
        words[:, :, 3] |= np.uint32(1 << 31)  # the bit of no lane
    return words


def other_operand(rng, kind, shape):
    return ballots_of(rng, shape) if kind is OperandKind.BALLOT else operand_of(rng, kind, shape)


@pytest.mark.parametrize("operation", EXTENDED_OPERATIONS.values(), ids=lambda operation: operation.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_function_is_what_the_loop_gives(operation, data) -> None:
    loop = plain_extended.FUNCTIONS[operation.name]
    rng = data.draw(generators)
    type_ = data.draw(st.sampled_from(operation.types))
    shape = (data.draw(st.integers(1, 3)), data.draw(st.sampled_from(SIZES)))
    active = masks_of(rng, shape)
    value = values_of(rng, type_.scalar, (*shape, type_.components))
    others = [other_operand(rng, operand.kind, shape) for operand in operation.operands[1:]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lanes = reference_of(operation.name)(value, active, *others)
    result = operation.result_type(type_)
    assert lanes.value.shape == lanes.defined.shape == (*shape, result.components)
    assert lanes.value.dtype == dtype_of(result.scalar)
    for row in range(shape[0]):
        numbers = list(value[row]) if type_.scalar.kind == "float" else value[row].tolist()
        rest = [other[row].tolist() if isinstance(other, np.ndarray) else other for other in others]
        compare(lanes, row, loop(numbers, active[row].tolist(), *rest, type_.scalar), active[row])


def test_no_loop_is_left_over() -> None:
    assert set(plain_extended.FUNCTIONS) == set(EXTENDED_OPERATIONS)


# The example of NV_shader_subgroup_partitioned, section 3.8: even and odd lanes of eight


def test_the_partitioned_example_of_the_specification() -> None:
    value = np.array([[42.0, 13.0, -56.0, 0.0, 128.0, -1.0, 7.0, 3.5]], np.float32)[:, :, None]
    active = np.ones((1, 8), bool)
    ballot = np.zeros((1, 8, 4), np.uint32)
    ballot[0, 0::2, 0], ballot[0, 1::2, 0] = 0x55, 0xAA
    result = reference_of("subgroupPartitionedAddNV")(value, active, ballot)
    assert result.defined.all()
    assert result.value[0, :, 0].tolist() == [121.0, 15.5] * 4


def test_a_partition_is_judged_among_active_lanes_only() -> None:
    ballot = np.zeros((1, 4, 4), np.uint32)
    ballot[0, :, 0] = [0b0011, 0b0011, 0b0000, 0b1000]
    assert not subset_of(ballot, np.array([[True, True, True, True]]))[1].any()
    lowest, valid = subset_of(ballot, np.array([[True, True, False, True]]))
    assert valid.all()
    assert lowest[0, [0, 1, 3]].tolist() == [0, 0, 3]


def test_partitions_of_different_subgroups_do_not_mix() -> None:
    ballot = np.zeros((2, 4, 4), np.uint32)
    ballot[:, :, 0] = 0b1111
    value = np.arange(8, dtype=np.uint32).reshape(2, 4, 1)
    result = reference_of("subgroupPartitionedInclusiveAddNV")(value, np.ones((2, 4), bool), ballot)
    assert result.value[:, :, 0].tolist() == [[0, 1, 3, 6], [4, 9, 15, 22]]


# KHR_shader_subgroup_rotate, section 8.18: the lane's index plus delta, modulo gl_SubgroupSize


def test_a_rotate_wraps_around_and_a_large_delta_does_too() -> None:
    value, active = np.arange(4, dtype=np.int32).reshape(1, 4, 1), np.ones((1, 4), bool)
    for delta, expected in ((1, [1, 2, 3, 0]), (4, [0, 1, 2, 3]), (2**32 - 1, [3, 0, 1, 2])):
        words = np.full((1, 4), delta, np.uint32)
        assert reference_of("subgroupRotate")(value, active, words).value[0, :, 0].tolist() == expected
    swapped = reference_of("subgroupClusteredRotate")(value, active, np.ones((1, 4), np.uint32), 2)
    assert swapped.value[0, :, 0].tolist() == [1, 0, 3, 2]


def test_a_quad_vote_counts_active_lanes_of_the_quad() -> None:
    value = np.array([[True, False, True, True, False, False, False, True]])[:, :, None]
    active = np.array([[True, False, True, True, True, True, True, False]])
    every, some = (
        reference_of("subgroupQuadAll")(value, active),
        reference_of("subgroupQuadAny")(value, active),
    )
    assert every.value[0, [0, 2, 3, 4], 0].tolist() == [True, True, True, False]
    assert some.value[0, [0, 2, 3, 4], 0].tolist() == [True, True, True, False]
    assert (every.defined[:, :, 0] == active).all()
