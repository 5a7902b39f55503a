"""Sampling written as loops over single texels, from the equations of Vulkan's "Sampling Operations"."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from vkgroup.base.sampler import Sampler


def wrapped(i: int, size: int, mode: str) -> int | None:
    """Texel that a coordinate means; None for the border."""
    if 0 <= i < size:
        return i
    if mode == "repeat":
        return i - math.floor(i / size) * size
    if mode == "mirrored_repeat":
        period = i - math.floor(i / (2 * size)) * 2 * size
        return period if period < size else 2 * size - 1 - period
    if mode == "mirror_clamp_to_edge":
        return min(-1 - i if i < 0 else i, size - 1)
    if mode == "clamp_to_edge":
        return 0 if i < 0 else size - 1
    return None


def texel(level: np.ndarray, place: tuple[int, ...], sampler: Sampler, border: list[float]) -> np.ndarray:
    """One texel of a level (…, height, width, 4); x comes first in `place`."""
    result: list[int] = []
    for axis, i in enumerate(place):
        at = wrapped(i, level.shape[-2 - axis], sampler.addresses[axis])
        if at is None:
            return np.array(border)
        result.insert(0, at)
    return level[tuple(result)]


def in_level(level: np.ndarray, at: tuple[float, ...], filter: str, sampler: Sampler, border: Any) -> Any:
    """Filter around unnormalized coordinates."""
    if filter == "nearest":
        return texel(level, tuple(math.floor(u) for u in at), sampler, border)
    first = [math.floor(u - 0.5) for u in at]
    weight = [u - 0.5 - math.floor(u - 0.5) for u in at]
    total = np.zeros(4)
    for corner in itertools.product((0, 1), repeat=len(at)):
        share = math.prod(w if c else 1 - w for c, w in zip(corner, weight, strict=True))
        place = tuple(i + c for i, c in zip(first, corner, strict=True))
        total = total + share * texel(level, place, sampler, border)
    return total


def sampled(
    levels: list[np.ndarray],
    s: tuple[float, ...],
    sampler: Sampler,
    lod: float,
    border: Any = (0, 0, 0, 0),
    offset: tuple[int, ...] = (0, 0, 0),
) -> np.ndarray:
    """Sample at normalized coordinates."""
    lod = min(max(lod + sampler.lod_bias, sampler.min_lod), sampler.max_lod)
    filter = sampler.filters[lod > 0]
    d = min(max(lod, 0.0), len(levels) - 1)

    def at(number: int) -> Any:
        level = levels[number]
        sizes = [level.shape[-2 - axis] for axis in range(len(s))]
        place = tuple(np.float32(x) * np.float32(n) + o for x, n, o in zip(s, sizes, offset, strict=False))
        return in_level(level, tuple(float(u) for u in place), filter, sampler, list(border))

    if sampler.mipmap == "nearest":
        return at(math.ceil(d + 0.5) - 1)
    high = math.floor(d)
    low = min(high + 1, len(levels) - 1)
    return (1 - (d - high)) * at(high) + (d - high) * at(low)
