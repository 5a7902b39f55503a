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
from vkgroup.base.numbers import exact_numbers
from vkgroup.check import check
from vkgroup.configuration.rules import numbers
from vkgroup.dispatch import Device
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
    "deep lists": lambda device: device.run(SHADER, 1, {"B": PLAIN}, push=[[[MASKED]]]),
    "specialization of the reference alone": lambda device: run_alone(
        device.compile(SHADER), 1, {(0, 0): PLAIN}, push=bytes(16), specialization={3: MASKED[1]}
    ),
    "check": lambda device: check(device.compile(SHADER), inputs={"B": MASKED}),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_not_lost(name: str, device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="mask"):
        MASKS[name](device)


def test_a_masked_constant_is_not_the_zero_of_a_kept_pipeline(device: Device) -> None:
    device.run(SHADER, 1, {"B": PLAIN}, push=PUSH, specialization={3: 0.0})
    with pytest.raises(InvalidDispatch, match="mask"):
        device.run(SHADER, 1, {"B": PLAIN}, push=PUSH, specialization={3: np.ma.masked})


def test_the_label_of_a_binding_stands_once_in_a_message(device: Device) -> None:
    with pytest.raises(InvalidDispatch) as refused:
        device.run(SHADER, 1, {"B": MASKED}, push=PUSH)
    assert str(refused.value).count("The binding 'B'") == 1


def test_integers_of_more_than_64_bits_are_numbers(device: Device) -> None:
    single = np.dtype(np.float32)
    assert exact_numbers([1, 2**70], single, "x").tolist() == [1.0, 2.0**70]
    assert numbers(2**70, single, "x") == np.float32(2.0**70)
    for number in (2**200, [1, -(2**200)]):
        with pytest.raises(InvalidDispatch, match="largest number"):
            exact_numbers(number, single, "x")
    with pytest.raises(InvalidDispatch, match="takes int64, but the value is"):
        exact_numbers(2**64, np.dtype(np.int64), "x")
    # Equal keys of kept pipelines would give the second run the constant of the first.
    for power in (70, 71, 72):
        result = device.run(
            SHADER,
            1,
            {"B": np.zeros(4, np.float32)},
            push={"p": 1.0, "q": (1.0, 0)},
            specialization={3: 2**power},
        )
        assert result["B"][0] == 2.0**power


@pytest.mark.parametrize(
    ("constant", "value", "message"),
    [
        (3, 1e39, "largest number"),
        (3, "a", "numbers of type"),
        (3, [1.0], "one number"),
        (4, 2**31, "int32"),
        (4, 1.5, "int32"),
    ],
)
def test_the_reference_alone_refuses_constants_that_are_not_of_the_type(
    constant: int, value: Any, message: str, device: Device
) -> None:
    source = SHADER.replace("void main", "layout(constant_id = 4) const int n = 1; void main").replace(
        "f *", "f * n *"
    )
    with pytest.raises(InvalidDispatch, match=message):
        run_alone(
            device.compile(source), 1, {(0, 0): PLAIN}, push=bytes(16), specialization={constant: value}
        )


def test_rows_of_different_lengths_are_refused(device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="push constants"):
        device.run(SHADER, 1, {"B": PLAIN}, push=[[1.0, 2.0], [3.0]])


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
