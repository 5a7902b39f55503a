"""Each element of a histogram is in the bin given by the edges, as in NumPy, for every rounding."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup.kernels
from vkgroup.dispatch import Device
from vkgroup.kernels.histogram_bins import Bins, bins_of
from vkgroup.kernels.histogram_keys import greatest_not_above, keys_of, least_not_below
from vkgroup.kernels.types import GLSL

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _some(dtype: np.dtype[Any]) -> Array:
    x = _rng().normal(size=200) * 60
    return np.abs(x).astype(dtype) if dtype.kind == "u" else x.astype(dtype)


def test_keys_order_as_elements_do() -> None:
    for dtype in GLSL:
        if dtype.kind == "f":
            limits = np.finfo(dtype)
            special = [0, -np.inf, np.inf, limits.max, limits.tiny, limits.smallest_subnormal, -limits.tiny]
        else:
            special = [0, 1, np.iinfo(dtype).min, np.iinfo(dtype).max]
        x = np.concatenate([np.array(special, dtype), _some(dtype)])
        x = x[~np.isnan(x)] if dtype.kind == "f" else x
        ordered = x[np.argsort(keys_of(x), kind="stable")]
        assert np.array_equal(ordered, np.sort(x)), dtype


@pytest.mark.parametrize("dtype", GLSL, ids=str)
def test_bounds_become_elements_exactly(dtype: np.dtype[Any]) -> None:
    """Each bound is between neighbouring elements; Python compares the numbers exactly."""
    magnitudes = 10.0 ** _rng().integers(-3, 19, 60)
    bounds = np.sort(np.concatenate([_rng().normal(size=60) * magnitudes, [0, 2.0**31, 2.0**32, 2.0**63]]))
    least, reachable = least_not_below(dtype, bounds)
    for bound, element in zip(bounds.tolist(), [*least.tolist(), *[None] * len(bounds)], strict=False):
        below = greatest_not_above(dtype, bound)
        if element is None:
            assert below.tolist() == [np.iinfo(dtype).max]
            continue
        assert element >= bound
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                before = np.nextafter(dtype.type(element), dtype.type(-np.inf), dtype=dtype)
            assert float(before) < bound or element == 0
        elif element > np.iinfo(dtype).min:
            assert element - 1 < bound
        assert [one <= bound for one in below.tolist()] == [True] * len(below)
    assert reachable == len(least)


RANGES = [
    (256, (0.0, 1.0)),
    (256, (0.1, 0.9)),
    (100, (-1e-3, 5.0)),
    (7, (-2.5, 2.5)),
    (4000, (-1.0, 3.0)),
    (100, (1e6, 1e6 + 100)),
    (90, (1e6, 1e6 + 10)),
    (5, (0.0, 1e-39)),
    (3, (-3e38, 3e38)),
    (64, (-8.0, 8.0)),
]

_CONTRADICTED = [(90, (1e6, 1e6 + 10)), (3, (-3e38, 3e38))]
"""Cases in which NumPy's float32 arithmetic can be wrong by more than one bin: coarse edges, overflow."""


def _beside_edges(edges: Array) -> Array:
    """Values on edges and one step off, where rounding decides; and everywhere else."""
    on = edges.astype(np.float32)
    off = [np.nextafter(on, np.float32(sign * np.inf), dtype=np.float32) for sign in (-1, 1)]
    low, high = float(edges[0]), float(edges[-1])
    between = (low + _rng().random(3000) * (high - low)).astype(np.float32)
    return np.concatenate([on, *off, between]).astype(np.float32)


def _by_edges(x: Array, edges: Array) -> Array:
    """Return the counts by comparison with the edges, as `numpy.histogram` does if it gets edges."""
    return np.histogram(x, edges)[0]


@pytest.mark.parametrize(("bins", "limits"), RANGES)
def test_each_value_is_where_the_edges_say(vulkan_device: Device, bins: int, limits: Any) -> None:
    edges = np.histogram_bin_edges(np.empty(0, np.float32), bins, limits)
    x = _beside_edges(edges)
    found, found_edges = kernels.histogram(x, bins, limits, device=vulkan_device)
    assert np.array_equal(found_edges, edges)
    assert np.array_equal(found, _by_edges(x, edges))


@pytest.mark.parametrize(("bins", "limits"), RANGES)
def test_numpy_agrees_where_it_must(bins: int, limits: Any) -> None:
    made = bins_of(np.dtype(np.float32), bins, limits)
    x = _beside_edges(made.edges)
    if made.as_numpy:
        assert np.array_equal(np.histogram(x, bins, limits)[0], _by_edges(x, made.edges))
    assert made.as_numpy == ((bins, limits) not in _CONTRADICTED)


def _rounded(exact: Array, up: bool) -> Array:
    """Round float64 numbers, exact or as good as that, to float32 in one direction."""
    near = exact.astype(np.float32)
    if up:
        return np.where(near < exact, np.nextafter(near, np.float32(np.inf), dtype=np.float32), near)
    return np.where(near > exact, np.nextafter(near, np.float32(-np.inf), dtype=np.float32), near)


