"""Matrix products equal NumPy's: integers and exact floats bit for bit, other floats within a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.base import files
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.compiler import compile_file, validate
from vkgroup.device import Capabilities, CooperativeMatrix
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.matmul import cooperative_shape, plan_matmul

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
UNIT = 2.0**-23
"""Relative error bound of one float32 operation; Vulkan does not define the rounding mode."""

TILES: dict[str, dict[str, Any]] = {
    "subgroup": {"rows": 8, "quads": 2, "across": 8, "workgroup": 128},
    "shared": {"rows": 8, "quads": 2, "across": 8, "workgroup": 32, "depth": 4},
}


def _exact(dtype: npt.DTypeLike, sizes: tuple[int, int, int], bound: int = 8) -> tuple[Array, Array]:
    """Small whole numbers, of which every sum of products is exact in any order."""
    rows, inner, columns = sizes
    rng = np.random.default_rng(sum(sizes))
    low = 0 if np.dtype(dtype).kind == "u" else -bound
    return (
        rng.integers(low, bound, (rows, inner)).astype(dtype),
        rng.integers(low, bound, (inner, columns)).astype(dtype),
    )


def _found(device: Device, a: Array, b: Array, implementation: str, **options: Any) -> Array:
    plan = plan_matmul(device, a.dtype, a.shape, b.shape, implementation, **options)
    with device.buffer(a) as left, device.buffer(b) as right, plan.record(a=left, b=right) as work:
        work.run(timeout=100)
        return work.buffers["product"].read()


def _check(
    device: Device, dtype: npt.DTypeLike, sizes: tuple[int, int, int], implementation: str, **options: Any
) -> None:
    a, b = _exact(dtype, sizes)
    wide = np.float64 if np.dtype(dtype).kind == "f" else np.int64
    found = _found(device, a, b, implementation, **options)
    wanted = (a.astype(wide) @ b.astype(wide)).astype(found.dtype)
    assert np.array_equal(found, wanted), (dtype, sizes, implementation, options)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_multiplies(reference: Device, implementation: str) -> None:
    for sizes in ((37, 41, 43), (20, 64, 36), (1, 130, 1)):
        _check(reference, np.float32, sizes, implementation)
    _check(reference, np.int32, (36, 12, 68), implementation, **TILES[implementation])
    _check(reference, np.float16, (17, 9, 19), implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_multiply(driver: Device, implementation: str) -> None:
    for dtype in (np.float32, np.uint32):
        for sizes in ((1, 1, 1), (64, 96, 40), (131, 5, 33), (3, 257, 8)):
            _check(driver, dtype, sizes, implementation)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize(
    ("dtype", "needs"),
    [
        (np.float16, "storageBuffer16BitAccess"),
        (np.int8, "storageBuffer8BitAccess"),
        (np.uint64, "shaderInt64"),
        (np.float64, "shaderFloat64"),
    ],
)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_types_that_a_driver_may_lack(driver: Device, dtype: Any, needs: str, implementation: str) -> None:
    if needs not in driver.capabilities.features:
        with pytest.raises(Unsupported, match=needs):
            _check(driver, dtype, (8, 8, 8), implementation)
    else:
        _check(driver, dtype, (37, 29, 31), implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_integers_wrap_around(references: dict[int, Device], implementation: str) -> None:
    for dtype in (np.int8, np.uint32, np.int64):
        info = np.iinfo(dtype)
        rng = np.random.default_rng(1)
        a = rng.integers(info.min, info.max, (19, 33), dtype, endpoint=True)
        b = rng.integers(info.min, info.max, (33, 21), dtype, endpoint=True)
        with np.errstate(over="ignore"):
            assert np.array_equal(_found(references[16], a, b, implementation), a @ b)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_rounding_stays_within_the_bound(driver: Device, implementation: str) -> None:
    """n products and n sums in any order: (n + 1) roundings at most in each term's way to the result."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(45, 301)).astype(np.float32), rng.normal(size=(301, 50)).astype(np.float32)
    a[:, 7] *= 1e6
    found = _found(driver, a, b, implementation).astype(np.float64)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    roundings = 302 * UNIT
    bound = roundings / (1 - roundings) * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert np.all(np.abs(found - wanted) <= bound)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_about_a_million_elements(driver: Device, implementation: str) -> None:
    """The loops stay below 65,536 rounds, after which lavapipe 22.3.6 leaves a loop."""
    _check(driver, np.int32, (8, (1 << 17) + 1, 3), implementation)


def test_infinities_stay_where_they_are(references: dict[int, Device]) -> None:
    """Elements outside both matrices count as zeros and are multiplied with zeros only."""
    a, b = np.ones((5, 6), np.float32), np.ones((6, 7), np.float32)
    a[2, 3], b[1, 5] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    for implementation in IMPLEMENTATIONS:
        assert np.array_equal(_found(references[32], a, b, implementation), wanted, equal_nan=True)


