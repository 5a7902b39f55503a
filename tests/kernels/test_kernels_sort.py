"""The radix sort orders as NumPy does, stably, on every device and under every schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup
from vkgroup import drivers, kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.check import Finding
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.radix_sort import KEY_DTYPES, MOST_KEYS, plan_radix_sort
from vkgroup.kernels.radix_sort_tuning import CLAIMS, MATCHES

Array = npt.NDArray[Any]

IMPLEMENTATIONS = ("subgroup", "shared")
SMALL = {"workgroup": 128, "items": 4, "radix_bits": 4}
"""Tiles of 512 keys, so that a few thousand have something to look back at."""


@pytest.fixture(scope="module")
def swift() -> Any:
    """The driver that compiles fastest."""
    with vkgroup.open(drivers.path("swiftshader").name) as opened:
        yield opened


def _keys(dtype: npt.DTypeLike, size: int, seed: int = 0) -> Array:
    """Make keys of all bit patterns, many of them twice and more; floats with every special value."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind != "f":
        some = rng.integers(0, 1 << 64, size, np.uint64).astype(kind)
        return np.where(rng.random(size) < 0.5, some, some[rng.integers(0, size, size)])
    x = (rng.normal(size=size) * 10.0 ** rng.integers(-30, 30, size)).astype(kind)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-45, -1e-45], kind)
    return np.where(rng.random(size) < 0.5, x, special[rng.integers(0, len(special), size)])


def _order(keys: Array, descending: bool = False) -> Array:
    """Return the indices that sort stably: NaN last in either direction."""
    if not descending:
        return np.argsort(keys, kind="stable")
    nan = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(keys.shape, bool)
    other = np.flatnonzero(~nan)
    # Reversed, sorted and reversed again: equal keys are in their first order then.
    down = other[::-1][np.argsort(keys[other][::-1], kind="stable")][::-1]
    return np.concatenate([down, np.flatnonzero(nan)])


