"""Packing and geometry of GLSL.std.450, against `struct` and Python's `math`."""

from __future__ import annotations

import math
import struct as packing
from fractions import Fraction

import numpy as np
import pytest
from by_hand import F16, F32, F64, FLOATS, U32, call, rounded, undefined, value, vector

INF, NAN = math.inf, math.nan


def glsl(name, result, *operands):
    return call(f"GLSL.std.450 {name}", result, *operands)


FIXED = {
    "Snorm4x8": ("<4b", 127, -1),
    "Unorm4x8": ("<4B", 255, 0),
    "Snorm2x16": ("<2h", 32767, -1),
    "Unorm2x16": ("<2H", 65535, 0),
}


@pytest.mark.parametrize("name", FIXED)
def test_fixed_point(name):
    form, largest, least = FIXED[name]
    count = int(form[1])
    kind = vector(F32, count)
    rng = np.random.default_rng(9)
    data = np.concatenate([rng.uniform(-1.5, 1.5, (count, 50)), np.full((count, 1), INF)], axis=1)
    data = data.astype(np.float32)
    packed = glsl(f"Pack{name}", U32, (kind, data)).data
    assert packed.dtype == np.uint32
    for lane, word in enumerate(packed.tolist()):
        parts = packing.unpack(form, packing.pack("<I", word))
        for x, part in zip(data[:, lane].tolist(), parts, strict=True):
            assert abs(part - min(max(x, least), 1) * largest) <= 0.5 + 1e-2
    back = glsl(f"Unpack{name}", kind, (U32, packed)).data
    for lane, word in enumerate(packed.tolist()):
        parts = packing.unpack(form, packing.pack("<I", word))
        exact = [max(np.float32(part) / np.float32(largest), np.float32(-1)) for part in parts]
        assert back[:, lane].tolist() == exact
    lowest = glsl(f"Unpack{name}", kind, (U32, [0x80008000 if count == 2 else 0x80808080])).data
    assert (lowest == -1).all() if least else (lowest > 0.5).all()


def test_halves_and_doubles():
    rng = np.random.default_rng(4)
    kind = vector(F32, 2)
    data = np.concatenate([rng.standard_normal((2, 50)) * 100, [[1e-7], [65519]]], axis=1).astype(np.float32)
    packed = glsl("PackHalf2x16", U32, (kind, data)).data
    expected = [
        packing.unpack("<I", packing.pack("<2e", *(float(rounded(Fraction(float(x)), F16)) for x in column)))[
            0
        ]
        for column in data.T
    ]
    assert packed.tolist() == expected
    back = glsl("UnpackHalf2x16", kind, (U32, packed)).data
    assert back.T.tolist() == [list(packing.unpack("<2e", packing.pack("<I", word))) for word in expected]
    words = vector(U32, 2)
    halves = np.array([packing.unpack("<2I", packing.pack("<d", x)) for x in (1.5, -math.pi)]).T
    assert glsl("PackDouble2x32", F64, (words, halves)).data.tolist() == [1.5, -math.pi]
    assert glsl("UnpackDouble2x32", words, (F64, [1.5, -math.pi])).data.tolist() == halves.tolist()


