"""Max pooling gives what NumPy does: by shuffles, quads, clusters, through shared memory, and alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from refusals import lacks

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.max_pool import METHODS, plan_max_pool
from vkgroup.kernels.types import GLSL

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

WAYS: list[tuple[str, dict[str, Any]]] = [
    ("direct", {}),
    ("shared", {"items": 3}),
    *(("subgroup", {"method": method, "cluster": 4, "items": 3}) for method in METHODS),
    *(("subgroup", {"method": method, "cluster": 16, "items": 3}) for method in ("shuffle", "clustered")),
]
NAMES = [" ".join(map(str, (name, *tuning.values()))) for name, tuning in WAYS]

SHAPES = [(4, 4), (1, 1), (5, 3), (4, 36), (41, 36), (23, 39), (3, 9, 7), (2, 3, 13, 8), (1021, 5)]


def _image(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    x = np.random.default_rng(len(shape)).normal(size=shape) * 50
    return np.abs(x).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def _pooled(x: Array, ceil_mode: bool) -> Array:
    """The maximum of each window, one after the other."""
    size = [(n + 3) // 4 if ceil_mode else n // 4 for n in x.shape[-2:]]
    found = np.empty((*x.shape[:-2], *size), x.dtype)
    for i, j in np.ndindex(*size):
        found[..., i, j] = x[..., 4 * i : 4 * i + 4, 4 * j : 4 * j + 4].max((-2, -1))
    return found


def _run(device: Device, x: Array, implementation: str, ceil_mode: bool = False, **tuning: Any) -> Array:
    plan = plan_max_pool(device, x.shape, x.dtype, implementation, ceil_mode=ceil_mode, **tuning)
    with device.buffer(x) as buffer, plan.record(x=buffer) as work:
        work.run()
        return work.buffers["maxima"].read()


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize(("implementation", "tuning"), WAYS, ids=NAMES)
def test_drivers_pool(driver: Device, implementation: str, tuning: dict[str, Any]) -> None:
    """Or lack clustered operations."""
    operations = driver.capabilities.subgroup.supported_operations
    if tuning.get("method", "basic") not in (*operations, "basic"):
        with pytest.raises(Unsupported, match=tuning["method"]):
            _run(driver, _image((4, 4)), implementation, **tuning)
        return
    for shape in SHAPES:
        x = _image(shape)
        assert np.array_equal(_run(driver, x, implementation, True, **tuning), _pooled(x, True)), shape


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize(("implementation", "tuning"), WAYS, ids=NAMES)
def test_the_reference_device_pools(reference: Device, implementation: str, tuning: dict[str, Any]) -> None:
    """At sizes that have clusters of 16 lanes, of 4, and of neither; where there are quads, with quads."""
    if tuning.get("method") == "quad" and reference.capabilities.subgroup.size < 4:
        tuning = {**tuning, "method": "shuffle"}
    for shape in ((23, 39), (2, 30, 44)):
        x = _image(shape, np.int32)
        found = _run(reference, x, implementation, True, workgroup=128, groups=2, **tuning)
        assert np.array_equal(found, _pooled(x, True)), shape


def test_a_workgroup_need_not_be_full_subgroups(references: dict[int, Device]) -> None:
    x = _image((23, 39))
    found = _run(references[64], x, "subgroup", workgroup=48)
    assert np.array_equal(found, _pooled(x, False))


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("dtype", GLSL, ids=str)
def test_elements_of_every_type(references: dict[int, Device], dtype: np.dtype[Any]) -> None:
    for (implementation, tuning), columns in zip(WAYS, (36, 39, 36, 39, 36, 39, 36), strict=True):
        if dtype.itemsize == 8 and tuning.get("method") == "clustered":
            continue
        x = _image((11, columns), dtype)
        found = _run(references[16], x, implementation, **tuning)
        assert np.array_equal(found, _pooled(x, False)), (implementation, tuning)
        assert found.dtype == dtype


def test_small_types_on_a_driver(vulkan_device: Device) -> None:
    for dtype, needed in ((np.float16, "storageBuffer16BitAccess"), (np.uint8, "storageBuffer8BitAccess")):
        x = _image((13, 20), dtype)
        if needed in vulkan_device.capabilities.features:
            assert np.array_equal(kernels.max_pool(x, device=vulkan_device), _pooled(x, False))
        else:
            with lacks(needed):
                kernels.max_pool(x, device=vulkan_device)


@pytest.mark.parametrize("rows", [2**10 - 1, 2**10, 2**10 + 1])
def test_many_elements(vulkan_device: Device, rows: int) -> None:
    x = _image((rows, 1024))
    for implementation in ("subgroup", "shared", "direct"):
        found = kernels.max_pool(x, device=vulkan_device, implementation=implementation)
        assert np.array_equal(found, x[: rows // 4 * 4].reshape(-1, 4, 256, 4).max((1, 3)))


def test_nans_and_zeros(vulkan_device: Device) -> None:
    """A NaN of either sign is a window's maximum; of zeros, either may be."""
    x = np.full((8, 8), -5, np.float32)
    x[1, 2], x[5, 1], x[2, 6], x[3, 7] = np.nan, -np.nan, -0.0, 0.0
    x[4:, 4:] = -np.inf
    for implementation in ("subgroup", "shared", "direct"):
        found = kernels.max_pool(x, device=vulkan_device, implementation=implementation)
        assert np.array_equal(found, [[np.nan, 0], [np.nan, -np.inf]], equal_nan=True)


