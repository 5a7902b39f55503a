"""Products of matrices: where the lanes of a wave hold rows and columns, and the arithmetic.

Layouts: AMD's instruction sets of RDNA 3 and RDNA 4, "Wave Matrix Multiply Accumulate"; that of a wave of 64
on RDNA 4 is also what Mesa's loads and stores use.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from amd.emulated_waves import execute, waves_of

Numbers = npt.NDArray[np.int64]

#: First row, and first number of a factor, of each 16 lanes of a wave on RDNA 4.
_FIRST = {32: [0, 8], 64: [0, 8, 4, 12]}


def _factor(gpu: str, lanes: int, matrix: Numbers) -> Numbers:
    """Return the numbers that each lane holds of a factor, by rows; (lanes, numbers)."""
    if gpu == "gfx1100":
        return np.array([matrix[lane % 16] for lane in range(lanes)])
    count = 16 * 16 // lanes
    first = _FIRST[lanes]
    return np.array([matrix[lane % 16, first[lane // 16] :][:count] for lane in range(lanes)])


def _row(gpu: str, lanes: int, register: int, lane: int) -> int:
    """Return the row of a register of the sum in a lane; its column is the lane modulo 16."""
    if gpu == "gfx1100":
        return register * (lanes // 16) + lane // 16
    return _FIRST[lanes][lane // 16] + register


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("gpu", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("kind", ["iu8", "f16"])
def test_a_product_of_matrices(gpu: str, lanes: int, kind: str) -> None:
    random = np.random.default_rng(5)
    a, b, c = (random.integers(-9, 10, (16, 16)) for _ in range(3))
    waves = waves_of(count=2, lanes=lanes)
    dtype = np.int8 if kind == "iu8" else np.float16
    counts = []
    for register, factor in ((0, a), (8, b.T)):
        held = _factor(gpu, lanes, factor).astype(dtype).view(np.uint32)
        counts.append(held.shape[1])
        waves.v[register : register + held.shape[1]] = held.T[:, None, :]
    registers = 256 // lanes
    summand = np.int32 if kind == "iu8" else np.float32
    for register in range(registers):
        for lane in range(lanes):
            value = c[_row(gpu, lanes, register, lane), lane % 16]
            waves.v[16 + register][:, lane] = np.array([value], summand).view(np.uint32)
    first, second = (
        f"v[{at}:{at + count - 1}]" if count > 1 else f"v{at}"
        for at, count in zip((0, 8), counts, strict=True)
    )
    total = f"v[16:{16 + registers - 1}]"
    name, signs = ("i32_16x16x16_iu8", " neg_lo:[1,1,0]") if kind == "iu8" else ("f32_16x16x16_f16", "")
    execute(waves, f"v_wmma_{name} {total}, {first}, {second}, {total}{signs}", gpu)
    expected = a @ b + c
    for register in range(registers):
        got = waves.v[16 + register].view(summand)
        wanted = [expected[_row(gpu, lanes, register, lane), lane % 16] for lane in range(lanes)]
        assert got.tolist() == [wanted, wanted]
