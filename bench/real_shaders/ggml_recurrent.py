"""ggml: recurrences over tokens, triangular systems, and selection of rows."""

from __future__ import annotations

import numpy as np

from real_shaders.ggml_reductions import FLOAT
from real_shaders.model import (
    Array,
    Expected,
    Shader,
    barrier,
    bound,
    final_sum,
    floats,
    hard_coded,
    inactive,
    wide,
)

HEAD, HEADS, TOKENS = 64, 2, 3
CHANNELS = HEAD * HEADS
RESULT = TOKENS * CHANNELS + CHANNELS * HEAD
LINEAR_ERROR = f"each token adds 4 roundings to the state; the result is a sum of {HEAD} products of it"
LINEAR_PUSH = {"B": 1, "T": TOKENS, "C": CHANNELS, "H": HEADS}


def tokens(generator: np.random.Generator, count: int, *others: int) -> dict[int, Array]:
    """Return arrays of TOKENS x CHANNELS, then others of the given lengths."""
    lengths = (TOKENS * CHANNELS,) * count + others
    return {key: floats(generator, length) for key, length in enumerate(lengths)}


def by_head(array: Array) -> Array:
    """Return tokens x heads x channels of the head."""
    return wide(array).reshape(-1, HEADS, HEAD)


def gla(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return gated linear attention: S = S g + k v', y = scale q' S; then the state."""
    k, v, q, g = (by_head(inputs[key]) for key in range(4))
    state = wide(inputs[4]).reshape(HEADS, HEAD, HEAD)
    results = []
    for t in range(TOKENS):
        state = state * g[t][:, :, None] + k[t][:, :, None] * v[t][:, None, :]
        results.append(0.5 * np.einsum("hi,hij->hj", q[t], state))
    return linear(results, state, 5)


def linear(results: list[Array], state: Array, binding: int, growth: float = 1.0) -> dict[int, Expected]:
    """Return the results of all tokens and the state; numbers of the state are at most TOKENS + 1."""
    values = np.concatenate([np.stack(results).ravel(), state.ravel()])
    magnitude = HEAD * (TOKENS + 1) * growth
    return {binding: Expected(values, HEAD + 4 * TOKENS + 2, magnitude)}


def wkv6(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return RWKV 6: y = r' (f k v' + S), S = S d + k v'; then the state."""
    k, v, r = (by_head(inputs[key]) for key in range(3))
    first, decay = by_head(inputs[3])[0], by_head(inputs[4])
    state = wide(inputs[5]).reshape(HEADS, HEAD, HEAD)
    results = []
    for t in range(TOKENS):
        product = k[t][:, :, None] * v[t][:, None, :]
        results.append(np.einsum("hi,hij->hj", r[t], first[:, :, None] * product + state))
        state = state * decay[t][:, :, None] + product
    return linear(results, state, 6)


def wkv7(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return RWKV 7: S = S w + v k' + (S a) b', y = S r; then the state."""
    r, w, k, v, a, b = (by_head(inputs[key]) for key in range(6))
    state = wide(inputs[6]).reshape(HEADS, HEAD, HEAD)
    results = []
    for t in range(TOKENS):
        factor = np.einsum("hij,hj->hi", state, a[t])
        state = (
            state * w[t][:, None, :]
            + v[t][:, :, None] * k[t][:, None, :]
            + factor[:, :, None] * b[t][:, None, :]
        )
        results.append(np.einsum("hij,hj->hi", state, r[t]))
    return linear(results, state, 7, growth=float(HEAD))


STATE, SCAN_HEADS, SCAN_DIM, SEQUENCES = 128, 2, 4, 2
ROWS = SCAN_HEADS * SCAN_DIM
SCAN_OUT = SEQUENCES * TOKENS * ROWS


def scan_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return states, x, dt, A (negative), B, C and the sequences' ids."""
    return {
        0: floats(generator, SEQUENCES * ROWS * STATE),
        1: floats(generator, SCAN_OUT),
        2: floats(generator, SEQUENCES * TOKENS * SCAN_HEADS),
        3: -np.abs(floats(generator, SCAN_HEADS)),
        4: floats(generator, SEQUENCES * TOKENS * STATE),
        5: floats(generator, SEQUENCES * TOKENS * STATE),
        6: np.array([1, 0], np.int32),
    }


def scan(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the state space model of Mamba 2, and the final states."""
    state = wide(inputs[0]).reshape(SEQUENCES, SCAN_HEADS, SCAN_DIM, STATE)[inputs[6]]
    x = wide(inputs[1]).reshape(SEQUENCES, TOKENS, SCAN_HEADS, SCAN_DIM)
    dt = np.log1p(np.exp(wide(inputs[2]))).reshape(SEQUENCES, TOKENS, SCAN_HEADS)
    b, c = (wide(inputs[key]).reshape(SEQUENCES, TOKENS, STATE) for key in (4, 5))
    results = np.zeros((SEQUENCES, TOKENS, SCAN_HEADS, SCAN_DIM))
    size = np.abs(state)
    for t in range(TOKENS):
        decay = np.exp(dt[:, t] * wide(inputs[3]))[:, :, None, None]
        added = (x[:, t] * dt[:, t][:, :, None])[..., None] * b[:, t][:, None, None]
        state, size = state * decay + added, size * decay + np.abs(added)
        results[:, t] = (state * c[:, t][:, None, None]).sum(axis=-1)
    values = np.concatenate([results.ravel(), state.ravel()])
    return {7: Expected(values, STATE + 60 * TOKENS, STATE * size.max())}


SCAN_PUSH = {
    "nb02": SCAN_DIM * STATE * 4, "nb03": ROWS * STATE * 4, "nb12": ROWS * 4, "nb13": TOKENS * ROWS * 4,
    "nb21": SCAN_HEADS * 4, "nb22": TOKENS * SCAN_HEADS * 4, "nb31": 4, "nb42": STATE * 4,
    "nb43": TOKENS * STATE * 4, "nb52": STATE * 4, "nb53": TOKENS * STATE * 4, "s_off": SCAN_OUT * 4,
    "n_head": SCAN_HEADS, "d_head": SCAN_DIM, "n_group": 1, "n_tok": TOKENS, "n_seq": SEQUENCES, "K": 1,
}  # fmt: skip
SCAN_ERROR = (
    f"a sum of {STATE} products; each token: softplus (log: 8, exp: 16), exp (16) and 6 operations, below 60"
)

WINDOW, CONV_ROWS, CONV_TOKENS = 3, 40, 18


def conv_inputs(generator: np.random.Generator) -> dict[int, Array]:
    """Return rows with the window's history, weights, and an unused bias."""
    width = WINDOW - 1 + CONV_TOKENS
    return {
        0: floats(generator, CONV_ROWS * width), 1: floats(generator, CONV_ROWS * WINDOW), 2: np.zeros(1,
        np.float32),
    }  # fmt: skip


def conv(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the convolution of each row."""
    x = np.lib.stride_tricks.sliding_window_view(wide(inputs[0]).reshape(CONV_ROWS, -1), WINDOW, axis=1)
    weights = wide(inputs[1]).reshape(CONV_ROWS, 1, WINDOW)
    return {
        3: Expected(
            (x * weights).sum(axis=-1).T.ravel(), WINDOW + 1, np.abs(x * weights).sum(axis=-1).T.ravel()
        )
    }


UNKNOWNS, SOLUTIONS, BATCHES = 64, 20, 2


def triangular(generator: np.random.Generator) -> dict[int, Array]:
    """Return lower triangular matrices with a large diagonal, and right-hand sides."""
    a = np.tril(generator.uniform(-1, 1, (BATCHES, UNKNOWNS, UNKNOWNS)) / UNKNOWNS) + np.eye(UNKNOWNS)
    return {0: a.astype(np.float32).ravel(), 1: floats(generator, BATCHES * UNKNOWNS * SOLUTIONS)}


def solve(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the solutions of the triangular systems."""
    a = wide(inputs[0]).reshape(BATCHES, UNKNOWNS, UNKNOWNS)
    b = wide(inputs[1]).reshape(BATCHES, UNKNOWNS, SOLUTIONS)
    x = np.linalg.solve(a, b)
    return {2: Expected(x.ravel(), 2 * UNKNOWNS + 5, 4 * np.abs(x).max())}


def solve_push() -> dict[str, int | float]:
    """Return shapes and strides (``vk_op_binary_push_constants``)."""
    push: dict[str, int | float] = {"ne": 0, "misalign_offsets": 0, "param1": 0.0, "param2": 0.0, "param3": 0}
    for source, columns in (("0", UNKNOWNS), ("1", SOLUTIONS), ("2", SOLUTIONS)):
        area = columns * UNKNOWNS
        push |= {f"ne{source}{i}": n for i, n in enumerate((columns, UNKNOWNS, BATCHES, 1))}
        push |= {f"nb{source}{i}": n for i, n in enumerate((1, columns, area, area * BATCHES))}
    return push


TABLE, WIDTH, PICKED = 10, 70, 6


def rows_push() -> dict[str, int | float]:
    """Return shapes and strides of get_rows."""
    push: dict[str, int | float] = {"ne": 0, "misalign_offsets": 0, "param1": 0.0, "param2": 0.0, "param3": 0}
    shapes = (("0", WIDTH, TABLE), ("1", PICKED, 1), ("2", WIDTH, PICKED))
    for source, columns, rows in shapes:
        push |= {f"ne{source}{i}": n for i, n in enumerate((columns, rows, 1, 1))}
        push |= {f"nb{source}{i}": n for i, n in enumerate((1, columns, columns * rows, columns * rows))}
    return push


SHADERS = (
    Shader(
        "gated_linear_attn", "gla.comp", (HEADS, 1, 1),
        lambda generator: tokens(generator, 4, CHANNELS * HEAD), {5: (RESULT, np.float32)}, gla, LINEAR_ERROR,
        (
            barrier(1),
            barrier(2),
            bound("_q[i+3]", "_q[i+4]"),
            bound("t < end_t", "t <= end_t", at="_k[tid] = k[t];"),
            inactive("        barrier();\n        _k", "        if (tid < 32) barrier();\n        _k"),
        ),
        defines={"A_TYPE": "float"}, push={**LINEAR_PUSH, "scale": 0.5},
    ),
    Shader(
        "rwkv_wkv6", "wkv6.comp", (HEADS, 1, 1),
        lambda generator: tokens(generator, 3, CHANNELS, TOKENS * CHANNELS, CHANNELS * HEAD),
        {6: (RESULT, np.float32)}, wkv6, LINEAR_ERROR,
        (
            barrier(3),
            barrier(4),
            bound("t < end_t", "t <= end_t", at="_k[tid] = k[t];"),
            bound("_td[j+3]", "_td[j+4]"),
            inactive("        barrier();\n        _k", "        if (tid < 32) barrier();\n        _k"),
        ),
        defines={"A_TYPE": "float"}, push=LINEAR_PUSH,
    ),
    Shader(
        "rwkv_wkv7", "wkv7.comp", (HEADS, 1, 1), lambda generator: tokens(generator, 6, CHANNELS * HEAD),
        {7: (RESULT, np.float32)}, wkv7, LINEAR_ERROR + f"; the factor S a is a further sum of {HEAD} terms",
        (
            barrier(1),
            barrier(2),
            bound("_b[j+3]", "_b[j+4]"),
            bound("t < end_t", "t <= end_t", at="_r[tid] = r[t];"),
            inactive("        barrier();\n        _r", "        if (tid < 32) barrier();\n        _r"),
        ),
        defines={"A_TYPE": "float"}, push=LINEAR_PUSH,
    ),
    Shader(
        "ssm_scan_subgroup", "ssm_scan.comp", (ROWS // (STATE // 32), SEQUENCES, 1), scan_inputs,
        {7: (SCAN_OUT + SEQUENCES * ROWS * STATE, np.float32)}, scan, SCAN_ERROR,
        (
            bound("ids[seq_idx]", "ids[seq_idx + 1]"),
            bound("i < n_tok", "i <= n_tok", at="[B_base_idx + i * stride_B"),
            bound("SUBGROUP_SIZE * j + lane];\n    }\n\n    float a",
                "SUBGROUP_SIZE * j + lane + 1];\n    }\n\n    float a"),
            inactive("if (lane == 0) {", "if (lane <= 1) {"),
            hard_coded("d[s_base_idx + SUBGROUP_SIZE * j + lane] = state",
                "d[s_base_idx + 16 * j + lane] = state"),
        ),
        defines={"A_TYPE": "float", "USE_SUBGROUP_ADD": "1"}, push=SCAN_PUSH,
        specialization=lambda size: {0: STATE, 1: size}, sizes=(32,), each_size=True, full_subgroups=True,
    ),
    Shader(
        "ssm_scan", "ssm_scan.comp", (ROWS // (STATE // 32), SEQUENCES, 1), scan_inputs,
        {7: (SCAN_OUT + SEQUENCES * ROWS * STATE, np.float32)}, scan, SCAN_ERROR,
        (
            barrier(1),
            barrier(2),
            barrier(3),
            bound("if (lane < s) {", "if (lane <= s) {"),
            inactive("        barrier();\n        [[unroll]]",
                "        if (lane < 16) barrier();\n        [[unroll]]"),
        ),
        defines={"A_TYPE": "float"}, push=SCAN_PUSH,
        specialization=lambda size: {0: STATE, 1: size}, sizes=(32,), each_size=True, full_subgroups=True,
    ),
    Shader(
        "ssm_conv", "ssm_conv.comp", (2, 2, 1), conv_inputs, {3: (CONV_ROWS * CONV_TOKENS, np.float32)}, conv,
        f"a sum of {WINDOW} products",
        (
            bound("i1 >= nr", "i1 > nr", at="src1[src1_base + i0]"),
            bound("i2 >= n_t", "i2 > n_t", at="src0[src0_base + i0]"),
            bound("i0 < nc", "i0 <= nc"),
            hard_coded("i1 >= nr", "i1 >= (nr + 31) / 32 * 32", at="src1[src1_base + i0]"),
            bound("+ i1;", "+ i1 + 1;", at="dst[dst_idx]"),
        ),
        push={
            "nb01": (WINDOW - 1 + CONV_TOKENS) * 4, "nb02": (WINDOW - 1 + CONV_TOKENS) * CONV_ROWS * 4,
            "nb11": WINDOW * 4, "dst_nb0": 4, "dst_nb1": CONV_ROWS * 4,
            "dst_nb2": CONV_ROWS * CONV_TOKENS * 4,
            "nc": WINDOW, "ncs": WINDOW - 1 + CONV_TOKENS, "nr": CONV_ROWS, "n_t": CONV_TOKENS, "n_s": 1,
        },
        defines={"A_TYPE": "float"}, specialization=lambda size: {0: 32, 1: 16},
    ),
    Shader(
        "solve_tri", "solve_tri.comp", (BATCHES, 1, 1), triangular,
        {2: (BATCHES * UNKNOWNS * SOLUTIONS, np.float32)}, solve,
        "substitution: two roundings for each earlier unknown, and a division;"
        " rows of the inverse sum to at most 4",
        (
            barrier(1),
            barrier(2, at="shA[idx] = get_a"),
            bound("if (tid < K) {", "if (tid <= K) {"),
            bound("idx % N)", "idx % N + 1)", at="data_a[a_base"),
            inactive("        barrier();\n\n        // Each",
                "        if (tid < K) barrier();\n\n        // Each"),
        ),
        defines={**FLOAT, "B_TYPE": "float"}, push=solve_push(),
        specialization=lambda size: {0: 0, 1: UNKNOWNS, 2: SOLUTIONS, 3: 48, 4: 128}, sizes=(8, 32, 64),
    ),
    Shader(
        "get_rows", "get_rows.comp", (1, PICKED, 1),
        lambda generator: {
            0: floats(generator, TABLE * WIDTH), 1: np.array([3, 0, 9, 9, 4, 1], np.int32),
        },
        {2: (PICKED * WIDTH, np.float32)},
        lambda inputs: {2: Expected(inputs[0].reshape(TABLE, WIDTH)[inputs[1]].ravel())}, "copies are exact",
        (
            bound("i00 >= p.ne00", "i00 > p.ne00", at="data_a[a_offset"),
            bound("get_boffset() + i10", "get_boffset() + 1 + i10"),
            bound("get_aoffset() + i01", "get_aoffset() + 1 + i01", at="data_a[a_offset"),
            hard_coded("i00 >= p.ne00", "i00 >= (p.ne00 + 31) / 32 * 32", at="data_a[a_offset"),
            final_sum("gid_y += gl_WorkGroupSize.y * gl_NumWorkGroups.y;", "gid_y += gl_WorkGroupSize.y;",
                at="data_d[d_offset"),
        ),
        defines={"B_TYPE": "int", "DATA_A_F32": "1", "D_TYPE": "float", "FLOAT_TYPE": "float",
                 "FLOAT_TYPEV2": "vec2", "TEMP_TYPE": "FLOAT_TYPE"},
        push=rows_push(),
    ),
)  # fmt: skip
