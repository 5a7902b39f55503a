"""Floats of 8 bits (VK_EXT_shader_float8): encodings, conversions, matrices, and what is not allowed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from vkgroup.base.errors import InvalidModule
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference import dtypes
from vkgroup.reference.interpreter import ExecutableShader, Memory, execute
from vkgroup.spirv import grammar
from vkgroup.spirv.editor import Editor

KINDS = {"e4m3": dtypes.E4M3, "e5m2": dtypes.E5M2}
EVERY = np.arange(256, dtype=np.uint8)


def exact(kind: str, bits: int) -> Fraction | str:
    """Return the number of some bits by the table of "FP8 Formats For Deep Learning"."""
    digits, bias = {"e4m3": (3, 7), "e5m2": (2, 15)}[kind]
    sign, exponent, fraction = (
        -1 if bits & 0x80 else 1,
        bits >> digits & (0x7F >> digits),
        bits & (1 << digits) - 1,
    )
    if kind == "e4m3" and bits & 0x7F == 0x7F:
        return "nan"
    if kind == "e5m2" and exponent == 31:
        return "nan" if fraction else "-inf" if sign < 0 else "inf"
    if exponent == 0:
        return sign * Fraction(fraction, 1 << digits) * Fraction(2) ** (1 - bias)
    return sign * (1 + Fraction(fraction, 1 << digits)) * Fraction(2) ** (exponent - bias)


@pytest.mark.parametrize("kind", KINDS)
def test_every_encoding_has_its_number_and_back(kind: str) -> None:
    numbers = dtypes.decoded(KINDS[kind], EVERY)
    for bits, number in enumerate(numbers.tolist()):
        expected = exact(kind, bits)
        assert str(number) == expected if isinstance(expected, str) else Fraction(number) == expected
    finite = ~np.isnan(numbers)
    for dtype in (np.float32, np.float64):
        assert np.array_equal(dtypes.encoded(KINDS[kind], numbers.astype(dtype))[finite], EVERY[finite])
    assert np.isnan(dtypes.decoded(KINDS[kind], dtypes.encoded(KINDS[kind], numbers[~finite]))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_becomes_the_nearest_one_and_ties_become_even(kind: str) -> None:
    random = np.random.default_rng(8)
    numbers = random.uniform(-2, 2, 300) * 2.0 ** random.integers(-18, 8, 300)
    finite = [bits for bits in range(0x7C) if not isinstance(exact(kind, bits), str)]
    ties = [float((exact(kind, a) + exact(kind, a + 1)) / 2) for a in finite[:-1]]
    for number in (*numbers.tolist(), *ties):
        (bits,) = dtypes.encoded(KINDS[kind], np.array([number])).tolist()
        distances = {at: abs(Fraction(abs(number)) - exact(kind, at)) for at in finite}
        least = min(distances.values())
        nearest = [at for at, distance in distances.items() if distance == least]
        assert bits & 0x7F in nearest
        assert len(nearest) == 1 or bits % 2 == 0
        assert bits >> 7 == np.signbit(number)


@pytest.mark.parametrize(
    ("kind", "largest", "beyond", "plain"), [("e4m3", 448, 480, "nan"), ("e5m2", 57344, 65536, "inf")]
)
def test_what_is_out_of_range_saturates_or_does_not(kind, largest, beyond, plain) -> None:
    given = np.array([beyond, -beyond, np.inf, -np.inf, 1e30])
    saturated = dtypes.decoded(KINDS[kind], dtypes.encoded(KINDS[kind], given, saturated=True))
    assert saturated.tolist() == [largest, -largest, largest, -largest, largest]
    signs = ["", "-", "", "-", ""] if plain == "inf" else [""] * 5
    left = dtypes.decoded(KINDS[kind], dtypes.encoded(KINDS[kind], given))
    assert [str(number) for number in left.tolist()] == [sign + plain for sign in signs]
    assert np.isnan(
        dtypes.decoded(KINDS[kind], dtypes.encoded(KINDS[kind], np.array([np.nan]), saturated=True))
    )


# --- shaders ------------------------------------------------------------------------------------------

HEADER = """#version 460
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Small { floate4m3_t small[]; };
layout(std430, binding = 1) buffer Other { floate5m2_t other[]; };
layout(std430, binding = 2) buffer Data { float data[]; };
layout(std430, binding = 3) buffer Integers { int integers[]; };
"""


def run(body: str, *arrays: np.ndarray, size: int = 32) -> None:
    """Run a shader on the arrays of its bindings, which it changes."""
    module = compile_source(HEADER + body, stage="compute", target=TargetEnvironment.VULKAN_1_3)
    memories = [Memory(array.view(np.uint8), str(number)) for number, array in enumerate(arrays)]
    bindings = {(0, number): [memory] for number, memory in enumerate(memories)}
    outcome = execute(ExecutableShader(module), (1, 1, 1), bindings, subgroup_size=size)
    assert not outcome.events
    assert all(memory.causes is None for memory in memories)


@pytest.mark.usefixtures("tint")
def test_conversions_between_all_kinds_of_numbers() -> None:
    body = """void main() {
        uint i = gl_GlobalInvocationID.x;
        float x = data[i];
        small[i] = floate4m3_t(x);
        floate5m2_t saturated;
        saturatedConvertEXT(saturated, x);
        other[i] = i < 32u ? saturated : floate5m2_t(float16_t(x));
        data[i] = float(float16_t(small[i]));
        integers[i] = int(floate4m3_t(integers[i]));
    }"""
    x = np.linspace(-70000, 70000, 64).astype(np.float32)
    x[::2] /= 400
    integers = np.arange(-32, 32, dtype=np.int32) * 3
    small, other, data, counts = np.zeros(64, np.uint8), np.zeros(64, np.uint8), x.copy(), integers.copy()
    run(body, small, other, data, counts)
    assert np.array_equal(small, dtypes.encoded(dtypes.E4M3, x))
    assert np.array_equal(other[:32], dtypes.encoded(dtypes.E5M2, x[:32], saturated=True))
    with np.errstate(over="ignore"):
        assert np.array_equal(other[32:], dtypes.encoded(dtypes.E5M2, x[32:].astype(np.float16)))
    assert np.array_equal(data, dtypes.decoded(dtypes.E4M3, small), equal_nan=True)
    assert np.array_equal(counts, dtypes.decoded(dtypes.E4M3, dtypes.encoded(dtypes.E4M3, integers * 1.0)))


@pytest.mark.usefixtures("tint")
@pytest.mark.parametrize("size", [4, 32, 64])
def test_products_of_matrices(size: int) -> None:
    body = """void main() {
        coopmat<floate4m3_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
        coopmat<floate5m2_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
        coopMatLoad(a, small, 0u, 16u, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(b, other, 0u, 16u, gl_CooperativeMatrixLayoutColumnMajor);
        coopMatLoad(c, data, 0u, 16u, gl_CooperativeMatrixLayoutRowMajor);
        c = coopMatMulAdd(a, b, c);
        coopMatStore(c, data, 256u, 16u, gl_CooperativeMatrixLayoutRowMajor);
    }"""
    random = np.random.default_rng(1)
    a, b, c = (random.integers(-8, 9, (16, 16)).astype(np.float32) for _ in range(3))
    small, other = dtypes.encoded(dtypes.E4M3, a).ravel(), dtypes.encoded(dtypes.E5M2, b.T).ravel()
    b = dtypes.decoded(dtypes.E5M2, other).reshape(16, 16).T  # 7 has no encoding
    data = np.concatenate([c.ravel(), np.zeros(256, np.float32)])
    run(body, small, other, data, np.zeros(1, np.int32), size=size)
    assert np.array_equal(data[256:].reshape(16, 16), a @ b + c)


@pytest.mark.usefixtures("tint")
def test_arithmetic_is_refused_even_in_a_module_that_nobody_validated() -> None:
    body = "void main() { uint i = gl_GlobalInvocationID.x; data[i] = data[i] + data[i]; }"
    module = compile_source(HEADER + body, stage="compute", target=TargetEnvironment.VULKAN_1_3)
    float32 = grammar().opcodes["OpTypeFloat"]
    editor = Editor(module)
    for number, words in enumerate(editor.instructions):
        if words[0] & 0xFFFF == float32 and words[2] == 32:
            editor.instructions[number] = editor.instruction("OpTypeFloat", words[1], 8, 4214)
    with pytest.raises(InvalidModule, match="OpFAdd of floate4m3_t: SPV_EXT_float8 allows"):
        ExecutableShader(editor.rewrite({}))