def _but(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _bits(array: Array) -> Array:
    """Return an array's bits, in which -0 differs from 0 and one NaN from another."""
    return array.view(f"u{array.dtype.itemsize}")


def _sorted(device: Device, keys: Array, implementation: str, **given: Any) -> tuple[Array, Array]:
    """Sort with a plan; return the keys and the routes of its passes."""
    plan = plan_radix_sort(device, keys.size, keys.dtype, implementation=implementation, **given)
    with plan.record(keys=device.buffer(keys)) as work:
        work.run(timeout=120)
        routes = work.buffers["work"].read().view(np.uint32)[1:32:2]
        return work.buffers["sorted_keys"].read(), routes


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", KEY_DTYPES, ids=str)
def test_every_type_in_both_directions(swift: Device, dtype: np.dtype[Any], implementation: str) -> None:
    keys = _keys(dtype, 5003)
    up, down = _order(keys), _order(keys, descending=True)
    options = {"device": swift, "implementation": implementation}
    assert np.array_equal(_bits(kernels.sort(keys, **options)), _bits(keys[up]))
    assert np.array_equal(kernels.argsort(keys, descending=True, **options), down)
    values = np.arange(keys.size).astype(np.float64)
    found, moved = kernels.sort_by_key(keys, values, descending=True, **options)
    assert np.array_equal(_bits(found), _bits(keys[down]))
    assert np.array_equal(moved, values[down])


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_every_driver(driver: Device, implementation: str) -> None:
    keys, values = _keys(np.float32, 5003), np.arange(5003, dtype=np.int32)
    found, moved = kernels.sort_by_key(keys, values, device=driver, implementation=implementation)
    order = _order(keys)
    assert np.array_equal(_bits(found), _bits(keys[order]))
    assert np.array_equal(moved, values[order])


@pytest.mark.mostly_slow(every=3, start=1)
def test_every_subgroup_size(reference: Device) -> None:
    keys = _keys(np.float32, 1741)
    found = kernels.argsort(keys, device=reference, implementation="subgroup", **SMALL)
    assert np.array_equal(found, _order(keys))


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("match", MATCHES)
@pytest.mark.parametrize(("size", "early"), [(4, False), (32, True), (64, False), (128, True)])
def test_every_way_to_rank(
    references: dict[int, Device], size: int, early: bool, match: str, claim: str
) -> None:
    keys = _keys(np.int32, 1100)
    found, _ = _sorted(references[size], keys, "subgroup", match=match, claim=claim, early=early, **SMALL)
    assert np.array_equal(found, np.sort(keys))


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("radix_bits", [5, 6, 7, 8])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_every_size_of_a_digit(
    swift: Device, dtype: npt.DTypeLike, radix_bits: int, implementation: str
) -> None:
    keys = _keys(dtype, 900)
    given = {"workgroup": 32, "items": 8, "radix_bits": radix_bits}
    found, _ = _sorted(swift, keys, implementation, **given)
    assert np.array_equal(found, np.sort(keys))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_sizes_that_are_no_multiple_of_anything(references: dict[int, Device], implementation: str) -> None:
    for size in (1, 2, 511, 512, 513, 1021):
        keys = _keys(np.uint32, size, seed=size)
        found, _ = _sorted(references[32], keys, implementation, **SMALL)
        assert np.array_equal(found, np.sort(keys)), size


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_orders_that_keys_may_come_in(swift: Device, implementation: str) -> None:
    up = np.arange(3001, dtype=np.uint32) * 1000
    for keys in (up, up[::-1].copy(), up % 7, np.full(3001, 0xFFFFFFFF, np.uint32)):
        found = kernels.argsort(keys, device=swift, implementation=implementation, **SMALL)
        assert np.array_equal(found, np.argsort(keys, kind="stable"))


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.parametrize(
    "given",
    [{"mute": 1, "spins": 3}, {"mute": 2, "spins": 0, "look": 1}, {"mute": 3, "look": 3, "tickets": False}],
    ids=str,
)
def test_ends_where_tiles_never_publish(
    references: dict[int, Device], given: dict[str, Any], size: int, implementation: str
) -> None:
    keys = _keys(np.int32, 2300)
    found, _ = _sorted(references[size], keys, implementation, **given, **SMALL)
    assert np.array_equal(found, np.sort(keys))


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_passes_that_would_move_nothing_are_left_out(swift: Device, implementation: str) -> None:
    rng = np.random.default_rng(1)
    # Bits that vary, and how many digits of four bits that makes.
    for bits, passes in ((0x0, 1), (0xF, 1), (0xFF00, 2), (0xF0F00F, 3), (0x0FFFFFFF, 7)):
        keys = (rng.integers(0, 1 << 32, 2048, np.uint32) & np.uint32(bits)) | np.uint32(~bits & 0xA5A5A5A5)
        found, routes = _sorted(swift, keys, implementation, **SMALL)
        assert np.count_nonzero(routes) == passes
        assert np.array_equal(found, np.sort(keys))
        found, routes = _sorted(swift, keys, implementation, skip=False, **SMALL)
        assert np.count_nonzero(routes) == 8
        assert np.array_equal(found, np.sort(keys))


@pytest.mark.slow
@pytest.mark.parametrize(("implementation", "size"), [("subgroup", 2**20 + 1), ("shared", 2**20 - 1)])
def test_a_million_keys(implementation: str, size: int) -> None:
    keys = np.random.default_rng(2).integers(0, 1 << 32, size, np.uint32)
    with vkgroup.open(drivers.path("lavapipe").name) as device:
        assert np.array_equal(kernels.sort(keys, device=device, implementation=implementation), np.sort(keys))


@pytest.mark.slow
def test_a_million_keys_on_the_reference_device(references: dict[int, Device]) -> None:
    keys = np.random.default_rng(3).integers(0, 1 << 16, 2**20 - 1, np.uint32)
    given = {"workgroup": 512, "items": 16, "look": 4, "histogram_workgroup": 256, "histogram_items": 16}
    found, _ = _sorted(references[64], keys, "subgroup", **given)
    assert np.array_equal(found, np.sort(keys))


def test_a_recording_runs_again(swift: Device) -> None:
    plan = plan_radix_sort(swift, 3000, np.uint32, values=np.float32, unroll=True, **SMALL)
    with plan.record() as work:
        for seed in range(3):
            keys, values = _keys(np.uint32, 3000, seed), np.arange(3000, dtype=np.float32)
            work.buffers["keys"].write(keys)
            work.buffers["values"].write(values)
            work.run()
            assert np.array_equal(work.buffers["sorted_keys"].read(), np.sort(keys))
            assert np.array_equal(work.buffers["sorted_values"].read(), values[_order(keys)])
            assert np.array_equal(work.buffers["keys"].read(), keys)


def test_buffers_in_buffers_out(swift: Device) -> None:
    keys, values = _keys(np.float64, 777), np.arange(777, dtype=np.uint64)
    given, moved = swift.buffer(keys), swift.buffer(values)
    order = _order(keys)
    found = kernels.sort(given)
    assert isinstance(found, Buffer)
    assert found.dtype == np.float64
    assert np.array_equal(_bits(found.read()), _bits(keys[order]))
    indices = kernels.argsort(given, axis=0)
    assert isinstance(indices, Buffer)
    assert indices.dtype == np.uint32
    assert np.array_equal(indices.read(), order)
    result, values_found = kernels.sort_by_key(given, moved)
    assert np.array_equal(_bits(result.read()), _bits(keys[order]))
    assert np.array_equal(values_found.read(), values[order])
    assert np.array_equal(_bits(given.read()), _bits(keys))


def test_axes_as_in_numpy(swift: Device) -> None:
    array = _keys(np.int32, 3 * 4 * 50).reshape(3, 4, 50)
    for axis in (-1, 0, 1, 2, None):
        assert np.array_equal(kernels.sort(array, axis, device=swift), np.sort(array, axis, kind="stable"))
        found = kernels.argsort(array, axis, device=swift)
        assert found.dtype == np.intp
        assert np.array_equal(found, np.argsort(array, axis, kind="stable"))


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i2", "f2", ">i4", ">f8"])
def test_numbers_of_other_widths(swift: Device, dtype: str) -> None:
    array = np.random.default_rng(4).integers(0, 100, 500).astype(dtype)
    found = kernels.sort(array, device=swift)
    assert found.dtype == array.dtype
    assert np.array_equal(found, np.sort(array))


def test_values_of_any_kind(swift: Device) -> None:
    keys = _keys(np.uint16, 300)
    order = _order(keys)
    for values in (
        np.array([f"value {i}" for i in range(300)]),
        np.arange(900, dtype=np.float32).reshape(300, 3),
        np.arange(300, dtype=">u4"),
    ):
        found, moved = kernels.sort_by_key(keys, values, device=swift)
        assert np.array_equal(found, keys[order])
        assert moved.dtype == values.dtype
        assert np.array_equal(moved, values[order])


def test_nothing_to_sort_needs_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels.arguments, "open_device", lambda: pytest.fail("a device was opened"))
    empty = np.zeros((3, 0), np.float32)
    assert kernels.sort(empty).shape == (3, 0)
    assert kernels.argsort(empty).dtype == np.intp
    keys, values = kernels.sort_by_key(empty[0], np.zeros(0, np.int8))
    assert keys.dtype == np.float32
    assert values.dtype == np.int8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: kernels.sort(np.zeros(3, complex), device=d), "real numbers"),
        (lambda d: kernels.sort(np.zeros(3), 1, device=d), "no axis 1"),
        (lambda d: kernels.sort(np.float32(3), device=d), "no axis -1"),
        (lambda d: kernels.sort(d.buffer(np.zeros((2, 2), np.float32)), items=4), "several rows"),
        (lambda d: kernels.sort(d.buffer(np.zeros(3, np.uint16))), "Keys must be"),
        (lambda d: kernels.sort(d.buffer(np.zeros(3, np.uint32)), 1), "axis 1 does not exist"),
        (lambda d: kernels.sort(d.buffer(np.zeros((2, 3), np.uint32)), 0), "last axis"),
        (lambda d: kernels.sort(d.buffer(np.zeros((2, 3), np.uint32)), 1.0), "axis 1.0 does not exist"),
        (lambda d: kernels.sum(d.buffer(np.zeros((2, 3), np.uint32)), True), "axis True does not exist"),
        (lambda d: kernels.sort(np.zeros(3), device=d, implementation="quick"), "implementation"),
        (lambda d: kernels.sort_by_key(np.zeros(3), np.zeros(4), device=d), "one value for each"),
        (lambda d: kernels.sort_by_key(np.zeros((3, 1)), np.zeros(3), device=d), "one dimension"),
        (lambda d: kernels.sort(np.zeros(3), device=d, turns=3), "no tuning value 'turns'"),
        (lambda d: kernels.sort(np.zeros(3), device=d, items=0), "at least 1"),
        (lambda d: kernels.sort(np.zeros(3), device=d, early=1), "True or False"),
        (lambda d: kernels.sort(np.zeros(3), device=d, match="luck"), "match must be one of"),
        (lambda d: kernels.sort(np.zeros(3), device=d, radix_bits=9), "at most 8"),
        (lambda d: kernels.sort(np.zeros(3), device=d, histogram_items=6), "multiple of 4"),
        (lambda d: kernels.sort(np.zeros(3), device=d, workgroup=30), "multiple of the subgroup size"),
        (
            lambda d: kernels.sort(np.zeros(3), device=d, implementation="shared", workgroup=24),
            "multiple of 16",
        ),
        (lambda d: kernels.sort(np.zeros(3), device=d, items=2000), "fewer than 65536"),
        (lambda d: plan_radix_sort(d, 0, "u4"), "a key to sort"),
        (lambda d: plan_radix_sort(d, 3, "u4", values="u2"), "4 or 8 bytes"),
        (lambda d: plan_radix_sort(d, 3, "u4", values="u4", indices=True), "either values or indices"),
    ],
)
def test_bad_arguments(swift: Device, call: Callable[[Device], Any], message: str) -> None:
    with pytest.raises(InvalidDispatch, match=message):
        call(swift)


