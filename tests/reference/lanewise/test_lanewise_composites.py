"""Composites against nested Python lists: data, and causes of each component."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import F32, F64, I32, U8, U32, call, matrix, struct, undefined, value, vector

from vkgroup.reference.interpreter.operations.lanewise.composites import locate
from vkgroup.reference.interpreter.values.value import HARD, Value, leaves_of
from vkgroup.spirv import ArrayType

INNER = struct(F32, vector(U32, 2))
OUTER = struct(ArrayType(INNER, 3, None), matrix(F32, 2, 3), I32)
N = 4


def filled(kind, seed=0, causes=True):
    """Make a value of distinct numbers whose causes say, as distinctly, where they came from."""
    leaves, marks, start = [], [], seed
    for leaf in leaves_of(kind):
        size = int(np.prod(leaf.dims, dtype=int)) * N
        data = np.arange(start, start + size).reshape(*leaf.dims, N)
        leaves.append(data.astype(leaf.scalar.dtype))
        marks.append((data + HARD).astype(np.uint16) if causes else None)
        start += size
    return Value(tuple(leaves), tuple(marks))


def consistent(result):
    """Return whether every component of a `filled` value still has its own cause."""
    return all(
        (np.broadcast_to(cause, leaf.shape) == (leaf.astype(np.int64) + HARD)).all()
        for leaf, cause in zip(result.leaves, result.causes, strict=True)
    )


PATHS = [(0,), (0, 1), (0, 2, 0), (0, 2, 1), (0, 2, 1, 1), (1,), (1, 1), (1, 1, 2), (2,)]


def expected_leaves(whole, path):
    """Return the arrays of a part, by the layout of values alone."""
    first = {0: whole.leaves[:2], 1: whole.leaves[2:3], 2: whole.leaves[3:]}[path[0]]
    rest = path[1:]
    if path[0] == 0 and len(rest) > 1:
        return [leaf[(rest[0], *rest[2:])] for leaf in first[rest[1] : rest[1] + 1]]
    return [leaf[rest] for leaf in first]


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_extract_and_insert_follow_a_path(path):
    whole = filled(OUTER)
    part = locate(OUTER, path)
    result = call("OpCompositeExtract", part.type, (OUTER, whole), literals=path)
    assert [leaf.tolist() for leaf in result.leaves] == [
        leaf.tolist() for leaf in expected_leaves(whole, path)
    ]
    assert consistent(result)
    other = filled(part.type, 500)
    changed = call("OpCompositeInsert", OUTER, (part.type, other), (OUTER, whole), literals=path)
    assert consistent(changed)
    back = call("OpCompositeExtract", part.type, (OUTER, changed), literals=path)
    assert [leaf.tolist() for leaf in back.leaves] == [leaf.tolist() for leaf in other.leaves]
    before, after = ([leaf.ravel() for leaf in v.leaves] for v in (whole, changed))
    differing = sum(int((x != y).sum()) for x, y in zip(before, after, strict=True))
    assert differing == sum(leaf.size for leaf in other.leaves)


def test_insert_makes_a_uniform_composite_varying():
    kind = vector(F32, 2)
    result = call("OpCompositeInsert", kind, (F32, [1, 2, 3]), (kind, [[7], [8]]), literals=(1,))
    assert result.data.tolist() == [[7, 7, 7], [1, 2, 3]]
    undefined_whole = value(kind, [[7], [8]], [[0x8001], [0x8001]])
    result = call("OpCompositeInsert", kind, (F32, [1, 2]), (kind, undefined_whole), literals=(0,))
    assert undefined(result).tolist() == [[False, False], [True, True]]


def test_construct_vectors_of_scalars_and_vectors():
    pair, four = vector(F32, 2), vector(F32, 4)
    result = call("OpCompositeConstruct", four, (F32, [1, 2]), (pair, [[3], [4]]), (F32, [5]))
    assert result.data.tolist() == [[1, 2], [3, 3], [4, 4], [5, 5]]
    assert result.data.dtype == np.float32
    marked = value(pair, [[3], [4]], [[0], [0x8001]])
    result = call("OpCompositeConstruct", four, (F32, [1, 2]), (pair, marked), (F32, [5]))
    assert undefined(result)[:, 0].tolist() == [False, False, True, False]
    whole_cause = value(pair, [[3, 3], [4, 4]], [0, 0x8001])
    result = call("OpCompositeConstruct", four, (F32, [1, 2]), (pair, whole_cause), (F32, [5]))
    assert undefined(result).tolist() == [[False, False], [False, True], [False, True], [False, False]]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (matrix(F64, 3, 2), [vector(F64, 2)] * 3),
        (ArrayType(U32, 3, None), [U32] * 3),
        (ArrayType(INNER, 2, None), [INNER] * 2),
        (INNER, [F32, vector(U32, 2)]),
        (OUTER, [ArrayType(INNER, 3, None), matrix(F32, 2, 3), I32]),
    ],
    ids=["matrix", "array", "array of structures", "structure", "nested structure"],
)
def test_construct_and_take_apart(kind, parts):
    values = [filled(part, 200 * number) for number, part in enumerate(parts)]
    whole = call("OpCompositeConstruct", kind, *zip(parts, values, strict=True))
    assert [leaf.shape for leaf in whole.leaves] == [(*leaf.dims, N) for leaf in leaves_of(kind)]
    assert consistent(whole)
    for number, (part, original) in enumerate(zip(parts, values, strict=True)):
        result = call("OpCompositeExtract", part, (kind, whole), literals=(number,))
        assert [leaf.tolist() for leaf in result.leaves] == [leaf.tolist() for leaf in original.leaves]


def test_construct_of_defined_values_has_no_causes():
    result = call("OpCompositeConstruct", vector(F32, 2), (F32, [1]), (F32, [2]))
    assert result.cause is None
    assert result.data.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    "literals", [(0, 1), (1, 2), (2, 0), (3, 4), (0, 0, 4, 1), (4, 3, 2), (2, 0xFFFFFFFF, 3)]
)
def test_shuffle(literals):
    three, two = vector(U32, 3), vector(U32, 2)
    a, b = filled(three), filled(two, 100)
    result = call("OpVectorShuffle", vector(U32, len(literals)), (three, a), (two, b), literals=literals)
    both = [*a.data.tolist(), *b.data.tolist()]
    for place, literal in enumerate(literals):
        if literal == 0xFFFFFFFF:
            assert undefined(result)[place].all()
        else:
            assert result.data[place].tolist() == both[literal]
            assert result.cause[place].tolist() == [x + HARD for x in both[literal]]


def test_shuffle_of_defined_vectors():
    kind = vector(U32, 2)
    result = call("OpVectorShuffle", kind, (kind, [[1], [2]]), (kind, [[3, 4], [5, 6]]), literals=(3, 0))
    assert result.data.tolist() == [[5, 6], [1, 1]]
    assert result.cause is None
    result = call("OpVectorShuffle", kind, (kind, [[1], [2]]), (kind, [[3], [4]]), literals=(0, 0xFFFFFFFF))
    assert undefined(result).tolist() == [[False], [True]]


@pytest.mark.parametrize("index_type", [U32, I32, U8], ids=lambda s: s.glsl)
def test_dynamic_components(index_type):
    kind = vector(F32, 3)
    vec, places = filled(kind), [2, 0, 1, 7]
    result = call("OpVectorExtractDynamic", F32, (kind, vec), (index_type, places))
    assert result.data[:3].tolist() == [vec.data[2, 0], vec.data[0, 1], vec.data[1, 2]]
    assert result.cause[:3].tolist() == [int(x) + HARD for x in result.data[:3]]
    defined = call("OpVectorExtractDynamic", F32, (kind, vec.data), (index_type, places))
    assert undefined(defined).tolist() == [False, False, False, True]
    written = call("OpVectorInsertDynamic", kind, (kind, vec.data), (F32, [90]), (index_type, places))
    expected = vec.data.copy()
    for lane, place in enumerate(places[:3]):
        expected[place, lane] = 90
    assert written.data[:, :3].tolist() == expected[:, :3].tolist()
    assert undefined(written).tolist() == [[False, False, False, True]] * 3


def test_dynamic_components_at_negative_and_uniform_places():
    kind = vector(F32, 3)
    result = call("OpVectorExtractDynamic", F32, (kind, [[1], [2], [3]]), (I32, [-1, 1]))
    assert undefined(result).tolist() == [True, False]
    assert result.data[1] == 2
    vec = filled(kind)
    result = call("OpVectorExtractDynamic", F32, (kind, vec), (U32, [1]))
    assert result.data.tolist() == vec.data[1].tolist()
    assert consistent(result)


def test_causes_of_dynamic_components():
    kind = vector(F32, 2)
    vec = value(kind, [[1, 2], [3, 4]], [[0x8001, 0], [0, 0x8001]])
    result = call("OpVectorExtractDynamic", F32, (kind, vec), (U32, [1, 0]))
    assert not undefined(result).any()
    result = call("OpVectorInsertDynamic", kind, (kind, vec), (F32, [9]), (U32, [0, 0]))
    assert undefined(result).tolist() == [[False, False], [False, True]]
    unknown = value(U32, [0, 1], [0x8002, 0])
    result = call("OpVectorInsertDynamic", kind, (kind, [[1], [2]]), (F32, [9]), (U32, unknown))
    assert undefined(result).tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize("name", ["OpCopyObject", "OpCopyLogical"])
def test_copies(name):
    whole = filled(OUTER)
    assert call(name, OUTER, (OUTER, whole)) is whole
