"""The legal range of Add and Mul: every order and rounding stays inside, and wrong results do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import generators

from vkgroup.base.errors import InvalidDispatch
from vkgroup.reference.precision import interval, unit_roundoff
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import OPERATIONS

DTYPES = (np.float16, np.float32, np.float64)
GROUPS = ("Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce")
EXACT = {"Add": lambda a, b: a + b, "Mul": lambda a, b: a * b}
ROUNDINGS = ("nearest", "up", "down", "zero", "away", "random")


def operate(operator, a, b, rounding, flush, rng):
    """Return a <op> b in the type of `a`, rounded to either neighbour, subnormals flushed if so asked.

    The result is found from the exact rational one, not from that of the processor.
    """
    dtype = type(a)
    tiny = np.finfo(dtype).smallest_normal
    if flush:
        a, b = (dtype(0) if abs(x) < tiny else x for x in (a, b))
    exact = EXACT[operator](Fraction(float(a)), Fraction(float(b)))
    near = nearest(exact, dtype)
    result = near
    if Fraction(float(near)) != exact:
        above = near if Fraction(float(near)) > exact else np.nextafter(near, dtype(np.inf))
        below = near if Fraction(float(near)) < exact else np.nextafter(near, dtype(-np.inf))
        toward_zero, away = (below, above) if exact > 0 else (above, below)
        choices = {"nearest": near, "up": above, "down": below, "zero": toward_zero, "away": away}
        result = choices[rounding] if rounding in choices else (above, below)[rng.integers(2)]
    return dtype(0) if flush and abs(result) < tiny else result


def nearest(exact, dtype):
    """Return a number of the type that has `exact` between it and one of its neighbours, or is it."""
    limits = np.finfo(dtype)
    if exact == 0:
        return dtype(0)
    size, exponent = abs(exact), 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, int(limits.minexp)) - int(limits.nmant))
    return dtype(float(round(exact / step) * step))


def combine(operator, numbers, rounding, flush, rng, shape):
    """Return the numbers combined in a random order: a chain, a balanced tree, or any tree."""
    numbers = [numbers[i] for i in rng.permutation(len(numbers))]
    while len(numbers) > 1:
        if shape == "chain":
            first = 0
        elif shape == "sorted":
            numbers.sort(key=abs, reverse=True)
            first = 0
        else:
            first = int(rng.integers(len(numbers) - 1))
        a, b = numbers[first], numbers.pop(first + 1)
        numbers[first] = operate(operator, a, b, rounding, flush, rng)
        if shape == "balanced":
            numbers = [*numbers[:first], *numbers[first + 1 :], numbers[first]]
    return numbers[0]


def members(group, active, lane, cluster_size):
    """Return the lanes whose values make the result of `lane`."""
    first, last = {
        "Reduce": (0, len(active)),
        "InclusiveScan": (0, lane + 1),
        "ExclusiveScan": (0, lane),
        "ClusteredReduce": (lane // cluster_size * cluster_size, (lane // cluster_size + 1) * cluster_size),
    }[group]
    return [i for i in range(first, last) if active[i]]


def operands_of(rng, dtype, size):
    """Return numbers of one of several characters, as a suite or a nuisance would choose them."""
    info = np.finfo(dtype)
    kind = rng.integers(6)
    signs = rng.choice([-1, 1], size) if rng.random() < 0.7 else np.ones(size)
    if kind == 0:
        return (signs * (1 + rng.random(size))).astype(dtype)
    if kind == 1:
        return (signs * rng.random(size) * 2.0 ** rng.integers(-8, 4, size)).astype(dtype)
    if kind == 2:
        return (signs * (1 + rng.random(size) * 4 * info.eps)).astype(dtype)
    if kind == 3:
        return np.where(rng.random(size) < 0.3, 0, signs * rng.random(size)).astype(dtype)
    if kind == 4:
        return (signs * rng.random(size) * 8).astype(dtype) * info.smallest_normal
    return np.ldexp(rng.random(size), rng.integers(info.minexp, info.maxexp, size)).astype(dtype)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ["Add", "Mul"])
@pytest.mark.parametrize("group", GROUPS)
@settings(max_examples=120, deadline=None)
@given(rng=generators, rounding=st.sampled_from(ROUNDINGS), flush=st.booleans())
def test_no_order_and_no_rounding_leaves_the_range(dtype, operator, group, rng, rounding, flush) -> None:
    size = int(rng.choice([1, 2, 4, 8, 16, 32, 64]))
    cluster_size = int(2 ** rng.integers(0, size.bit_length()))
    value = operands_of(rng, dtype, size)
    active = rng.random(size) < rng.choice([0.5, 1.0])
    low, high, defined = interval(
        operator,
        group,
        value.reshape(1, size, 1),
        active[None],
        cluster_size if group == "ClusteredReduce" else None,
    )
    assert low.dtype == high.dtype == np.float64
    for lane in np.flatnonzero(defined[0, :, 0]):
        assert active[lane]
        numbers = [value[i] for i in members(group, active, int(lane), cluster_size)]
        if not numbers:
            result = 0.0 if operator == "Add" else 1.0
        else:
            shape = rng.choice(["chain", "sorted", "balanced", "any"])
            result = float(combine(operator, numbers, rounding, flush, rng, shape))
        assert low[0, lane, 0] <= result <= high[0, lane, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ["Add", "Mul"])
@settings(max_examples=120, deadline=None)
@given(rng=generators)
def test_the_reference_function_is_within_the_range(dtype, operator, rng) -> None:
    shape = (int(rng.integers(1, 4)), int(rng.choice([4, 32, 128])), int(rng.integers(1, 5)))
    value = operands_of(rng, dtype, shape)
    active = rng.random(shape[:2]) < 0.8
    for operation in OPERATIONS.values():
        if operation.operator != operator:
            continue
        arguments = (4,) if operation.group_operation == "ClusteredReduce" else ()
        result = reference_of(operation.name)(value, active, *arguments).value
        low, high, defined = interval(operator, operation.group_operation, value, active, *arguments)
        assert ((low <= result) & (result <= high))[defined].all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ["Add", "Mul"])
def test_one_value_is_exact_and_so_is_the_identity(dtype, operator) -> None:
    value = np.array([0.1, 0.7, -0.3, 3], dtype=dtype).reshape(1, 4, 1)
    active = np.array([[False, True, False, True]])
    low, high, defined = interval(operator, "InclusiveScan", value, active)
    assert low[0, 1, 0] == high[0, 1, 0] == value[0, 1, 0]
    low, high, _ = interval(operator, "ExclusiveScan", value, active)
    assert low[0, 1, 0] == high[0, 1, 0] == (0 if operator == "Add" else 1)
    assert low[0, 3, 0] == high[0, 3, 0] == value[0, 1, 0]
    assert defined[0, :, 0].tolist() == [False, True, False, True]


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_values_have_little_more_than_the_two_neighbours(dtype) -> None:
    unit = unit_roundoff(dtype)
    pair, active = np.array([1, unit / 8], dtype=dtype).reshape(1, 2, 1), np.ones((1, 2), dtype=bool)
    low, high, _ = interval("Add", "Reduce", pair, active)
    assert 1 - 1.25 * unit < low.min() <= 1 <= 1 + unit <= high.max() < 1 + 1.5 * unit
    pair = np.array([1 + unit, 1 + unit], dtype=dtype).reshape(1, 2, 1)
    low, high, _ = interval("Mul", "Reduce", pair, active)
    assert 1 < low.min() <= 1 + 2 * unit <= 1 + 3 * unit <= high.max() < 1 + 4 * unit


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ["Add", "Mul"])
@pytest.mark.parametrize("group", ["Reduce", "InclusiveScan", "ExclusiveScan"])
def test_a_missing_or_repeated_or_exchanged_value_falls_outside(dtype, operator, group) -> None:
    # Sixteen lanes: the type with the least precision still tells one term of sixteen from their rounding.
    size = 16
    value = np.linspace(1.25, 1.75, size).astype(dtype)
    active = np.ones((1, size), dtype=bool)
    low, high, defined = interval(operator, group, value.reshape(1, size, 1), active)
    assert defined.all()
    ufunc = np.add if operator == "Add" else np.multiply
    for lane in range(3, size):
        lanes = members(group, active[0], lane, 1)
        right = value.astype(np.float64)
        for wrong in (
            right[lanes[1:]],
            right[[*lanes, lanes[-1]]],
            right[[*lanes[:-1]]],
            np.append(right[lanes], right[(lane + 1) % size]),
        ):
            result = ufunc.reduce(wrong)
            assert not low[0, lane, 0] <= result <= high[0, lane, 0]


# Not float64, to which Vulkan allows the error of float32: no order of float64 operations comes near that.
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("operator", ["Add", "Mul"])
def test_the_worst_order_comes_close_to_the_ends(dtype, operator) -> None:
    rng, size = np.random.default_rng(5), 32
    value = (1 + rng.random(size) / 4).astype(dtype)
    low, high, _ = interval(operator, "Reduce", value.reshape(1, size, 1), np.ones((1, size), dtype=bool))
    found = [
        float(combine(operator, list(value), rounding, False, rng, "sorted")) for rounding in ("down", "up")
    ]
    assert found[1] - found[0] > 0.2 * (high[0, 0, 0] - low[0, 0, 0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_no_range_holds_nothing_is_defined(dtype) -> None:
    info, active = np.finfo(dtype), np.ones((1, 4), dtype=bool)
    small = 8 * info.smallest_normal

    def defined(operator, *numbers):
        value = np.array(numbers, dtype=dtype).reshape(1, -1, 1)
        return interval(operator, "InclusiveScan", value, active).defined[0, :, 0].tolist()

    assert defined("Add", 1, np.nan, 1, 1) == [True, False, False, False]
    assert defined("Add", 1, 1, -np.inf, 1) == [True, True, False, False]
    assert defined("Mul", 1, 1, np.inf, 1) == [True, True, False, False]
    assert defined("Mul", np.inf, 1, 1, 1) == [False] * 4
    # A device may flush it to zero, which is no small relative error.
    assert defined("Mul", info.smallest_subnormal, 1, 1, 1) == [False] * 4
    # Overflow in some order, though not in every one.
    assert defined("Add", info.max, 1, -info.max, 1) == [True, False, False, False]
    assert defined("Mul", info.max, 0.5, 2, 1) == [True, False, False, False]
    # Underflow in some order; not where a zero makes the product zero in any.
    assert defined("Mul", 4, 4, small, 1 / 16) == [True, True, True, False]
    assert defined("Mul", 0, 4, small, 1 / 16) == [True, True, True, True]
    assert defined("Mul", 0, info.max / 4, 16, 1) == [True, True, False, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_lone_subnormal_may_be_flushed(dtype) -> None:
    small = np.finfo(dtype).smallest_normal / 2
    value = np.array([small, 1], dtype=dtype).reshape(1, 2, 1)
    low, high, defined = interval("Add", "InclusiveScan", value, np.ones((1, 2), dtype=bool))
    assert defined.all()
    assert low[0, 0, 0] <= 0 < small <= high[0, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=50, deadline=None)
@given(rng=generators)
def test_the_ends_of_a_product_are_those_of_exact_arithmetic(dtype, rng) -> None:
    size = 32
    value = (1 + rng.random(size) / 4).astype(dtype)
    low, high, defined = interval(
        "Mul", "InclusiveScan", value.reshape(1, size, 1), np.ones((1, size), dtype=bool)
    )
    assert defined.all()
    unit, product = Fraction(unit_roundoff(dtype)), Fraction(1)
    for lane in range(size):
        product *= Fraction(float(value[lane]))
        for end, exact in (
            (low[0, lane, 0], product * (1 - unit) ** lane),
            (high[0, lane, 0], product * (1 + unit) ** lane),
        ):
            # One step of float64, and what the ends are enlarged by to cover errors in their making.
            step, enlargement = Fraction(2) ** -51, lane * unit * Fraction(2) ** -39
            assert abs(Fraction(float(end)) - exact) <= exact * (step + enlargement)
        assert Fraction(float(low[0, lane, 0])) <= product <= Fraction(float(high[0, lane, 0]))


def test_clusters_are_apart() -> None:
    value = np.array([1, np.nan, 2, 4], dtype=np.float32).reshape(1, 4, 1)
    active = np.ones((1, 4), dtype=bool)
    low, high, defined = interval("Add", "ClusteredReduce", value, active, 2)
    assert defined[0, :, 0].tolist() == [False, False, True, True]
    assert (low[0, 2:] <= 6).all()
    assert (high[0, 2:] >= 6).all()
    assert not interval("Add", "ClusteredReduce", value, active, 8).defined.any()
    assert not interval("Add", "ClusteredReduce", value, active, 3).defined.any()


@pytest.mark.parametrize(("operator", "dtype"), [("Min", np.float32), ("Add", np.int32), ("Or", np.bool_)])
def test_an_operation_without_rounding_has_no_range(operator, dtype) -> None:
    with pytest.raises(InvalidDispatch, match="does not depend on the order"):
        interval(operator, "Reduce", np.ones((1, 4, 1), dtype=dtype), np.ones((1, 4), dtype=bool))
