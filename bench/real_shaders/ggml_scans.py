"""ggml: prefix sums, sorting, selection, and rotary position embedding."""

from __future__ import annotations

import math

import numpy as np

from real_shaders.ggml_reductions import FLOAT, sum_rows_push
from real_shaders.model import (
    Array,
    Expected,
    Mutant,
    Shader,
    barrier,
    bound,
    final_sum,
    floats,
    hard_coded,
    inactive,
    wide,
)

ROWS, COLUMNS, SELECTED = 3, 300, 10
SORTED = 128
HEAD, HEADS, TOKENS = 64, 2, 3
SUBGROUPS = (8, 16, 32, 64)
CUMSUM_PUSH = {**sum_rows_push(COLUMNS, ROWS, COLUMNS), "weight": 1.0}
PREFIX = f"a prefix sum of {COLUMNS} terms in any order has at most {COLUMNS} roundings on a path"
LANES = " The shader takes the lane for the position in the workgroup, so lanes must be linear."


def matrix(generator: np.random.Generator) -> dict[int, Array]:
    """Return one matrix."""
    return {0: floats(generator, ROWS * COLUMNS)}


def cumsum(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the inclusive prefix sums of each row."""
    a = wide(inputs[0]).reshape(ROWS, COLUMNS)
    return {1: Expected(a.cumsum(axis=1).ravel(), COLUMNS, np.abs(a).cumsum(axis=1).ravel())}


BLOCK = 128
BLOCKS = -(-COLUMNS // BLOCK)


def padded(a: Array) -> Array:
    """Return rows of whole blocks, with zeros after the columns."""
    return np.pad(a, ((0, 0), (0, BLOCKS * BLOCK - COLUMNS))).reshape(ROWS, BLOCKS, BLOCK)


def multipass1(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the prefix sums of each block, and the sum of each block."""
    a = padded(wide(inputs[0]).reshape(ROWS, COLUMNS))
    sums, sizes = a.cumsum(axis=2), np.abs(a).cumsum(axis=2)
    first = sums.reshape(ROWS, -1)[:, :COLUMNS].ravel()
    magnitude = sizes.reshape(ROWS, -1)[:, :COLUMNS].ravel()
    return {
        1: Expected(first, BLOCK, magnitude),
        2: Expected(sums[..., -1].ravel(), BLOCK, sizes[..., -1].ravel()),
    }


def multipass2_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return the first pass's results."""
    return {
        0: floats(generator, 1),
        1: floats(generator, ROWS * COLUMNS),
        2: floats(generator, ROWS * BLOCKS),
    }


def multipass2(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the numbers plus the sums of all earlier blocks of the row."""
    sums = wide(inputs[2]).reshape(ROWS, BLOCKS)
    offset = np.repeat(sums.cumsum(axis=1) - sums, BLOCK, axis=1)[:, :COLUMNS]
    a = wide(inputs[1]).reshape(ROWS, COLUMNS)
    return {1: Expected((a + offset).ravel(), BLOCKS + 1, BLOCKS + 1.0)}


def sort_inputs(generator: np.random.Generator, columns: int = SORTED) -> dict[int, Array]:
    """Return rows of distinct numbers."""
    return {0: np.stack([generator.permutation(columns) for _ in range(ROWS)]).astype(np.float32).ravel()}


def argsort(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the columns of each row in ascending order."""
    return {2: Expected(inputs[0].reshape(ROWS, SORTED).argsort(axis=1).ravel())}


def largest(inputs: dict[int, Array], columns: int = 100) -> Array:
    """Return the columns of the largest numbers of each row, the largest first."""
    return (-inputs[0].reshape(ROWS, columns)).argsort(axis=1)[:, :SELECTED]


TOPK_PUSH = {
    "orig_ncols": 100, "ncols_input": 100, "ncols_output": SELECTED, "k": SELECTED, "nrows": ROWS,
    "first_pass": 1, "last_pass": 1,
}  # fmt: skip


def rope_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return heads, positions, and unused frequency factors and row indices."""
    return {
        0: floats(generator, HEAD * HEADS * TOKENS),
        1: np.arange(TOKENS, dtype=np.int32),
        2: np.ones(1, np.float32),
        4: np.zeros(2, np.uint32),
    }


ROPE_PUSH = {
    "pc": {
        "rope_mode": 0, "nrows": HEADS * TOKENS, "n_dims": HEAD, "n_offs": 0, "freq_scale": 1.0,
        "freq_base": 1e4, "ext_factor": 0.0, "attn_factor": 1.0, "corr_dims": [0.0, 0.0],
        "theta_scale": 1e4 ** (-2 / HEAD), "has_ff": 0, "sections": [0, 0, 0, 0], "is_imrope": 0,
        "is_back": 0,
        "set_rows_stride": 0, "ne00": HEAD, "ne01": HEADS, "ne02": TOKENS,
        "nb01": HEAD, "nb02": HEAD * HEADS, "nb03": HEAD * HEADS * TOKENS,
        "nb11": HEAD, "nb12": HEAD * HEADS, "nb13": HEAD * HEADS * TOKENS, "a_offset": 0, "d_offset": 0,
    }
}  # fmt: skip
ROPE_ERROR = (
    "cos and sin have an absolute error of 2^-11 (Vulkan's precision table), which is 8192 roundings of 1;"
    " two products of numbers below 1, and the error of pow in the angle (16 ULP of 3)"
)


def rope(inputs: dict[int, Array], neighbours: bool) -> dict[int, Expected]:
    """Return pairs rotated by position * 10000 ** (-2 i / HEAD); a pair is neighbours or halves apart."""
    x = wide(inputs[0]).reshape(TOKENS, HEADS, HEAD)
    angle = np.arange(TOKENS)[:, None, None] * 1e4 ** (-2 * np.arange(HEAD // 2) / HEAD)
    cosine, sine = np.cos(angle), np.sin(angle)
    result = np.empty_like(x)
    first, second = (
        (slice(0, None, 2), slice(1, None, 2)) if neighbours else (slice(HEAD // 2), slice(HEAD // 2, None))
    )
    result[..., first] = x[..., first] * cosine - x[..., second] * sine
    result[..., second] = x[..., first] * sine + x[..., second] * cosine
    return {3: Expected(result.ravel(), 2 * (8192 + 3 * 2 * 16) + 4, 1.0)}


def rope_mutants(function: int) -> tuple[Mutant, ...]:
    """Return the mutants of one of the functions in ``rope_funcs.glsl``, by its place."""
    file = "rope_funcs.glsl"
    index = "ix + 1]);" if function == 1 else "ix + p.n_offs/2 + p.n_dims/2]);"
    return (
        bound("i0 >= p.ne00", "i0 > p.ne00", function, file, "rope_data_d[idst + "),
        bound("rope_data_pos[i2]", "rope_data_pos[i2 + 1]", function, file),
        bound(index, index.replace("]", " + 1]"), 3 - function if function == 2 else 2, file),
        bound("p.a_offset + i03", "p.a_offset + 1 + i03", 1, file, "rope_data_a[ix"),
        hard_coded(
            "2*gl_GlobalInvocationID.y", "2*(gl_GlobalInvocationID.y % 32 / 2)", at="rope_data_d[idst"
        ),
    )


ROPE_DEFINES = {"A_TYPE": "float", "ROPE_D_TYPE": "float"}
BITONIC = (
    "Both invocations of a pair read both elements and only one writes them, so a read is concurrent"
    " with a write."
    " The value read there is not used, so the result is right; it is a data race all the same."
)


SHADERS = (
    Shader(
        "cumsum", "cumsum.comp", (ROWS, 1, 1), matrix, {1: (ROWS * COLUMNS, np.float32)}, cumsum,
        PREFIX + LANES,
        (
            barrier(1),
            barrier(2),
            hard_coded("tid / SUBGROUP_SIZE;", "tid / 32;", at="partial[subgroup_id]"),
            bound("col + j < p.n_cols", "col + j <= p.n_cols", 1),
            final_sum("v[j] += partial[s];", ";"),
        ),
        defines=FLOAT, push=CUMSUM_PUSH, specialization=lambda size: {0: BLOCK, 1: size, 2: 1},
        sizes=SUBGROUPS, each_size=True, full_subgroups=True, linear_lanes=True,
    ),
    Shader(
        "cumsum_multipass1", "cumsum_multipass1.comp", (BLOCKS, ROWS, 1), matrix,
        {1: (ROWS * COLUMNS, np.float32), 2: (ROWS * BLOCKS, np.float32)}, multipass1, PREFIX + LANES,
        (
            barrier(1),
            hard_coded("tid / SUBGROUP_SIZE;", "tid / 32;", at="partial[subgroup_id]"),
            bound("if (col < p.n_cols) {", "if (col <= p.n_cols) {", 1),
            bound("if (col < p.n_cols) {", "if (col <= p.n_cols) {", 2),
            final_sum("v += partial[j];", ";"),
        ),
        defines=FLOAT, push=CUMSUM_PUSH, specialization=lambda size: {0: BLOCK, 1: size},
        sizes=SUBGROUPS, each_size=True, full_subgroups=True, linear_lanes=True,
    ),
    Shader(
        "cumsum_multipass2", "cumsum_multipass2.comp", (BLOCKS, ROWS, 1), multipass2_inputs, {}, multipass2,
        f"at most {BLOCKS + 1} additions of numbers below 1",
        (
            barrier(1),
            hard_coded("s < BLOCK_SIZE / SUBGROUP_SIZE", "s < BLOCK_SIZE / 32"),
            bound("if (col < p.n_cols) {", "if (col <= p.n_cols) {", 1),
            bound("if (col < p.n_cols) {", "if (col <= p.n_cols) {", 2),
            inactive("    barrier();", "    if (col < p.n_cols) barrier();"),
        ),
        defines=FLOAT, push=CUMSUM_PUSH, specialization=lambda size: {0: BLOCK, 1: size},
        sizes=SUBGROUPS, each_size=True, full_subgroups=True,
    ),
    Shader(
        "argsort", "argsort.comp", (1, ROWS, 1), sort_inputs, {2: (ROWS * SORTED, np.int32)}, argsort,
        "exact integers",
        (
            barrier(1),
            barrier(2),
            bound("data_d[row_offset + col]", "data_d[row_offset + col + 1]"),
            bound("int(col ^ j)", "int(col ^ j) + 1", at="dst_row[idx_"),
            inactive("            barrier();", "            if (ixj > col) barrier();"),
        ),
        defines=FLOAT,
        push={
            "ncols": SORTED, "ncols_padded": SORTED, "ncols_padded_log2": 7, "nrows": ROWS, "order": 0,
            "outer_start": 0, "outer_end": 0, "inner_start": 0, "inner_end": 0,
        },
        specialization=lambda size: {0: SORTED, 1: 7}, known=BITONIC,
    ),
    Shader(
        "topk_argsort", "topk_argsort.comp", (1, ROWS, 1), lambda generator: sort_inputs(generator, 100),
        {1: (ROWS * SELECTED, np.int32)},
        lambda inputs: {1: Expected(largest(inputs).ravel())}, "exact integers",
        (
            barrier(1),
            barrier(3),
            bound("< p.ncols_input", "<= p.ncols_input", 1),
            bound("if (col < p.k) {", "if (col <= p.k) {", at="data_d[row_offset + col]"),
            inactive("                barrier();\n            }",
                "                if (ixj > col) barrier();\n            }"),
        ),
        defines=FLOAT, push=TOPK_PUSH, specialization=lambda size: {0: 128, 1: 7}, known=BITONIC,
    ),
    Shader(
        "topk_nary_search", "topk_nary_search.comp", (1, ROWS, 1),
        lambda generator: sort_inputs(generator, 100), {1: (ROWS * SELECTED, np.int32)},
        lambda inputs: {1: Expected(np.sort(largest(inputs)).ravel())}, "exact integers" + LANES,
        (
            barrier(4),
            barrier(5),
            barrier(6),
            bound("< p.ncols_input", "<= p.ncols_input", 1),
            hard_coded("(tid % SUBGROUP_SIZE) == 0", "(tid % 32) == 0"),
        ),
        defines=FLOAT, push=TOPK_PUSH, specialization=lambda size: {0: 128, 1: size, 2: int(math.log2(size))},
        sizes=SUBGROUPS, each_size=True, full_subgroups=True, linear_lanes=True,
    ),
    Shader(
        "rope_norm", "rope_norm.comp", (HEADS * TOKENS, 1, 1), rope_inputs,
        {3: (HEAD * HEADS * TOKENS, np.float32)}, lambda inputs: rope(inputs, True), ROPE_ERROR,
        rope_mutants(1),
        defines=ROPE_DEFINES, push=ROPE_PUSH,
    ),
    Shader(
        "rope_neox", "rope_neox.comp", (HEADS * TOKENS, 1, 1), rope_inputs,
        {3: (HEAD * HEADS * TOKENS, np.float32)}, lambda inputs: rope(inputs, False), ROPE_ERROR,
        rope_mutants(2),
        defines=ROPE_DEFINES, push=ROPE_PUSH,
    ),
)  # fmt: skip
