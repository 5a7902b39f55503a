"""ggml: products of matrices and vectors, and attention."""

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

ROWS, COLUMNS = 6, 320
BASE = "mul_mat_vec_base.glsl"
VECTOR = {
    "B_TYPE": "float", "B_TYPEV2": "vec2", "B_TYPEV4": "vec4", "D_TYPE": "float", "FLOAT_TYPE": "float",
    "FLOAT_TYPEV2": "vec2",
}  # fmt: skip
SUM = (
    "a sum of products in any order has at most as many roundings on a path as terms, and one for the product"
)


def product(a: Array, b: Array, binding: int, extra: int = 1) -> dict[int, Expected]:
    """Return a matrix times a vector, or rows times rows."""
    a, b = wide(a), wide(b)
    return {binding: Expected(a @ b, a.shape[-1] + extra, np.abs(a) @ np.abs(b))}


def vector_push(columns: int) -> dict[str, int]:
    """Return the push constants of mul_mat_vec (``vk_mat_vec_push_constants``)."""
    return {
        "ncols": columns, "stride_a": columns, "stride_b": columns, "stride_d": ROWS,
        "batch_stride_a": columns * ROWS, "batch_stride_b": columns, "batch_stride_d": ROWS,
        "fusion_flags": 0,
        "base_work_group_y": 0, "ne02": 1, "ne12": 1, "broadcast2": 1, "broadcast3": 1,
    }  # fmt: skip


def unused(inputs: dict[int, Array], *bindings: int) -> dict[int, Array]:
    """Return the inputs with one number for each binding that the host binds and the shader does not read."""
    return {**inputs, **{binding: np.zeros(1, np.float32) for binding in bindings}}


def dense(kind: type, generator: np.random.Generator, columns: int) -> dict[int, Array]:
    """Return a matrix of 16- or 32-bit floats, and a vector."""
    matrix = floats(generator, ROWS * columns).astype(kind)
    return unused({0: matrix, 1: floats(generator, columns)}, 3, 4)