def _told_bins(made: Bins, x: Array, up: tuple[bool, ...]) -> Array:
    """Compute as ``kernels/histogram/histogram.glsl`` does, with a rounding direction for each operation."""
    position, last = made.position, len(made.keys) - 1
    if x.dtype.kind == "f":
        moved = _rounded(x.astype(np.float64) - position.origin, up[0])
    else:
        moved = _rounded((keys_of(x) - np.uint64(made.low)).astype(np.float64), up[0])
    p = _rounded(moved.astype(np.float64) * position.scale, up[1])
    if x.dtype.kind != "f":
        p = _rounded(p.astype(np.float64) + position.bias, up[2])
    whole = np.floor(p)
    fraction = p - whole
    if made.exact:
        return np.minimum(whole.astype(np.int64), last)
    trusted = (fraction > position.margin) & (fraction < 1 - position.margin)
    beside = np.minimum(whole + (fraction >= 0.5), last).astype(np.int64)
    compared = np.where(keys_of(x) < made.keys[beside], beside - 1, beside)
    return np.where(trusted, np.minimum(whole.astype(np.int64), last), compared)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32])
def test_the_margin_covers_every_rounding(dtype: Any) -> None:
    """Whichever way each operation is rounded, as Vulkan allows, the bin is that of the edges."""
    telling = 0
    ways = product((False, True), repeat=3)
    for (bins, limits), up in product(RANGES, ways):
        if dtype != np.float32:
            limits = (limits[0] * 1000, limits[1] * 1000)
            if (limits[0] < 0 and dtype == np.uint32) or limits[1] > 2**31 or limits[1] < 1:
                continue
        made = bins_of(np.dtype(dtype), bins, limits)
        if made.position.margin >= 1:
            continue
        telling += 1
        steps = (-1, 0, 1)
        x = _beside_edges(made.edges)
        if dtype != np.float32:
            x = np.concatenate([(np.rint(made.edges) + step).astype(dtype) for step in steps])
        x = x[(x >= made.edges[0]) & (x <= made.edges[-1])]
        x = x[(keys_of(x) >= made.low) & (keys_of(x) <= made.high)]
        wanted = np.minimum(np.searchsorted(made.edges, x, "right") - 1, bins - 1)
        assert np.array_equal(_told_bins(made, x, up), wanted), (bins, limits, up)
    assert telling >= 32


def test_without_a_margin_rounding_would_decide() -> None:
    made = bins_of(np.dtype(np.float32), 256, (0.1, 0.9))
    bare = replace(made, position=replace(made.position, margin=0.0))
    x = _beside_edges(made.edges)
    x = x[(x >= made.edges[0]) & (x <= made.edges[-1])]
    assert not np.array_equal(_told_bins(bare, x, (False,) * 3), _told_bins(made, x, (False,) * 3))


def test_powers_of_two_need_no_edges() -> None:
    exact = [
        (np.float32, 256, (0, 1)),
        (np.float16, 8, (0, 64)),
        (np.uint32, 256, (0, 256)),
        (np.int32, 4, (-8, 8)),
    ]
    for dtype, bins, limits in exact:
        assert bins_of(np.dtype(dtype), bins, limits).exact, dtype
    for dtype, bins, limits in [
        (np.float32, 100, (0, 1)),
        (np.float32, 256, (-1, 1)),
        (np.uint32, 256, (0, 2**32)),
    ]:
        assert not bins_of(np.dtype(dtype), bins, limits).exact, (dtype, bins)


def test_edges_may_be_given(vulkan_device: Device) -> None:
    x = np.array([-np.inf, -3, 0, 0.5, 1, 1, 2, 7, np.inf, np.nan], np.float32)
    for edges in ([0, 1, 1, 2], [-np.inf, 0, np.inf], [-1.5, 0.1, 0.9999999, 30]):
        found, given = kernels.histogram(x, edges, device=vulkan_device)
        wanted, _ = np.histogram(x[~np.isnan(x)], edges)
        assert np.array_equal(found, wanted), edges
        assert np.array_equal(given, edges)


def test_bins_that_nothing_can_be_in(references: dict[int, Device]) -> None:
    x = np.array([0, 255, 254, 1], np.uint8)
    for limits in ((-100, -50), (300, 400), (254.5, 1000), (-1000, 0.5), (0.25, 0.75)):
        found, _ = kernels.histogram(x, 10, limits, device=references[4])
        assert np.array_equal(found, np.histogram(x, 10, limits)[0]), limits
    large = np.array([2**32 - 1, 2**31, 5], np.uint32)
    found, _ = kernels.histogram(large, 9, (0, 2.0**34), device=references[4])
    assert np.array_equal(found, np.histogram(large, 9, (0, 2.0**34))[0])


def test_large_numbers_of_64_bits_are_not_rounded(references: dict[int, Device]) -> None:
    """NumPy makes 2**53 + 1 the float 2**53 first, and counts it in the bin before."""
    x = np.array([2**53 - 1, 2**53, 2**53 + 1], np.int64)
    found, _ = kernels.histogram(x, [0, 2**53 + 1, 2**60], device=references[4])
    assert found.tolist() == [2, 1]
