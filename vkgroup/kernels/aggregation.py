"""Atomic aggregation: one atomic operation per subgroup or workgroup instead of one per invocation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result, scalar_of
from vkgroup.kernels.histogram_keys import greatest_not_above, key_words, keys_of, least_not_below, macros
from vkgroup.kernels.pipelines import choose, parts, possible_groups, possible_workgroup
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.reduce import max as reduce_max
from vkgroup.kernels.reduce import min as reduce_min
from vkgroup.kernels.tuning import TABLES, checked_values, whole
from vkgroup.kernels.types import COMPARISONS, dtype_of, element_count, sizes_of

OPERATIONS = ("maximum", "minimum", "count", "append")
"""Aggregations that `plan_aggregation` supports."""

EACH = "each"
"""The version in which each invocation does its own atomic operation in device memory."""

TABLES["aggregation"] = {
    "any": {"workgroup": 256, "items": 4, "groups": 1056},
    "cpu": {"workgroup": 128, "items": 4, "groups": 16},
}

_OPERATIONS = ("basic", "ballot", "arithmetic", "shuffle")
_VECTOR = 16


def plan_aggregation(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    operation: str,
    condition: tuple[str, float] | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan an aggregation with atomic operations.

    Parameters
    ----------
    shape, dtype : of the array `x`: at least one element, of any dtype that the kernels support
        (``"maximum"`` and ``"minimum"``: fewer than 64 bits).
    operation : ``"maximum"`` or ``"minimum"`` (output `value`, of `dtype`; NaN if any element is NaN),
        ``"count"`` (output `count`, uint32: the number of elements that satisfy the condition) or
        ``"append"`` (those elements, in any order, at the beginning of the output `kept`; the output `count`
        is their number).
    condition : one of `COMPARISONS` and a number; required for ``"count"`` and ``"append"``.
    implementation : ``"subgroup"``: one atomic operation per subgroup, in device memory. ``"shared"``: one
        per invocation in shared memory, and one per workgroup in device memory. ``"each"``: one per
        invocation in device memory.
    **tuning : `workgroup`, `items` (16-byte vectors that an invocation loads at once), `groups` (the maximum
        number of workgroups).
    """
    dtype, sizes = dtype_of(dtype), sizes_of(shape)
    _check(dtype, operation, condition)
    implementation = choose(device, implementation, *_OPERATIONS, kinds=(EACH,))
    planner = Planner(device, f"{operation} by atomics", implementation)
    planner.input("x", dtype, sizes)
    count = element_count(sizes)
    bindings = {"Vectors": "x", "Scalars": "x", "Result": _result(planner, operation, dtype)}
    if operation == "append":
        bindings["Kept"] = planner.output("kept", dtype, count)
    values = checked_values(
        device, "aggregation", implementation, tuning, {"workgroup": whole("workgroup", _VECTOR)}
    )
    workgroup = possible_workgroup(device, values["workgroup"])
    constants = {"ITEMS": values["items"]}
    if implementation != "subgroup":
        constants["THROUGH_SHARED"] = implementation == "shared"
    kernel = planner.kernel(
        f"aggregation/{'subgroup' if implementation == 'subgroup' else 'shared'}.comp",
        macros={**macros(dtype), "OPERATION": operation.upper()},
        workgroup=workgroup,
        specialization=constants,
    )
    vectors = count * dtype.itemsize // _VECTOR
    each = workgroup * (1 if operation == "append" else values["items"])
    groups = possible_groups(device, parts(vectors, each), values["groups"])
    push = {"count": count, **_range(dtype, condition)}
    planner.fill(bindings["Result"], 0)
    planner.dispatch(kernel, groups, bindings, push=push)
    if bindings["Result"] == "key":
        last = planner.kernel(
            "aggregation/finish.comp",
            macros={**macros(dtype), "COMPLEMENT": int(operation == "minimum")},
            workgroup=_VECTOR,
        )
        planner.dispatch(last, 1, {"Greatest": "key", "Value": planner.output("value", dtype, ())})
    return planner.plan()


def _check(dtype: np.dtype[Any], operation: str, condition: tuple[str, float] | None) -> None:
    if operation not in OPERATIONS:
        raise InvalidDispatch(f"operation must be one of {OPERATIONS}; {operation!r} was given.")
    if operation in ("maximum", "minimum"):
        if condition is not None:
            raise InvalidDispatch(f"The {operation} of all elements takes no condition.")
        if dtype.itemsize == 8:
            raise InvalidDispatch(
                f"Aggregation has no atomic operations on {dtype}; use kernels.max or kernels.min instead."
            )
    elif condition is None or len(condition) != 2 or str(condition[0]) not in COMPARISONS:
        raise InvalidDispatch(
            f"condition must be one of {COMPARISONS} and a number; {condition!r} was given."
        )


def _result(planner: Planner, operation: str, dtype: np.dtype[Any]) -> str:
    """Declare the buffer of the atomic operations: an output, or scratch memory for a key."""
    if operation in ("count", "append"):
        return planner.output("count", np.uint32, ())
    if operation == "maximum" and dtype == np.uint32:
        return planner.output("value", dtype, ())
    return planner.scratch("key", 4)


