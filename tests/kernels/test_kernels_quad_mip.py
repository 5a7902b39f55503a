"""A picture drawn and halved in one pass: with operations of quads, and with four fetches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vkgroup import kernels
from vkgroup.base.errors import Unsupported
from vkgroup.dispatch import Device
from vkgroup.kernels.mip_chain import VERSIONS, draw_quad_mip

SHAPES = ((64, 64), (37, 113), (1, 9), (5, 1), (1, 1))


def _check(device: Device, height: int, width: int, implementation: str) -> None:
    x = np.random.default_rng(height + width).integers(0, 16, (height, width, 4)).astype(np.float32)
    color, smaller = kernels.quad_mip(x, device=device, implementation=implementation)
    rows = np.minimum(np.arange(2 * max(1, height // 2)), height - 1)
    columns = np.minimum(np.arange(2 * max(1, width // 2)), width - 1)
    four = x[rows][:, columns].reshape(len(rows) // 2, 2, len(columns) // 2, 2, 4)
    assert np.array_equal(color, x)
    assert np.array_equal(smaller, four.mean((1, 3)))


@pytest.mark.parametrize("implementation", VERSIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_drivers_draw_and_halve(driver: Device, shape: tuple[int, int], implementation: str) -> None:
    """At odd sizes the last quads have helper invocations."""
    _check(driver, *shape, implementation)


@pytest.mark.parametrize("implementation", VERSIONS)
def test_every_subgroup_size_draws_and_halves(references: dict[int, Device], implementation: str) -> None:
    for size in (4, 8, 16, 32, 64, 128):
        _check(references[size], 13, 10, implementation)


def test_it_is_the_first_level_of_the_mip_chain(references: dict[int, Device]) -> None:
    x = np.random.default_rng(1).random((30, 17, 4), np.float32)
    _, smaller = kernels.quad_mip(x, device=references[32])
    level = kernels.mip_chain(x, levels=1, device=references[32])[0]
    assert np.array_equal(smaller, level)


def test_drawing_is_timed(driver: Device) -> None:
    found = draw_quad_mip(driver, np.ones((8, 8, 4), np.float32), repeat=3)
    assert found.seconds is None or found.seconds >= 0


def test_subgroups_without_quads(references: dict[int, Device]) -> None:
    with pytest.raises(Unsupported, match="quads in fragment shaders"):
        kernels.quad_mip(np.ones((4, 4, 4), np.float32), device=references[2], implementation="subgroup")


@pytest.mark.parametrize("path", ["quad_mip/subgroup.frag", "quad_mip/fetch.frag"])
def test_the_check_finds_nothing(path: str, checked: Callable[..., Any]) -> None:
    assert checked(path) == ()
