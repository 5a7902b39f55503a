"""Softmax and layer norm are within the precision that Vulkan requires, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup
from vkgroup import kernels
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.rows import plan_layer_norm, plan_softmax

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
SHAPES = ((1, 1), (7, 5), (9, 37), (5, 64), (2, 1021), (3, 4096))
UNIT = 2.0**-23
"""Relative error bound of one float32 operation; Vulkan does not define the rounding mode."""

SMALLEST = 2.0**-126
"""Below it float32 may become zero."""

STEPS = 300
"""More than the operations that any element or sum takes part in here: three for each of the chunks of an
invocation, or of the up to 64 subgroups of a workgroup, and those of the lanes of one, in any order."""


def _found(
    device: Device, plan_rows: Callable[..., Any], x: Array, columns: dict[str, Array], **more: Any
) -> Array:
    plan = plan_rows(device, x.shape, x.dtype, **more)
    buffers = {name: device.buffer(array) for name, array in {"x": x, **columns}.items()}
    try:
        with plan.record(**buffers) as work:
            work.run(60.0)
            return work.buffers["result"].read()
    finally:
        for buffer in buffers.values():
            buffer.close()


def _half(x: Array, error: Array, wanted: Array) -> Array:
    """Add what a result is wrong by when it is rounded to a half, in either direction."""
    return (
        error + np.spacing(np.abs(wanted).astype(np.float16)).astype(np.float64)
        if x.dtype == np.float16
        else error
    )


def _check_softmax(device: Device, x: Array, **options: Any) -> None:
    """exp is right within 3 + 2·|x| units in the last place (Vulkan's precision of GLSL.std.450).

    What exponentials are taken of adds up to the spread of a row at most, once for an element's own term on
    its way through the states into the sum, and once for the result; each also has a subtraction, whose error
    in the exponent is one in proportion to the result. Each combination of states takes an exponential: 3
    units more.
    """
    found = _found(device, plan_softmax, x, {}, **options).astype(np.float64)
    high = x.astype(np.float64)
    spread = high.max(-1, keepdims=True) - high.min(-1, keepdims=True)
    terms = np.exp(high - high.max(-1, keepdims=True))
    wanted = terms / terms.sum(-1, keepdims=True)
    units = 2 * (4 * STEPS + 3 * spread)
    error = units * UNIT / (1 - units * UNIT) * wanted + SMALLEST
    assert (np.abs(found - wanted) <= _half(x, error, wanted)).all(), (x.shape, x.dtype, options)


def _check_layer_norm(device: Device, x: Array, columns: dict[str, Array], **options: Any) -> None:
    """The variance is as exact as a sum of STEPS operations, and as the means from which it is counted.

    A mean that is wrong by e changes the squares by 4·e·n·deviation + 4·n·e² at most (Cauchy and Schwarz, for
    a group's mean and the whole one's); inversesqrt is right within 2 units in the last place.
    """
    given = {"weight": "weight" in columns, "bias": "bias" in columns}
    found = _found(device, plan_layer_norm, x, columns, **given, **options).astype(np.float64)
    high = x.astype(np.float64)
    growth = STEPS * UNIT / (1 - STEPS * UNIT)
    mean, variance = high.mean(-1, keepdims=True), high.var(-1, keepdims=True) + 1e-5
    wrong_mean = growth * np.abs(high).max(-1, keepdims=True)
    wrong_variance = growth + 4 * wrong_mean / np.sqrt(variance) + 4 * wrong_mean**2 / variance
    scale = np.abs(columns.get("weight", np.ones(1))).astype(np.float64)
    wanted = (high - mean) / np.sqrt(variance) * columns.get("weight", 1.0) + columns.get("bias", 0.0)
    apart = np.abs(high - mean) / np.sqrt(variance)
    error = scale * (apart * (wrong_variance + 8 * UNIT) + 2 * wrong_mean / np.sqrt(variance)) + UNIT * (
        np.abs(wanted) + np.abs(columns.get("bias", np.zeros(1))).astype(np.float64)
    )
    assert (np.abs(found - wanted) <= _half(x, error, wanted)).all(), (x.shape, x.dtype, options)


def _rows(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32, seed: int = 0) -> Array:
    return (np.random.default_rng(seed).normal(size=shape) * 3 + 1).astype(dtype)


def _columns(x: Array, *names: str) -> dict[str, Array]:
    rng = np.random.default_rng(7)
    return {name: rng.normal(size=x.shape[-1]).astype(x.dtype) for name in names}


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size(reference: Device, implementation: str) -> None:
    """Rows that share a subgroup, that take one, that take a workgroup."""
    for shape in ((9, 37), (3, 256), (2, 1021)):
        x = _rows(shape)
        _check_softmax(reference, x, implementation=implementation)
        _check_layer_norm(reference, x, _columns(x, "weight", "bias"), implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers(driver: Device, implementation: str) -> None:
    for shape in SHAPES:
        _check_softmax(driver, _rows(shape), implementation=implementation)
    for shape, names in (((9, 37), ("weight", "bias")), ((3, 4096), ("weight",)), ((2, 1021), ())):
        x = _rows(shape)
        _check_layer_norm(driver, x, _columns(x, *names), implementation=implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_halves(references: dict[int, Device], implementation: str) -> None:
    for shape in ((9, 37), (2, 1024)):
        x = _rows(shape, np.float16)
        _check_softmax(references[16], x, implementation=implementation)
        _check_layer_norm(references[16], x, _columns(x, "weight", "bias"), implementation=implementation)


def test_halves_on_a_driver(lavapipe: Any) -> None:
    with vkgroup.open(lavapipe.name) as device:
        _check_softmax(device, _rows((9, 40), np.float16))


TUNING: tuple[dict[str, Any], ...] = (
    {"team": 0, "workgroup": 64, "items": 1},
    {"team": 0, "workgroup": 96, "items": 2, "radix": 2},
    {"team": 4, "workgroup": 32, "items": 1},
    {"team": 1, "workgroup": 16, "items": 3},
    {"most_items": 1, "groups": 2},
    {"team_items": 1, "most_items": 2},
    {"team_items": 8},
)


@pytest.mark.mostly_slow(every=5, start=2)
@pytest.mark.parametrize("tuning", TUNING, ids=str)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_rows_longer_than_their_team_holds(
    references: dict[int, Device], implementation: str, tuning: dict[str, Any]
) -> None:
    """Chunk by chunk, with one that is not full, aligned or not."""
    for shape in ((5, 1003), (5, 1004)):
        x = _rows(shape)
        _check_softmax(references[16], x, implementation=implementation, **tuning)
        _check_layer_norm(references[16], x, _columns(x, "bias"), implementation=implementation, **tuning)


@pytest.mark.parametrize("length", [2**20 - 1, 2**20])
def test_a_million_columns(references: dict[int, Device], length: int) -> None:
    """All alike, so that every result is known: it costs no rounding to add ones."""
    x = np.full((1, length), 2.0, np.float32)
    found = kernels.softmax(x, device=references[32])
    assert (np.abs(found * length - 1) <= 2 * STEPS * UNIT).all()
    x[0, ::2] = 4
    found = kernels.layer_norm(x[:, : 2**20 - 2], device=references[32])
    assert np.abs(np.abs(found) - 1).max() <= 2 * STEPS * UNIT + 1e-5


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_many_rows(references: dict[int, Device], implementation: str) -> None:
    _check_softmax(references[32], _rows((3001, 10)), implementation=implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_adversarial_rows(driver: Device, implementation: str) -> None:
    """Far from zero, far apart, the greatest anywhere; a variance of nothing, and means that dwarf it."""
    x = _rows((6, 300))
    x[0] += 1000
    x[1, 123] = 200
    x[2] = -np.linspace(0, 3e4, 300)
    x[3] = -3e38
    x[4, 17:] = -np.inf
    softmax = kernels.softmax(x, device=driver, implementation=implementation)
    assert (softmax[4, 17:] == 0).all()
    assert np.allclose(softmax.sum(-1), 1, rtol=0, atol=2 * STEPS * UNIT)
    _check_softmax(driver, x[:4], implementation=implementation)
    y = _rows((3, 300))
    y[0] = 7
    y[1] += 10_000
    y[2, 5] = 1e6
    _check_layer_norm(driver, y, {}, implementation=implementation)
    # Sums of 300 times 0.1 are rounded, and divisions too on GPUs: differences from the mean must still be 0.
    y[1:] = np.float32([[0.1], [1e20]])
    assert (kernels.layer_norm(y, device=driver, implementation=implementation) == 0).all()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_rows_without_meaning_become_nan(references: dict[int, Device], implementation: str) -> None:
    """And leave the rows beside them alone."""
    x = np.ones((5, 70), np.float32)
    x[1, 3] = np.nan
    x[2, 4] = np.inf
    x[3] = -np.inf
    for function in (kernels.softmax, kernels.layer_norm):
        found = function(x, device=references[8], implementation=implementation)
        assert np.isnan(found[1:4]).all()
        assert np.isfinite(found[[0, 4]]).all()


def test_shapes_of_users(references: dict[int, Device], driver: Device) -> None:
    x = _rows((2, 3, 40))
    whole = kernels.softmax(x, device=references[4])
    assert whole.shape == x.shape
    assert np.array_equal(whole[1, 2], kernels.softmax(x[1, 2], device=references[4]))
    assert np.array_equal(whole, kernels.softmax(np.asfortranarray(x), device=references[4]))
    weight = np.full(40, 2, np.float32)
    with driver.buffer(x) as buffer, driver.buffer(weight) as factors:
        found = kernels.softmax(buffer)
        assert isinstance(found, Buffer)
        assert found.shape == x.shape
        normed = kernels.layer_norm(found, factors)
        assert isinstance(normed, Buffer)
        assert np.array_equal(normed.read(), kernels.layer_norm(found.read(), weight, device=driver))
    for empty in ((0, 5), (5, 0)):
        assert kernels.softmax(np.zeros(empty, np.float32)).shape == empty
        assert kernels.layer_norm(np.zeros(empty, np.float32)).shape == empty


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_the_kernels_are_clean(checked: Callable[..., Any], name: str, implementation: str) -> None:
    path = f"row_normalization/{name}_{implementation}.comp"
    assert not checked(path)
    assert not checked(
        path,
        {"WEIGHT": 0, "BIAS": 0},
        inputs={"values": np.linspace(0, 1, 600, dtype=np.float32), "results": np.zeros(600, np.float32)},
        push={"length": 100, "rows": 6},
        specialization={0: 32, "ITEMS": 2, "SUBGROUPS": 32, "TEAM": 8, "ALIGNED": True},
    )