def test_halves_may_give_singles(references: dict[int, Device]) -> None:
    a, b = _exact(np.float16, (20, 600, 24), bound=64)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    for implementation in IMPLEMENTATIONS:
        found = _found(references[32], a, b, implementation, result=np.float32)
        assert found.dtype == np.float32
        assert np.array_equal(found, wanted)
    assert kernels.matmul(a, b, device=references[32]).dtype == np.float16


def test_arrays_and_buffers(references: dict[int, Device]) -> None:
    device = references[32]
    a, b = _exact(np.float32, (5, 9, 7))
    assert np.array_equal(kernels.matmul(a, b, device=device), a @ b)
    assert np.array_equal(kernels.matmul(a.astype(np.int32), b.astype(np.int8), device=device), a @ b)
    with device.buffer(a) as left, device.buffer(b) as right:
        product = kernels.matmul(left, right)
        assert isinstance(product, Buffer)
        assert np.array_equal(product.read(), a @ b)


def test_empty_matrices_need_no_device() -> None:
    found = kernels.matmul(np.ones((3, 0), np.int32), np.ones((0, 2), np.int32))
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, np.zeros((3, 2), np.int32))
    assert found.dtype == np.int32


def test_what_cannot_be_multiplied_is_refused(references: dict[int, Device]) -> None:
    device, x = references[32], np.ones((4, 3), np.float32)
    with device.buffer(x) as a, device.buffer(x.T.astype(np.int32)) as b, pytest.raises(InvalidDispatch):
        kernels.matmul(a, b)


@pytest.mark.parametrize("vector", [0, 1])
@pytest.mark.parametrize("result", ["float", "float16_t"])
def test_the_cooperative_kernel_is_valid(vector: int, result: str) -> None:
    module = compile_file(
        files.kernel("matmul/cooperative.comp"),
        defines={
            "T": "float16_t",
            "T_BITS": 16,
            "T_FLOAT": 1,
            "VECTOR": vector,
            "RESULT": result,
            "RESULT_BITS": 32 if result == "float" else 16,
        },
    )
    validate(module)
    assert {"CooperativeMatrixKHR", "VulkanMemoryModel"} <= module.reflection.capabilities


def test_cooperative_matrices_multiply_where_the_device_has_them(driver: Device) -> None:
    a, b = _exact(np.float16, (130, 72, 136))
    if cooperative_shape(driver) is None:
        with pytest.raises(Unsupported, match="cooperative matrices of float16"):
            _found(driver, a, b, "cooperative")
        return
    _check(driver, np.float16, (130, 72, 136), "cooperative")


def test_the_largest_fitting_shape_is_taken(references: dict[int, Device]) -> None:
    """It comes from what the device lists, by Vulkan's names."""

    class Claims:
        capabilities: Capabilities

    halves = CooperativeMatrix(16, 8, 8, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32", False, "SUBGROUP")
    device: Any = Claims()
    device.capabilities = replace(
        references[32].capabilities,
        cooperative_matrices=(
            halves,
            replace(halves, n=16, k=16),
            replace(halves, m=64, c_type="FLOAT16", result_type="FLOAT16"),
            replace(halves, m=64, n=64, k=64, scope="WORKGROUP"),
            replace(halves, k=32, a_type="SINT8", b_type="SINT8", c_type="SINT32", result_type="SINT32"),
        ),
    )
    assert cooperative_shape(device) == replace(halves, n=16, k=16)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("vector", [0, 1])
def test_the_check_finds_nothing(checked: Any, implementation: str, vector: int) -> None:
    a, b = _exact(np.int32, (19, 36, 44) if vector else (19, 35, 43))
    shape = (-1, 4) if vector else (-1,)
    found = checked(
        f"matmul/{implementation}.comp",
        {
            "T": "int",
            "T_FLOAT": 0,
            "T_BITS": 32,
            "T4": "ivec4",
            "SUM": "int",
            "SUM4": "ivec4",
            "RESULT": "int",
            "RESULT4": "ivec4",
            "VECTOR": vector,
        },
        groups=(2, 1),
        inputs={
            "A": a.reshape(shape),
            "B": b.reshape(shape),
            "Product": np.zeros(19 * b.shape[1], np.int32).reshape(shape),
        },
        push={"rows": 19, "columns": b.shape[1], "inner": a.shape[1]},
    )
    assert found == ()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing_in_the_kernels_as_they_stand(checked: Any, implementation: str) -> None:
    assert checked(f"matmul/{implementation}.comp") == ()


def test_the_check_finds_nothing_in_the_cooperative_kernel(checked: Any) -> None:
    assert checked("matmul/cooperative.comp") == ()
