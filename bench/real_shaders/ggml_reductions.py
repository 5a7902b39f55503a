"""ggml: reductions and normalisations of rows."""

from __future__ import annotations

import numpy as np

from real_shaders.model import (
    Array,
    Expected,
    Shader,
    barrier,
    bound,
    fastdiv,
    final_sum,
    floats,
    hard_coded,
    inactive,
    wide,
)

COLUMNS, ROWS = 75, 5
FLOAT = {"A_TYPE": "float", "D_TYPE": "float", "FLOAT_TYPE": "float"}
ROW_SUM = f"a sum of {COLUMNS} terms in any order has at most {COLUMNS} roundings on a path"

EPSILON = 1e-5
"""The host's parameter of the normalisations, which avoids divisions by zero."""
NORMALISATION = 16
"""Roundings after the sums of a normalisation: an inverse square root (4) and 12 further operations."""


def one(generator: np.random.Generator) -> dict[int, Array]:
    """Return one matrix."""
    return {0: floats(generator, ROWS * COLUMNS)}


def two(generator: np.random.Generator) -> dict[int, Array]:
    """Return two matrices."""
    return {0: floats(generator, ROWS * COLUMNS), 1: floats(generator, ROWS * COLUMNS)}


def matrix(inputs: dict[int, Array], binding: int = 0) -> Array:
    """Return an input in 64-bit floats, by rows."""
    return wide(inputs[binding]).reshape(ROWS, COLUMNS)


def sum_rows_push(columns: int = COLUMNS, rows: int = ROWS, results: int = 1) -> dict[str, int | float]:
    """Return the push constants of sum_rows and cumsum (``vk_op_sum_rows_push_constants``)."""
    (mp2, l2), (mp1, l1) = fastdiv(rows), fastdiv(rows)
    return {
        "n_cols": columns, "ne01": rows, "ne02": 1,
        "nb01": columns, "nb02": columns * rows, "nb03": columns * rows,
        "nb11": results, "nb12": results * rows, "nb13": results * rows,
        "weight": 0.5, "misalign_offsets": 0, "ne0_12mp": mp2, "ne0_12L": l2, "ne0_1mp": mp1, "ne0_1L": l1,
    }  # fmt: skip


def unary_push(columns: int, rows: int, parameter: float) -> dict[str, int | float]:
    """Return the push constants of an operation with one source (``vk_op_unary_push_constants``)."""
    push: dict[str, int | float] = {"ne": columns * rows, "misalign_offsets": 0, "param1": parameter}
    for source in "01":
        shape = (columns, rows, 1, 1)
        strides = (1, columns, columns * rows, columns * rows)
        push |= {f"ne{source}{i}": n for i, n in enumerate(shape)}
        push |= {f"nb{source}{i}": n for i, n in enumerate(strides)}
        divisors = [fastdiv(columns * rows), fastdiv(columns * rows), fastdiv(columns)]
        push |= {
            f"ne{source}_{name}mp": mp for name, (mp, _) in zip(("012", "01", "0"), divisors, strict=True)
        }
        push[f"ne{source}_Ls"] = sum(shift << 8 * place for place, (_, shift) in enumerate(divisors))
    return push | {"param2": 0.0, "param3": 0.0, "param4": 0.0}


def generic_push(columns: int, rows: int, parameter: float = 0.0) -> dict[str, int | float]:
    """Return the push constants of ``generic_head.glsl``."""
    return {"KX": columns, "KY": rows, "param1": parameter, "param2": 0.0, "param3": 0.0, "param4": 0.0}


