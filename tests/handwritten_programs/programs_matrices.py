"""Linear algebra: products, decompositions, transforms, convolution, rotations."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from program import UNIT, Array, Claim, Outcome, Program, close, exact, growth

_ROWS, _INNER, _COLUMNS = 37, 29, 21
_RESULT = np.dtype(
    [
        ("square", "f4", (3, 4)),
        ("gram", "f4", (2, 2)),
        ("inner", "f4", (4, 4)),
        ("turned", "f4", 3),
        ("volume", "f4"),
    ]
)


def _whole(rng: np.random.Generator, shape: int | tuple[int, ...], most: int) -> Array:
    """Small whole numbers, whose sums and products float32 has exactly."""
    return rng.integers(-most, most + 1, shape).astype(np.float32)


def _product_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "A": rng.normal(size=(_ROWS, _INNER)).astype(np.float32),
        "B": rng.normal(size=(_INNER, _COLUMNS)).astype(np.float32),
        "C": np.full((_ROWS, _COLUMNS), -1, np.float32),
    }


def _product(outcome: Outcome) -> Iterator[Claim]:
    """Each term takes part in one multiplication and, with the zeros of tiles over the edge, 32 additions."""
    a, b = outcome.inputs["A"].astype(np.float64), outcome.inputs["B"].astype(np.float64)
    yield close(outcome, "C", a @ b, growth(33) * (np.abs(a) @ np.abs(b)))


def _half_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Whole numbers below 6: sums stay below 2048, up to which float16 has every one."""
    a, b = _whole(rng, (2, 16, 16), 5).astype(np.float16)
    return {"A": a, "B": b, "C": np.zeros((16, 16), np.float16)}


def _half(outcome: Outcome) -> Iterator[Claim]:
    a, b = outcome.inputs["A"].astype(np.int64), outcome.inputs["B"].astype(np.int64)
    yield exact(outcome, "C", a @ b)


def _transpose(outcome: Outcome) -> Iterator[Claim]:
    yield exact(outcome, "Transposed", outcome.inputs["Matrix"].T)


def _sparse_inputs(rng: np.random.Generator) -> dict[str, Array]:
    lengths = rng.integers(0, 60, 50) * (rng.random(50) < 0.8)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return {
        "Starts": starts.astype(np.uint32),
        "Columns": rng.integers(0, 40, starts[-1]).astype(np.uint32),
        "Factors": rng.integers(-999, 999, starts[-1]).astype(np.int32),
        "X": rng.integers(-999, 999, 40).astype(np.int32),
        "Y": np.full(50, -1, np.int32),
    }


def _sparse(outcome: Outcome) -> Iterator[Claim]:
    given = outcome.inputs
    dense = np.zeros((50, 40), np.int64)
    rows = np.repeat(np.arange(50), np.diff(given["Starts"].astype(np.int64)))
    np.add.at(dense, (rows, given["Columns"]), given["Factors"])
    yield exact(outcome, "Y", dense @ given["X"])


def _definite(rng: np.random.Generator) -> dict[str, Array]:
    half = rng.normal(size=(3, 16, 20))
    matrix = (half @ half.transpose(0, 2, 1) + np.eye(16)).astype(np.float32)
    return {"Matrix": matrix, "Factor": np.full((3, 16, 16), 9, np.float32)}


def _cholesky(outcome: Outcome) -> Iterator[Claim]:
    """L L^T is A but for rounding, row by row and column by column.

    l_ij l_jj + sum l_ik l_jk, with up to 15 terms in the sum, gives back a_ij: each term has one rounding of
    its own and those of the subtractions after it, 16 together; the division is within 2.5 ULP, the square
    root, as 1 / inversesqrt(), within 2 + 2.5, twice in l_jj l_jj. So 16 + 10 roundings bound all of them.
    """
    lower = outcome.outputs["Factor"].astype(np.float64)
    upper = lower.transpose(0, 2, 1)
    bound = growth(26) * (np.abs(lower) @ np.abs(upper))
    yield Claim("L L^T", lower @ upper, outcome.inputs["Matrix"], bound)
    yield Claim("what is above the diagonal", np.triu(lower, 1), np.zeros_like(lower))


def _determinant_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """One matrix needs pivots, one is singular."""
    matrix = rng.integers(0, 65521, (4, 16, 16))
    matrix[1, :8, :8] = np.eye(8)[::-1] * matrix[1, :8, :8]
    matrix[2, 9] = (3 * matrix[2, 4] + 5 * matrix[2, 1]) % 65521
    return {"Matrix": matrix.astype(np.uint32), "Determinants": np.zeros(4, np.uint32)}


