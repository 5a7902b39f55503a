"""Histograms give what NumPy's do, on every device, for friendly and for hostile data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from refusals import lacks

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.histogram import MATCHES, plan_bincount
from vkgroup.kernels.types import GLSL

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")
LENGTHS = (1, 2, 5, 16, 1021, 4099)


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _patterns(length: int, bins: int) -> dict[str, Array]:
    """Keys that no bin, one bin, or some bins get; few lanes, or all of them, are in the same one."""
    uniform = _rng(length).integers(0, bins, length).astype(np.uint32)
    return {
        "uniform": uniform,
        "all equal": np.full(length, bins - 1, np.uint32),
        "two in turns": np.where(np.arange(length) % 2, np.uint32(3), np.uint32(bins // 2)),
        "sorted": np.sort(uniform),
        "half of them dropped": _rng(1).integers(0, 2 * bins, length).astype(np.uint32),
        "none in a bin": np.full(length, bins, np.uint32),
    }


def _counted(device: Device, x: Array, bins: int, implementation: str, **tuning: Any) -> Array:
    plan = plan_bincount(device, x.shape, x.dtype, bins, implementation, **tuning)
    with device.buffer(x) as buffer, plan.record(x=buffer) as work:
        work.run()
        return work.buffers["counts"].read()


def _check_patterns(device: Device, bins: int, implementation: str, lengths: Any, **tuning: Any) -> None:
    for length in lengths:
        for name, x in _patterns(length, bins).items():
            found = _counted(device, x, bins, implementation, **tuning)
            wanted = np.bincount(x[x < bins], minlength=bins)
            assert np.array_equal(found, wanted), (name, length)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("bins", [256, 20_000])
def test_drivers_count(driver: Device, implementation: str, bins: int) -> None:
    """In shared memory, and in the device's."""
    _check_patterns(driver, bins, implementation, LENGTHS if bins == 256 else (1021,))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_one_workgroup_stores_the_counts(driver: Device, implementation: str) -> None:
    """There is no fill of the counts before the dispatch."""
    x = _rng().integers(0, 9, 4096).astype(np.uint32)
    plan = plan_bincount(driver, x.shape, x.dtype, 20, implementation)
    assert len(plan.steps) == 1
    assert len(plan_bincount(driver, 1 << 20, x.dtype, 20, implementation).steps) == 2
    with plan.record() as work:
        work.buffers["x"].write(x)
        work.buffers["counts"].write(np.full(20, 7, np.uint32))
        work.run()
        assert np.array_equal(work.buffers["counts"].read(), np.bincount(x, minlength=20))


@pytest.mark.parametrize("match", MATCHES[1:-1])
def test_drivers_match_lanes(driver: Device, match: str) -> None:
    _check_patterns(driver, 16, "subgroup", (1021,), match=match, vote=False, workgroup=64)


_TUNING: list[tuple[str, dict[str, Any]]] = [
    *(("subgroup", {"match": match, "vote": False}) for match in MATCHES),
    ("subgroup", {"match": "partitioned", "vote": True, "in_memory": True}),
    ("subgroup", {"copies": 4, "interleaved": False}),
    ("shared", {"copies": 32, "runs": True}),
    ("shared", {"copies": 2, "interleaved": False, "items": 3}),
    ("shared", {"in_memory": True, "slots": 8}),
]


@pytest.mark.mostly_slow(every=7)
@pytest.mark.parametrize(
    ("implementation", "tuning"), _TUNING, ids=[" ".join(map(str, (n, *t.values()))) for n, t in _TUNING]
)
def test_the_reference_device_counts(reference: Device, implementation: str, tuning: dict[str, Any]) -> None:
    """At every subgroup size, in every way there is to count."""
    for name, x in _patterns(555, 10).items():
        found = _counted(reference, x, 10, implementation, workgroup=128, groups=2, **tuning)
        assert np.array_equal(found, np.bincount(x[x < 10], minlength=10)), name


