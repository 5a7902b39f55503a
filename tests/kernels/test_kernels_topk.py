"""The greatest and least elements are those of a stable sort by NumPy, on every device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.plan import Pass
from vkgroup.kernels.topk import plan_topk

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared")
DTYPES = ("f4", "u4", "i4", "f8", "u8", "i8", "f2")
SMALL = {"workgroup": 128, "items": 4, "row": 700, "groups": 64, "block": 16}
"""Rows of more than 700 elements have several workgroups, and sorts of more than 16 have several steps."""


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _drawn(dtype: str, shape: int | tuple[int, ...], seed: int = 0) -> Array:
    """Return random bits of a dtype; floats have NaNs of both signs, zeros, infinities and denormals."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape))
    x = _rng(seed).integers(0, 256, size * kind.itemsize, np.uint8).view(kind)
    if kind.kind == "f":
        special = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 0.0, 0.0], kind)
        special[6:] = np.finfo(kind).smallest_subnormal * np.array([1, -1], kind)
        chosen = _rng(seed + 1).random(size) < 0.3
        x[chosen] = _rng(seed + 2).choice(special, int(chosen.sum()))
    return x.reshape(shape)


def _wanted(x: Array, k: int, largest: bool, in_order: bool) -> Array:
    """Return the indices: the first ones of a stable sort of ranks, in which NaNs are equal and greatest."""
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    order = np.argsort(-ranks if largest else ranks, axis=-1, kind="stable")[..., :k]
    return order if in_order else np.sort(order, axis=-1)


def _same(values: Array, indices: Array, x: Array, k: int, largest: bool, in_order: bool = True) -> None:
    wanted = _wanted(x, k, largest, in_order)
    assert np.array_equal(indices, wanted)
    taken = np.take_along_axis(x, wanted, -1)
    assert values.dtype == x.dtype
    assert np.array_equal(values.view(np.uint8), taken.view(np.uint8))


def _check(x: Array, k: int, device: Device, **options: Any) -> None:
    for largest in (True, False):
        values, indices = kernels.topk(x, k, largest, device=device, **options)
        assert indices.dtype == np.int64
        _same(values, indices, x, k, largest)


def _planned(x: Array, k: int, device: Device, **options: Any) -> None:
    plan = plan_topk(device, x.shape, x.dtype, k, **options)
    with plan.record() as work:
        work.buffers["x"].write(x)
        work.run(timeout=60.0)
        values, indices = (work.buffers[name].read() for name in ("values", "indices"))
    _same(values, indices, x, k, options.get("largest", True), options.get("sorted", True))


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_select(driver: Device, implementation: str) -> None:
    for size, k in ((1, 1), (127, 1), (128, 60), (129, 129), (20_021, 1), (20_021, 700)):
        _check(_drawn("f4", size), k, driver, implementation=implementation)
    _check(_drawn("i8", (7, 300)), 5, driver, implementation=implementation)
    for dtype, shape in (("u4", 5000), ("f8", (3, 2001))):
        _planned(_drawn(dtype, shape), 300, driver, implementation=implementation, **SMALL)


@pytest.mark.mostly_slow(every=5, start=2)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_reference_selects_at_every_subgroup_size(reference: Device, implementation: str) -> None:
    options = {"implementation": implementation, **SMALL}
    _planned(_drawn("f4", (2, 300)), 20, reference, **options)
    _planned(_rng().integers(0, 9, 1301, np.uint32), 90, reference, **options, largest=False)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_types(references: dict[int, Device], dtype: str) -> None:
    for implementation in IMPLEMENTATIONS:
        _check(_drawn(dtype, (2, 150)), 60, references[16], implementation=implementation)
        options = {"implementation": implementation, **SMALL}
        _planned(_drawn(dtype, (1, 1101)), 40, references[16], **options)
        _planned(_drawn(dtype, 1101), 700, references[16], **options, largest=False)