def q8_0(generator: np.random.Generator) -> dict[int, Array]:
    """Return blocks of a 16-bit scale and 32 signed bytes, and a vector."""
    blocks = np.zeros(ROWS * COLUMNS // 32, np.dtype([("d", np.float16), ("qs", np.int8, 32)]))
    blocks["d"] = generator.uniform(0.01, 0.1, len(blocks))
    blocks["qs"] = generator.integers(-127, 128, (len(blocks), 32))
    return unused({0: blocks, 1: floats(generator, COLUMNS)}, 3, 4)


def q8_0_values(blocks: Array) -> Array:
    """Return the numbers of blocks."""
    return (wide(blocks["d"])[:, None] * wide(blocks["qs"])).reshape(ROWS, COLUMNS)


def q4_0(generator: np.random.Generator) -> dict[int, Array]:
    """Return blocks of a 16-bit scale and 32 nibbles, and a vector."""
    blocks = np.zeros(ROWS * COLUMNS // 32, np.dtype([("d", np.float16), ("qs", np.uint8, 16)]))
    blocks["d"] = generator.uniform(0.01, 0.1, len(blocks))
    blocks["qs"] = generator.integers(0, 256, (len(blocks), 16))
    return unused({0: blocks, 1: floats(generator, COLUMNS)}, 3, 4)


def q4_0_values(blocks: Array) -> Array:
    """Return the numbers of blocks: low nibbles first, each less 8."""
    nibbles = np.concatenate([blocks["qs"] & 15, blocks["qs"] >> 4], axis=1).astype(np.int32) - 8
    return (wide(blocks["d"])[:, None] * nibbles).reshape(ROWS, COLUMNS)


def vector_mutants(*more: Mutant) -> tuple[Mutant, ...]:
    """Return mutants of the version that adds within subgroups, then through shared memory."""
    return (
        barrier(1, file=BASE),
        final_sum("temp[j][n] += tmpsh[j][n][s];", "temp[j][n] = tmpsh[j][n][s];", 1, BASE,
                  "subgroupAdd(temp[j][n])"),
        hard_coded("s < gl_NumSubgroups", "s < BLOCK_SIZE / 32", 1, BASE, "shared FLOAT_TYPE tmpsh"),
        *more,
    )  # fmt: skip


def vector(name: str, format_: str, columns: int, inputs: object, values: object, *more: Mutant) -> Shader:
    """Return a configuration of mul_mat_vec with workgroups of 128 and two rows for each.

    The host requires full subgroups where the shader uses them (ggml-vulkan.cpp, `use_subgroups`).
    """
    return Shader(
        name, "mul_mat_vec.comp", (ROWS // 2, 1, 1), inputs, {2: (ROWS, np.float32)},
            # type: ignore[arg-type]
        lambda arrays: product(values(arrays[0]), arrays[1], 2, 4), SUM + "; three more for a scale",
            # type: ignore[operator]
        vector_mutants(*more),
        defines={**VECTOR, f"DATA_A_{format_}": "1", "USE_SUBGROUP_ADD": "1"}, push=vector_push(columns),
        specialization=lambda size: {0: 128, 1: 2, 2: 1}, full_subgroups=True,
    )  # fmt: skip


TID = inactive(
    "    barrier();\n    if (tid == 0) {", "    if (tid < 64) barrier();\n    if (tid == 0) {", 1, BASE
)
STORE = bound(
    "+ d_offset + first_row + n] = D_TYPE(temp", "+ d_offset + first_row + n + 1] = D_TYPE(temp", 2, BASE
)
M, N, K = 40, 36, 50
HEADS, TOKENS, KEYS, DEPTH = 2, 8, 40, 64
SPLITS = 3
CHANNELS = 4


def multiply(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return B A', columns of the result in rows."""
    a, b = wide(inputs[0]).reshape(M, K), wide(inputs[1]).reshape(N, K)
    return {2: Expected((b @ a.T).ravel(), K + 1, (np.abs(b) @ np.abs(a.T)).ravel())}


def attention_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return queries, keys and values of 16 bits (as words), a mask, and unused bindings."""
    mask = np.where(np.arange(KEYS) < np.arange(TOKENS)[:, None] + KEYS - TOKENS, 0, -np.inf)
    return {
        0: floats(generator, HEADS * TOKENS * DEPTH),
        1: floats(generator, HEADS * KEYS * DEPTH).astype(np.float16).view(np.float32),
        2: floats(generator, HEADS * KEYS * DEPTH).astype(np.float16).view(np.float32),
        3: mask.astype(np.float16).ravel(),
        4: np.zeros(1, np.float32),
        6: np.zeros(1, np.uint32),
    }


def attention(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return softmax(q k' / 8 + mask) v, by token, head and channel."""
    q = wide(inputs[0]).reshape(HEADS, TOKENS, DEPTH)
    k, v = (wide(inputs[key].view(np.float16)).reshape(HEADS, KEYS, DEPTH) for key in (1, 2))
    score = np.einsum("htd,hkd->htk", q, k) / 8 + wide(inputs[3]).reshape(TOKENS, KEYS)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    result = np.einsum("htk,hkd->thd", weight, v)
    return {5: Expected(result.ravel(), 1400, 1.0)}


ATTENTION_PUSH = {
    "N": TOKENS, "KV": KEYS, "ne1": HEADS, "ne2": TOKENS, "ne3": 1, "neq2": HEADS, "neq3": 1, "nek2": HEADS,
    "nek3": 1, "nev2": HEADS, "nev3": 1, "nem1": TOKENS, "nem2": 1, "nem3": 1,
    "nb01": DEPTH, "nb02": DEPTH * TOKENS * 4, "nb03": DEPTH * TOKENS * HEADS * 4,
    "nb11": DEPTH, "nb12": DEPTH * KEYS * 2, "nb13": DEPTH * KEYS * HEADS * 2,
    "nb21": DEPTH, "nb22": DEPTH * KEYS * 2, "nb23": DEPTH * KEYS * HEADS * 2,
    "scale": 0.125, "max_bias": 0.0, "logit_softcap": 0.0, "mask_n_head_log2": 0, "m0": 1.0, "m1": 1.0,
    "gqa_ratio": 1, "split_kv": KEYS, "k_num": 1,
}  # fmt: skip
ATTENTION_ERROR = (
    "a score is a sum of 64 products below 1/8 (64 roundings of 8, which change exp by 512 roundings),"
    " in the sum and in the quotient: 1024; exp: 2 (3 + 2 * 16) ULP = 140; sums of 40 terms: 80;"
    " rescaling: 100"
)


SAME_VALUES = (
    "All threads of a row write the result, each the same value, and nothing orders the writes."
    " That is a data race in Vulkan's memory model, though the result is right."
)


def partials(generator: np.random.Generator) -> dict[int, Array]:
    """Return the results of the parts of split attention, their sums and their maxima."""
    results = floats(generator, TOKENS * SPLITS * HEADS * DEPTH)
    sums = np.abs(floats(generator, TOKENS, SPLITS, 1, HEADS)) + 1
    maxima = floats(generator, TOKENS, SPLITS, 1, HEADS)
    return {
        0: np.concatenate([results, np.concatenate([sums, maxima], axis=2).ravel()]).astype(np.float32),
        1: np.zeros(1, np.float32),
    }


def combine(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the parts, weighted by exp(maximum - largest maximum), over the sum of the weighted sums."""
    size = TOKENS * SPLITS * HEADS * DEPTH
    results = wide(inputs[0][:size]).reshape(TOKENS, SPLITS, HEADS, DEPTH)
    sums, maxima = np.moveaxis(wide(inputs[0][size:]).reshape(TOKENS, SPLITS, 2, HEADS), 2, 0)
    weight = np.exp(maxima - maxima.max(axis=1, keepdims=True))
    total = (weight * sums).sum(axis=1)
    result = (results * weight[..., None]).sum(axis=1) / total[..., None]
    return {2: Expected(result.ravel(), 2 * 14 + 2 * SPLITS + 6, SPLITS)}


def split_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return the results of the parts of a split product."""
    return {0: floats(generator, SPLITS * 1100)}


def transposed(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return products of rows of A (row, channel, column) with vectors B (channel, column)."""
    a = np.moveaxis(wide(inputs[0]).reshape(ROWS, CHANNELS, COLUMNS), 0, 1)
    b = wide(inputs[1]).reshape(CHANNELS, COLUMNS)
    values, sizes = np.einsum("crk,ck->cr", a, b), np.einsum("crk,ck->cr", np.abs(a), np.abs(b))
    return {2: Expected(values.ravel(), COLUMNS + 1, sizes.ravel())}


def halves(generator: np.random.Generator) -> dict[int, Array]:
    """Return the channels' 16-bit rows, and a vector for each channel."""
    matrix = floats(generator, ROWS * CHANNELS * COLUMNS).astype(np.float16)
    return unused({0: matrix, 1: floats(generator, CHANNELS * COLUMNS)}, 3, 4)


HALF = {
    "A_TYPE": "float16_t",
    "A_TYPEV4": "f16vec4",
    "B_TYPE": "float",
    "B_TYPEV4": "vec4",
    "D_TYPE": "float",
}
P021 = {
    "ncols_x": COLUMNS, "nrows_x": ROWS, "nchannels_x": CHANNELS, "nchannels_y": CHANNELS, "b_offset": 0,
    "d_offset": 0,
    "fusion_flags": 0,
}  # fmt: skip
SHADERS = (
    vector("mul_mat_vec_f32", "F32", 318, lambda generator: dense(np.float32, generator, 318),
           lambda array: array.reshape(ROWS, 318), TID, STORE),
    vector("mul_mat_vec_f16", "F16", COLUMNS, lambda generator: dense(np.float16, generator, COLUMNS),
           lambda array: array.reshape(ROWS, COLUMNS), TID, STORE),
    vector("mul_mat_vec_q8_0", "Q8_0", COLUMNS, q8_0, q8_0_values, TID, STORE),
    vector("mul_mat_vec_q4_0", "Q4_0", COLUMNS, q4_0, q4_0_values, TID, STORE),
    Shader(
        "mul_mat_vec_p021", "mul_mat_vec_p021.comp", (1, ROWS, CHANNELS), halves, {2: (CHANNELS * ROWS,
        np.float32)},
        transposed, SUM,
        (
            barrier(1),
            barrier(2),
            bound("row_x*p.nchannels_x", "(row_x + 1)*p.nchannels_x", 1, at="data_a_v4[ix / 4]"),
            bound("if (tid < s) {", "if (tid <= s) {"),
            inactive("    barrier();\n    [[unroll]]", "    if (tid < 16) barrier();\n    [[unroll]]"),
        ),
        defines=HALF, push={**P021}, specialization=lambda size: {0: 64, 1: 1},
    ),
    Shader(
        "mul_mat_vec_p021_subgroup", "mul_mat_vec_p021.comp", (1, ROWS, CHANNELS), halves,
        {2: (CHANNELS * ROWS, np.float32)},
        transposed, SUM,
        (
            bound("channel / (p.nchannels_y / p.nchannels_x)", "channel + 1", at="[ix"),
            bound("+ row_dst;", "+ row_dst + 1;", at="data_d[idst]"),
            hard_coded("col_x0 += BLOCK_SIZE", "col_x0 += 32"),
            inactive("if (tid == 0) {", "if (tid <= 1) {", at="data_d[idst]"),
            bound("(channel + c)*nrows_y", "(channel + c + 1)*nrows_y", 1, at="data_b_v4[iy / 4]"),
        ),
        defines={**HALF, "USE_SUBGROUP_ADD": "1"}, push={**P021}, specialization=lambda size: {0: size, 1: 1},
        sizes=(8, 16, 32, 64), each_size=True, full_subgroups=True,
    ),
    Shader(
        "mul_mat_vec_nc", "mul_mat_vec_nc.comp", (1, ROWS, CHANNELS), halves, {2: (CHANNELS * ROWS,
        np.float32)},
        lambda arrays: transposed(
            {0: np.moveaxis(arrays[0].reshape(CHANNELS, ROWS, COLUMNS), 0, 1).ravel(), 1: arrays[1]}
        ), SUM,
        (
            barrier(1),
            barrier(2),
            bound("if (tid < s) {", "if (tid <= s) {"),
            bound("channel_x*p.channel_stride_x", "(channel_x + 1)*p.channel_stride_x", 1,
                at="data_a_v4[ix / 4]"),
            inactive("    barrier();\n    [[unroll]]", "    if (tid < 16) barrier();\n    [[unroll]]"),
        ),
        defines={"A_TYPE": "float16_t", "A_TYPEV4": "f16vec4", "B_TYPE": "float", "B_TYPEV4": "vec4",
                 "D_TYPE": "float"},
        push={
            "ncols_x": COLUMNS, "nrows_x": ROWS, "row_stride_x": COLUMNS, "channel_stride_x": ROWS * COLUMNS,
            "channel_stride_y": COLUMNS, "channel_x_divisor": 1, "ne12": CHANNELS, "b_offset": 0,
            "d_offset": 0,
            "nb03": 0, "nb13": 0, "nb23": 0, "fusion_flags": 0,
        },
    ),
    Shader(
        "matmul_f32", "mul_mm.comp", (2, 2, 1),
        lambda generator: {0: floats(generator, M * K), 1: floats(generator, N * K)},
        {2: (N * M, np.float32)}, multiply, SUM,
        (
            barrier(2, at="buf_a[(warp_r"),
            barrier(3, at="buf_a[a_shmem_index"),
            bound("dr_warp + 2 * cr < p.M", "dr_warp + 2 * cr <= p.M", 2),
            hard_coded("gl_LocalInvocationID.x / WARP", "gl_LocalInvocationID.x / 16", at="buf_b[(warp_c"),
            bound("dc_warp + cc < p.N", "dc_warp + cc <= p.N", 2),
        ),
        defines={
            "ACC_TYPE": "float", "ACC_TYPEV2": "vec2", "B_TYPE": "vec4", "B_TYPEV4": "vec4",
            "B_TYPE_SCALAR": "float", "DATA_A_F32": "1", "D_TYPE": "float", "FLOAT_TYPE": "float",
            "FLOAT_TYPEV2": "vec2", "FLOAT_TYPEV4": "vec4", "FLOAT_TYPEV8": "mat2x4", "LOAD_VEC_A": "4",
            "LOAD_VEC_B": "4",
        },
        push={
            "M": M, "N": N, "K": K, "stride_a": K, "stride_b": K, "stride_d": M, "batch_stride_a": M * K,
            "batch_stride_b": N * K, "batch_stride_d": M * N, "base_work_group_z": 0, "num_batches": 1,
            "k_split": K, "ne02": 1, "ne12": 1, "broadcast2": 1, "broadcast3": 1,
        },
        specialization=lambda size: {
            0: 32, 1: 32, 2: 32, 4: 32, 5: 32, 6: 2, 7: 2, 8: 2, 9: 1, 10: 32, 11: 0,
        },
    ),
    Shader(
        "matmul_split_k_reduce", "mul_mat_split_k_reduce.comp", (2, 1, 1), split_inputs,
        {1: (1100, np.float32)},
        lambda arrays: {1: Expected(wide(arrays[0]).reshape(SPLITS, -1).sum(axis=0), SPLITS, SPLITS)},
        f"a sum of {SPLITS} numbers below 1",
        (
            bound("(i * p.ne + idx) / 4", "(i * p.ne + idx) / 4 + 1"),
            bound("i < p.k_num", "i <= p.k_num", 1),
            bound("data_d4[idx / 4]", "data_d4[idx / 4 + 1]"),
            hard_coded("gl_GlobalInvocationID.x * 4", "gl_GlobalInvocationID.x / 32 * 128",
                at="data_d4[idx / 4]"),
            bound("(i * p.ne + idx) / 4", "((i + 1) * p.ne + idx) / 4"),
        ),
        push={"ne": 1100, "k_num": SPLITS},
    ),
    Shader(
        "fa_split_k_reduce", "flash_attn_split_k_reduce.comp", (HEADS, DEPTH // 32, TOKENS), partials,
        {2: (TOKENS * HEADS * DEPTH, np.float32)}, combine,
        f"exp of -2 to 0: 7 ULP, twice; sums of {SPLITS} terms; a division",
        (
            barrier(1),
            barrier(2),
            barrier(3),
            bound("k + tid < k_num", "k + tid <= k_num * 8", 1),
            inactive("        barrier();\n    }\n    m_max",
                "        if (tid < 16) barrier();\n    }\n    m_max"),
        ),
        push={"D": DEPTH, "ne1": HEADS, "ne2": TOKENS, "ne3": 1, "k_num": SPLITS, "sinks": 0},
        specialization=lambda size: {0: 32},
    ),
    Shader(
        "flash_attn", "flash_attn.comp", (2, HEADS, 1), attention_inputs,
        {5: (TOKENS * HEADS * DEPTH, np.float32)}, attention, ATTENTION_ERROR
        + ". Rows of D_split lanes are found with shuffles, so lanes must be linear.",
        (
            barrier(1, pattern="barrier();\n                Lf[r] = tmpsh[d_tid];"),
            barrier(1, pattern="barrier();\n                [[unroll]] for (uint s = 0; s < gl_NumSubgroups"),
            barrier(1, pattern="barrier();\n                rowmaxf = tmpsh[d_tid];"),
            final_sum("Lf[r] += tmpsh[s * D_split + d_tid];", "Lf[r] = tmpsh[s * D_split + d_tid];"),
            hard_coded("s < SubGroupSize; s *= 2", "s < 32; s *= 2", 1),
        ),
        defines={
            "ACC_TYPE": "float", "ACC_TYPEV2": "vec2", "ACC_TYPEV4": "vec4", "DATA_A_IQ4_NL": "1",
            "D_TYPE": "float", "D_TYPEV4": "vec4", "FLOAT_TYPE": "float", "FLOAT_TYPEV2": "vec2",
            "FLOAT_TYPEV4": "vec4", "Q_TYPE": "float",
        },
        push=ATTENTION_PUSH,
        specialization=lambda size: {
            0: 128, 1: 4, 2: 32, 3: DEPTH, 4: DEPTH, 5: 1, 6: 8, 7: 1, 8: size, 9: 0, 10: 2, 11: 0, 12: 1,
            13: 1, 14: 2, 15: 2,
        },
        sizes=(8, 32, 64), each_size=True, full_subgroups=True, linear_lanes=True, known=SAME_VALUES,
    ),
)  # fmt: skip