def test_causes_of_packing():
    kind = vector(F32, 2)
    operand = value(kind, [[1, NAN], [1, 1]], [[0, 0], [0x8001, 0]])
    assert undefined(glsl("PackHalf2x16", U32, (kind, operand))).tolist() == [True, False]
    assert undefined(glsl("PackSnorm2x16", U32, (kind, operand))).tolist() == [True, True]
    word = value(U32, [1, 2], [0, 0x8001])
    assert undefined(glsl("UnpackUnorm2x16", kind, (U32, word))).tolist() == [[False, True]] * 2


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda s: s.glsl)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_geometry(count, scalar):
    rng = np.random.default_rng(count)
    kind = vector(scalar, count)
    x, y, z = (rng.standard_normal((count, 20)).astype(scalar.dtype) for _ in range(3))
    eta = rng.uniform(0.5, 1.6, 20).astype(scalar.dtype)
    a, b, c = (kind, x), (kind, y), (kind, z)
    length = glsl("Length", scalar, a).data
    distance = glsl("Distance", scalar, a, b).data
    unit = glsl("Normalize", kind, a).data
    facing = glsl("FaceForward", kind, a, b, c).data
    reflected = glsl("Reflect", kind, a, b).data
    refracted = glsl("Refract", kind, (kind, unit), (kind, y), (scalar, eta)).data
    tolerance = 40 * float(np.finfo(scalar.dtype).eps)
    for lane in range(20):
        p, q, r = ([float(n) for n in data[:, lane]] for data in (x, y, z))
        assert math.isclose(length[lane], math.hypot(*p), rel_tol=tolerance)
        assert math.isclose(distance[lane], math.dist(p, q), rel_tol=tolerance)
        assert np.allclose(unit[:, lane], [n / math.hypot(*p) for n in p], rtol=tolerance)
        sign = 1 if sum(m * n for m, n in zip(r, q, strict=True)) < 0 else -1
        assert facing[:, lane].tolist() == [sign * n for n in p]
        twice = 2 * sum(m * n for m, n in zip(q, p, strict=True))
        assert np.allclose(
            reflected[:, lane], [n - twice * m for n, m in zip(p, q, strict=True)], atol=tolerance * 20
        )
        incident, ratio = [float(n) for n in unit[:, lane]], float(eta[lane])
        cosine = sum(m * n for m, n in zip(q, incident, strict=True))
        k = 1 - ratio * ratio * (1 - cosine * cosine)
        slope = ratio * cosine + math.sqrt(max(k, 0))
        bent = [ratio * i - slope * n for i, n in zip(incident, q, strict=True)]
        if abs(k) > 50 * tolerance:
            assert np.allclose(refracted[:, lane], bent if k > 0 else 0, atol=tolerance * 100)


def test_geometry_of_scalars():
    assert glsl("Length", F32, (F32, [-3, 4])).data.tolist() == [3, 4]
    assert glsl("Distance", F32, (F32, [1, 2]), (F32, [4, 2])).data.tolist() == [3, 0]
    assert glsl("Normalize", F32, (F32, [-5, 2])).data.tolist() == [-1, 1]
    assert glsl("FaceForward", F32, (F32, [1, 1]), (F32, [1, -1]), (F32, [1, 1])).data.tolist() == [-1, 1]
    assert glsl("Reflect", F32, (F32, [1, 2]), (F32, [1, 1])).data.tolist() == [-1, -2]
    assert glsl("Refract", F32, (F32, [1]), (F32, [1]), (F32, [1])).data.shape == (1,)


def test_cross():
    kind = vector(F32, 3)
    x, y = np.array([[1], [2], [3]]), np.array([[4], [5], [7]])
    found = glsl("Cross", kind, (kind, value(kind, x, [[0x8001], [0], [0]])), (kind, y))
    assert found.data.ravel().tolist() == np.cross(x.ravel(), y.ravel()).tolist()
    assert undefined(found).ravel().tolist() == [False, True, True]


def test_causes_of_geometry():
    kind = vector(F32, 2)
    x = value(kind, [[1, 1], [1, 1]], [[0x8001, 0], [0, 0]])
    assert undefined(glsl("Length", F32, (kind, x))).tolist() == [True, False]
    assert undefined(glsl("Reflect", kind, (kind, x), (kind, x))).tolist() == [[True, False]] * 2
    facing = glsl("FaceForward", kind, (kind, x), (kind, [[1], [1]]), (kind, [[1], [1]]))
    assert undefined(facing).tolist() == [[True, False], [False, False]]
    eta = value(F32, [1, 1], [0, 0x8002])
    assert (
        undefined(glsl("Refract", kind, (kind, [[1], [0]]), (kind, [[1], [0]]), (F32, eta))).tolist()
        == [[False, True]] * 2
    )
    assert undefined(glsl("Normalize", kind, (kind, [[0, 1], [0, 0]]))).tolist() == [[True, False]] * 2


def test_uniform_operands_give_a_uniform_result():
    kind = vector(F32, 3)
    uniform = np.ones((3, 1))
    arities = {"Normalize": 1, "Cross": 2, "FaceForward": 3, "FMix": 3, "FClamp": 3, "Sin": 1}
    for name, operands in arities.items():
        assert glsl(name, kind, *[(kind, uniform)] * operands).data.shape == (3, 1), name
    for name, kinds in (("PackHalf2x16", vector(F32, 2)), ("UnpackUnorm4x8", U32), ("FindUMsb", U32)):
        result = {"UnpackUnorm4x8": vector(F32, 4)}.get(name, U32)
        operand = np.ones((2, 1)) if kinds is not U32 else [1]
        assert glsl(name, result, (kinds, operand)).data.shape[-1] == 1