@pytest.mark.parametrize("dtype", ["i1", "u2", "?", ">f4"])
def test_narrow_types_are_widened(references: dict[int, Device], dtype: str) -> None:
    x = _rng().integers(0, 2, 300).astype(dtype)
    values, indices = kernels.topk(x, 20, device=references[8])
    assert values.dtype == x.dtype
    assert np.array_equal(indices, _wanted(x, 20, True, True))
    assert np.array_equal(values, x[indices])


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("size", [600, 1500])
def test_ties(references: dict[int, Device], size: int, implementation: str) -> None:
    """Of equal elements the first ones are selected, also where a part or tile ends among them."""
    options = {"implementation": implementation, **SMALL}
    equal = np.full(size, 7, np.uint32)
    ends = equal.copy()
    ends[[0, 511, 512, size - 1]] = (9, 9, 3, 9)
    for x in (equal, ends, np.arange(size, dtype=np.uint32) % 3):
        for k in (1, 3, 4, 511, 513, size - 1, size):
            _planned(x, k, references[32], **options)
    for x in (np.full(size, np.nan, np.float32), np.where(equal == ends, -0.0, 0.0).astype(np.float32)):
        _planned(x, 513, references[32], **options)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_results_are_sorted_by_the_radix_sort(references: dict[int, Device], dtype: str) -> None:
    """With a selection, or by a sort of the whole row if most of it is selected."""
    x = _drawn(dtype, 900)
    for implementation, k, largest in (
        ("subgroup", 300, True),
        ("shared", 450, False),
        ("shared", 451, True),
        ("subgroup", 900, False),
    ):
        options = {"implementation": implementation, "merge": 200, "largest": largest}
        _planned(x, k, references[32], **{**SMALL, **options})


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("size", [500, 900])
def test_unsorted_results_are_in_the_order_of_indices(references: dict[int, Device], size: int) -> None:
    x = _drawn("f4", (2, size))
    for implementation in IMPLEMENTATIONS:
        for k in (1, 100, size):
            options = {"implementation": implementation, "sorted": False, **SMALL}
            _planned(x, k, references[8], **options)
    _, indices = kernels.topk(x, 50, sorted=False, device=references[8])
    assert np.array_equal(indices, _wanted(x, 50, True, False))


@pytest.mark.mostly_slow(every=3, start=2)
@pytest.mark.parametrize(
    ("size", "tuning"),
    [
        (1, {"workgroup": 1, "row": 1}),
        (2, {"workgroup": 512, "items": 1, "row": 1, "groups": 3}),
        (4, {"workgroup": 64, "items": 32, "row": 1}),
        (32, {"workgroup": 32, "items": 3, "row": 1, "groups": 1000, "block": 1}),
        (32, {"implementation": "shared", "workgroup": 100, "items": 5, "row": 1, "block": 7}),
        (32, {"implementation": "shared", "workgroup": 300, "items": 2, "row": 10_000}),
    ],
    ids=str,
)
def test_tuning_changes_no_result(references: dict[int, Device], size: int, tuning: dict[str, Any]) -> None:
    x = _rng().integers(0, 200, (2, 801), np.int32)
    _planned(x, 77, references[size], **{"implementation": "subgroup", **tuning})


def test_long_rows_are_divided(references: dict[int, Device]) -> None:
    def groups(shape: tuple[int, ...]) -> list[tuple[int, int, int]]:
        plan = plan_topk(references[32], shape, "f4", 8, sorted=False, **SMALL)
        return [step.groups for step in plan.steps if isinstance(step, Pass)]

    assert groups((5, 700)) == [(5, 1, 1)]
    assert groups((5, 1300)) == [(15, 1, 1)] * 6
    assert groups((1, 1 << 20)) == [(64, 1, 1)] * 6
    assert groups((65, 1300)) == [(65, 1, 1)]


def test_million(vulkan_device: Device) -> None:
    for dtype, k in (("f4", 10), ("i4", 5000), ("f4", 900_000)):
        _check(_drawn(dtype, 2**20 + 1), k, vulkan_device)


def test_axes(references: dict[int, Device]) -> None:
    x = _rng().permutation(120).astype(np.float32).reshape(4, 5, 6)
    for axis in range(-3, 3):
        values, indices = kernels.topk(x, 3, axis=axis, device=references[4])
        moved = np.moveaxis(x, axis, -1)
        assert np.array_equal(np.moveaxis(indices, axis, -1), _wanted(moved, 3, True, True))
        assert np.array_equal(values, np.take_along_axis(x, indices, axis))


def test_buffers_stay_on_their_device(references: dict[int, Device]) -> None:
    device = references[8]
    for dtype in DTYPES:
        for shape in ((250,), (3, 100)):
            x = _drawn(dtype, shape)
            values, indices = kernels.topk(device.buffer(x), 20, False)
            assert isinstance(values, Buffer)
            assert isinstance(indices, Buffer)
            assert (values.shape, indices.dtype) == ((*shape[:-1], 20), np.uint32)
            _same(values.read(), indices.read(), x, 20, False)


def test_empty_results_need_no_device() -> None:
    for shape, k, axis in (((0,), 0, -1), ((3, 0), 0, 1), ((0, 4), 2, 1), ((5, 3), 0, 0)):
        values, indices = kernels.topk(np.empty(shape, np.float32), k, axis=axis)
        wanted = list(shape)
        wanted[axis] = k
        assert values.shape == indices.shape == tuple(wanted)
        assert (values.dtype, indices.dtype) == (np.float32, np.int64)