def _range(dtype: np.dtype[Any], condition: tuple[str, float] | None) -> dict[str, Any]:
    """Return the push constants of a condition: a range of keys, and whether keys outside it meet it.

    The range is exact. For example, `x < v` is true for all elements below the least element that is not
    below v; rounding v to the elements' type cannot change this.
    """
    outside, low, high = (False, 0, 0) if condition is None else _interval(dtype, *condition)
    return {"outside": int(outside), "low": key_words(dtype, low), "high": key_words(dtype, high)}


def _interval(dtype: np.dtype[Any], comparison: str, value: float) -> tuple[bool, int, int]:
    """Return whether keys outside an interval meet the condition, and the interval's least and greatest key.

    An empty interval is returned as the interval of all keys with the opposite meaning.
    """
    negated = comparison == "!="
    nothing = (not negated, 0, 2 ** (64 if dtype.itemsize == 8 else 32) - 1)
    try:
        number = np.asarray(_in_range(dtype, value))
    except ValueError:
        number = np.empty(0)
    if number.ndim or number.dtype.kind not in "iuf":
        raise InvalidDispatch(f"The condition needs one real number; {value!r} was given.")
    # As in NumPy, Python numbers are converted to the elements' type before a comparison with floats.
    if dtype.kind == "f" and not isinstance(value, np.generic):
        with np.errstate(over="ignore"):
            number = number.astype(dtype)
    if np.isnan(number):
        return nothing
    first, last = _ends(dtype)
    at_least, reachable = least_not_below(dtype, number[None])
    at_most = greatest_not_above(dtype, number)
    from_value = int(keys_of(at_least)[0]) if reachable else last + 1
    to_value = int(keys_of(at_most)[0]) if len(at_most) else first - 1
    bounds = {
        "<": (first, from_value - 1),
        "<=": (first, to_value),
        ">": (to_value + 1, last),
        ">=": (from_value, last),
        "==": (from_value, to_value),
        "!=": (from_value, to_value),
    }
    low, high = bounds[comparison]
    return (negated, low, high) if low <= high else nothing


def _in_range(dtype: np.dtype[Any], value: Any) -> Any:
    """Return a limit that NumPy can compare: a Python integer beyond 64 bits as a float or an infinity."""
    if not isinstance(value, int) or -(2**63) <= value < 2**64:
        return value
    infinity = math.inf if value > 0 else -math.inf
    try:
        return float(value) if dtype.kind == "f" else infinity
    except OverflowError:
        return infinity


def _ends(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the keys of the least and the greatest element that are not NaN."""
    if dtype.kind == "f":
        ends = np.array([-np.inf, np.inf], dtype)
    else:
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    first, last = keys_of(ends)
    return int(first), int(last)


def count(
    x: Given,
    comparison: str,
    value: float,
    *,
    device: Device | None = None,
    implementation: str = "auto",
) -> int:
    """Count the elements that meet a condition, as ``numpy.count_nonzero(x < value)``.

    Parameters
    ----------
    x : array or `Buffer` of any shape.
    comparison : one of `COMPARISONS`.
    value : a number. As in NumPy, a Python number is converted to the dtype of floating-point elements;
        integers are compared exactly.
    implementation : as for `plan_aggregation`.
    """
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    _check(given.dtype, "count", (comparison, value))
    macros(given.dtype)
    if not math.prod(given.shape):
        return 0
    plan = planned(
        plan_aggregation,
        arguments.device,
        given.shape,
        given.dtype,
        "count",
        (comparison, value),
        implementation,
    )
    return int(scalar_of(arguments.run(plan, "count", read="count")[0]))


def extremes(arguments: KernelArguments) -> tuple[Any, Any]:
    """Return the least and the greatest element of the nonempty argument `x`, as NumPy scalars.

    Arrays are evaluated on the host, buffers on their device. Both results are NaN if any element is NaN.
    """
    given = arguments["x"]
    if not isinstance(given, Buffer):
        return given.min(), given.max()
    # Both are submitted before one is read.
    least, most = _extreme(arguments, "minimum"), _extreme(arguments, "maximum")
    return scalar_of(least), scalar_of(most)


def greatest(arguments: KernelArguments) -> Any:
    """Return the greatest element of the nonempty argument `x`, as `extremes`."""
    given = arguments["x"]
    return scalar_of(_extreme(arguments, "maximum")) if isinstance(given, Buffer) else given.max()


def _extreme(arguments: KernelArguments, operation: str) -> Result:
    """Return a buffer for the least or the greatest element of the buffer `x`."""
    given = arguments["x"]
    if given.dtype.itemsize == 8:
        return (reduce_min if operation == "minimum" else reduce_max)(given)
    plan = planned(plan_aggregation, arguments.device, given.shape, given.dtype, operation)
    return arguments.run(plan, "value", read="value")[0]
