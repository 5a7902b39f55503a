"""ggml: convolutions and pooling."""

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

CHANNELS, HEIGHT, WIDTH, KERNEL = 5, 9, 11, 3
FLOAT = {"A_TYPE": "float", "B_TYPE": "float", "D_TYPE": "float", "FLOAT_TYPE": "float"}
OUTPUTS = 70
DEPTHWISE = CHANNELS * HEIGHT * WIDTH
SUM = (
    "a sum of products in any order has at most as many roundings on a path as terms, and one for the product"
)


def windows(image: Array) -> Array:
    """Return the 3 x 3 windows around each number of channels x rows x columns, zero outside."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(1, 2))


def image(inputs: dict[int, Array], binding: int) -> Array:
    """Return the image of an input."""
    return wide(inputs[binding]).reshape(CHANNELS, HEIGHT, WIDTH)


def depthwise(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the convolution of each channel with its own kernel."""
    terms = windows(image(inputs, 1)) * wide(inputs[0]).reshape(CHANNELS, 1, 1, KERNEL, KERNEL)
    return {2: Expected(terms.sum(axis=(3, 4)).ravel(), 10, np.abs(terms).sum(axis=(3, 4)).ravel())}


def convolution(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the convolution with OUTPUTS kernels."""
    kernels = wide(inputs[0]).reshape(OUTPUTS, CHANNELS, KERNEL, KERNEL)
    seen = windows(image(inputs, 1))
    values = np.einsum("chwij,ocij->ohw", seen, kernels)
    sizes = np.einsum("chwij,ocij->ohw", np.abs(seen), np.abs(kernels))
    return {2: Expected(values.ravel(), CHANNELS * 9 + 1, sizes.ravel())}


LENGTH, STRIDE, TAPS, IN, OUT = 150, 2, 3, 4, 3
LONG = (LENGTH - 1) * STRIDE + TAPS


def transposed(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the transposed convolution of one dimension."""
    kernel = wide(inputs[0]).reshape(IN, OUT, TAPS)
    signal = wide(inputs[1]).reshape(IN, LENGTH)
    result = np.zeros((OUT, LONG))
    for position in range(LENGTH):
        part = np.einsum("iok,i->ok", kernel, signal[:, position])
        result[:, position * STRIDE : position * STRIDE + TAPS] += part
    return {2: Expected(result.ravel(), IN * 2 + 4, IN * 2.0)}


def pool(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the largest number of each 2 x 2 block."""
    blocks = image(inputs, 0)[:, : HEIGHT // 2 * 2, : WIDTH // 2 * 2]
    result = blocks.reshape(CHANNELS, HEIGHT // 2, 2, WIDTH // 2, 2).max(axis=(2, 4))
    return {1: Expected(result.ravel())}


def columns(inputs: dict[int, Array]) -> dict[int, Expected]:
    """Return the windows of each position."""
    seen = windows(image(inputs, 0)).transpose(1, 2, 0, 3, 4)
    return {1: Expected(seen.ravel())}


def convolution_push() -> dict[str, int]:
    """Return the push constants of conv2d (``vk_op_conv2d_push_constants``)."""
    (mp, shift), (area_mp, area_shift) = fastdiv(WIDTH), fastdiv(WIDTH * HEIGHT)
    area = WIDTH * HEIGHT
    return {
        "Cout": OUTPUTS, "Cin": CHANNELS, "N": 1, "W": WIDTH, "H": HEIGHT, "OW": WIDTH, "OH": HEIGHT,
        "nb01": KERNEL, "nb02": KERNEL**2, "nb03": KERNEL**2 * CHANNELS,
        "nb11": WIDTH, "nb12": area, "nb13": area * CHANNELS, "nb1": WIDTH, "nb2": area,
        "nb3": area * OUTPUTS,
        "OWmp": mp, "OWL": shift, "OWOHmp": area_mp, "OWOHL": area_shift,
    }  # fmt: skip


SHADERS = (
    Shader(
        "conv2d_mm", "conv2d_mm.comp", (2, -(-HEIGHT * WIDTH // 32), 1),
        lambda generator: {0: floats(generator, OUTPUTS * CHANNELS * 9), 1: floats(generator, DEPTHWISE)},
        {2: (OUTPUTS * HEIGHT * WIDTH, np.float32)}, convolution, SUM,
        (
            barrier(1, at="= Ash["),
            barrier(2, at="Ash[B_ly"),
            bound("(K_idx < K && NPQ_idx < NPQ)", "(K_idx <= K && NPQ_idx < NPQ)", 3),
            bound("Ash[B_ly * Ash_stride + B_lx]", "Ash[B_ly * Ash_stride + B_lx + 5]"),
            inactive("        barrier();\n    }\n    /*", "        if (T_x < 7) barrier();\n    }\n    /*"),
        ),
        defines={**FLOAT, "UNROLL": "[[unroll]]", "USE_COLLECTIVES": "1"}, push=convolution_push(),
        specialization=lambda size: {
            0: 128, 1: 64, 2: 32, 3: 32, 4: 4, 5: 1, 6: 4, 7: 1, 8: 1, 9: 1, 10: 1, 11: 1, 12: 1, 13: 3,
            14: 3,
            15: 0, 16: 0,
        },
        sizes=(32, 64), full_subgroups=True,
    ),
    Shader(
        "conv2d_dw", "conv2d_dw.comp", (1, 1, 1),
        lambda generator: {0: floats(generator, CHANNELS * 9), 1: floats(generator, DEPTHWISE)},
        {2: (DEPTHWISE, np.float32)}, depthwise, SUM,
        (
            bound("idx >= p.ne", "idx > p.ne", at="dst_data[idx]"),
            bound("knl_x < p.knl_w", "knl_x <= p.knl_w", 1, at="knl_data["),
            bound("src_y >= p.src_h", "src_y > p.src_h", 1, at="src_data["),
            hard_coded("idx >= p.ne", "idx >= (p.ne + 31) / 32 * 32", at="dst_data[idx]"),
            final_sum("dst_data[idx] =", "dst_data[idx / 32] +=", at="dst_data[idx"),
        ),
        defines={**FLOAT, "WHCN": "1"},
        push={
            "ne": DEPTHWISE, "batches": 1, "channels": CHANNELS, "dst_w": WIDTH, "dst_h": HEIGHT,
            "src_w": WIDTH,
            "src_h": HEIGHT, "knl_w": 3, "knl_h": 3, "stride_x": 1, "stride_y": 1, "pad_x": 1, "pad_y": 1,
            "dilation_x": 1, "dilation_y": 1,
        },
    ),
    Shader(
        "conv_transpose_1d", "conv_transpose_1d.comp", (OUT, 1, 1),
        lambda generator: {0: floats(generator, IN * OUT * TAPS), 1: floats(generator, IN * LENGTH)},
        {2: (OUT * LONG, np.float32)}, transposed, f"sums of {IN} products for each of two taps",
        (
            barrier(2, at="tmp[tid*p.s0 + K_idx] += dp;"),
            barrier(3, at="tmp[tid*p.s0 + K_idx] += dp;"),
            bound("if(L_idx < p.L){", "if(L_idx <= p.L){"),
            bound("KL_idx < p.KL", "KL_idx <= p.KL", 2),
            inactive("            barrier();\n        }\n\n",
                "            if (L_idx < p.L) barrier();\n        }\n\n"),
        ),
        defines=FLOAT,
        push={"Cout": OUT, "Cin": IN, "K": TAPS, "L": LENGTH, "KL": LONG, "nb01": TAPS, "nb02": TAPS * OUT,
              "nb11": LENGTH, "nb1": LONG, "s0": STRIDE},
    ),
    Shader(
        "pool2d", "pool2d.comp", (1, 1, 1), lambda generator: {0: floats(generator, DEPTHWISE)},
        {1: (CHANNELS * (HEIGHT // 2) * (WIDTH // 2), np.float32)}, pool, "a maximum is exact",
        (
            bound("idx >= p.pelements", "idx > p.pelements", at="data_d[nc"),
            bound("p.k0, p.IH)", "p.k0 + 2, p.IH + 2)", at="data_a[nc"),
            bound("cur_oh * p.OW + cur_ow", "cur_oh * p.OW + cur_ow + 1"),
            hard_coded("idx >= p.pelements", "idx >= (p.pelements + 31) / 32 * 32", at="data_d[nc"),
            bound("i * p.IW + j", "i * p.IW * 2 + j"),
        ),
        defines=FLOAT,
        push={"IW": WIDTH, "IH": HEIGHT, "OW": WIDTH // 2, "OH": HEIGHT // 2, "OC": CHANNELS,
              "pelements": CHANNELS * (HEIGHT // 2) * (WIDTH // 2), "op": 0, "k0": 2, "k1": 2, "s0": 2,
              "s1": 2,
              "p0": 0, "p1": 0},
    ),
    Shader(
        "im2col", "im2col.comp", (1, WIDTH, HEIGHT), lambda generator: {0: floats(generator, DEPTHWISE)},
        {1: (DEPTHWISE * 9, np.float32)}, columns, "copies are exact",
        (
            bound("chw_idx >= p.CHW", "chw_idx > p.CHW", at="data_d[current_dst_idx]"),
            bound("uint(iih) < p.IH", "uint(iih) <= p.IH"),
            bound("current_dst_idx += BLOCK_SIZE", "current_dst_idx += BLOCK_SIZE + 1",
                at="data_d[current_dst_idx]"),
            hard_coded("current_dst_idx += BLOCK_SIZE", "current_dst_idx += 31",
                at="data_d[current_dst_idx]"),
            bound("z < p.OH_batch", "z <= p.OH_batch", at="data_d[current_dst_idx]"),
        ),
        defines={**FLOAT, "BDA": "0", "D_SIZE": "4"},
        push={
            "dst_addr": [0, 0], "batch_offset": DEPTHWISE, "offset_delta": HEIGHT * WIDTH, "IC": CHANNELS,
            "IW": WIDTH,
            "IH": HEIGHT, "OW": WIDTH, "OH": HEIGHT, "KW": 3, "KH": 3, "OH_batch": HEIGHT,
            "CHW": CHANNELS * 9,
            "s0": 1, "s1": 1, "p0": 1, "p1": 1, "d0": 1, "d1": 1, "batch_IC": CHANNELS,
        },
        specialization=lambda size: {0: 32},
    ),
)  # fmt: skip
