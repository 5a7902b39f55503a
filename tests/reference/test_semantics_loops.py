"""Every function of the semantics against plain loops written from the text."""

from __future__ import annotations

import warnings

import numpy as np
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import SIZES, generators, masks_of, operand_of, values_of

from vkgroup.reference.dtypes import dtype_of
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.spec.types import TYPES


def same(got, expected, dtype) -> bool:
    """Return whether two components are the same value: bit for bit, with all NaN equal."""
    expected = np.asarray(expected).astype(dtype)
    if got != got:
        return bool(expected != expected)
    return got.tobytes() == expected.tobytes()


def compare(lanes: Lanes, row: int, expected, active) -> None:
    """Assert that a subgroup's lanes are as the loop says, where both define them."""
    for lane in range(len(active)):
        if not active[lane]:
            assert not lanes.defined[row, lane].any()
            continue
        assert len(expected[lane]) == lanes.value.shape[2]
        for component, number in enumerate(expected[lane]):
            place = (row, lane, component)
            assert bool(lanes.defined[place]) == (number is not plain.UNDEFINED), place
            if number is not plain.UNDEFINED:
                assert same(lanes.value[place], number, lanes.value.dtype), (
                    place,
                    lanes.value[place],
                    number,
                )


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_function_is_what_the_loop_gives(operation, data) -> None:
    loop = plain.FUNCTIONS[operation.name]
    rng = data.draw(generators)
    type_ = data.draw(st.sampled_from(operation.types or (TYPES["uint"],)))
    shape = (data.draw(st.integers(1, 3)), data.draw(st.sampled_from(SIZES)))
    active = masks_of(rng, shape)
    value = values_of(rng, type_.scalar, (*shape, type_.components))
    arguments = [value, active] if operation.operands else [active]
    operand = None
    if len(operation.operands) > 1:
        operand = operand_of(rng, operation.operands[1].kind, shape)
        arguments.append(operand)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lanes = reference_of(operation.name)(*arguments)
    assert lanes.value.shape == lanes.defined.shape
    result = operation.result_type(type_)
    if result is not None:
        assert lanes.value.shape == (*shape, result.components)
        assert lanes.value.dtype == dtype_of(result.scalar)
    for row in range(shape[0]):
        second = operand[row].tolist() if isinstance(operand, np.ndarray) else operand
        numbers = list(value[row]) if type_.scalar.kind == "float" else value[row].tolist()
        compare(lanes, row, loop(numbers, active[row].tolist(), second, type_.scalar), active[row])


@pytest.mark.parametrize("variable", BUILTIN_VARIABLES.values(), ids=lambda variable: variable.name)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_variable_is_what_the_loop_gives(variable, data) -> None:
    loop = plain.VARIABLES[variable.name]
    rng = data.draw(generators)
    shape = (data.draw(st.integers(1, 5)), data.draw(st.sampled_from(SIZES)))
    active = masks_of(rng, shape)
    lanes = reference_of(variable.name)(active)
    assert lanes.value.dtype == dtype_of(variable.type.scalar)
    for row in range(shape[0]):
        compare(lanes, row, loop(shape[1], row, shape[0]), active[row])


@settings(max_examples=100, deadline=None)
@given(generators, st.integers(1, 4), st.integers(1, 4), st.sampled_from(SIZES))
def test_subgroups_are_counted_in_each_workgroup(rng, workgroups, count, size) -> None:
    active = masks_of(rng, (workgroups * count, size))
    number = reference_of("gl_NumSubgroups")(active, subgroups_per_workgroup=count)
    index = reference_of("gl_SubgroupID")(active, subgroups_per_workgroup=count)
    for row in range(len(active)):
        compare(number, row, plain.VARIABLES["gl_NumSubgroups"](size, row % count, count), active[row])
        compare(index, row, plain.VARIABLES["gl_SubgroupID"](size, row % count, count), active[row])


def test_no_loop_is_left_over() -> None:
    assert set(plain.FUNCTIONS) == set(OPERATIONS)
    assert set(plain.VARIABLES) == set(BUILTIN_VARIABLES)