def test_what_a_device_cannot_do(swift: Device) -> None:
    with pytest.raises(Unsupported, match=str(MOST_KEYS)):
        plan_radix_sort(swift, MOST_KEYS + 1, "u4")
    with pytest.raises(Unsupported, match="shared memory"):
        plan_radix_sort(swift, 5, "u4", workgroup=256, items=64)
    with pytest.raises(Unsupported, match="partitioned"):
        plan_radix_sort(swift, 5, "u4", match="partition")


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("name", ["histogram", "scan"])
def test_check_finds_nothing(
    checked: Callable[..., tuple[Finding, ...]], name: str, implementation: str
) -> None:
    assert checked(f"radix_sort/{implementation}_{name}.comp") == ()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    ("defines", "constants"),
    [
        ({}, {}),
        ({"VALUE_WORDS": 2, "KEY_KIND": 2}, {"TICKETS": False, "MUTE": 1, "SPINS": 2}),
        ({"MATCH": 1, "CLAIM": 1}, {"EARLY": True}),
    ],
    ids=["as it stands", "values, and no tile publishes", "ranks by shared memory"],
)
def test_check_finds_nothing_in_a_pass(
    checked: Callable[..., tuple[Finding, ...]],
    implementation: str,
    defines: dict[str, int],
    constants: dict[str, Any],
) -> None:
    size, number, runs_first_to_result = 1789, 3, 0b1011
    keys = np.random.default_rng(5).integers(1, 1 << 30, size, np.uint32)
    # These are positive floats, too, whose order is that of their bits but for the sign's.
    digits = (keys >> (4 * number)) & 15
    counts = np.bincount(digits, minlength=16)
    base = np.zeros((8, 16), np.uint32)
    base[number] = np.cumsum(counts) - counts
    head = np.zeros((16, 2), np.uint32)
    head[number, 1] = runs_first_to_result
    zeros = np.zeros(size, np.uint32)
    inputs = {
        "Input": keys,
        "Spare": zeros,
        "Result": zeros,
        "Work": np.concatenate([head.ravel(), base.ravel()]),
        "States": np.zeros(4 * 16, np.uint32),
    }
    if "VALUE_WORDS" in defines:
        wide = np.zeros((size, 2), np.uint32)
        inputs |= {"InputValues": wide, "SpareValues": wide, "ResultValues": wide}
    found = checked(
        f"radix_sort/{implementation}_pass.comp",
        defines,
        groups=(4,),
        inputs=inputs,
        push={"count": size, "pass": number},
        specialization=constants if implementation == "subgroup" else _but(constants, "EARLY"),
    )
    assert found == ()