def test_bad_arguments(references: dict[int, Device]) -> None:
    device, x = references[32], np.ones((2, 6), np.float32)
    for bad, message in (
        (lambda: kernels.topk(x, 7, device=device), "from 0 to 6"),
        (lambda: kernels.topk(x, -1, device=device), "from 0 to 6"),
        (lambda: kernels.topk(x, 3, axis=0, device=device), "from 0 to 2"),
        (lambda: kernels.topk(x, 1.5, device=device), "whole number"),
        (lambda: kernels.topk(x, 2, axis=2, device=device), "axis 2"),
        (lambda: kernels.topk(np.float32(1), 1, device=device), "axis -1"),
        (lambda: kernels.topk(x.astype(np.complex64), 1, device=device), "real numbers"),
        (lambda: kernels.topk(device.buffer(x), 1, axis=0), "last axis"),
        (lambda: kernels.topk(device.buffer(x.astype(np.int16)), 1), "works on"),
        (lambda: kernels.topk(x, 1, device=device, implementation="fast"), "implementation"),
        (lambda: plan_topk(device, 8, "f4", 0), "at least one"),
        (lambda: plan_topk(device, 0, "f4", 0), "elements"),
        (lambda: plan_topk(device, (), "f4", 1), "axis"),
        (lambda: plan_topk(device, 8, "i2", 1), "works on"),
        (lambda: plan_topk(device, 8, "f4", 1, items=33), "items"),
        (lambda: plan_topk(device, 8, "f4", 1, implementation="subgroup", workgroup=48), "multiple"),
    ):
        with pytest.raises(InvalidDispatch, match=message):
            bad()
    with pytest.raises(Unsupported, match="at most"):
        plan_topk(device, 2**31, "f4", 5)


@pytest.mark.mostly_slow(every=2, start=1)
@pytest.mark.parametrize("path", ["topk/subgroup.comp", "topk/shared.comp"])
def test_check_finds_nothing_in_the_selection(path: str, checked: Callable[..., Any]) -> None:
    x = _drawn("f4", (2, 600))
    push = {"length": 600, "k": 50, "rows": 2, "parts": 1, "part_size": 1024, "pass": 0}
    room = np.zeros(100, np.uint32)
    given: dict[str, Any] = {"specialization": {"ITEMS": 2}, "sizes": (4, 32)}
    macros = {"KIND": "FLOATING"}
    inputs = {0: x.view(np.uint32), 1: room, 2: room}
    assert checked(path, macros, push=push, inputs=inputs, groups=(2, 1, 1), **given) == ()


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("path", ["topk/subgroup.comp", "topk/shared.comp"])
def test_check_finds_nothing_in_phases_of_long_rows(path: str, checked: Callable[..., Any]) -> None:
    x = _rng().integers(0, 5, (2, 600), np.uint32)
    push = {"length": 600, "k": 50, "rows": 2, "parts": 3, "part_size": 256, "pass": 2}
    # With these counts, the next digit is the first one of any state: one element is to be taken.
    histograms, states = np.ones((2, 4, 256), np.uint32), np.ones((2, 5, 2), np.uint32)
    # The state after all passes: 50 elements that equal the greatest number are to be taken.
    states[:, 4] = (~np.uint32(4), 50)
    tallies = np.zeros((2, 3, 2), np.uint32)
    tallies[..., 1] = [[np.sum(row[begin : begin + 256] == 4) for begin in (0, 256, 512)] for row in x]
    results = {1: np.zeros(100, np.uint32), 2: np.zeros(100, np.uint32)}
    for phase, others in (
        ("COUNT", {3: histograms}),
        ("TALLY", {3: histograms, 5: tallies}),
        ("WRITE", {5: tallies, **results}),
    ):
        found = checked(
            path,
            {"PHASE": phase},
            push=push,
            specialization={"ITEMS": 2},
            inputs={0: x, 4: states, **others},
            sizes=(4, 32),
            groups=(6, 1, 1),
        )
        assert found == (), phase


def test_check_finds_nothing_in_the_sort(checked: Callable[..., Any]) -> None:
    x = -np.sort(-_rng().random((2, 300), np.float32))
    indices, room = np.arange(600, dtype=np.uint32), np.zeros(600, np.uint32)
    inputs = {0: x.view(np.uint32), 1: indices, 2: room, 3: room}
    for width in (0, 128):
        push = {"length": 300, "rows": 2, "width": width}
        found = checked(
            "topk/merge.comp", {"KIND": "FLOATING"}, push=push, inputs=inputs, sizes=(32,), groups=(6, 1, 1)
        )
        assert found == (), width


@pytest.mark.parametrize("path", ["topk/keys.comp", "topk/gather.comp"])
def test_check_finds_nothing_around_the_radix_sort(path: str, checked: Callable[..., Any]) -> None:
    room = np.zeros(300, np.uint32)
    order = _rng().permutation(300).astype(np.uint32)
    inputs = {0: order, 1: room} | ({2: order, 3: room, 4: room} if "gather" in path else {})
    assert checked(path, push={"count": 299}, inputs=inputs, groups=(3, 1, 1)) == ()
