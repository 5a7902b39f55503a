"""Comparisons, logic and selection against plain Python."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from by_hand import BOOL, F32, FLOATS, I8, U8, U32, call, seen, struct, undefined, value, vector

from vkgroup.reference.interpreter.values.value import Value
from vkgroup.spirv import ArrayType

RELATIONS = {
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "LessThan": operator.lt,
    "GreaterThan": operator.gt,
    "LessThanEqual": operator.le,
    "GreaterThanEqual": operator.ge,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("relation", RELATIONS)
def test_float_comparisons(relation, scalar):
    a, b = np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))
    unordered = [math.isnan(x) or math.isnan(y) for x, y in zip(a, b, strict=True)]
    holds = [RELATIONS[relation](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    ordered = call(f"OpFOrd{relation}", BOOL, (scalar, a), (scalar, b)).data
    assert ordered.tolist() == [h and not u for h, u in zip(holds, unordered, strict=True)]
    loose = call(f"OpFUnord{relation}", BOOL, (scalar, a), (scalar, b)).data
    assert loose.tolist() == [h or u for h, u in zip(holds, unordered, strict=True)]
    assert ordered.dtype == loose.dtype == np.bool_


@pytest.mark.parametrize("kinds", [(U8, U8), (I8, I8), (U8, I8), (I8, U8)], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
def test_integer_comparisons_by_instruction(relation, kinds):
    first, second = kinds
    a = np.repeat(np.arange(256, dtype=np.uint8), 256).view(first.dtype)
    b = np.tile(np.arange(256, dtype=np.uint8), 256).view(second.dtype)
    names = (
        {"uint": f"OpU{relation}", "int": f"OpS{relation}"}
        if "Than" in relation
        else {"uint": f"OpI{relation}"}
    )
    for see, name in names.items():
        found = call(name, BOOL, (first, a), (second, b)).data
        expected = [
            RELATIONS[relation](seen(x, first, see), seen(y, second, see)) for x, y in zip(a, b, strict=True)
        ]
        assert found.tolist() == expected


def test_nan_and_infinity():
    assert call("OpIsNan", BOOL, (F32, SPECIAL)).data.tolist() == [math.isnan(x) for x in SPECIAL]
    assert call("OpIsInf", BOOL, (F32, SPECIAL)).data.tolist() == [math.isinf(x) for x in SPECIAL]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("OpLogicalAnd", lambda a, b: a and b),
        ("OpLogicalOr", lambda a, b: a or b),
        ("OpLogicalEqual", lambda a, b: a == b),
        ("OpLogicalNotEqual", lambda a, b: a != b),
    ],
)
def test_logic_is_defined_where_no_undefined_value_could_change_it(name, function):
    """Each operand is false, true, or undefined (its bits being either)."""
    states = [(False, 0), (True, 0), (False, 0x8001), (True, 0x8001)]
    rows = [(a, b) for a in states for b in states]
    left, right = zip(*rows, strict=True)
    a, b = (value(BOOL, [s[0] for s in side], [s[1] for s in side]) for side in (left, right))
    found = call(name, BOOL, (BOOL, a), (BOOL, b))
    for (x, y), data, hole in zip(rows, found.data, undefined(found), strict=True):
        possible = {
            function(p, q) for p in ([x[0]] if not x[1] else [0, 1]) for q in ([y[0]] if not y[1] else [0, 1])
        }
        assert hole == (len({bool(p) for p in possible}) > 1), (x, y)
        if not hole:
            assert data == bool(next(iter(possible)))


@pytest.mark.parametrize(("name", "function"), [("OpAny", any), ("OpAll", all)])
def test_any_and_all(name, function):
    kind = vector(BOOL, 3)
    states = [(False, 0), (True, 0), (False, 0x8001), (True, 0x8001)]
    rows = [(a, b, c) for a in states for b in states for c in states]
    data = np.array([[s[0] for s in row] for row in rows]).T
    cause = np.array([[s[1] for s in row] for row in rows]).T
    found = call(name, BOOL, (kind, value(kind, data, cause)))
    for row, result, hole in zip(rows, found.data, undefined(found), strict=True):
        defined = [s[0] for s in row if not s[1]]
        unknown = len(defined) < 3
        outcomes = {function([*defined, *([x] * unknown)]) for x in (False, True)}
        assert hole == (len(outcomes) > 1), row
        if not hole:
            assert result == next(iter(outcomes))


def test_not():
    assert call("OpLogicalNot", BOOL, (BOOL, [True, False])).data.tolist() == [False, True]


def test_select_takes_the_causes_of_the_chosen_side():
    accept = value(F32, [1, 2, 3, 4], [0x8001, 0x8001, 0, 0])
    reject = value(F32, [5, 6, 7, 8], [0, 0, 0, 0x8002])
    condition = value(BOOL, [True, False, True, False])
    found = call("OpSelect", F32, (BOOL, condition), (F32, accept), (F32, reject))
    assert found.data.tolist() == [1, 6, 3, 8]
    assert found.cause.tolist() == [0x8001, 0, 0, 0x8002]
    unknown = value(BOOL, [True, False, True, False], [0, 0x8009, 0, 0])
    assert call("OpSelect", F32, (BOOL, unknown), (F32, accept), (F32, reject)).cause.tolist() == [
        0x8001,
        0x8009,
        0,
        0x8002,
    ]


def test_select_of_vectors():
    kind, flags = vector(F32, 2), vector(BOOL, 2)
    a, b = np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])
    by_component = call("OpSelect", kind, (flags, [[True, False], [False, True]]), (kind, a), (kind, b))
    assert by_component.data.tolist() == [[1, 6], [7, 4]]
    whole = call("OpSelect", kind, (BOOL, [True, False]), (kind, a), (kind, b))
    assert whole.data.tolist() == [[1, 6], [3, 8]]


def test_select_of_structures_and_arrays():
    kind = struct(F32, ArrayType(U32, 2, None))
    a = Value(
        (np.array([1.0, 2.0]), np.array([[1, 2], [3, 4]])), (None, np.array([[0x8001], [0]], np.uint16))
    )
    b = Value((np.array([9.0]), np.array([[8], [7]])), (np.array([0x8002], np.uint16), None))
    found = call("OpSelect", kind, (BOOL, [False, True]), (kind, a), (kind, b))
    assert [leaf.tolist() for leaf in found.leaves] == [[9, 2], [[8, 2], [7, 4]]]
    assert undefined(found).tolist() == [True, False]
    assert undefined(found, 1).tolist() == [[False, True], [False, False]]


def test_a_uniform_condition_chooses_without_copying():
    a, b = value(F32, [1, 2, 3]), value(F32, [4])
    assert call("OpSelect", F32, (BOOL, [True]), (F32, a), (F32, b)).data is a.data
    assert call("OpSelect", F32, (BOOL, [False]), (F32, a), (F32, b)).data is b.data
    found = call("OpSelect", F32, (BOOL, value(BOOL, [True], [0x8001])), (F32, a), (F32, b))
    assert undefined(found).all()


def test_comparison_of_undefined_operands():
    found = call("OpSLessThan", BOOL, (U32, value(U32, [1, 2], [0x8001, 0])), (U32, [0]))
    assert found.cause.tolist() == [0x8001, 0]