@pytest.mark.parametrize("length", [2**20 - 1, 2**20, 2**20 + 1])
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_many_elements(vulkan_device: Device, implementation: str, length: int) -> None:
    x = _rng().random(length, np.float32)
    found, _ = kernels.histogram(x, 256, (0, 1), device=vulkan_device, implementation=implementation)
    assert np.array_equal(found, np.histogram(x, 256, (0, 1))[0])


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_many_elements_on_the_reference_device(references: dict[int, Device], implementation: str) -> None:
    x = _rng().integers(0, 256, 2**20 + 1).astype(np.uint32)
    found = kernels.bincount(x, device=references[32], implementation=implementation)
    assert np.array_equal(found, np.bincount(x))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_many_bins(vulkan_device: Device, implementation: str) -> None:
    x = _rng().integers(0, 2**20, 50_000).astype(np.uint32)
    x[:20_000] = 77
    found = kernels.bincount(x, 2**20 + 5, device=vulkan_device, implementation=implementation)
    assert np.array_equal(found, np.bincount(x, minlength=2**20 + 5))


# --- types ------------------------------------------------------------------------------------------------


def _elements(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "u":
        return _rng().integers(0, 120, 777).astype(dtype)
    x = (_rng().normal(size=777) * 30).astype(dtype)
    if dtype.kind == "f":
        x[::50], x[7], x[8], x[9] = np.nan, np.inf, -np.inf, -0.0
    return x


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize(
    ("dtype", "implementation"), list(zip(GLSL, IMPLEMENTATIONS * 6, strict=False)), ids=str
)
def test_elements_of_every_type(device: Device, dtype: np.dtype[Any], implementation: str) -> None:
    """Or the device says that it lacks storage of 8 or 16 bits."""
    x = _elements(dtype)
    lacking = {1: "storageBuffer8BitAccess", 2: "storageBuffer16BitAccess"}.get(dtype.itemsize)

    def call() -> Any:
        return kernels.histogram(x, 19, (-10, 40), device=device, implementation=implementation)

    if lacking is not None and lacking not in device.capabilities.features:
        with lacks(lacking):
            call()
        return
    found, edges = call()
    wanted, wanted_edges = np.histogram(x, 19, (-10, 40))
    assert np.array_equal(found, wanted)
    assert np.array_equal(edges, wanted_edges)
    assert (found.dtype, edges.dtype) == (wanted.dtype, wanted_edges.dtype)


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("dtype", [kind for kind in GLSL if kind.kind in "iu"], ids=str)
def test_whole_numbers_of_every_type_are_counted(references: dict[int, Device], dtype: np.dtype[Any]) -> None:
    x = _rng().integers(0, 100, 333).astype(dtype)
    for implementation in IMPLEMENTATIONS:
        found = kernels.bincount(x, device=references[8], implementation=implementation)
        assert np.array_equal(found, np.bincount(x))
        assert found.dtype == np.bincount(x).dtype


# --- arrays, buffers, and what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
def test_the_range_is_that_of_the_elements(vulkan_device: Device, dtype: Any) -> None:
    """Of elements of 64 bits in a buffer the device itself must find it, and may lack the type."""
    x = _rng(3).normal(size=500).astype(dtype) * 7
    wanted, edges = np.histogram(x)
    found, found_edges = kernels.histogram(x, device=vulkan_device)
    assert np.array_equal(found, wanted)
    assert np.array_equal(found_edges, edges)
    with vulkan_device.buffer(x) as buffer:
        if dtype == np.float64 and "shaderFloat64" not in vulkan_device.capabilities.features:
            with lacks("shaderInt64"):
                kernels.histogram(buffer)
            return
        from_buffer, buffer_edges = kernels.histogram(buffer)
    assert isinstance(from_buffer, Buffer)
    assert from_buffer.dtype == np.uint32
    assert np.array_equal(from_buffer.read(), wanted)
    assert np.array_equal(buffer_edges, edges)


def test_buffers_in_and_out(vulkan_device: Device) -> None:
    x = _rng().integers(0, 50, (1234,)).astype(np.int32)
    with vulkan_device.buffer(x) as buffer:
        found = kernels.bincount(buffer, 60)
        assert isinstance(found, Buffer)
        assert np.array_equal(found.read(), np.bincount(x, minlength=60))
        assert np.array_equal(buffer.read(), x)


def test_nothing_to_count_needs_no_device() -> None:
    for empty in (np.empty(0, np.int32), np.array([])):
        assert np.array_equal(kernels.bincount(empty, 3), np.bincount([], minlength=3))
    found, edges = kernels.histogram(np.empty((0, 4), np.float32), 5)
    wanted, wanted_edges = np.histogram(np.empty(0, np.float32), 5)
    assert np.array_equal(found, wanted)
    assert np.array_equal(edges, wanted_edges)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kernels.bincount(np.array([1, -1])), "negative"),
        (lambda: kernels.bincount(np.array([1], np.uint8), -1), "minlength"),
        (lambda: kernels.bincount(np.array([1.5])), "whole numbers"),
        (lambda: kernels.bincount(np.ones((2, 2), int)), "one-dimensional"),
        (lambda: kernels.histogram(np.ones(2), 0), "positive"),
        (lambda: kernels.histogram(np.ones(2), 3, (2, 1)), "max must be larger"),
        (lambda: kernels.histogram(np.array([1, np.nan])), "finite"),
        (lambda: kernels.histogram(np.ones(2), [3, 2, 1]), "monotonically"),
        (lambda: kernels.histogram(np.ones(2), [3]), "two edges"),
        (lambda: kernels.histogram(np.ones(2), [0, np.nan]), "edges"),
        (lambda: kernels.histogram(np.ones(2), "auto"), "histogram_bin_edges"),
        (lambda: kernels.histogram(np.ones(2, complex)), "Kernels work on"),
        (lambda: kernels.histogram(np.ones(2, bool)), "Kernels work on"),
    ],
)
def test_what_numpy_refuses_is_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        call()


