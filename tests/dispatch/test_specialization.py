"""Specialization constants on devices: one value for each id, and ids that a module does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device

# The sum of all values of a workgroup needs a local size of BLOCK_SIZE.
SHARED_ID = """#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint BLOCK_SIZE = 16;
layout(constant_id = 1) const uint STEP = 2;
layout(binding = 0) buffer Sums { uint sum[]; };
shared uint values[BLOCK_SIZE];
void main() {
    values[gl_LocalInvocationIndex] = STEP;
    barrier();
    if (gl_LocalInvocationIndex == 0)
        for (uint i = 0; i < BLOCK_SIZE; i++) sum[gl_WorkGroupID.x] += values[i] + gl_WorkGroupSize.x;
}"""


@pytest.mark.parametrize(
    ("given", "block", "step"),
    [
        (None, 16, 2),
        ({}, 16, 2),
        ({1: 5}, 16, 5),
        ({0: 8}, 8, 2),
        ({"BLOCK_SIZE": 4, "STEP": 1}, 4, 1),
        ({7: 9, 4294967295: 1.5, 0: 8}, 8, 2),
    ],
)
def test_one_id_has_one_value(
    device: Device, given: dict[int | str, Any] | None, block: int, step: int
) -> None:
    result = device.run(SHARED_ID, 2, {"Sums": np.zeros(2, np.uint32)}, specialization=given)
    assert result["Sums"].tolist() == [block * (step + block)] * 2


def test_a_name_that_the_module_does_not_have_is_refused(device: Device) -> None:
    message = (
        "no specialization constant 'BLOCKSIZE'. There are: BLOCK_SIZE, STEP. Did you mean 'BLOCK_SIZE'?"
    )
    with pytest.raises(InvalidDispatch) as error:
        device.run(SHARED_ID, 1, {"Sums": np.zeros(1, np.uint32)}, specialization={"BLOCKSIZE": 1})
    assert message in str(error.value)


@pytest.mark.parametrize("values", [(2, 2), (2, 3)])
def test_a_constant_that_is_given_by_id_and_by_name_is_refused(
    device: Device, values: tuple[int, int]
) -> None:
    given = dict(zip((1, "STEP"), values, strict=True))
    with pytest.raises(InvalidDispatch, match="as 1 and as 'STEP'"):
        device.run(SHARED_ID, 1, {"Sums": np.zeros(1, np.uint32)}, specialization=given)


def test_values_of_the_same_bits_and_other_types_are_different(device: Device) -> None:
    """A pipeline is kept by the values of its constants: 1.0 has the bits of the integer 0x3F800000."""
    source = """#version 450
    layout(local_size_x = 1) in;
    layout(constant_id = 0) const float VALUE = 2.0;
    layout(binding = 0) buffer Result { float result[]; };
    void main() { result[0] = VALUE; }"""
    for value in (np.uint32(0x3F800000), np.float32(1), np.int8(-1), np.uint8(255)):
        arrays = {"Result": np.zeros(1, np.float32)}
        result = device.run(source, 1, arrays, specialization={"VALUE": value})
        assert result["Result"].tolist() == [float(value)], value