def _determinant(rows: list[list[int]]) -> int:
    """Return an exact determinant, by elimination in fractions."""
    size, work, result = len(rows), [[Fraction(entry) for entry in row] for row in rows], Fraction(1)
    for step in range(size):
        pivot = next((row for row in range(step, size) if work[row][step]), None)
        if pivot is None:
            return 0
        if pivot != step:
            work[step], work[pivot], result = work[pivot], work[step], -result
        result *= work[step][step]
        for row in range(step + 1, size):
            factor = work[row][step] / work[step][step]
            work[row] = [a - factor * b for a, b in zip(work[row], work[step], strict=True)]
    return int(result)


def _determinants(outcome: Outcome) -> Iterator[Claim]:
    exact_ones = [_determinant(matrix.tolist()) for matrix in outcome.inputs["Matrix"]]
    yield exact(outcome, "Determinants", [value % 65521 for value in exact_ones])


def _softmax_inputs(rng: np.random.Generator) -> dict[str, Array]:
    rows = rng.normal(scale=4, size=(5, 150)).astype(np.float32)
    return {"Rows": rows, "Results": np.zeros_like(rows)}


def _softmax(outcome: Outcome) -> Iterator[Claim]:
    """With d = x - max, rounded once, exp(d) has an error of 3 + 2 |d| ULP and |d| ULP from d's rounding.

    All terms of the sum are positive, so it is off by no more than its worst term and 150 additions; the
    division adds 2.5 ULP.
    """
    rows = outcome.inputs["Rows"].astype(np.float64)
    distance = rows - rows.max(axis=1, keepdims=True)
    wanted = np.exp(distance) / np.exp(distance).sum(axis=1, keepdims=True)
    term = 3 + 3 * np.abs(distance)
    bound = growth(1.01 * (term + term.max() + 150 + 2.5)) * wanted
    yield close(outcome, "Results", wanted, bound)


def _fft_inputs(rng: np.random.Generator) -> dict[str, Array]:
    angles = -2 * np.pi * np.arange(32) / 64
    roots = np.zeros((32, 4), np.float32)  # std140: 16 bytes an element
    roots[:, 0], roots[:, 1] = np.cos(angles), np.sin(angles)
    signal = rng.normal(size=(4, 64, 2)).astype(np.float32)
    return {"Signal": signal, "Roots": roots, "Spectrum": np.zeros_like(signal)}


def _fft(outcome: Outcome) -> Iterator[Claim]:
    """Each of the six levels multiplies by a root and adds, at an error below 5 u of the magnitudes.

    A component of a complex product is off by 2 u |a| |b|, the vector by 2 sqrt(2) u; the root, rounded to
    float32, by u; the addition by u. The magnitudes under an output add up to those of the signal at most.
    """
    signal = outcome.inputs["Signal"].astype(np.float64)
    spectrum = np.fft.fft(signal[..., 0] + 1j * signal[..., 1])
    size = np.hypot(signal[..., 0], signal[..., 1]).sum(axis=1)[:, None, None]
    yield close(outcome, "Spectrum", np.stack([spectrum.real, spectrum.imag], axis=2), growth(30) * size)


_ROOT = pow(3, 65536 // 128, 65537)


def _number_inputs(rng: np.random.Generator) -> dict[str, Array]:
    values = rng.integers(0, 65537, (2, 128))
    values[:, ::5] = 65536
    return {"Values": values.astype(np.uint32), "Transformed": np.zeros((2, 128), np.uint32)}


def _number_transform(outcome: Outcome) -> Iterator[Claim]:
    powers = np.array([[pow(_ROOT, j * k, 65537) for j in range(128)] for k in range(128)], dtype=object)
    wanted = outcome.inputs["Values"].astype(object) @ powers.T % 65537
    yield exact(outcome, "Transformed", wanted.astype(np.uint32))


def _convolution_inputs(rng: np.random.Generator) -> dict[str, Array]:
    weights = np.zeros((9, 4), np.float32)  # std140: 16 bytes an element
    weights[:, 0] = _whole(rng, 9, 20)
    return {"Signal": _whole(rng, 300, 99), "Weights": weights, "Results": np.zeros(300, np.float32)}


def _convolution(outcome: Outcome) -> Iterator[Claim]:
    weights = outcome.inputs["Weights"][:, 0]
    yield exact(outcome, "Results", np.convolve(outcome.inputs["Signal"], weights[::-1], mode="same"))


def _pose_inputs(rng: np.random.Generator) -> dict[str, Array]:
    poses = _whole(rng, (5, 7), 2)
    return {"Poses": poses, "Points": _whole(rng, (128, 3), 50), "Chain": np.zeros((128, 4), np.float32)}


def _left(q: Array) -> Array:
    """The matrix that multiplies (x, y, z, w) by the quaternion q from the left."""
    x, y, z, w = q
    return np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])


