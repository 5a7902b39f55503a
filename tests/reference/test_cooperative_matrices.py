"""Cooperative matrices on the reference device: the product, bfloat16, and undefined results."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import Unsupported
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference import dtypes
from vkgroup.reference.interpreter import ExecutableShader, Memory, execute
from vkgroup.reference.semantics.cooperative import multiply_add

HEADER = """#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#pragma use_vulkan_memory_model
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { float data[]; };
#define M coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define ROWS gl_CooperativeMatrixLayoutRowMajor
"""


def interpret(body: str, size: int = 32, groups: int = 1):
    module = compile_source(HEADER + body, stage="compute", target=TargetEnvironment.VULKAN_1_2)
    data = np.arange(4 * 256, dtype=np.float32)
    memory = Memory(data.view(np.uint8), "data")
    outcome = execute(ExecutableShader(module), (groups, 1, 1), {(0, 0): [memory]}, subgroup_size=size)
    return data, outcome, memory


def plain(a, b, c, bits, signed, saturating):
    """Return a product element by element, in Python's integers."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    rows = []
    for i in range(len(a)):
        row = []
        for j in range(len(b[0])):
            product = sum(int(a[i][k]) * int(b[k][j]) for k in range(len(b)))
            total = product + int(c[i][j])
            if saturating:
                row.append(min(max(total, low), high) if low <= product <= high else None)
            else:
                row.append((total - low) % 2**bits + low)
        rows.append(row)
    return rows


@pytest.mark.parametrize("saturating", [False, True])
@pytest.mark.parametrize(
    "types", [("i1", "i1", "i4"), ("u1", "i1", "i4"), ("u1", "u1", "u4"), ("i4", "i4", "i4")]
)
def test_integer_products_are_those_of_pythons_integers(types, saturating) -> None:
    random = np.random.default_rng(3)
    a, b, c = (
        random.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)
        for kind, shape in zip(types, ((3, 5), (5, 4), (3, 4)), strict=True)
    )
    c[0] = np.iinfo(types[2]).max
    c[1] = np.iinfo(types[2]).min
    result = multiply_add(a, b, c, np.dtype(types[2]), saturating=saturating)
    signed = types[2][0] == "i"
    for row, wanted in enumerate(plain(a, b, c, 32, signed, saturating)):
        for column, number in enumerate(wanted):
            assert result.defined[row, column] == (number is not None)
            assert number is None or result.value[row, column] == number


def test_bfloat16_is_the_nearest_of_its_numbers() -> None:
    random = np.random.default_rng(4)
    numbers = np.ldexp(random.uniform(-2, 2, 2000), random.integers(-20, 20, 2000))
    numbers = np.concatenate([numbers, [1.00390625, 1.01171875, -1.00390625, 0.0, 1 + 2.0**-8 + 2.0**-40]])
    bits = np.arange(1 << 16, dtype=np.uint16)
    every = np.sort(dtypes.widened(bits[bits >> 7 & 0xFF != 0xFF]).astype(np.float64))
    for kind in (np.float32, np.float64):
        given = numbers.astype(kind)
        result = dtypes.widened(dtypes.rounded(given)).astype(np.float64)
        for number, one in zip(given.tolist(), result.tolist(), strict=True):
            at = int(np.searchsorted(every, number))
            near = every[max(0, at - 2) : at + 3]
            least = min(abs(Fraction(number) - Fraction(other)) for other in near.tolist())
            assert abs(Fraction(number) - Fraction(one)) == least
    ties = dtypes.rounded(np.array([1.00390625, 1.01171875], np.float32))
    assert ties.tolist() == [0x3F80, 0x3F82]
    assert np.isnan(dtypes.widened(dtypes.rounded(np.array([np.nan], np.float32)))).all()
    assert np.isposinf(dtypes.widened(dtypes.rounded(np.array([3.4e38], np.float32)))).all()


@pytest.mark.parametrize("size", [1, 4, 32, 64])
def test_a_matrix_is_dealt_out_in_every_size(size: int) -> None:
    body = """void main() {
        M m;
        if (gl_SubgroupID == 0u) {
            coopMatLoad(m, data, 0u, 16u, ROWS);
            for (int i = 0; i < m.length(); ++i) m[i] = m[i] + 1.0;
            coopMatStore(m, data, 256u, 16u, gl_CooperativeMatrixLayoutColumnMajor);
        }
    }"""
    data, outcome, _ = interpret(body, size)
    assert not outcome.events
    assert np.array_equal(data[256:512].reshape(16, 16).T, np.arange(256).reshape(16, 16) + 1)


def test_a_part_of_a_subgroup_leaves_its_store_undefined() -> None:
    whole = (
        "void main() { M m; coopMatLoad(m, data, 0u, 16u, ROWS); %s coopMatStore(m, data, 256u, 16u, ROWS); }"
    )
    assert interpret(whole % "")[2].causes is None
    _, _, memory = interpret(whole % "if (gl_SubgroupInvocationID < 5u)")
    assert memory.causes is not None
    assert memory.causes[256:512].any()


def test_a_stride_that_differs_between_lanes_is_undefined() -> None:
    body = """void main() {
        M m;
        coopMatLoad(m, data, 0u, 16u + gl_SubgroupInvocationID % 2u, ROWS);
        coopMatStore(m, data, 256u, 16u, ROWS);
    }"""
    _, _, memory = interpret(body)
    assert memory.causes is not None
    assert memory.causes[256:512].all()


def test_matrices_of_a_workgroup_are_refused() -> None:
    body = """void main() {
        coopmat<float, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseAccumulator> m;
        coopMatLoad(m, data, 0u, 16u, ROWS);
    }"""
    with pytest.raises(Unsupported, match="of scope Subgroup, not of scope 2"):
        interpret(body)


def test_an_uneven_matrix_is_refused_where_it_is_executed() -> None:
    body = """void main() {
        coopmat<float, gl_ScopeSubgroup, 4, 4, gl_MatrixUseAccumulator> m;
        coopMatLoad(m, data, 0u, 16u, ROWS);
    }"""
    with pytest.raises(Unsupported, match="4 × 4 elements in subgroups of 32"):
        interpret(body)


def test_the_reference_device_lists_what_it_executes() -> None:
    with vkgroup.open("reference:8") as device:
        rows = device.capabilities.cooperative_matrices
        assert device.capabilities.cooperative_matrix_stages == ("compute",)
    assert {row.scope for row in rows} == {"SUBGROUP"}
    for row in rows:
        assert all(count % 128 == 0 for count in (row.m * row.n, row.m * row.k, row.k * row.n))


@pytest.mark.parametrize(("elements", "start"), [(256, 0), (256, 1), (255, 0), (272, 16), (272, 17)])
def test_a_matrix_does_not_reach_into_the_shared_memory_of_another_workgroup(
    elements: int, start: int
) -> None:
    body = f"""shared float part[{elements}];
    void main() {{
        for (uint i = gl_LocalInvocationIndex; i < {elements}u; i += 64u) part[i] = float(i);
        barrier();
        M m; coopMatLoad(m, part, {start}, 16, ROWS);
        if (gl_SubgroupID == 0u) coopMatStore(m, data, 256u * gl_WorkGroupID.x, 16, ROWS);
    }}"""
    _, outcome, _ = interpret(body, groups=3)
    found = [(event.kind, event.message) for event in outcome.events if event.kind == "bounds"]
    size = -(-4 * elements // 16) * 16
    expected = [("bounds", f"an access outside of part, which has {size} bytes")]
    assert found == (expected if start + 256 > elements else [])