def soft_max(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return softmax(0.25 a + b)."""
    a, b = matrix(inputs), matrix(inputs, 1)
    scaled = 0.25 * a + b
    exponent = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    result = exponent / exponent.sum(axis=1, keepdims=True)
    return {3: Expected(result.ravel(), 2 * 8 + 2 * COLUMNS + 6, result.ravel())}


def sum_rows(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the weighted sum of each row."""
    a = matrix(inputs)
    return {1: Expected(0.5 * a.sum(axis=1), COLUMNS + 1, 0.5 * np.abs(a).sum(axis=1))}


def normalised(a: Array, scale: Array, roundings: float) -> Expected:
    """Return rows times their scale, with an error relative to the largest number of a row."""
    result = a * scale
    return Expected(result.ravel(), roundings, np.repeat(np.abs(result).max(axis=1), a.shape[1]))


def norm(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return (a - mean) / sqrt(variance + eps)."""
    a = matrix(inputs)
    mean = a.mean(axis=1, keepdims=True)
    variance = (a * a).mean(axis=1, keepdims=True) - mean**2
    return {1: normalised(a - mean, 1 / np.sqrt(variance + EPSILON), 2 * COLUMNS + NORMALISATION)}


def group_norm(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the same of each group; the variance is that of the differences."""
    a = matrix(inputs)
    difference = a - a.mean(axis=1, keepdims=True)
    variance = (difference**2).mean(axis=1, keepdims=True)
    return {1: normalised(difference, 1 / np.sqrt(variance + EPSILON), 2 * COLUMNS + NORMALISATION)}


def l2_norm(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return a / max(|a|, eps)."""
    a = matrix(inputs)
    length = np.sqrt((a * a).sum(axis=1, keepdims=True))
    return {1: normalised(a, 1 / np.maximum(length, EPSILON), COLUMNS + NORMALISATION)}


def rms_norm(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return a * b / sqrt(mean(a²) + eps); b is one row."""
    a = matrix(inputs)
    scale = 1 / np.sqrt((a * a).mean(axis=1, keepdims=True) + EPSILON)
    return {2: normalised(a * wide(inputs[1]), scale, COLUMNS + NORMALISATION)}


def argmax(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the column of each row's largest number."""
    return {1: Expected(matrix(inputs).argmax(axis=1))}


def soft_max_back(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return scale * (g - sum(y g)) * y."""
    g, y = matrix(inputs), matrix(inputs, 1)
    dot = (g * y).sum(axis=1, keepdims=True)
    magnitude = 0.5 * (np.abs(g) + np.abs(g * y).sum(axis=1, keepdims=True)) * np.abs(y)
    return {2: Expected((0.5 * (g - dot) * y).ravel(), COLUMNS + 5, magnitude.ravel())}


def rms_norm_back(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return g / r - x * sum(x g) / (r (sum(x²) + n eps)), with r = sqrt(mean(x²) + eps)."""
    g, x = matrix(inputs), matrix(inputs, 1)
    squares, products = (x * x).sum(axis=1, keepdims=True), (x * g).sum(axis=1, keepdims=True)
    scale = 1 / np.sqrt(squares / COLUMNS + EPSILON)
    factor = -scale * products / (squares + COLUMNS * EPSILON)
    bound_ = scale * np.abs(x * g).sum(axis=1, keepdims=True) / squares
    magnitude = scale * np.abs(g) + bound_ * np.abs(x)
    return {2: Expected((scale * g + factor * x).ravel(), 3 * COLUMNS + 20, magnitude.ravel())}


def binary_push() -> dict[str, int | float]:
    """Return the push constants of rms_norm with a product (``vk_op_binary_push_constants``)."""
    push: dict[str, int | float] = {
        "ne": ROWS * COLUMNS,
        "misalign_offsets": 0,
        "param1": EPSILON,
        "param2": 0.0,
    }
    for source, rows in (("0", ROWS), ("1", 1), ("2", ROWS)):
        push |= {f"ne{source}{i}": n for i, n in enumerate((COLUMNS, rows, 1, 1))}
        strides = (1, COLUMNS, COLUMNS * rows, COLUMNS * rows)
        push |= {f"nb{source}{i}": n for i, n in enumerate(strides)}
    return push | {"param3": 0}


def count_equal(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the number of equal elements."""
    return {2: Expected(np.array([(inputs[0] == inputs[1]).sum()]))}


def integers(generator: np.random.Generator) -> dict[int, Array]:
    """Return two arrays of small integers, longer than one chunk of 512."""
    return {key: generator.integers(0, 3, 700).astype(np.int32) for key in (0, 1)}


TREE = "s > 0"
SHADERS = (
    Shader(
        "soft_max", "soft_max.comp", (ROWS, 1, 1),
        lambda generator: {**two(generator), 2: np.zeros(1, np.float32)},
        {3: (ROWS * COLUMNS, np.float32)}, soft_max,
        f"exp: 3 + 2|x| ULP with |x| < 2.5, so 2 * 8; {ROW_SUM}, of terms with their own;"
        " 6 further operations",
        (
            barrier(1),
            barrier(2),
            barrier(3),
            bound("if (col < p.KX) {", "if (col <= p.KX) {"),
            inactive("if (rowx >= p.nrows_x) {", "if (tid >= p.KX / 4) {", at="barrier();"),
        ),
        defines={**FLOAT, "B_TYPE": "float"},
        push={
            "KX": COLUMNS, "KY": ROWS, "ne00": COLUMNS, "ne01": ROWS, "ne02": 1, "ne12": 1, "ne13": 1,
            "nb11": COLUMNS, "nb12": COLUMNS * ROWS, "nb13": COLUMNS * ROWS, "scale": 0.25, "max_bias": 0.0,
            "m0": 1.0, "m1": 1.0, "n_head_log2": 1, "nrows_x": ROWS, "has_sinks": 0,
        },
        specialization=lambda size: {0: 32},
    ),
    Shader(
        "sum_rows", "sum_rows.comp", (ROWS, 1, 1), one, {1: (ROWS, np.float32)}, sum_rows,
        f"{ROW_SUM}, and one product",
        (
            barrier(1),
            barrier(2),
            bound("i < p.n_cols", "i <= p.n_cols"),
            bound("if (col < s) {", "if (col <= s) {"),
            inactive("    barrier();\n    [[unroll]]", "    if (col < 24) barrier();\n    [[unroll]]"),
        ),
        defines=FLOAT, push=sum_rows_push(), specialization=lambda size: {0: 32},
    ),
    Shader(
        "norm", "norm.comp", (ROWS, 1, 1), one, {1: (ROWS * COLUMNS, np.float32)}, norm,
        f"two sums ({ROW_SUM}), inverse square root of 2 ULP, and 12 further operations",
        (
            barrier(1),
            barrier(2),
            bound("i0 < p.ne00", "i0 <= p.ne00", 1),
            bound("i0 < p.ne00", "i0 <= p.ne00", 2),
            inactive("        barrier();\n", "        if (tid < 96) barrier();\n"),
        ),
        defines=FLOAT, push=unary_push(COLUMNS, ROWS, EPSILON),
    ),
    Shader(
        "group_norm", "group_norm.comp", (ROWS, 1, 1), one, {1: (ROWS * COLUMNS, np.float32)}, group_norm,
        f"two sums ({ROW_SUM}), inverse square root of 2 ULP, and 12 further operations",
        (
            barrier(1),
            barrier(2),
            barrier(3),
            barrier(5),
            bound("col < end", "col <= end"),
        ),
        defines=FLOAT, push=generic_push(COLUMNS, ROWS, EPSILON),
    ),
    Shader(
        "l2_norm", "l2_norm.comp", (ROWS, 1, 1), one, {1: (ROWS * COLUMNS, np.float32)}, l2_norm,
        f"{ROW_SUM}, square root and division of 3 ULP each, and 4 further operations",
        (
            barrier(1),
            barrier(2),
            bound("i0 < p.ne00", "i0 <= p.ne00", 1),
            bound("i0 < p.ne00", "i0 <= p.ne00", 2),
            inactive("        barrier();\n", "        if (tid < 96) barrier();\n"),
        ),
        defines=FLOAT, push=unary_push(COLUMNS, ROWS, EPSILON),
    ),
    Shader(
        "rms_norm", "rms_norm.comp", (ROWS, 1, 1),
        lambda generator: {0: floats(generator, ROWS * COLUMNS), 1: floats(generator, COLUMNS)},
        {2: (ROWS * COLUMNS, np.float32)}, rms_norm,
        f"{ROW_SUM}, inverse square root of 2 ULP, and 12 further operations",
        (
            barrier(1),
            barrier(2),
            bound("if (col < ncols) {", "if (col <= ncols) {"),
            bound("if (col >= ncols) {", "if (col > ncols) {", 2),
            inactive("        barrier();\n", "        if (tid < 96) barrier();\n"),
        ),
        defines={**FLOAT, "B_TYPE": "float"}, push=binary_push(), specialization=lambda size: {0: 0, 1: 1},
    ),
    Shader(
        "argmax", "argmax.comp", (ROWS, 1, 1), one, {1: (ROWS, np.int32)}, argmax, "exact integers",
        (
            barrier(1),
            barrier(2),
            bound("i < p.KX", "i <= p.KX"),
            inactive("if (row >= p.KY) {", "if (row + col / 24 >= p.KY) {", at="barrier();"),
            bound("data_d[row]", "data_d[row + 1]"),
        ),
        defines={**FLOAT, "D_TYPE": "int"}, push=generic_push(COLUMNS, ROWS),
            specialization=lambda size: {0: 32},
    ),
    Shader(
        "soft_max_back", "soft_max_back.comp", (ROWS, 1, 1), two, {2: (ROWS * COLUMNS, np.float32)},
        soft_max_back, f"{ROW_SUM} that are products, and 4 further operations",
        (
            barrier(1),
            barrier(2),
            bound("col < p.KX", "col <= p.KX", 1),
            bound("col < p.KX", "col <= p.KX", 2),
            inactive("if (row >= p.KY) {", "if (row + tid / 24 >= p.KY) {", at="barrier();"),
        ),
        defines={**FLOAT, "B_TYPE": "float"}, push=generic_push(COLUMNS, ROWS, 0.5),
        specialization=lambda size: {0: 32},
    ),
    Shader(
        "rms_norm_back", "rms_norm_back.comp", (ROWS, 1, 1), two, {2: (ROWS * COLUMNS, np.float32)},
        rms_norm_back, f"three sums ({ROW_SUM}), inverse square root and division, 14 further operations",
        (
            barrier(1),
            barrier(2),
            bound("col < p.KX", "col <= p.KX", 1),
            bound("col < p.KX", "col <= p.KX", 2),
            inactive("        barrier();\n", "        if (tid < 96) barrier();\n"),
        ),
        defines={**FLOAT, "B_TYPE": "float"}, push=generic_push(COLUMNS, ROWS, EPSILON),
    ),
    Shader(
        "count_equal", "count_equal.comp", (2, 1, 1), integers, {2: (1, np.int32)}, count_equal,
        "exact integers",
        (
            bound("idx >= p.KX", "idx > p.KX"),
            bound("data_a[idx]", "data_a[idx + 1]"),
            bound("data_b[idx]", "data_b[idx + 1]"),
            hard_coded("if (idx >= p.KX)", "if (idx >= p.KX / 32 * 32 + 32)"),
            final_sum("atomicAdd(data_d[0], D_TYPE(count));", "data_d[0] += D_TYPE(count);"),
        ),
        defines={"A_TYPE": "int", "B_TYPE": "int", "D_TYPE": "int"}, push=generic_push(700, 1),
        specialization=lambda size: {0: 32},
    ),
)  # fmt: skip