def _rotation(q: Array) -> Array:
    """v + 2 w (u x v) + 2 u x (u x v) as a matrix, u being x, y, z."""
    x, y, z, w = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def _quaternions(outcome: Outcome) -> Iterator[Claim]:
    poses = outcome.inputs["Poses"].astype(np.float64)
    which = np.arange(128) % 5
    turned = np.stack([_rotation(pose[:4]) for pose in poses])[which] @ outcome.inputs["Points"][:, :, None]
    yield exact(outcome, "Points", turned[..., 0] + poses[which, 4:])
    products = [poses[0, :4]]
    for pose in poses[1:]:
        products.append(_left(products[-1]) @ pose[:4])
    yield exact(outcome, "Chain", np.stack(products)[which])


def _corner_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Whole numbers, so small that squares of their cross products are exact; some triangles without area."""
    corners = _whole(rng, (128, 3, 3), 10)
    corners[::9, 2] = 2 * corners[::9, 1] - corners[::9, 0]
    return {"Corners": corners, "Normals": np.zeros((128, 3), np.float32), "Areas": np.zeros(128, np.float32)}


def _normals(outcome: Outcome) -> Iterator[Claim]:
    """length() is 1 / inversesqrt(), within 2 + 2.5 ULP; normalize() divides by it, which adds 2.5."""
    corners = outcome.inputs["Corners"].astype(np.float64)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1)
    yield close(outcome, "Areas", area, growth(4.5) * area)
    unit = normal / np.where(area > 0, area, 1)[:, None]
    yield close(outcome, "Normals", unit, growth(7) * np.abs(unit) + UNIT**2)


def _frame_inputs(rng: np.random.Generator) -> dict[str, Array]:
    turns = np.zeros((64, 3, 4), np.float32)
    turns[:, :, :3] = _whole(rng, (64, 3, 3), 9)
    return {"Turns": turns, "Shapes": _whole(rng, (64, 2, 4), 9), "Results": np.zeros(64, _RESULT)}


def _frames(outcome: Outcome) -> Iterator[Claim]:
    """Arrays here are (row, column), memory has columns of the mat3 and rows of the mat4x2."""
    turn = outcome.inputs["Turns"][:, :, :3].transpose(0, 2, 1).astype(np.float64)
    shape = outcome.inputs["Shapes"].astype(np.float64)
    found, each = outcome.outputs["Results"], np.arange(64)
    square = turn @ turn.transpose(0, 2, 1) - turn * 2 * np.eye(3)
    yield Claim("square", found["square"][:, :, :3], square.transpose(0, 2, 1))
    gram = shape @ shape.transpose(0, 2, 1) + shape[:, :, 0, None] * shape[:, None, :, 3]
    yield Claim("gram", found["gram"], gram.transpose(0, 2, 1))
    inner = shape.transpose(0, 2, 1) @ shape
    inner[each, :2, each % 4] += shape[each, :, each % 4]
    inner[each, 2, each % 4] += 1
    inner[each, 3, each % 4] -= 1
    yield Claim("inner", found["inner"], inner.transpose(0, 2, 1))
    yield Claim("turned", found["turned"], np.array([1, 2, -1]) @ turn + turn[each, :, each % 3])
    yield Claim("volume", found["volume"], np.linalg.det(turn).round())


PROGRAMS = (
    Program(
        "matmul_plain",
        (3, 5),
        _product_inputs,
        _product,
        push={"rows": _ROWS, "inner": _INNER, "columns": _COLUMNS},
    ),
    Program(
        "matmul_tiled",
        (2, 3),
        _product_inputs,
        _product,
        push={"rows": _ROWS, "inner": _INNER, "columns": _COLUMNS},
    ),
    Program(
        "matmul_tiled_eight",
        (3, 5),
        _product_inputs,
        _product,
        push={"rows": _ROWS, "inner": _INNER, "columns": _COLUMNS},
        specialization={0: 8},
        shader="matmul_tiled",
    ),
    Program("matmul_half", 1, _half_inputs, _half, needs=("shaderFloat16", "storageBuffer16BitAccess")),
    Program(
        "transpose",
        (2, 3),
        lambda rng: {
            "Matrix": rng.integers(0, 2**32, (40, 24)).astype(np.uint32),
            "Transposed": np.zeros((24, 40), np.uint32),
        },
        _transpose,
        push={"rows": 40, "columns": 24},
    ),
    Program("sparse_rows", 2, _sparse_inputs, _sparse),
    Program("cholesky", 3, _definite, _cholesky),
    Program("determinant_mod", 4, _determinant_inputs, _determinants),
    Program("softmax", 5, _softmax_inputs, _softmax, push={"length": 150}),
    Program("fft", 4, _fft_inputs, _fft),
    Program("number_transform", 2, _number_inputs, _number_transform, push={"root": _ROOT}),
    Program("convolution", 5, _convolution_inputs, _convolution),
    Program("quaternions", 2, _pose_inputs, _quaternions, needs=("scalarBlockLayout",)),
    Program("normals", 4, _corner_inputs, _normals, needs=("scalarBlockLayout",)),
    Program("matrix_chain", 2, _frame_inputs, _frames),
)
