"""ncnn: convolution, products, reductions and normalisation, with 32-bit floats."""

from __future__ import annotations

import numpy as np

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

FP32 = {"use_subgroup_ops": True, "use_shader_local_memory": True}
SUM = (
    "a sum of products in any order has at most as many roundings on a path as terms, and one for the product"
)
EXP = 2 * 11
"""Roundings of exp(x) with |x| <= 4, which has an error of 3 + 2|x| ULP."""
C, H, W, K = 3, 10, 10, 3
OH, OW = H - K + 1, W - K + 1
OUTPUTS = 6
STEP, OSTEP = 100, 64  # ncnn's channel steps: areas, rounded up to 16 bytes


def roundings(terms: int, more: int = 0) -> int:
    """Return the roundings of a sum of products in any order (see `SUM`), and of `more` operations."""
    return terms + 1 + more


def windows(inputs: dict[int, Array]) -> Array:
    """Return the 3 x 3 windows of each channel."""
    image = wide(inputs[0]).reshape(C, H, W)
    return np.lib.stride_tricks.sliding_window_view(image, (K, K), axis=(1, 2))


def packed_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return an image, unused vectors, weights (outputs / 4, channels, 9, 4) and biases."""
    weights, bias = floats(generator, 2, C, K * K, 4), floats(generator, 8)
    unused = np.zeros(4, np.float32)
    return {0: floats(generator, C * STEP), 2: unused, 3: unused.copy(), 4: weights.ravel(), 5: bias}


def convolution(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the convolution with six kernels, and a bias."""
    weights = wide(inputs[4]).reshape(2, C, K, K, 4).transpose(0, 4, 1, 2, 3).reshape(8, C, K, K)[:OUTPUTS]
    bias = wide(inputs[5])[:OUTPUTS, None, None]
    seen = windows(inputs)
    values = np.einsum("chwij,ocij->ohw", seen, weights) + bias
    sizes = np.einsum("chwij,ocij->ohw", np.abs(seen), np.abs(weights)) + np.abs(bias)
    return {1: Expected(values.ravel(), roundings(C * K * K, 1), sizes.ravel())}