def test_buffers_in_and_out(vulkan_device: Device) -> None:
    x = _image((3, 40, 41), np.uint32)
    with vulkan_device.buffer(x) as buffer:
        found = kernels.max_pool(buffer, ceil_mode=True)
        assert isinstance(found, Buffer)
        assert found.dtype == np.uint32
        assert found.shape == (3, 10, 11)
        assert np.array_equal(found.read(), _pooled(x, True))


def test_no_window_needs_no_device() -> None:
    assert kernels.max_pool(np.ones((3, 100), np.float32)).shape == (0, 25)
    assert kernels.max_pool(np.ones((0, 8, 8), np.int32)).shape == (0, 2, 2)


@pytest.mark.parametrize(
    ("x", "more", "words"),
    [
        (np.ones(16), {}, "two dimensions"),
        (np.ones((4, 4)), {"window": 3}, "4 x 4"),
        (np.ones((4, 4), complex), {}, "Kernels work on"),
    ],
)
def test_what_makes_no_sense_is_refused(x: Array, more: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        kernels.max_pool(x, **more)


@pytest.mark.parametrize(
    ("tuning", "words"),
    [
        ({"method": "ballot"}, "method must be one of"),
        ({"cluster": 8}, "cluster must be one of"),
        ({"method": "quad", "cluster": 16}, "quad has 4"),
        ({"workgroup": 17}, "multiple of 4"),
        ({"items": 0}, "at least 1"),
        ({"speed": 1}, "no tuning"),
    ],
)
def test_tuning_that_makes_no_sense_is_refused(
    references: dict[int, Device], tuning: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        plan_max_pool(references[4], (8, 8), np.float32, "subgroup", **tuning)


@pytest.mark.parametrize(("implementation", "tuning"), WAYS, ids=NAMES)
def test_the_check_finds_nothing(checked: Any, implementation: str, tuning: dict[str, Any]) -> None:
    """At widths that are a multiple of 4, and others."""
    macros = {name.upper(): str(tuning[name]).upper() for name in ("method", "cluster") if name in tuning}
    constants: dict[int | str, int] = {0: 32} if implementation == "direct" else {0: 32, "ITEMS": 2}
    sizes = (4, 16, 32) if tuning.get("method") == "quad" else (1, 8, 32)
    for shape in ((23, 36), (18, 39)):
        x = _image(shape, np.uint32)
        windows = _pooled(x, True)
        found = checked(
            f"max_pool/{implementation}.comp",
            macros,
            sizes=sizes,
            groups=(2,),
            inputs={"Rows": x.ravel()[: x.size // 4 * 4].reshape(-1, 4), "Scalars": x, "Maxima": windows},
            push={
                "count": windows.size,
                "window_columns": windows.shape[1],
                "window_rows": windows.shape[0],
                "columns": x.shape[1],
                "lines": x.shape[0],
            },
            specialization=constants,
        )
        assert found == ()


@pytest.mark.parametrize("implementation", ["subgroup", "shared", "direct"])
def test_the_check_finds_nothing_in_the_kernels_as_they_stand(checked: Any, implementation: str) -> None:
    assert checked(f"max_pool/{implementation}.comp") == ()
