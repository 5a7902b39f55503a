"""Arguments that are no arrays, devices, shapes or dtypes are refused, and the errors say what to give."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vkgroup import kernels
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Device

RAGGED = [[1, 2], [3]]
FLOATS = np.ones((2, 3), np.float32)
SQUARE = np.ones((4, 4), np.float32)

REFUSED: dict[str, tuple[Callable[[Device], Any], str]] = {
    "rows of different lengths": (lambda d: kernels.sum(RAGGED, device=d), "x is no array"),
    "keys of different lengths": (lambda d: kernels.sort(RAGGED, device=d), "x is no array"),
    "ragged indices": (lambda d: kernels.argsort(RAGGED, device=d), "x is no array"),
    "ragged nonzero": (lambda d: kernels.nonzero(RAGGED, device=d), "x is no array"),
    "ragged unique": (lambda d: kernels.unique(RAGGED, device=d), "x is no array"),
    "ragged selection": (lambda d: kernels.topk(RAGGED, 1, device=d), "x is no array"),
    "ragged values to search": (lambda d: kernels.searchsorted([1], RAGGED, device=d), "v is no array"),
    "ragged picture": (lambda d: kernels.quad_mip(RAGGED, device=d), "picture is no array"),
    "ragged limit": (lambda d: kernels.count(FLOATS, "<", RAGGED, device=d), "one real number"),  # type: ignore[arg-type]
    "name of a device": (lambda d: kernels.sum(FLOATS, device="swiftshader"), "result of vkgroup.open"),  # type: ignore[arg-type]
    "device of a sort": (lambda d: kernels.sort(FLOATS, device=3), "result of vkgroup.open"),  # type: ignore[arg-type]
    "axis of a selection": (lambda d: kernels.topk(FLOATS, 1, axis=None, device=d), "axis None"),  # type: ignore[arg-type]
    "k as a bool": (lambda d: kernels.topk(FLOATS, True, device=d), "k must be a whole number"),
    "side as a list": (lambda d: kernels.searchsorted([1], [1], ["left"], device=d), "side must be"),  # type: ignore[arg-type]
    "axis as text": (lambda d: kernels.cumsum(FLOATS, axis="0", device=d), "axis '0' does not exist"),  # type: ignore[arg-type]
    "axes of a scan": (lambda d: kernels.cumsum(FLOATS, axis=(0, 1), device=d), "does not exist"),  # type: ignore[arg-type]
    "list of axes": (lambda d: kernels.maximum_accumulate(FLOATS, [0], device=d), "does not exist"),  # type: ignore[arg-type]
    "levels as a float": (lambda d: kernels.mip_chain(FLOATS, levels=1.0, device=d), "1.0 were requested"),  # type: ignore[arg-type]
    "minlength as text": (lambda d: kernels.bincount([1], "3", device=d), "minlength must be a whole number"),  # type: ignore[arg-type]
    "minlength of nothing": (
        lambda d: kernels.bincount([], 2.5, device=d),
        "minlength must be a whole number",
    ),  # type: ignore[arg-type]
    "window as an array": (lambda d: kernels.max_pool(FLOATS, FLOATS, device=d), "4 x 4 elements"),  # type: ignore[arg-type]
    "text as a limit": (lambda d: kernels.compact(FLOATS, "<", "2", device=d), "compared with a number"),
    "no limit": (lambda d: kernels.compact(FLOATS, "<", None, device=d), "compared with a number"),
    "complex limit": (lambda d: kernels.compact(FLOATS, "<", 1 + 2j, device=d), "compared with a number"),
    "no dtype": (lambda d: kernels.matmul(FLOATS, FLOATS.T, dtype="float31", device=d), "float31"),
    "no common dtype": (lambda d: kernels.matmul(FLOATS, np.zeros((3, 2), "M8[s]"), device=d), "common"),
    "dtype of a plan": (lambda d: kernels.plan_reduce(d, 3, "floaty", "add"), "must be a NumPy dtype"),
    "negative shape": (lambda d: kernels.plan_scan(d, "add", "u4", (-3, -3)), "not negative"),
    "shape as text": (lambda d: kernels.plan_aggregation(d, "3", "u4", "maximum"), "not negative"),  # type: ignore[arg-type]
    "shape of floats": (lambda d: kernels.plan_max_pool(d, (8.0, 8.0), "u4"), "not negative"),  # type: ignore[arg-type]
    "size as a float": (lambda d: kernels.plan_radix_sort(d, 8.0, "u4"), "must be a key"),  # type: ignore[arg-type]
    "no matrix": (lambda d: kernels.plan_matvec(d, (3,), "f4"), "no elements"),  # type: ignore[arg-type]
    "histogram without a range": (lambda d: kernels.plan_histogram(d, 10, "f4", 5), "range"),
    "bins over the shared memory": (
        lambda d: kernels.plan_bincount(d, 10, "u4", 2**20, in_memory=False),
        "shared memory",
    ),
    "no bins": (lambda d: kernels.plan_bincount(d, 10, "u4", 0), "bin"),
    "bins of floats": (lambda d: kernels.plan_bincount(d, 10, "f4", 5), "whole numbers"),
    "counts of nothing": (lambda d: kernels.plan_bincount(d, 0, "u4", 5), "1 to 2"),
    "vote as a number": (lambda d: kernels.plan_bincount(d, 9, "u4", 5, vote=2), "vote is True or False"),
    "inner axes": (lambda d: kernels.matmul(FLOATS, FLOATS, device=d), "inner axes differ"),
    "factor without axes": (lambda d: kernels.matmul(FLOATS, np.float32(2), device=d), "at least one axis"),
    "narrower product": (lambda d: kernels.matmul(SQUARE, SQUARE, device=d, dtype="f2"), "no product of"),
    "cooperative product of floats": (
        lambda d: kernels.matmul(SQUARE, SQUARE, device=d, implementation="cooperative"),
        "multiply float16",
    ),
    "rows of a tile": (
        lambda d: kernels.plan_matmul(d, "f4", (4, 4), (4, 4), "shared", rows=6),
        "multiple of 4",
    ),
    "matrix without elements": (lambda d: kernels.plan_matvec(d, (0, 3), "f4"), "no elements"),
    "no rows": (lambda d: kernels.plan_matvec(d, (2, 3), "f4", rows=0), "rows"),
    "levels of doubles": (lambda d: kernels.mip_chain(np.ones((4, 4)), device=d), "float32"),
    "levels of a stack": (lambda d: kernels.mip_chain(np.ones((4, 4, 3), "f4"), device=d), "height, width"),
    "levels of nothing": (lambda d: kernels.mip_chain(np.ones((4, 0), "f4"), device=d), "empty"),
    "too many levels": (lambda d: kernels.mip_chain(SQUARE, device=d, levels=3), "2 smaller levels"),
    "workgroup of levels": (
        lambda d: kernels.plan_mip_chain(d, "f4", (4, 4), "shared", workgroup=128),
        "power of four",
    ),
    "quads of one channel": (lambda d: kernels.quad_mip(SQUARE, device=d), "height, width, 4"),
    "quads of shared memory": (
        lambda d: kernels.quad_mip(np.ones((4, 4, 4), "f4"), device=d, implementation="shared"),
        "implementation",
    ),
    "filter of bytes": (lambda d: kernels.box_filter(np.ones((4, 4), "u1"), 1, device=d), "float32"),
    "negative radius": (lambda d: kernels.box_filter(SQUARE, -1, device=d), "radius"),
    "radius as a float": (lambda d: kernels.box_filter(SQUARE, 1.5, device=d), "radius"),  # type: ignore[arg-type]
    "large radius": (lambda d: kernels.box_filter(SQUARE, 1 << 15, device=d), "radius"),
    "rows of a filter": (
        lambda d: kernels.plan_box_filter(d, "f4", (8, 8), 2, rows=2**20),
        "rows is a whole number, at least 1 and at most 64",
    ),
    "look of a sort": (
        lambda d: kernels.plan_radix_sort(d, 9, "u4", look=2**20),
        "at least 1 and at most 64",
    ),
    # Two to that power is a number that takes minutes to compute.
    "bits of a digit": (lambda d: kernels.plan_radix_sort(d, 9, "u4", radix_bits=2**31), "at least 4"),
    "vector to transpose": (lambda d: kernels.transpose(np.ones(3), device=d), "rows and columns"),
    "wide transpose": (lambda d: kernels.transpose(np.ones((2, 2), "c16"), device=d), "1, 2, 4 or 8 bytes"),
    "unknown implementation": (
        lambda d: kernels.transpose(SQUARE, device=d, implementation="fast"),
        "implementation",
    ),
    "items of a transpose": (
        lambda d: kernels.plan_transpose(d, "f4", (4, 4), "subgroup", items=3),
        "power of two",
    ),
    "workgroup of a transpose": (
        lambda d: kernels.plan_transpose(d, "f4", (4, 4), "subgroup", workgroup=6),
        "multiple of the subgroup size 4",
    ),
    "tuning of another transpose": (
        lambda d: kernels.plan_transpose(d, "f4", (4, 4), "shared", items=2),
        "no tuning value",
    ),
    "no tile": (
        lambda d: kernels.plan_transpose(d, "f4", (4, 4), "shared", tile=0),
        "at least 1 and at most",
    ),
    "softmax of doubles": (lambda d: kernels.softmax(np.zeros((2, 3)), device=d), "float32 or float16"),
    "softmax of a number": (lambda d: kernels.softmax(np.float32(0), device=d), "float32 or float16"),
    "softmax of integers": (lambda d: kernels.softmax(np.zeros(3, "i4"), device=d), "float32 or float16"),
    "short weight": (lambda d: kernels.layer_norm(FLOATS, np.zeros(2, "f4"), device=d), "weight must have"),
    "bias of another dtype": (
        lambda d: kernels.layer_norm(FLOATS, bias=np.zeros(3, "f2"), device=d),
        "bias must have",
    ),
    "softmax of no rows": (lambda d: kernels.plan_softmax(d, (0, 3), "f4"), "float32 or float16"),
    "team over the workgroup": (
        lambda d: kernels.plan_softmax(d, (2, 300), "f4", team=64, workgroup=32),
        "A team of 64",
    ),
    "unknown operation": (lambda d: kernels.plan_reduce(d, 10, "f4", "sub"), "'sub'"),
    "bits of floats": (lambda d: kernels.plan_reduce(d, 10, "f4", "xor"), "'xor' works on uint32"),
    "sum of nothing": (lambda d: kernels.plan_reduce(d, (0, 3), "f4", "add"), "no elements"),
    "place in nothing": (lambda d: kernels.argmin(np.zeros(0, "f4"), device=d), "not empty"),
    "place along two axes": (lambda d: kernels.argmax(SQUARE, (0, 1), device=d), "one axis"),  # type: ignore[arg-type]
    "place of a complex number": (lambda d: kernels.argmax(np.zeros(2, "c8"), device=d), "complex64"),
    "place of a sum": (lambda d: kernels.plan_arg_reduce(d, 3, "f4", "add"), "'add'"),
    "bins as text": (lambda d: kernels.plan_bincount(d, 3, "u4", "3"), "bins must be a positive integer"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_make_no_sense_are_refused(name: str, references: dict[int, Device]) -> None:
    call, message = REFUSED[name]
    with pytest.raises(InvalidDispatch, match=message):
        call(references[4])


@pytest.mark.parametrize("function", ["sum", "argmax", "cumsum", "sort", "argsort", "softmax", "unique"])
def test_an_array_that_no_buffer_holds_is_refused_before_it_is_copied(
    function: str, references: dict[int, Device]
) -> None:
    x = np.broadcast_to(np.float32(1), (1 << 40,))
    with pytest.raises((InvalidDispatch, Unsupported), match=r"bytes, and|at most|1 to"):
        getattr(kernels, function)(x, device=references[4])


def test_a_shape_may_be_a_list_or_a_number_of_numpy(references: dict[int, Device]) -> None:
    for shape in (np.int64(6), [2, 3], (np.uint8(2), 3)):
        plan = kernels.plan_reduce(references[4], shape, np.uint32, "add")  # type: ignore[arg-type]
        assert plan.inputs["x"].nbytes == 24


def test_limits_beyond_the_greatest_half_are_infinite(references: dict[int, Device]) -> None:
    x = np.array([1, 60000, -np.inf, np.inf], np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.count(x, "<", 2**63, device=references[4]) == 3
        assert len(kernels.compact(x, ">=", -1e300, device=references[4])) == 4  # type: ignore[arg-type]


def test_a_plan_is_not_recorded_on_memory_that_it_reads_and_writes(references: dict[int, Device]) -> None:
    device = references[4]
    plan = kernels.plan_scan(device, "add", np.uint32, 64, one_group=0)
    with device.buffer(np.zeros(192, np.uint32)) as memory:
        first, second, both = (memory.view(np.uint32, 64, offset) for offset in (0, 256, 128))
        for given in ({"x": first, "scanned": first}, {"x": first, "scanned": both}, {"look_back": memory}):
            with pytest.raises(InvalidDispatch, match="do not overlap"):
                plan.record(**{"x": second, **given})
        with plan.record(x=first, scanned=second) as work:
            work.run()
    matrices = kernels.plan_matmul(device, np.float32, (2, 2), (2, 2))
    with device.buffer(np.eye(2, dtype=np.float32)) as both, matrices.record(a=both, b=both) as work:
        work.run()
        assert np.array_equal(work.buffers["product"].read(), np.eye(2))
