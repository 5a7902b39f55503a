"""Filters and other work on storage images of one, two and three dimensions and on layers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from program import Array, Claim, Outcome, Program, close, exact, growth

_SHARPNESS = 4.0


def _gray(rng: np.random.Generator) -> dict[str, Array]:
    """Flat parts and noise."""
    picture = np.kron(rng.integers(0, 256, (5, 6)), np.ones((4, 4), np.int64))
    picture[:8] += rng.integers(0, 40, (8, 24))
    return {"picture": picture.astype(np.uint32), "edges": np.zeros((20, 24), np.uint32)}


def _sobel(outcome: Outcome) -> Iterator[Claim]:
    picture = np.pad(outcome.inputs["picture"].astype(np.int64), 1, mode="edge")
    rows = picture[:-2] + 2 * picture[1:-1] + picture[2:]
    columns = picture[:, :-2] + 2 * picture[:, 1:-1] + picture[:, 2:]
    x, y = rows[:, 2:] - rows[:, :-2], columns[2:] - columns[:-2]
    octant = (x < 0) + 2 * (y < 0) + 4 * (np.abs(x) < np.abs(y))
    yield exact(outcome, "edges", np.abs(x) + np.abs(y) + 65536 * octant)


def _bytes(rng: np.random.Generator) -> dict[str, Array]:
    picture = rng.integers(0, 256, (13, 22, 4)).astype(np.uint8)
    return {"picture": picture, "filtered": np.zeros_like(picture)}


def _median(outcome: Outcome) -> Iterator[Claim]:
    picture = outcome.inputs["picture"]
    wanted = picture.copy()
    windows = np.lib.stride_tricks.sliding_window_view(picture, (3, 3), axis=(0, 1))
    wanted[1:-1, 1:-1] = np.median(windows, axis=(3, 4))
    yield exact(outcome, "filtered", wanted)


def _noisy(rng: np.random.Generator) -> dict[str, Array]:
    picture = (np.arange(20)[:, None] // 7 + rng.normal(scale=0.1, size=(20, 18))).astype(np.float32)
    return {"picture": picture, "filtered": np.zeros_like(picture)}


def _bilateral(outcome: Outcome) -> Iterator[Claim]:
    """A weight is within 8 u, the sums of 25 and their quotient within 70.

    The difference is rounded once, its square is within 4 u with sharpness, the sum adds 1, the division 2.5.
    Both sums add up positive weights: the lower one is within 8 + 25 u, the upper one (of magnitudes) within
    9 + 25 u, and their quotient adds 2.5.
    """
    picture = outcome.inputs["picture"].astype(np.float64)
    height, width = picture.shape
    wanted, sizes = np.zeros_like(picture), np.zeros_like(picture)
    for y, x in np.ndindex(height, width):
        rows, columns = np.ogrid[max(y - 2, 0) : min(y + 3, height), max(x - 2, 0) : min(x + 3, width)]
        part = picture[rows, columns]
        weights = 1 / (1 + (rows - y) ** 2 + (columns - x) ** 2 + _SHARPNESS * (part - picture[y, x]) ** 2)
        wanted[y, x] = (weights * part).sum() / weights.sum()
        sizes[y, x] = (weights * np.abs(part)).sum() / weights.sum()
    yield close(outcome, "filtered", wanted, growth(8 + 25 + 9 + 25 + 2.5) * sizes)


def _small(rng: np.random.Generator) -> dict[str, Array]:
    """Whole numbers, and a factor that is a power of two: everything is exact."""
    picture = rng.integers(0, 256, (5, 7, 4)).astype(np.float32)
    return {"picture": picture, "enlarged": np.zeros((20, 28, 4), np.float32)}


def _bilinear(outcome: Outcome) -> Iterator[Claim]:
    """As two matrices, one for each axis."""

    def enlarge(size: int) -> Array:
        places = (np.arange(4 * size) + 0.5) / 4 - 0.5
        near = np.maximum(0, 1 - np.abs(places[:, None] - np.arange(-1, size + 1)))
        near[:, 1] += near[:, 0]
        near[:, -2] += near[:, -1]
        return near[:, 1:-1]

    yield exact(
        outcome,
        "enlarged",
        np.einsum("yi,xj,ijc->yxc", enlarge(5), enlarge(7), outcome.inputs["picture"].astype(np.float64)),
    )


def _colors(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "picture": rng.integers(0, 256, (21, 30, 4)).astype(np.uint8),
        "histogram": np.zeros(32, np.uint32),
        "extremes": np.array([0, 2**32 - 1], np.uint32),
    }


def _histogram(outcome: Outcome) -> Iterator[Claim]:
    brightness = outcome.inputs["picture"][..., :3].astype(np.int64) @ [54, 183, 19] // 256
    yield exact(outcome, "histogram", np.histogram(brightness, 32, (0, 256))[0])
    yield exact(outcome, "extremes", [brightness.max(), brightness.min()])


def _volume(rng: np.random.Generator) -> dict[str, Array]:
    volume = rng.integers(-(2**20), 2**20, (4, 8, 12)).astype(np.int32)
    return {"volume": volume, "sums": np.zeros_like(volume)}


def _volume_sums(outcome: Outcome) -> Iterator[Claim]:
    volume = outcome.inputs["volume"]
    shifted = [np.roll(volume, step, axis) for axis in range(3) for step in (-1, 1)]
    yield exact(outcome, "sums", 2 * volume + sum(shifted))


def _layers(rng: np.random.Generator) -> dict[str, Array]:
    """Colours are multiples of 512, alpha of 1/8: three layers blend exactly in float16."""
    layers = 512 * rng.integers(0, 2, (3, 8, 16, 4))
    alpha = rng.choice([0, 1 / 8, 3 / 8, 1], (3, 8, 16))
    stack = np.concatenate([layers[..., :3], alpha[..., None]], axis=3).astype(np.float16)
    return {"layers": stack, "coverage": np.zeros((8, 16), np.uint32)}


def _blended(outcome: Outcome) -> Iterator[Claim]:
    """The weight of a layer is its alpha times what those in front of it let through."""
    layers = outcome.inputs["layers"].astype(np.float64)
    through, wanted, coverage = np.ones((8, 16)), np.zeros((8, 16, 3)), np.zeros((8, 16))
    for texels in layers:
        alpha = texels[..., 3]
        wanted += (alpha * through)[..., None] * texels[..., :3]
        coverage += (alpha > 0) & (through > 0)
        through *= 1 - alpha
    found = outcome.outputs["layers"]
    yield Claim("the first layer", found[0], np.dstack([wanted, np.ones((8, 16))]))
    yield Claim("the other layers", found[1:], layers[1:])
    yield exact(outcome, "coverage", coverage)


PROGRAMS = (
    Program("sobel", (3, 3), _gray, _sobel),
    Program("median", (3, 4), _bytes, _median),
    Program("bilateral", (3, 3), _noisy, _bilateral, push={"sharpness": _SHARPNESS}),
    Program("bilinear", (4, 3), _small, _bilinear, push={"factor": 4}),
    Program("image_histogram", (4, 3), _colors, _histogram),
    Program("volume_sum", (3, 2, 1), _volume, _volume_sums),
    Program("layer_blend", (2, 1), _layers, _blended),
)