def depthwise(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the convolution of each channel with its own kernel, and a bias."""
    terms = windows(inputs) * wide(inputs[2]).reshape(C, 1, 1, K, K)
    bias = wide(inputs[3])[:, None, None]
    sizes = np.abs(terms).sum(axis=(3, 4)) + np.abs(bias)
    return {1: Expected((terms.sum(axis=(3, 4)) + bias).ravel(), roundings(K * K, 1), sizes.ravel())}


SHAPE = {
    "dims": 3, "w": W, "h": H, "c": C, "cstep": STEP, "outdims": 3, "outw": OW, "outh": OH, "outc": C,
    "outcstep": OSTEP,
}  # fmt: skip
ROWS, COLUMNS, DEPTH = 32, 32, 18


def gemm(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return A B."""
    a, b = wide(inputs[1]).reshape(ROWS, DEPTH), wide(inputs[2]).reshape(DEPTH, COLUMNS)
    return {0: Expected((a @ b).ravel(), roundings(DEPTH), (np.abs(a) @ np.abs(b)).ravel())}


INNER, NEURONS = 50, 40


def innerproduct(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return weights times the input, and a bias."""
    terms = wide(inputs[2]).reshape(NEURONS, INNER) * wide(inputs[0])
    bias = wide(inputs[3])
    sizes = np.abs(terms).sum(axis=1) + np.abs(bias)
    return {1: Expected(terms.sum(axis=1) + bias, roundings(INNER, 1), sizes)}


LINES, LENGTH = 10, 30


def rows(inputs: dict[int, Array]) -> Array:
    """Return the rows of the first input."""
    return wide(inputs[0]).reshape(LINES, LENGTH)


def softmax_push(outw: int) -> dict[str, int]:
    """Return the shape of a matrix, and of one number for each row."""
    return {
        "dims": 2, "w": LENGTH, "h": LINES, "d": 1, "c": 1, "cstep": LENGTH * LINES, "outdims": 1,
        "outw": outw,
        "outh": 1, "outd": 1, "outc": 1, "outcstep": outw,
    }  # fmt: skip


def softmax(name: str, binding: int, expected: object, derivation: str, *mutants: Mutant) -> Shader:
    """Return one of the four passes of softmax; two reduce rows, and two change all numbers."""
    reduces = "reduce" in name
    outputs: dict[int, tuple[int, object]] = {1: (LINES, np.float32)} if reduces else {}
    return Shader(
        name, f"{name}.comp", (1, 1, 1) if reduces else (2, LINES, 1),
        lambda generator: {0: floats(generator, LINES * LENGTH)}
        | ({} if reduces else {1: np.abs(floats(generator, LINES)) + 1}),
        outputs, lambda inputs: {binding: expected(inputs)}, derivation, mutants, corpus="ncnn",
            # type: ignore[operator]
        push=softmax_push(LINES), specialization=lambda size: {0: 1}, options=FP32,
        local_size=(16, 1, 1),
    )  # fmt: skip


def scaled(inputs: dict[int, Array]) -> Expected:
    """Return exp(v - max)."""
    result = np.exp(rows(inputs) - wide(inputs[1])[:, None])
    return Expected(result.ravel(), EXP + 4, result.ravel())


def divided(inputs: dict[int, Array]) -> Expected:
    """Return v / sum."""
    result = rows(inputs) / wide(inputs[1])[:, None]
    return Expected(result.ravel(), 5, np.abs(result).ravel())


def reduction(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the sum of each row."""
    a = wide(inputs[1]).reshape(4, 300)
    return {0: Expected(a.sum(axis=1), 300, np.abs(a).sum(axis=1))}


def pooling(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the largest number of each 2 x 2 block."""
    image = wide(inputs[0]).reshape(C, H, W)
    return {1: Expected(image.reshape(C, H // 2, 2, W // 2, 2).max(axis=(2, 4)).ravel())}


def global_sums(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return 13 sums of at most eight numbers for each channel."""
    image = wide(inputs[0]).reshape(C, STEP)
    padded = np.pad(image, ((0, 0), (0, 4))).reshape(C, 8, 13)
    return {1: Expected(padded.sum(axis=1).ravel(), 8, 8.0)}


def sums_of_four(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return sums of four neighbours; the last of a row has two."""
    padded = np.pad(rows(inputs), ((0, 0), (0, 2))).reshape(LINES, 8, 4)
    return {1: Expected(padded.sum(axis=2).ravel(), 4, 4.0)}


def normalised(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return (v a + b) gamma + beta."""
    a, b = wide(inputs[1]).reshape(LINES, 2).T[:, :, None]
    result = (rows(inputs) * a + b) * wide(inputs[2]) + wide(inputs[3])
    return {0: Expected(result.ravel(), 4, 3.0)}


def outside(bound_: str, at: str, *more: Mutant) -> tuple[Mutant, ...]:
    """Return mutants of a bound that keeps invocations inside of the output."""
    return (
        bound(f">= {bound_}", f"> {bound_}", at=at),
        hard_coded(f">= {bound_}", f">= ({bound_} + 31) / 32 * 32", at=at),
        *more,
    )


LOAD, STORE = "buffer_ld1(bottom_top_blob_data", "buffer_st1("
NOT_FULL = (
    "ncnn does not require full subgroups (gpu.cpp, create_pipeline), and the second level has one lane for"
    " each subgroup; weak: it is in a branch of one subgroup, where early returns need not reconverge"
)
SHADERS = (
    Shader(
        "ncnn_convolution", "convolution_packed.comp", (2, 2, 1), packed_inputs,
        {1: (OUTPUTS * OSTEP, np.float32)}, convolution, SUM,
        (
            bound("x < kernel_w", "x <= kernel_w", at="buffer_ld4(weight_data, w_offset"),
            bound("base_ch.y + 2 < nout", "base_ch.y + 2 <= nout", 1),
            bound("z < psc(c)", "z <= psc(c)", at="v_offset.r + x"),
            bound("buffer_ld4(bias_data, gz2.y)", "buffer_ld4(bias_data, gz2.y + 1)"),
            bound("gz2 * psc(outcstep) + gy", "(gz2 + 1) * psc(outcstep) + gy", 2,
                at="buffer_st1(top_blob_data_1"),
        ),
        corpus="ncnn", options=FP32, local_size=(2, 2, 1),
        push={**SHAPE, "outc": 2, "outcstep": 4 * OSTEP, "num_output": OUTPUTS},
        specialization=lambda size: {0: K, 1: K, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 0, 10: 1, 11: 1},
    ),
    Shader(
        "ncnn_convolutiondepthwise", "convolutiondepthwise.comp", (3, 3, 3),
        lambda generator: {0: floats(generator, C * STEP), 2: floats(generator, C * 9), 3: floats(generator,
            C)},
        {1: (C * OSTEP, np.float32)}, depthwise, SUM,
        (
            bound("gx >= psc(outw)", "gx > psc(outw)", at="buffer_st1(top_blob_data, gi"),
            bound("x < kernel_w", "x <= kernel_w"),
            bound("buffer_ld1(bias_data, gz)", "buffer_ld1(bias_data, gz + 1)"),
            hard_coded("gx >= psc(outw)", "gx >= (psc(outw) + 31) / 32 * 32",
                at="buffer_st1(top_blob_data, gi"),
            bound("y < kernel_h", "y <= kernel_h", at="buffer_ld1(weight_data, w_offset + x)"),
        ),
        corpus="ncnn", options=FP32, local_size=(4, 4, 1), push=SHAPE,
        specialization=lambda size: {0: K, 1: K, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: C, 8: 0},
    ),
    Shader(
        "ncnn_gemm", "gemm.comp", (1, 1, 1),
        lambda generator: {
            1: floats(generator, ROWS * DEPTH), 2: floats(generator, DEPTH * COLUMNS), 3: np.zeros(1,
            np.float32),
            4: np.zeros(4, np.float32),
        },
        {0: (ROWS * COLUMNS, np.float32)}, gemm, SUM,
        (
            barrier(1, at="tmp_a[ly][k4]"),
            barrier(2, at="tmp_a[ly][k4]"),
            barrier(3, at="tmp_a[ly][k4]"),
            bound("k4 < remain", "k4 <= remain", at="tmp_a[ly][k4]"),
            inactive("        barrier();\n\n        for (int k4 = 0; k4 < LOCAL",
                     "        if (lx < 4) barrier();\n\n        for (int k4 = 0; k4 < LOCAL"),
        ),
        corpus="ncnn", options=FP32, local_size=(8, 8, 1),
        push={
            "M": ROWS, "N": COLUMNS, "K": DEPTH, "broadcast_type_C": -1, "A_dims": 2, "A_hstep": DEPTH,
            "B_dims": 2,
            "B_hstep": COLUMNS, "outdims": 2, "outhstep": COLUMNS, "out_elempack": 1, "A_elempack": 1,
            "B_elempack": 1,
        },
        specialization=lambda size: {0: 1.0, 1: 1.0, 2: 0, 3: 0, 12: 1},
    ),
    Shader(
        "ncnn_innerproduct", "innerproduct.comp", (1, 1, 1),
        lambda generator: {
            0: floats(generator, INNER), 2: floats(generator, NEURONS * INNER), 3: floats(generator, NEURONS),
        },
        {1: (NEURONS, np.float32)}, innerproduct, SUM,
        outside(
            "psc(outw)", "buffer_ld1(bias_data, gx)",
            bound("i < psc(w)", "i <= psc(w)"),
            bound("buffer_st1(top_blob_data, gx,", "buffer_st1(top_blob_data, gx + 1,"),
            bound("int w_offset = gx * psc(w)", "int w_offset = (gx + 1) * psc(w)",
                at="weight_data, w_offset + i"),
        ),
        corpus="ncnn", options=FP32, local_size=(64, 1, 1),
        push={"dims": 1, "w": INNER, "h": 1, "c": 1, "cstep": INNER, "outdims": 1, "outw": NEURONS, "outh": 1,
              "outc": 1, "outcstep": NEURONS},
        specialization=lambda size: {0: 1, 1: 0},
    ),
    softmax(
        "softmax_reduce_max", 1, lambda inputs: Expected(rows(inputs).max(axis=1)), "a maximum is exact",
        *outside(
            "psc(outw)", "buffer_ld1(bottom_top_blob_data, v_offset)",
            bound("i < psc(w)", "i <= psc(w)", 2, at="buffer_ld1(bottom_top_blob_data, v_offset)"),
            bound("buffer_st1(max_workspace_data, gx, max_value)",
                "buffer_st1(max_workspace_data, gx + 1, max_value)", 2),
            bound("gx * psc(w) + i", "(gx + 1) * psc(w) + i", 1),
        ),
    ),
    softmax(
        "softmax_exp_sub_max", 0, scaled, "exp of -3 to 0: 3 + 2 * 3 ULP, and a subtraction",
        *outside(
            "psc(w)", "buffer_st1(bottom_top_blob_data, gi",
            bound("gy * psc(w) + gx;", "gy * psc(w) + gx + 1;", 1, at="buffer_st1(bottom_top_blob_data, gi"),
            bound("buffer_ld1(max_workspace_data, gy);", "buffer_ld1(max_workspace_data, gy + 1);"),
            bound("buffer_st1(bottom_top_blob_data, gi,", "buffer_st1(bottom_top_blob_data, gi + 1,"),
        ),
    ),
    softmax(
        "softmax_reduce_sum", 1,
        lambda inputs: Expected(rows(inputs).sum(axis=1), LENGTH, np.abs(rows(inputs)).sum(axis=1)),
        f"a sum of {LENGTH} terms",
        *outside(
            "psc(outw)", "buffer_ld1(bottom_top_blob_data, v_offset)",
            bound("i < psc(w)", "i <= psc(w)", 2, at="buffer_ld1(bottom_top_blob_data, v_offset)"),
            bound("buffer_st1(sum_workspace_data, gx, sum_value)",
                "buffer_st1(sum_workspace_data, gx + 1, sum_value)", 2),
            bound("gx * psc(w) + i", "(gx + 1) * psc(w) + i", 1),
        ),
    ),
    softmax(
        "softmax_div_sum", 0, divided, "a division has 2.5 ULP",
        *outside(
            "psc(w)", "buffer_st1(bottom_top_blob_data, gi",
            bound("gy * psc(w) + gx;", "gy * psc(w) + gx + 1;", 1, at="buffer_st1(bottom_top_blob_data, gi"),
            bound("buffer_ld1(sum_workspace_data, gy);", "buffer_ld1(sum_workspace_data, gy + 1);"),
            bound("buffer_st1(bottom_top_blob_data, gi,", "buffer_st1(bottom_top_blob_data, gi + 1,"),
        ),
    ),
    Shader(
        "ncnn_reduction", "reduction.comp", (1, 4, 1), lambda generator: {1: floats(generator, 1200)},
        {0: (4, np.float32)}, reduction, "a sum of 300 terms",
        (
            barrier(1, at="lfp2afp(sdata[lane])"),
            final_sum("afp outv = subgroup_reduce_acc(v);", "afp outv = v;",
                at="buffer_st1(top_blob_data, out_offset"),
            hard_coded("int(gl_NumSubgroups)", "256 / 32", at="shared lfp sdata"),
            bound("t < reduce_size", "t <= reduce_size", at="in_index(iw, ih, id, ic)"),
            inactive("afp sg = subgroup_reduce_acc(acc);",
                "afp sg = acc; if (tid < 250) sg = subgroup_reduce_acc(acc);",
                     at="return subgroupAdd(v);"),
        ),
        corpus="ncnn", options=FP32, local_size=(256, 1, 1), sizes=(16, 32, 64, 128),
        push={
            "in_w": 300, "in_h": 4, "in_d": 1, "in_c": 1, "in_cstep": 1200, "in_dims": 2, "out_w": 4,
            "out_h": 1,
            "out_d": 1, "out_c": 1, "out_dims": 1, "out_cstep": 4, "reduce_w": 1, "reduce_h": 0,
            "reduce_d": 0,
            "reduce_c": 0, "map_out_w": 2, "map_out_h": -1, "map_out_d": -1, "map_out_c": -1, "coeff": 1.0,
        },
        specialization=lambda size: {0: 0}, known=NOT_FULL,
    ),
    Shader(
        "ncnn_pooling", "pooling.comp", (2, 2, C), lambda generator: {0: floats(generator, C * STEP)},
        {1: (C * 25, np.float32)}, pooling, "a maximum is exact",
        outside(
            "psc(outw)", "buffer_st1(top_blob_data, gi, res)",
            bound("y < kernel_h", "y <= kernel_h", 1, at="buffer_ld1(bottom_blob_data, v_offset + x)"),
            bound("buffer_st1(top_blob_data, gi,", "buffer_st1(top_blob_data, gi + 1,"),
            bound("gz * psc(cstep) + gy * stride_h", "(gz + 1) * psc(cstep) + gy * stride_h", 1,
                  at="buffer_ld1(bottom_blob_data, v_offset + x)"),
        ),
        corpus="ncnn", options=FP32, local_size=(4, 4, 1),
        push={**SHAPE, "outw": 5, "outh": 5, "outcstep": 25, "wtailpad": 0, "htailpad": 0},
        specialization=lambda size: {0: 0, 1: 2, 2: 2, 3: 2, 4: 2},
    ),
    Shader(
        "ncnn_pooling_global_sum", "pooling_global_reduce_sum_first.comp", (1, 1, C),
        lambda generator: {0: floats(generator, C * STEP)}, {1: (C * 13, np.float32)}, global_sums,
        "a sum of at most 8 numbers below 1",
        outside(
            "psc(outw)", "top_blob_data[gz",
            bound("/ psc(outw) + 1)", "/ psc(outw) + 2)", at="v_offset + i"),
            bound("gz * psc(outcstep) + gx", "gz * psc(outcstep) + gx + 1"),
            bound("gz * psc(cstep);", "(gz + 1) * psc(cstep);", at="v_offset + i"),
        ),
        corpus="ncnn", options=FP32, local_size=(16, 1, 1),
        push={"w": W, "h": H, "c": C, "cstep": STEP, "outw": 13, "outcstep": 13},
    ),
    Shader(
        "ncnn_layernorm_sum", "layernorm_reduce_sum4_fp32.comp", (1, LINES, 1),
        lambda generator: {0: floats(generator, LINES * LENGTH)}, {1: (LINES * 8, np.float32)}, sums_of_four,
        "a sum of 4 numbers below 1",
        outside(
            "p.outw", "sum_blob_data[gi]",
            bound("sx == p.w - 2", "sx == p.w - 1", at="bottom_top_blob_data[v_offset + "),
            bound("sum_blob_data[gi] = sum", "sum_blob_data[gi + 1] = sum"),
            bound("gy * p.w + sx;", "(gy + 1) * p.w + sx;", at="bottom_top_blob_data[v_offset"),
        ),
        corpus="ncnn", options=FP32, local_size=(16, 1, 1),
        push={"w": LENGTH, "h": LINES, "c": 1, "cstep": LENGTH * LINES, "outw": 8, "outh": LINES, "outc": 1,
              "outcstep": 8 * LINES},
    ),
    Shader(
        "ncnn_layernorm", "layernorm_norm.comp", (2, LINES, 1),
        lambda generator: {
            0: floats(generator, LINES * LENGTH), 1: floats(generator, 2 * LINES), 2: floats(generator,
            LENGTH),
            3: floats(generator, LENGTH),
        },
        {}, normalised, "two multiplications and two additions of numbers below 3",
        outside(
            "p.w", "buffer_st1(bottom_top_blob_data, gi",
            bound("group_id * 2 + 1)", "group_id * 2 + 2)"),
            bound("buffer_ld1(gamma_data, inner_id)", "buffer_ld1(gamma_data, inner_id + 1)"),
            bound("buffer_st1(bottom_top_blob_data, gi,", "buffer_st1(bottom_top_blob_data, gi + 1,"),
        ),
        corpus="ncnn", options=FP32, local_size=(16, 1, 1),
        push={"w": LENGTH, "h": LINES, "c": 1, "cstep": LENGTH * LINES},
        specialization=lambda size: {0: 1, 1: LENGTH},
    ),
)  # fmt: skip
