"""Reductions, conversions and functions of elements of cooperative matrices on the reference device."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from vkgroup.base.errors import InvalidModule, NotValidated, Unsupported
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference.interpreter import ExecutableShader, Memory, execute
from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor

pytestmark = pytest.mark.usefixtures("tint")  # for the current glslang beside it

HEADER = """#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_spirv_intrinsics : require
#pragma use_vulkan_memory_model
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { float data[]; };
#define MATRIX(ROWS, COLUMNS, USE) coopmat<float, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUse##USE>
#define C MATRIX(16, 8, Accumulator)
#define LOAD(m) coopMatLoad(m, data, 0u, 8u, gl_CooperativeMatrixLayoutRowMajor)
#define STORE(m, stride) coopMatStore(m, data, 256u, stride, gl_CooperativeMatrixLayoutRowMajor)
float add(const in float a, const in float b) { return a + b; }
float larger(const in float a, const in float b) { if (a > b) return a; return b; }
float minus(const in float a, const in float b) { return a - b; }
spirv_instruction(extensions = ["SPV_EXT_cooperative_matrix_maintenance1"], capabilities = [5438], id = 5363)
uvec2 coordinate(C m, uint i);
"""
INPUT = np.random.default_rng(8).permutation(128).astype(np.float32).reshape(16, 8)
SIZES = [1, 4, 32, 64]


def compiled(body: str) -> Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotValidated)
        return compile_source(HEADER + body, stage="compute", target=TargetEnvironment.VULKAN_1_3)


def run(module: Module, size: int) -> tuple[np.ndarray, Memory, tuple]:
    data = np.zeros(512, np.float32)
    data[:128] = INPUT.ravel()
    memory = Memory(data.view(np.uint8), "data")
    outcome = execute(ExecutableShader(module), (1, 1, 1), {(0, 0): [memory]}, subgroup_size=size)
    return data[256:], memory, outcome.events


def result(body: str, size: int, rows: int, columns: int) -> np.ndarray:
    """Return the matrix that a shader without findings stores."""
    output, memory, events = run(compiled(body), size)
    assert not events
    assert memory.causes is None
    return output[: rows * columns].reshape(rows, columns)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("function", "reduce"), [("add", np.sum), ("larger", np.max)])
@pytest.mark.parametrize(
    ("mode", "axis", "rows", "columns"),
    [("Row", 1, 16, 16), ("Column", 0, 32, 8), ("RowAndColumn", (0, 1), 16, 16)],
)
def test_a_reduction_combines_rows_columns_or_all(mode, axis, rows, columns, function, reduce, size) -> None:
    body = f"""void main() {{
        C m; LOAD(m); MATRIX({rows}, {columns}, Accumulator) r;
        coopMatReduceNV(r, m, gl_CooperativeMatrixReduce{mode}NV, {function});
        STORE(r, {columns}u);
    }}"""
    expected = np.broadcast_to(reduce(INPUT, axis=axis, keepdims=True), (rows, columns))
    assert np.array_equal(result(body, size, rows, columns), expected)


@pytest.mark.parametrize("size", [4, 32])
def test_a_reduction_of_neighbourhoods_halves_both_dimensions(size: int) -> None:
    body = """void main() {
        C m; LOAD(m); MATRIX(8, 4, Accumulator) r;
        coopMatReduceNV(r, m, gl_CooperativeMatrixReduce2x2NV, larger);
        STORE(r, 4u);
    }"""
    assert np.array_equal(result(body, size, 8, 4), INPUT.reshape(8, 2, 4, 2).max(axis=(1, 3)))


def test_the_result_of_a_function_that_is_not_associative_depends_on_the_size() -> None:
    body = """void main() {
        C m; LOAD(m); C r;
        coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, minus);
        STORE(r, 8u);
    }"""
    results = [result(body, size, 16, 8) for size in SIZES]
    assert len({each.tobytes() for each in results}) == len(SIZES)


@pytest.mark.parametrize("size", SIZES)
def test_a_function_of_elements_gets_rows_columns_matrices_and_values(size: int) -> None:
    body = """
    float f(const in uint32_t row, const in uint32_t column, const in float x, const in float y,
            const in int k) {
        if (row == column) return data[row] * float(k);
        for (uint i = 0u; i < column; ++i) if (i + 2u == column) return x - 1000.0 * float(row);
        return x + y;
    }
    void main() { C m; LOAD(m); C twice = m + m; C r; coopMatPerElementNV(r, m, f, twice, 7); STORE(r, 8u); }
    """
    row, column = np.indices((16, 8))
    expected = np.where(column >= 2, INPUT - 1000 * row, 3 * INPUT)
    expected = np.where(row == column, INPUT.ravel()[row] * 7, expected)
    assert np.array_equal(result(body, size, 16, 8), expected)


def test_an_undefined_element_stays_alone() -> None:
    body = """
    float f(const in uint32_t row, const in uint32_t column, const in float x) {
        float undefined;
        return row == 3u && column == 5u ? undefined : x;
    }
    void main() {
        C m; LOAD(m); C r; coopMatPerElementNV(r, m, f);
        MATRIX(16, 4, Accumulator) s; coopMatReduceNV(s, r, gl_CooperativeMatrixReduceRowNV, add);
        if (gl_SubgroupID == 0u) STORE(s, 4u);
    }"""
    _, memory, _ = run(compiled(body), 32)
    assert memory.causes is not None
    undefined = memory.causes[256 : 256 + 64].reshape(16, 4) > 0
    assert undefined[3].all()
    assert not np.delete(undefined, 3, axis=0).any()


def test_a_part_of_a_subgroup_gets_undefined_elements() -> None:
    body = """void main() {
        C m; LOAD(m); C r = m;
        if (gl_SubgroupInvocationID < 5u) coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, add);
        STORE(r, 8u);
    }"""
    _, memory, _ = run(compiled(body), 32)
    assert memory.causes is not None


@pytest.mark.parametrize("size", SIZES)
def test_a_conversion_of_use_keeps_the_elements(size: int) -> None:
    body = """void main() {
        C m; LOAD(m); MATRIX(16, 8, A) a = MATRIX(16, 8, A)(m); STORE(a, 8u);
    }"""
    assert np.array_equal(result(body, size, 16, 8), INPUT)


@pytest.mark.parametrize("size", SIZES)
def test_a_conversion_to_b_may_transpose(size: int) -> None:
    body = "void main() { C m; LOAD(m); MATRIX(8, 16, B) b; coopMatTransposeNV(b, m); STORE(b, 16u); }"
    assert np.array_equal(result(body, size, 8, 16), INPUT.T)


@pytest.mark.parametrize("size", SIZES)
def test_coordinates_name_the_elements(size: int) -> None:
    body = """void main() {
        C m; LOAD(m);
        for (uint i = 0u; i < m.length(); ++i) {
            uvec2 at = coordinate(m, i);
            m[i] += 1000.0 * float(at.x * 8u + at.y);
        }
        STORE(m, 8u);
    }"""
    assert np.array_equal(result(body, size, 16, 8), INPUT + 1000 * np.arange(128).reshape(16, 8))


def test_an_index_beyond_the_components_has_no_coordinate() -> None:
    body = """void main() {
        C m; LOAD(m);
        uint index = m.length() + gl_LocalInvocationIndex % 2u - 1u;
        data[256u + gl_LocalInvocationIndex] = float(coordinate(m, index).x);
    }"""
    _, memory, _ = run(compiled(body), 32)
    assert memory.causes is not None
    assert (memory.causes[256:320] > 0).tolist() == [False, True] * 32


# --- EXT_cooperative_matrix_maintenance1 by words ------------------------------------------------------


def changed(module: Module, capability: int, decorated: str = "") -> Module:
    """Return a module with another capability for conversions, and with transposing instructions."""
    codes, editor = grammar().opcodes, Editor(module)
    for words in editor.instructions:
        if words[:2] == [2 << 16 | codes["OpCapability"], 5431]:
            words[1] = capability
        if decorated and words[0] & 0xFFFF == codes[decorated]:
            editor.decorate(words[2], 5440)
    return editor.rewrite({})


BACK = "void main() { MATRIX(16, 8, A) a; LOAD(a); C c = C(a); STORE(c, 8u); }"
SQUARE_BACK = """void main() {
    MATRIX(16, 16, A) a; LOAD(a);
    MATRIX(16, 16, Accumulator) c = MATRIX(16, 16, Accumulator)(a); STORE(c, 16u);
}"""
TURN = "void main() { MATRIX(16, 16, Accumulator) m; LOAD(m); SQUARE a = SQUARE(m); STORE(a, 16u); }"
TURN = TURN.replace("SQUARE", "MATRIX(16, 16, A)")


def test_ext_converts_back_to_the_accumulator() -> None:
    output, memory, events = run(changed(compiled(BACK), 5429), 32)
    assert not events
    assert memory.causes is None
    assert np.array_equal(output[:128].reshape(16, 8), INPUT)


@pytest.mark.parametrize("size", SIZES)
def test_a_decorated_conversion_transposes(size: int) -> None:
    module = changed(compiled(TURN), 5429, "OpCooperativeMatrixConvertUseEXT")
    loaded = np.concatenate([INPUT.ravel()[8 * row : 8 * row + 16] for row in range(15)])
    output, memory, _ = run(module, size)
    assert memory.causes is None
    assert np.array_equal(output.reshape(16, 16).T[:15].ravel(), loaded)


# --- what is invalid ----------------------------------------------------------------------------------

MAP = "void main() { C m; LOAD(m); C r; coopMatPerElementNV(r, m, f); STORE(r, 8u); }"
SCALED = "float f(const in uint32_t r, const in uint32_t c, const in float x) { return x * %s; }"


@pytest.mark.parametrize(
    ("capability", "body", "decorated", "message"),
    [
        (5431, BACK, "", "needs CooperativeMatrixConversionsEXT"),
        (1, TURN, "", "needs CooperativeMatrixConversionsEXT"),
        (5429, SQUARE_BACK, "OpCooperativeMatrixConvertUseEXT", "must go from the accumulator"),
        (5429, BACK, "OpCooperativeMatrixConvertUseEXT", "8 rows and 16 columns"),
    ],
)
def test_conversions_are_refused_by_their_rule(capability, body, decorated, message) -> None:
    with pytest.raises(InvalidModule, match=message):
        run(changed(compiled(body), capability, decorated), 32)


def test_a_called_function_may_not_need_other_invocations() -> None:
    body = "#extension GL_KHR_shader_subgroup_arithmetic : require\n" + SCALED % "subgroupAdd(x)" + MAP
    with pytest.raises(InvalidModule, match="executes OpGroupNonUniformFAdd, but tangled instructions"):
        run(compiled(body), 32)


def replaced(module: Module, name: str, index: int, value: int) -> Module:
    """Return a module with another word in the instructions of a name."""
    editor = Editor(module)
    for words in editor.instructions:
        if words[0] & 0xFFFF == grammar().opcodes[name]:
            words[index] = value
    return editor.rewrite({})


@pytest.mark.parametrize(
    ("mode", "message"), [(3, ""), (5, "the mode must be"), (2, ""), (4, "2x2 must halve")]
)
def test_modes_of_reductions_are_refused_by_their_rule(mode: int, message: str) -> None:
    body = """void main() { C m; LOAD(m); C r;
        coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, add); STORE(r, 8u); }"""
    module = replaced(compiled(body), "OpCooperativeMatrixReduceEXT", 4, mode)
    if not message:
        assert not run(module, 32)[2]
        return
    with pytest.raises(InvalidModule, match=message):
        run(module, 32)


def test_a_reduction_needs_a_function_of_two_elements() -> None:
    body = SCALED % "2.0" + "void main() { C m; LOAD(m); C r; coopMatReduceNV(r, m, 1, add);"
    module = compiled(
        body
        + "coopMatPerElementNV(m, m, f); STORE(r + m, 8u); }".replace("STORE(r + m", "C s = r + m; STORE(s")
    )
    called = next(entry for entry in module.instructions if entry.name.endswith("PerElementOpEXT")).operands[
        1
    ]
    with pytest.raises(InvalidModule, match="two parameters of type float"):
        run(replaced(module, "OpCooperativeMatrixReduceEXT", 5, called), 32)
    combining = next(entry for entry in module.instructions if entry.name.endswith("ReduceEXT")).operands[2]
    with pytest.raises(InvalidModule, match="must begin with two 32-bit integers"):
        run(replaced(module, "OpCooperativeMatrixPerElementOpEXT", 4, combining), 32)


def test_tensor_addressing_is_refused_by_name() -> None:
    body = """void main() {
        MATRIX(16, 16, Accumulator) m;
        tensorLayoutNV<2> t = createTensorLayoutNV(2);
        t = setTensorLayoutDimensionNV(t, 16, 16);
        coopMatLoadTensorNV(m, data, 0, t);
        coopMatStoreTensorNV(m, data, 256, t);
    }"""
    with pytest.raises(Unsupported, match="TensorLayoutNV"):
        run(compiled(body), 32)
