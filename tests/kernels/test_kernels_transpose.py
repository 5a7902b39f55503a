"""Transposed matrices are what NumPy's are, bit for bit, for every shape and size of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vkgroup import kernels
from vkgroup.base.errors import Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.transpose import Blocks, blocks_of, plan_transpose

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
STORAGE = {1: "storageBuffer8BitAccess", 2: "storageBuffer16BitAccess"}


def _matrix(dtype: npt.DTypeLike, shape: tuple[int, int]) -> Array:
    """Random bits; nothing is a NaN in a comparison of bytes."""
    nbytes = np.dtype(dtype).itemsize * shape[0] * shape[1]
    return np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8).view(dtype).reshape(shape)


def _found(device: Device, x: Array, implementation: str, **tuning: Any) -> Array:
    plan = plan_transpose(device, x.dtype, x.shape, implementation, **tuning)
    with device.buffer(x) as buffer, plan.record(x=buffer) as work:
        work.run(timeout=100)
        return work.buffers["transposed"].read()


def _check(device: Device, x: Array, implementation: str, **tuning: Any) -> None:
    found = _found(device, x, implementation, **tuning)
    assert found.shape == x.shape[::-1]
    assert found.tobytes() == x.T.tobytes(), (x.dtype, x.shape, implementation, tuning)


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_subgroup_size_transposes(reference: Device, implementation: str) -> None:
    """With rows of whole packets, and with others."""
    for dtype in (np.uint8, np.float16, np.float32, np.float64):
        for shape in ((37, 41), (48, 80)):
            _check(reference, _matrix(dtype, shape), implementation)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_transpose(driver: Device, implementation: str) -> None:
    """Or lack the storage that rows of odd lengths need."""
    for dtype in (np.int8, np.float16, np.int32, np.float64):
        kind = np.dtype(dtype)
        for shape in ((1, 1), (64, 96), (5, 1021), (997, 2)):
            x = _matrix(dtype, shape)
            needs = STORAGE.get(kind.itemsize)
            odd = any(size * kind.itemsize % 4 for size in shape)
            if odd and needs and needs not in driver.capabilities.features:
                with pytest.raises(Unsupported, match=needs):
                    _found(driver, x, implementation)
            else:
                _check(driver, x, implementation)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("shape", [(1023, 1025), (17, 61681)], ids=str)
def test_about_a_million_elements(
    driver: Device, references: dict[int, Device], shape: tuple[int, int], implementation: str
) -> None:
    x = _matrix(np.uint32, shape)
    _check(driver, x, implementation)
    if driver.name.startswith("Swift"):
        _check(references[32], x, implementation)


@pytest.mark.parametrize(
    ("implementation", "tuning"),
    [
        ("subgroup", {"items": 1, "width": 1}),
        ("subgroup", {"items": 8, "width": 4, "workgroup": 128}),
        ("subgroup", {"items": 16, "width": 32, "words": 1}),
        ("subgroup", {"items": 2, "width": 128, "workgroup": 128, "words": 2}),
        ("shared", {"tile": 1, "workgroup": 32}),
        ("shared", {"tile": 16, "workgroup": 96}),
        ("shared", {"tile": 4, "workgroup": 256, "words": 2}),
    ],
    ids=str,
)
def test_tuning_changes_no_result(reference: Device, implementation: str, tuning: dict[str, Any]) -> None:
    _check(reference, _matrix(np.uint32, (68, 132)), implementation, **tuning)


@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_blocks_of_small_elements(references: dict[int, Device], dtype: Any, words: int) -> None:
    """Each size of a block has its own way through the registers."""
    for implementation in IMPLEMENTATIONS:
        _check(references[8], _matrix(dtype, (32, 48)), implementation, words=words)


def test_the_largest_blocks_that_divide_a_matrix() -> None:
    assert blocks_of((64, 64), 4, 4) == Blocks(4, 4)
    assert blocks_of((64, 62), 4, 4) == Blocks(4, 2)
    assert blocks_of((64, 61), 4, 4) == Blocks(4, 1)
    assert blocks_of((64, 61), 8, 4) == Blocks(8, 2)
    assert blocks_of((64, 61), 1, 4) == Blocks(1, 0)
    assert blocks_of((64, 64), 1, 2) == Blocks(1, 2)


def test_arrays_and_buffers(references: dict[int, Device]) -> None:
    device = references[32]
    x = np.arange(15, dtype=np.complex64).reshape(3, 5)
    found = kernels.transpose(x, device=device)
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, x.T)
    assert np.array_equal(kernels.transpose(x[:, ::2], device=device), x[:, ::2].T)
    with device.buffer(x) as buffer:
        result = kernels.transpose(buffer)
        assert isinstance(result, Buffer)
        assert (result.shape, result.dtype) == ((5, 3), x.dtype)
        assert np.array_equal(result.read(), x.T)


def test_empty_matrices_need_no_device() -> None:
    found = kernels.transpose(np.empty((3, 0), np.float16))
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == ((0, 3), np.float16)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("words", [1, 4])
def test_the_check_finds_nothing(checked: Any, implementation: str, words: int) -> None:
    x = np.arange(36 * 44, dtype=np.uint32)
    width = 8 if implementation == "subgroup" else 16
    found = checked(
        f"transpose/{implementation}.comp",
        {"WORDS": words},
        groups=(3, 6) if words == 1 else (2, 1),
        inputs={"Matrix": x.reshape(-1, words) if words > 1 else x, "Transposed": np.zeros_like(x)},
        push={"rows": 36, "columns": 44},
        specialization={10: width},
    )
    assert found == ()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing_in_the_kernels_as_they_stand(checked: Any, implementation: str) -> None:
    assert checked(f"transpose/{implementation}.comp") == ()
