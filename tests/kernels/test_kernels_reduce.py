"""Reductions equal NumPy's on every device, along every axis, at every subgroup size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup
from vkgroup import kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.reduce_plan import macros_of, plan_reduce
from vkgroup.kernels.types import NUMBERS, OPERATIONS

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
UNIT = 2.0**-23
"""Relative error bound of one float32 operation; Vulkan does not define the rounding mode."""

NUMPY: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
USUAL = (
    ("add", np.float32),
    ("mul", np.uint32),
    ("min", np.float32),
    ("max", np.int32),
    ("and", np.uint32),
    ("xor", np.int32),
)
"""Each way in which states are combined, and each of the types of 32 bits."""


def _data(operation: str, dtype: npt.DTypeLike, shape: Any, seed: int = 0) -> Array:
    """Make elements of which the reduction is exact in every order, and depends on every one of them."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind != "f":
        x = rng.integers(0, 1 << 62, shape, np.uint64).astype(kind)
        return x | kind.type(1) if operation == "mul" else x
    if operation == "mul":
        exponents = rng.choice([-1, 0, 0, 0, 1], shape)
        exponents.reshape(-1)[1::2] = -exponents.reshape(-1)[: exponents.size // 2 * 2 : 2]
        return np.ldexp(rng.choice([-1.0, 1.0], shape), exponents).astype(kind)
    if operation == "add":
        return rng.integers(-2, 3, shape).astype(kind)
    return rng.normal(size=shape).astype(kind)


def _wanted(operation: str, x: Array, axis: Any) -> Array:
    result: Array = NUMPY[operation].reduce(x, axis=axis, dtype=x.dtype)
    return result


def _found(device: Device, operation: str, x: Array, axis: Any = None, **options: Any) -> Array:
    plan = plan_reduce(device, x.shape, x.dtype, operation, axis, **options)
    with device.buffer(x) as buffer, plan.record(x=buffer) as work:
        work.run()
        return work.buffers["result"].read()


def _check(device: Device, operation: str, x: Array, axis: Any = None, **options: Any) -> None:
    found = _found(device, operation, x, axis, **options)
    assert np.array_equal(found, _wanted(operation, x, axis)), (operation, x.dtype, x.shape, axis, options)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_reduces(reference: Device, implementation: str) -> None:
    """All of an array in parts, and rows that share a subgroup."""
    options: dict[str, Any] = {"implementation": implementation, "workgroup": 128, "items": 1}
    for operation, dtype in USUAL if implementation == "subgroup" else USUAL[:3]:
        _check(reference, operation, _data(operation, dtype, 4099), **options)
    for operation, dtype in USUAL[:2]:
        _check(reference, operation, _data(operation, dtype, (21, 37)), 1, **options)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_reduce(driver: Device, implementation: str) -> None:
    for operation, dtype in USUAL:
        for size in (1, 2, 5, 1021, 4099):
            _check(driver, operation, _data(operation, dtype, size), implementation=implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_reduce_along_axes(driver: Device, implementation: str) -> None:
    shapes: tuple[tuple[tuple[int, ...], Any], ...] = (
        ((21, 37), 1),
        ((3, 4099), -1),
        ((2001, 3), 0),
        ((4, 100, 12), 1),
        ((5, 6, 7), (0, 1)),
    )
    for shape, axis in shapes:
        _check(driver, "add", _data("add", np.int32, shape), axis, implementation=implementation)


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_million_elements(references: dict[int, Device], implementation: str, size: int) -> None:
    for operation, dtype in (("add", np.uint32), ("max", np.float32)):
        _check(references[32], operation, _data(operation, dtype, size), implementation=implementation)


@pytest.mark.parametrize("finish", ["second", "ticket"])
def test_drivers_reduce_a_million_elements(driver: Device, finish: str) -> None:
    x = _data("add", np.int32, 2**20 + 1)
    _check(driver, "add", x, finish=finish)
    _check(driver, "add", x[1:].reshape(16, -1), 1, finish=finish, contiguous=True)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_operation_on_every_type(references: dict[int, Device], dtype: np.dtype[Any]) -> None:
    for number, operation in enumerate(OPERATIONS):
        if operation in ("and", "or", "xor") and dtype.kind == "f":
            continue
        implementation = IMPLEMENTATIONS[number % 2]
        _check(
            references[32], operation, _data(operation, dtype, (2, 1021)), 1, implementation=implementation
        )
        _check(references[4], operation, _data(operation, dtype, (130, 3)), 0, implementation=implementation)


@pytest.mark.mostly_slow(every=6)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float16])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_wide_and_half_types_on_a_driver(implementation: str, dtype: Any) -> None:
    with vkgroup.open("lavapipe") as device:
        for operation in ("add", "min"):
            _check(device, operation, _data(operation, dtype, 1021), implementation=implementation)


