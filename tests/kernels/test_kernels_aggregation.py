"""Aggregation through atomics gives what NumPy does: one operation a subgroup, or one an invocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup.kernels
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.aggregation import OPERATIONS, plan_aggregation
from vkgroup.kernels.types import COMPARISONS, GLSL

Array = npt.NDArray[Any]

kernels: Any = vkgroup.kernels

IMPLEMENTATIONS = ("subgroup", "shared", "each")
LENGTHS = (1, 3, 4, 61, 1021, 4099)


def _elements(dtype: Any, length: int) -> Array:
    kind = np.dtype(dtype)
    x = np.random.default_rng(length).normal(size=length) * 50
    return np.abs(x).astype(kind) if kind.kind == "u" else x.astype(kind)


def _run(device: Device, x: Array, operation: str, *more: Any, **tuning: Any) -> dict[str, Array]:
    plan = plan_aggregation(device, x.shape, x.dtype, operation, *more, **tuning)
    with device.buffer(x) as buffer, plan.record(x=buffer) as work:
        work.run()
        return {name: work.buffers[name].read() for name in plan.outputs}


def _check(device: Device, x: Array, implementation: str, **tuning: Any) -> None:
    """All operations; what is appended comes in any order."""
    condition = ("<", float(np.median(x)))
    kept = x[x < x.dtype.type(condition[1])] if x.dtype.kind == "f" else x[x < condition[1]]
    for operation, wanted in (("maximum", x.max()), ("minimum", x.min())):
        if x.dtype.itemsize < 8:
            assert _run(device, x, operation, None, implementation, **tuning)["value"] == wanted, operation
    assert _run(device, x, "count", condition, implementation, **tuning)["count"] == len(kept)
    found = _run(device, x, "append", condition, implementation, **tuning)
    assert found["count"] == len(kept)
    assert np.array_equal(np.sort(found["kept"][: len(kept)]), np.sort(kept))


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_drivers_aggregate(driver: Device, implementation: str) -> None:
    for length in LENGTHS:
        _check(driver, _elements(np.float32, length), implementation)


@pytest.mark.mostly_slow(every=7)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", [np.uint32, np.float64])
def test_the_reference_device_aggregates(reference: Device, implementation: str, dtype: Any) -> None:
    _check(reference, _elements(dtype, 777), implementation, workgroup=128, items=2, groups=2)


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("dtype", [kind for kind in GLSL if kind != np.float32], ids=str)
def test_elements_of_every_type(references: dict[int, Device], dtype: np.dtype[Any]) -> None:
    for implementation in IMPLEMENTATIONS[:2]:
        _check(references[16], _elements(dtype, 333), implementation)


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("length", [2**20 - 1, 2**20, 2**20 + 1])
def test_many_elements(vulkan_device: Device, length: int) -> None:
    x = _elements(np.int32, length)
    for implementation in IMPLEMENTATIONS:
        assert _run(vulkan_device, x, "maximum", None, implementation)["value"] == x.max()
        found = kernels.count(x, ">", 3, device=vulkan_device, implementation=implementation)
        assert found == np.count_nonzero(x > 3)


def test_many_elements_on_the_reference_device(references: dict[int, Device]) -> None:
    x = _elements(np.uint32, 2**20 + 1)
    assert _run(references[32], x, "append", (">=", 10), "subgroup")["count"] == np.count_nonzero(x >= 10)


def test_adversarial_elements(vulkan_device: Device) -> None:
    """All kept, none kept, every other one; zeros of either sign; infinities and NaNs of either sign."""
    alternating = np.where(np.arange(1000) % 2, np.float32(1), np.float32(0))
    for value, wanted in ((-1, 0), (0.5, 500), (2, 1000)):
        for implementation in IMPLEMENTATIONS:
            found = _run(vulkan_device, alternating, "append", ("<", value), implementation)
            assert found["count"] == wanted
            assert np.count_nonzero(found["kept"][:wanted] < value) == wanted
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0], np.float32)
    for comparison in COMPARISONS:
        for value in (0.0, -0.0, np.inf, np.nan, np.float64(0.1)):
            found = kernels.count(special, comparison, value, device=vulkan_device)
            assert found == np.count_nonzero(_compared(special, comparison, value)), (comparison, value)
    for sign in (1, -1):
        with_nan = np.append(alternating, np.float32(sign * np.nan))
        for operation in ("maximum", "minimum"):
            assert np.isnan(_run(vulkan_device, with_nan, operation)["value"])
    infinite = np.array([-np.inf, 3, np.inf], np.float32)
    assert _run(vulkan_device, infinite, "maximum")["value"] == np.inf
    assert _run(vulkan_device, infinite, "minimum")["value"] == -np.inf


def _compared(x: Array, comparison: str, value: Any) -> Array:
    functions = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
    function = dict(zip(COMPARISONS, functions, strict=True))[comparison]
    return np.asarray(function(x, value))


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint32, np.int64, np.uint64], ids=str)
def test_conditions_are_numpys(references: dict[int, Device], dtype: Any) -> None:
    """Also where the number is none of the type: between two elements, or beyond all of them."""
    x = np.append(_elements(dtype, 99), np.array([0, 1, 5, 100], dtype))
    numbers = [0, 5, 0.1, -0.5, 2.5, 99.99, -300, 60000.0, np.float64(0.1), np.int64(7)]
    for comparison in COMPARISONS:
        for value in numbers:
            wanted = np.count_nonzero(_compared(x, comparison, value))
            assert kernels.count(x, comparison, value, device=references[8]) == wanted, (comparison, value)


def test_buffers_are_counted_on_their_device(vulkan_device: Device) -> None:
    x = _elements(np.float32, 5000).reshape(50, 100)
    with vulkan_device.buffer(x) as buffer:
        assert kernels.count(buffer, "<", 0.5) == np.count_nonzero(x < 0.5)


def test_nothing_to_count_needs_no_device() -> None:
    assert kernels.count(np.empty((3, 0), np.float32), "<", 1) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kernels.count(np.ones(3), "=<", 1), "condition must be one of"),
        (lambda: kernels.count(np.ones(3), np.ones(3), 1), "condition must be one of"),  # type: ignore[arg-type]
        (lambda: kernels.count(np.ones(3), "<", "1"), "real number"),
        (lambda: kernels.count(np.ones(3, int), "<", 1j), "real number"),
        (lambda: kernels.count(np.ones(3, int), "<", [1, 2]), "one real number"),
        (lambda: kernels.count(np.ones(3, complex), "<", 1), "Kernels work on"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        call()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((10, np.uint32, "sum"), "operation must be one of"),
        ((10, np.uint32, "count"), "condition must be one of"),
        ((10, np.uint32, "maximum", ("<", 1)), "takes no condition"),
        ((10, np.float64, "maximum"), "kernels.max"),
        ((0, np.uint32, "maximum"), "1 to 2"),
        ((10, np.uint32, "maximum", None, "fastest"), "implementation must be one of"),
    ],
)
def test_plans_that_make_no_sense_are_refused(
    references: dict[int, Device], arguments: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        plan_aggregation(references[4], *arguments)


@pytest.mark.parametrize(
    ("tuning", "words"),
    [({"workgroup": 8}, "at least 16"), ({"items": 0}, "at least 1"), ({"x": 1}, "no tuning")],
)
def test_tuning_that_makes_no_sense_is_refused(
    references: dict[int, Device], tuning: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        plan_aggregation(references[4], 10, np.uint32, "maximum", **tuning)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_the_check_finds_nothing(checked: Any, operation: str, implementation: str) -> None:
    """In whole tiles, in the last one, and behind the last vector; also with all that is made up."""
    path = f"aggregation/{'subgroup' if implementation == 'subgroup' else 'shared'}.comp"
    macros = {"OPERATION": operation.upper()}
    count = 4 * 32 * 2 * 3 + 71
    x = _elements(np.uint32, count)
    constants: dict[int | str, Any] = {0: 32, "ITEMS": 2}
    if operation == "append":
        constants = {0: 32}
    if implementation == "each":
        constants["THROUGH_SHARED"] = False
    inputs = {"Vectors": x[: count // 4 * 4].reshape(-1, 4), "Scalars": x}
    if operation == "append":
        inputs["Kept"] = np.zeros_like(x)
    found = checked(
        path,
        macros,
        groups=(2,),
        inputs=inputs,
        push={"count": count, "outside": 0, "low": 3, "high": 40},
        specialization=constants,
    )
    assert found == ()
    if implementation != "each":
        assert checked(path, macros) == ()


def test_the_check_finds_nothing_in_the_end(checked: Any) -> None:
    assert checked("aggregation/finish.comp") == ()
