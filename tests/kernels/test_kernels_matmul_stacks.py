"""Products of stacks of matrices and of vectors equal NumPy's, with leading axes broadcast as there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.base import files
from vkgroup.base.errors import InvalidDispatch
from vkgroup.compiler import compile_file, validate
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.matmul import plan_matmul
from vkgroup.kernels.matmul_stacks import Axis, stack_of
from vkgroup.kernels.plan import Pass, Plan

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

IMPLEMENTATIONS = ("subgroup", "shared")
UNIT = 2.0**-23
"""Relative error bound of one float32 operation; Vulkan does not define the rounding mode."""

STACKS: dict[str, tuple[Shape, Shape]] = {
    "equal axes": ((3, 5, 7), (3, 7, 2)),
    "rows that are vectors": ((4, 36, 12), (4, 12, 68)),
    "one left matrix": ((19, 9), (5, 9, 33)),
    "one right matrix": ((2, 3, 17, 9), (9, 33)),
    "axes of size 1": ((2, 1, 5, 8), (1, 3, 8, 4)),
    "axes that alternate": ((2, 3, 2, 3, 8), (1, 3, 1, 8, 4)),
    "axes that alternate, and are repeated": ((2, 1, 2, 1, 3, 8), (1, 3, 1, 2, 8, 4)),
    "one product": ((1, 1, 3, 8), (1, 8, 4)),
}

VECTORS: dict[str, tuple[Shape, Shape]] = {
    "two vectors": ((70,), (70,)),
    "row and matrix": ((9,), (9, 33)),
    "matrix and column": ((33, 9), (9,)),
    "row and stack": ((9,), (3, 9, 4)),
    "stack and column": ((3, 4, 9), (9,)),
}


def _exact(dtype: npt.DTypeLike, left: Shape, right: Shape) -> tuple[Array, Array]:
    """Small whole numbers, of which every sum of products is exact in any order."""
    rng = np.random.default_rng(sum(left) + sum(right))
    low = 0 if np.dtype(dtype).kind == "u" else -8
    return rng.integers(low, 8, left).astype(dtype), rng.integers(low, 8, right).astype(dtype)


def _found(device: Device, a: Array, b: Array, implementation: str, **options: Any) -> Array:
    plan = plan_matmul(device, a.dtype, a.shape, b.shape, implementation, **options)
    with device.buffer(a) as left, device.buffer(b) as right, plan.record(a=left, b=right) as work:
        work.run(timeout=100)
        return work.buffers["product"].read()


def _check(
    device: Device, dtype: npt.DTypeLike, shapes: tuple[Shape, Shape], implementation: str, **options: Any
) -> None:
    a, b = _exact(dtype, *shapes)
    wide = np.float64 if np.dtype(dtype).kind == "f" else np.int64
    found = _found(device, a, b, implementation, **options)
    wanted = np.matmul(a.astype(wide), b.astype(wide)).astype(found.dtype)
    assert found.shape == wanted.shape, shapes
    assert np.array_equal(found, wanted), (dtype, shapes, implementation, options)


def _passes(plan: Plan) -> list[Pass]:
    return [step for step in plan.steps if isinstance(step, Pass)]


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_multiplies(reference: Device, implementation: str) -> None:
    for shapes in (*STACKS.values(), *VECTORS.values()):
        _check(reference, np.float32, shapes, implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_multiply(driver: Device, implementation: str) -> None:
    for dtype in (np.float32, np.uint32):
        for shapes in (*STACKS.values(), *VECTORS.values()):
            _check(driver, dtype, shapes, implementation)


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, np.float64])
def test_types(references: dict[int, Device], dtype: Any, implementation: str) -> None:
    for shapes in (STACKS["equal axes"], STACKS["rows that are vectors"], STACKS["axes of size 1"]):
        _check(references[16], dtype, shapes, implementation)


def test_cooperative_matrices_multiply_stacks(references: dict[int, Device]) -> None:
    """Small and large matrices, with edges and without them, and products that share workgroups."""
    for shapes in (((3, 16, 16), (3, 16, 16)), ((2, 1, 40, 24), (3, 24, 136)), ((2, 37, 9), (2, 9, 19))):
        for result in (np.float16, np.float32):
            _check(references[32], np.float16, shapes, "cooperative", result=result)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_rounding_stays_within_the_bound(driver: Device, implementation: str) -> None:
    """n products and n sums in any order: (n + 1) roundings at most in each term's way to the result."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=(5, 20, 101)).astype(np.float32)
    b = rng.normal(size=(5, 101, 24)).astype(np.float32)
    found = _found(driver, a, b, implementation).astype(np.float64)
    roundings = 102 * UNIT
    magnitudes = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.all(np.abs(found - wanted) <= roundings / (1 - roundings) * magnitudes)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_many_small_matrices_are_one_dispatch(vulkan_device: Device, implementation: str) -> None:
    shapes = ((10_000, 16, 16), (10_000, 16, 16))
    plan = plan_matmul(vulkan_device, np.float32, *shapes, implementation)
    assert len(_passes(plan)) == 1
    _check(vulkan_device, np.float32, shapes, implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_more_matrices_than_the_grid_has_layers(vulkan_device: Device, implementation: str) -> None:
    """Drivers here have grids of 65,535 layers; workgroups compute several products."""
    shapes = ((70_001, 2, 3), (70_001, 3, 2))
    (step,) = _passes(plan_matmul(vulkan_device, np.int32, *shapes, implementation))
    assert step.groups[2] <= vulkan_device.capabilities.limits["maxComputeWorkGroupCount"][2]
    _check(vulkan_device, np.int32, shapes, implementation)


def test_more_rows_than_the_grid_has(vulkan_device: Device) -> None:
    """Matrices times one matrix are one product only if the grid has so many rows of tiles."""
    most = int(vulkan_device.capabilities.limits["maxComputeWorkGroupCount"][1])
    few, many = (
        _passes(plan_matmul(vulkan_device, np.float32, (count, 16, 2), (2, 4), "shared"))[0].groups
        for count in (most, most + 1)
    )
    assert few[2] == 1
    assert many[:2] == (1, 1)


def test_tuning_changes_no_result(references: dict[int, Device]) -> None:
    shapes = ((3, 40, 21), (3, 21, 70))
    for options in ({"workgroup": 64, "across": 8}, {"rows": 8, "quads": 2}, {"depth": 4}):
        _check(references[32], np.int32, shapes, "shared", **options)
    for options in ({"workgroup": 64, "across": 4}, {"rows": 8, "quads": 2}):
        _check(references[32], np.int32, shapes, "subgroup", **options)


# --- stacks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [*STACKS.values(), *VECTORS.values()], ids=[*STACKS, *VECTORS])
def test_shapes_are_numpy_s(shapes: tuple[Shape, Shape]) -> None:
    left, right = shapes
    assert stack_of(left, right).shape == np.matmul(np.empty(left), np.empty(right)).shape


def test_neighbouring_axes_become_one() -> None:
    assert stack_of((4, 3, 5, 7), (4, 3, 7, 2)).axes == (Axis(12, 35, 14),)
    assert stack_of((5, 7), (4, 3, 7, 2)).axes == (Axis(12, 0, 14),)
    assert stack_of((4, 1, 5, 7), (3, 7, 2)).axes == (Axis(4, 35, 0), Axis(3, 0, 14))
    assert stack_of((1, 5, 7), (1, 7, 2), most_rows=100).axes == ()


def test_matrices_times_one_matrix_are_one_product() -> None:
    stack = stack_of((4, 3, 5, 7), (7, 2), most_rows=60)
    assert (stack.rows, stack.axes, stack.count) == (60, (), 1)
    assert stack_of((4, 3, 5, 7), (7, 2), most_rows=59).axes == (Axis(12, 35, 0),)


def test_one_dispatch_computes_two_axes() -> None:
    assert len(list(stack_of((2, 1, 5, 8), (1, 3, 8, 4)).dispatches())) == 1
    pushes = list(stack_of((2, 1, 2, 1, 3, 8), (1, 3, 1, 2, 8, 4)).dispatches())
    firsts = [(push["a_first"], push["b_first"], push["product_first"]) for push in pushes]
    assert firsts == [(a * 48, b * 64, (a * 3 + b) * 48) for a in range(2) for b in range(3)]


# --- NumPy's name -----------------------------------------------------------------------------------------


def test_arrays_and_buffers(references: dict[int, Device]) -> None:
    device = references[32]
    for shapes in (STACKS["axes of size 1"], STACKS["one right matrix"], *VECTORS.values()):
        a, b = _exact(np.float32, *shapes)
        wanted = np.matmul(a, b)
        assert np.array_equal(kernels.matmul(a, b, device=device), wanted)
        assert np.array_equal(kernels.matmul(a.astype(np.int8), b, device=device), wanted)
        with device.buffer(a) as left, device.buffer(b) as right:
            product = kernels.matmul(left, right)
            assert isinstance(product, Buffer)
            assert product.shape == wanted.shape
            assert np.array_equal(product.read(), wanted)


def test_empty_stacks_need_no_device() -> None:
    for left, right in (((0, 3, 4), (4, 2)), ((5, 3, 0), (5, 0, 2)), ((0,), (0,)), ((2, 1, 3, 0), (4, 0, 2))):
        found = kernels.matmul(np.ones(left, np.int32), np.ones(right, np.int32))
        wanted = np.matmul(np.ones(left, np.int32), np.ones(right, np.int32))
        assert isinstance(found, np.ndarray)
        assert found.shape == wanted.shape
        assert np.array_equal(found, wanted)


def test_bad_shapes_are_refused(references: dict[int, Device]) -> None:
    device = references[32]
    for match, left, right in (
        ("cannot be broadcast", (2, 4, 3), (3, 3, 4)),
        ("cannot be broadcast", (2, 0, 4, 3), (2, 3, 3, 4)),
        ("inner axes differ", (2, 4, 3), (2, 4, 3)),
        ("inner axes differ", (3,), (4,)),
        ("at least one axis", (), (3,)),
        ("nonempty", (0, 4, 3), (3, 2)),
    ):
        with pytest.raises(InvalidDispatch, match=match):
            plan_matmul(device, np.float32, left, right)
    with pytest.raises(InvalidDispatch, match="cannot be broadcast"):
        kernels.matmul(np.ones((2, 4, 3)), np.ones((3, 3, 4)), device=device)


@pytest.mark.parametrize("implementation", [*IMPLEMENTATIONS, "cooperative"])
@pytest.mark.parametrize("vector", [0, 1])
def test_the_check_finds_nothing(checked: Callable[..., Any], implementation: str, vector: int) -> None:
    """Three products on a grid of two layers; every left matrix is used once, the right one by all."""
    half = implementation == "cooperative"
    rows, inner, columns = 19, 24 if vector else 21, 40 if vector else 35
    a, b = _exact(np.float16 if half else np.int32, (3, rows, inner), (inner, columns))
    width = (8 if half else 4) if vector else 1
    types = (
        {"T": "float16_t", "T_FLOAT": 1, "T_BITS": 16} if half else {"T": "int", "T_FLOAT": 0, "T_BITS": 32}
    )
    sums = {} if half else {"T4": "ivec4", "SUM": "int", "SUM4": "ivec4", "RESULT": "int", "RESULT4": "ivec4"}
    product = np.zeros(3 * rows * columns, np.float32 if half else np.int32)
    stacked = {"A": a.reshape(-1), "B": b.reshape(-1), "Product": product}
    if half and vector:
        stacked = {name: x.view(np.uint32).reshape(-1, 4) for name, x in stacked.items() if name != "Product"}
        stacked["Product"] = product
    elif vector:
        stacked = {name: x.reshape(-1, width) for name, x in stacked.items()}
    found = checked(
        f"matmul/{implementation}.comp",
        {**types, **sums, "VECTOR": vector, "BATCHED": 1},
        groups=(2, 1, 2),
        inputs=stacked,
        push={
            **{"rows": rows, "columns": columns, "inner": inner, "batches": 3, "minor": 3},
            **{"a_first": 0, "a_major": 0, "a_minor": rows * inner},
            **{"b_first": 0, "b_major": 0, "b_minor": 0, "product_first": 0},
        },
    )
    assert found == ()


@pytest.mark.parametrize("vector", [0, 1])
def test_the_cooperative_kernel_is_valid(vector: int) -> None:
    module = compile_file(
        files.kernel("matmul/cooperative.comp"),
        defines={"T": "float16_t", "T_BITS": 16, "T_FLOAT": 1, "VECTOR": vector, "BATCHED": 1},
    )
    validate(module)