@pytest.mark.parametrize(
    ("tuning", "words"),
    [
        ({"match": "all"}, "match must be one of"),
        ({"copies": 3}, "power of two"),
        ({"items": 0}, "at least 1"),
        ({"workgroup": 8}, "at least 16"),
        ({"speed": 1}, "no tuning"),
    ],
)
def test_tuning_that_makes_no_sense_is_refused(
    references: dict[int, Device], tuning: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        plan_bincount(references[4], 10, np.uint32, 5, **tuning)


def test_lanes_are_partitioned_only_where_the_device_can(swiftshader: Any) -> None:
    with vkgroup.open(swiftshader.name) as device, pytest.raises(Unsupported, match="partitioned_nv"):
        plan_bincount(device, 10, np.uint32, 5, "subgroup", match="partitioned")


# --- vkgroup check ----------------------------------------------------------------------------------------

_CHECKED = [
    ("subgroup", {}, {"MATCH": 1, "VOTE": False}),
    ("subgroup", {"PARTITION": 1, "IN_MEMORY": 1}, {"MATCH": 4}),
    ("subgroup", {}, {"MATCH": 2, "INTERLEAVED": False}),
    ("subgroup", {}, {"MATCH": 3, "VOTE": False}),
    ("shared", {}, {"RUNS": True}),
    ("shared", {"IN_MEMORY": 1}, {"SLOTS": 4}),
]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing_in_the_kernels_as_they_stand(checked: Any, implementation: str) -> None:
    assert checked(f"histogram/{implementation}.comp") == ()


@pytest.mark.parametrize(("implementation", "macros", "constants"), _CHECKED)
def test_the_check_finds_nothing(
    checked: Any, implementation: str, macros: dict[str, Any], constants: dict[str, Any]
) -> None:
    """In whole tiles, in the last one, and behind the last vector."""
    count, bins = 4 * 32 * 2 * 3 + 70, 12
    x = (_rng().integers(0, 2, count) * _rng(1).integers(0, bins, count)).astype(np.uint32)
    chosen: dict[int | str, Any] = {0: 32, "ITEMS": 2}
    if "IN_MEMORY" not in macros:
        chosen["BINS"] = bins
    found = checked(
        f"histogram/{implementation}.comp",
        {**macros, "BINNING": "EDGES"},
        groups=(2,),
        inputs={
            "Vectors": x[: count // 4 * 4].reshape(-1, 4),
            "Scalars": x,
            "Edges": np.arange(bins, dtype=np.uint32),
        },
        push={
            "count": count, "bins": bins, "low": 0, "high": bins, "last": bins - 1,
            "origin": 0.0, "scale": 1.0, "bias": 0.0, "margin": 0.01,
        },
        specialization=chosen | constants,
    )  # fmt: skip
    assert found == ()