def test_a_type_that_the_device_lacks_is_named(swiftshader: Any) -> None:
    with vkgroup.open(swiftshader.name) as device, pytest.raises(Unsupported) as caught:
        plan_reduce(device, 9, np.uint64, "add")
    assert "shaderInt64" in caught.value.missing


AXES: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((7,), 0),
    ((7,), ()),
    ((1, 1), None),
    ((3, 1, 5), 1),
    ((3, 4, 5), None),
    ((3, 4, 5), (1, 2)),
    ((3, 4, 5), (0, 1)),
    ((3, 4, 5), -2),
    ((2, 700, 8), 1),
    ((1, 1500), 0),
    ((900, 1), 0),
    ((513, 256), 0),
    ((600, 9), 1),
    ((9, 1030), 1),
)


@pytest.mark.parametrize(("shape", "axis"), AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_are_numpys(references: dict[int, Device], shape: Any, axis: Any, keepdims: bool) -> None:
    x = _data("add", np.int32, shape)
    found = kernels.sum(x, axis, keepdims=keepdims, device=references[8])
    wanted = np.sum(x, axis, keepdims=keepdims, dtype=np.int32)
    assert np.array_equal(found, wanted)
    assert np.shape(found) == np.shape(wanted)
    assert found.dtype == wanted.dtype


TUNING: tuple[dict[str, Any], ...] = (
    {"workgroup": 64, "items": 3, "groups": 5},
    {"workgroup": 32, "items": 1, "groups": 7, "contiguous": True},
    {"workgroup": 128, "items": 8, "finish": "ticket"},
    {"workgroup": 64, "groups": 3, "finish": "ticket", "contiguous": True},
    {"team": 1},
    {"team": 8, "items": 2, "radix": 2},
    {"team": 0, "radix": 16, "workgroup": 96},
    {"finish_workgroup": 32, "groups": 64, "workgroup": 32, "items": 1},
)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("tuning", TUNING, ids=str)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_tuning_changes_no_result(
    references: dict[int, Device], implementation: str, tuning: dict[str, Any]
) -> None:
    for shape in ((1, 5003), (13, 407)):
        _check(
            references[16], "xor", _data("xor", np.uint32, shape), 1, implementation=implementation, **tuning
        )


def test_a_grid_that_is_too_small_goes_on(references: dict[int, Device]) -> None:
    """More rows than the device has workgroups in a grid."""
    x = _data("add", np.int32, (70_000, 2))
    _check(references[1], "add", x, 1, team=0, workgroup=1, implementation="shared")


def _depth(size: int, workgroup: int, items: int, groups: int) -> int:
    """Return how many additions an element takes part in at most, in any order within a workgroup.

    Whole tiles and the last one of an invocation, the four columns of its sum, elements before and behind the
    vectors; the invocations of a workgroup; then the parts.
    """
    each = -(-size // (4 * workgroup * items * groups)) * items
    return each + 2 + 2 + workgroup + groups


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", ["reference", "lavapipe"])
def test_sums_are_as_exact_as_their_depth_allows(name: str, implementation: str) -> None:
    """The error of a sum of depth d is at most d·u / (1 − d·u) times the sum of magnitudes."""
    x = np.random.default_rng(5).normal(size=2**20 - 3).astype(np.float32) ** 3
    with vkgroup.open(name) as device:
        found = float(
            _found(device, "add", x, implementation=implementation, groups=16, items=4, workgroup=128)
        )
    depth = _depth(x.size, 128, 4, 16)
    bound = depth * UNIT / (1 - depth * UNIT) * math.fsum(np.abs(x.astype(np.float64)))
    assert abs(found - math.fsum(x)) <= bound


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_min_and_max_follow_numpy_for_special_floats(references: dict[int, Device], dtype: Any) -> None:
    """NaN of either sign wins wherever it is; denormals and infinities count; bits are kept."""
    tiny = np.finfo(dtype).smallest_subnormal
    quiet = np.array(np.nan, dtype)
    special: tuple[tuple[float, ...], ...] = (
        (quiet,),
        (-quiet,),
        (quiet, np.inf, -np.inf),
        (-quiet, np.inf, -np.inf),
        (np.inf,),
        (-np.inf,),
        (tiny, -tiny),
    )
    for number, values in enumerate(special):
        x = np.zeros(300, dtype)
        x[np.random.default_rng(number).choice(300, len(values), replace=False)] = values
        for operation in ("min", "max"):
            wanted = _wanted(operation, x, None)
            for implementation in IMPLEMENTATIONS:
                found = _found(references[8], operation, x, implementation=implementation)
                assert np.array_equal(found, wanted, equal_nan=True), (values, operation)
    signed = np.array([0.0, -0.0, 0.0], dtype)
    assert np.signbit(kernels.min(signed, device=references[8]))
    assert not np.signbit(kernels.max(signed, device=references[8]))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_let_nan_win(driver: Device, implementation: str) -> None:
    x = np.random.default_rng(2).normal(size=3000).astype(np.float32)
    for bits in (0x7FC00000, 0xFFC00000, 0x7F800001):
        x.view(np.uint32)[1234] = bits
        for operation in ("min", "max"):
            assert np.isnan(_found(driver, operation, x, implementation=implementation))


def test_halves_are_added_as_float32(references: dict[int, Device]) -> None:
    """4096 halves of 1 and of 1/1024: in halves, the sum would stop growing at 2048."""
    x = np.tile(np.array([1, 2**-10], np.float16), 2048)
    assert kernels.sum(x, device=references[32]) == np.float16(2050)
    down = np.repeat(x[:, None], 5, axis=1)
    assert np.array_equal(kernels.sum(down, 0, device=references[32]), np.full(5, 2050, np.float16))


def test_the_same_call_gives_the_same_bits(driver: Device) -> None:
    x = np.random.default_rng(3).normal(size=100_003).astype(np.float32)
    for finish in ("second", "ticket"):
        found = {_found(driver, "add", x, finish=finish).tobytes() for _ in range(5)}
        assert len(found) == 1


def test_names_are_numpys(references: dict[int, Device]) -> None:
    device = references[4]
    x = _data("xor", np.int32, (6, 50))
    assert kernels.prod(x, device=device) == np.prod(x, dtype=np.int32)
    assert kernels.min(x, device=device) == x.min()
    assert np.array_equal(kernels.max(x, 0, device=device), x.max(0))
    for ours, theirs in (
        (kernels.bitwise_and, np.bitwise_and),
        (kernels.bitwise_or, np.bitwise_or),
        (kernels.bitwise_xor, np.bitwise_xor),
    ):
        assert np.array_equal(ours.reduce(x, device=device), theirs.reduce(x))
        assert ours.reduce(x, None, device=device) == theirs.reduce(x, None)
    found = kernels.sum(np.ones(3, np.float32), device=device)
    assert isinstance(found, np.float32)


def test_arrays_in_any_order_of_memory(references: dict[int, Device]) -> None:
    x = _data("add", np.int32, (40, 30))
    for array in (x.T, x[::2, ::3], np.asfortranarray(x)):
        assert np.array_equal(kernels.sum(array, 1, device=references[4]), array.sum(1, dtype=np.int32))


def test_empty_arrays_give_what_numpy_gives() -> None:
    """Without a device: none is opened for nothing."""
    empty = np.zeros((0, 3), np.float32)
    assert kernels.sum(empty) == 0
    assert kernels.prod(empty) == 1
    assert np.array_equal(kernels.sum(empty, 0), np.zeros(3))
    assert kernels.sum(empty, 1, keepdims=True).shape == (0, 1)
    assert kernels.bitwise_and.reduce(np.zeros(0, np.uint32)) == 0xFFFFFFFF
    assert kernels.min(empty, 1).shape == (0,)
    for function in (kernels.min, kernels.max):
        with pytest.raises(InvalidDispatch, match="not empty"):
            function(empty)


def test_buffers_stay_buffers(driver: Device) -> None:
    x = _data("add", np.float32, (30, 41))
    with driver.buffer(x) as buffer:
        found = kernels.sum(buffer, 1)
        assert isinstance(found, Buffer)
        assert found.dtype == np.float32
        assert found.shape == (30,)
        whole = kernels.max(found)
        assert isinstance(whole, Buffer)
        assert whole.read() == x.sum(1).max()


@pytest.mark.parametrize(
    ("operation", "x", "axis", "message"),
    [
        ("sum", np.zeros(3, np.float32), 1, "axis 1"),
        ("sum", np.zeros((2, 2, 2), np.float32), (0, 2), "next to each other"),
        ("sum", np.zeros((2, 2), np.float32), (0, 0), "are repeated"),
        ("sum", np.zeros(3, np.complex64), None, "complex64"),
        ("min", np.zeros(3, np.bool_), None, "bool"),
        ("sum", np.zeros(3, np.float32), 0.5, "axis 0.5"),
    ],
)
def test_what_cannot_be_reduced_is_refused(operation: str, x: Array, axis: Any, message: str) -> None:
    with pytest.raises(InvalidDispatch, match=message):
        getattr(kernels, operation)(x, axis)


@pytest.mark.parametrize(
    "tuning",
    [
        {"finish": "never"},
        {"items": 0},
        {"team": 3},
        {"radix": 1},
        {"contiguous": 1},
        {"workgroup": 2.5},
        {"workgruop": 64},
    ],
    ids=str,
)
def test_tuning_that_makes_no_sense_is_refused(references: dict[int, Device], tuning: dict[str, Any]) -> None:
    with pytest.raises(InvalidDispatch, match=next(iter(tuning))):
        plan_reduce(references[4], 10, np.float32, "add", **tuning)


@pytest.mark.parametrize("path", ["subgroup", "shared", "finish_subgroup", "finish_shared", "columns"])
def test_the_kernels_are_clean(checked: Callable[..., Any], path: str) -> None:
    assert not checked(f"reduce/{path}.comp")


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("finish", ["SECOND", "TICKET"])
def test_parts_are_clean(checked: Callable[..., Any], implementation: str, finish: str) -> None:
    """No race between the workgroups that write parts and the last one, which reads them."""
    found = checked(
        f"reduce/{implementation}.comp",
        {**macros_of("min", np.dtype(np.float32)), "FINISH": finish},
        inputs={"values": np.arange(2004, dtype=np.int32)},
        push={"length": 1002, "rows": 2, "parts": 3},
        specialization={0: 64, "ITEMS": 1, "SUBGROUPS": 64},
        groups=(6,),
    )
    assert not found


@pytest.mark.parametrize("function", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("axis", [0, 1])
def test_no_elements_have_no_extreme_also_where_the_result_is_empty(
    function: str, shape: tuple[int, int], axis: int
) -> None:
    empty = np.zeros(shape, np.float32)
    if shape[axis]:
        assert getattr(kernels, function)(empty, axis).shape == getattr(np, function)(empty, axis).shape
        return
    with pytest.raises(InvalidDispatch, match="no elements"):
        getattr(kernels, function)(empty, axis)
