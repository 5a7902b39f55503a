"""Values that would change on their way to a shader, masks and numbers beyond a type's range, are refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup import kernels, testing
from vkgroup.base.errors import InvalidDispatch, InvalidInput
from vkgroup.check import check
from vkgroup.configuration.rules import numbers
from vkgroup.dispatch import Device
from vkgroup.dispatch.blocks import exact_numbers
from vkgroup.reference.execution import run as run_alone

SHADER = """#version 460
layout(local_size_x = 4) in;
layout(push_constant) uniform P { float p; vec2 q; };
layout(constant_id = 3) const float f = 1.5;
layout(std430, binding = 0) buffer B { float b[]; };
void main() { b[gl_LocalInvocationIndex] += f * p * q.x; }
"""
PUSH: dict[str, Any] = {"p": 1.0, "q": (1.0, 2.0)}
MASKED = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 0], dtype=np.float32)
PLAIN = np.ones(4, np.float32)


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with vkgroup.open("reference:4") as opened:
        yield opened


RULES = {"<": np.less, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}

MASKS: dict[str, Callable[[Device], Any]] = {
    "binding": lambda device: device.run(SHADER, 1, {"B": MASKED}, push=PUSH),
    "push": lambda device: device.run(SHADER, 1, {"B": PLAIN}, push={**PUSH, "q": MASKED[:2]}),
    "push as a whole": lambda device: device.run(SHADER, 1, {"B": PLAIN}, push=MASKED),
    "specialization": lambda device: device.run(
        SHADER, 1, {"B": PLAIN}, push=PUSH, specialization={3: MASKED[1]}
    ),
    "buffer": lambda device: device.buffer(MASKED),
    "write": lambda device: device.buffer(PLAIN).write(MASKED),
    "image": lambda device: device.image(np.ma.masked_array(np.ones((2, 2), np.float32))),
    "kernel": lambda device: kernels.sum(MASKED, device=device),
    "kernel of lists": lambda device: kernels.sort([MASKED, MASKED], device=device),
    "reference alone": lambda device: run_alone(device.compile(SHADER), 1, {(0, 0): MASKED}, push=bytes(16)),
    "check": lambda device: check(device.compile(SHADER), inputs={"B": MASKED}),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_not_lost(name: str, device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="mask"):
        MASKS[name](device)


def test_a_mask_of_expected_values_is_not_lost(tmp_path: Any) -> None:
    with pytest.raises(InvalidInput, match="mask"):
        testing.assert_same_at_every_size(
            SHADER, 1, {"B": PLAIN}, push=PUSH, expected={"B": MASKED}, sizes=(4,)
        )


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_floats_out_of_range_are_refused_as_integers_are(dtype: str) -> None:
    kind = np.dtype(dtype)
    most = float(np.finfo(kind).max)
    for sign, factor in itertools.product((1, -1), (1.0, 1.001, 1e30)):
        value = sign * most * factor
        given: tuple[Any, ...] = (value, [value, 1.0], np.float64(value))
        for number in given:
            if factor == 1.0:
                assert np.isfinite(exact_numbers(number, kind, "x")).all()
                assert np.isfinite(numbers(number, kind, "x")).all()
                continue
            with pytest.raises(InvalidDispatch, match="largest number"):
                exact_numbers(number, kind, "x")
            with pytest.raises(InvalidInput, match="largest number"):
                numbers(number, kind, "x")
    for number in (np.inf, -np.inf):
        assert exact_numbers(number, kind, "x") == number
    assert np.isnan(exact_numbers(np.nan, kind, "x"))


@pytest.mark.parametrize("dtype", ["u4", "i4", "i8", "u8", "f4", "f2"])
def test_count_compares_with_integers_of_any_size(dtype: str, device: Device) -> None:
    x = np.array([0, 1, 2, 100], dtype)
    for value in (2**64, -(2**64), 2**127, -(2**70)):
        for comparison, rule in RULES.items():
            with np.errstate(over="ignore"):
                wanted = np.count_nonzero(rule(x, value))
            assert kernels.count(x, comparison, value, device=device) == wanted
