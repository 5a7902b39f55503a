"""Softmax and layer norm of rows, along the last axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result
from vkgroup.kernels.grid import choose_full
from vkgroup.kernels.pipelines import subgroup_size, type_macros
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.reduce_elements import vectors
from vkgroup.kernels.reduce_tuning import (
    VECTOR,
    check_team,
    chosen_tuning,
    most_invocations,
    most_team,
    power_of_two,
)
from vkgroup.kernels.types import dtype_of, sizes_of

DTYPES = (np.dtype(np.float32), np.dtype(np.float16))
"""Types of elements; all computing is in float32."""

_MOST_TEAM = 32
_TEAM_WORKGROUP = 256
_LONG_ITEMS = 4
_LARGE = 256
"""Invocations of a workgroup from which on it is better to hold more in each than to have more."""

_WORKGROUPS = (64, 128, 256, 512, 1024)


def softmax(x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Divide the exponentials of each row's elements by their sum; as `scipy.special.softmax` with axis -1.

    Parameters
    ----------
    x : array or buffer of float32 or float16, of one axis at least; rows are along the last.
    device : where to run; None takes the buffer's, or the best device.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.

    Returns
    -------
    An array, or a buffer where `x` is one, of the dtype and shape of `x`. The greatest element of a row is
    subtracted first, so nothing overflows. A row that has a NaN, an infinity, or nothing but minus infinity
    becomes NaN, as far as the device's float32 arithmetic keeps these (``shaderSignedZeroInfNanPreserve``).

    Raises
    ------
    InvalidDispatch
        The array has no axis or another dtype.
    Unsupported
        The device lacks the type, or what the implementation needs.
    """
    arguments = Arguments(device, x=x)
    dtype, shape = _checked(arguments["x"])
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    plan = plan_softmax(arguments.device, shape, dtype, implementation=implementation)
    found: Result = arguments.run(plan, "result")[0]
    return found


def layer_norm(
    x: Given,
    weight: Given | None = None,
    bias: Given | None = None,
    *,
    epsilon: float = 1e-5,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Give each row the mean 0 and the variance 1; as torch's layer_norm over the last axis.

    Parameters
    ----------
    x : array or buffer of float32 or float16, of one axis at least; rows are along the last.
    weight, bias : for each column, of the dtype of `x`: factors and summands of the result; None leaves them
        out.
    epsilon : is added to the variance.
    device, implementation : as for `softmax`.

    Returns
    -------
    ``(x - mean) / sqrt(variance + epsilon) * weight + bias``, as an array or a buffer; the variance is that
    of the row itself (divided by its length).

    Raises
    ------
    InvalidDispatch
        The array has no axis or another dtype, or weights and biases do not fit.
    Unsupported
        The device lacks the type, or what the implementation needs.
    """
    given = {name: value for name, value in (("weight", weight), ("bias", bias)) if value is not None}
    arguments = Arguments(device, x=x, **given)
    dtype, shape = _checked(arguments["x"])
    for name in given:
        of_columns = arguments[name]
        if of_columns.dtype != dtype or tuple(of_columns.shape) != shape[-1:]:
            raise InvalidDispatch(
                f"{name} must have the shape {shape[-1:]} and the dtype {dtype}, one number for each column;"
                f" it has {tuple(of_columns.shape)} and {of_columns.dtype}."
            )
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    plan = plan_layer_norm(
        arguments.device,
        shape,
        dtype,
        weight=weight is not None,
        bias=bias is not None,
        epsilon=epsilon,
        implementation=implementation,
    )
    found: Result = arguments.run(plan, "result")[0]
    return found


def plan_softmax(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    *,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a softmax: the input ``x``, the output ``result``.

    Parameters
    ----------
    shape, dtype : of both, in C order; rows are along the last axis.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.
    **tuning : defaults are in `vkgroup.kernels.reduce_tuning`, and follow from the length of rows.

        - `workgroup`: invocations of a workgroup.
        - `team`: invocations that share a row (a power of two; of a subgroup at most all), 0 for a whole
          workgroup.
        - `items`: vectors of four elements that each invocation holds. A row that is longer than its team
          holds is read twice.
        - `most_items`: rows that a small team of invocations can hold with so many get one.
        - `groups`: at most so many workgroups, each of which goes on with further rows.
        - `radix`: states that become one in each round of the shared version's tree.

    Raises
    ------
    InvalidDispatch
        There are no elements, the dtype is another, or a tuning value makes no sense.
    Unsupported
        The device lacks the subgroup operations, or the type.
    """
    return _plan(device, "softmax", dtype_of(dtype), shape, {}, {}, implementation, tuning)


def plan_layer_norm(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    *,
    weight: bool = False,
    bias: bool = False,
    epsilon: float = 1e-5,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a layer norm: the inputs ``x`` and, where there are any, ``weight`` and ``bias``; ``result``.

    Parameters
    ----------
    weight, bias : whether there are factors and summands of the columns.
    epsilon : is added to the variance.
    shape, dtype, implementation, **tuning : as for `plan_softmax`.

    Raises
    ------
    InvalidDispatch, Unsupported
        As there.
    """
    columns = {"weight": "weights"} if weight else {}
    if bias:
        columns["bias"] = "biases"
    return _plan(
        device, "layer_norm", dtype_of(dtype), shape, columns, {"epsilon": epsilon}, implementation, tuning
    )


def _checked(x: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return dtype and shape of an array of rows."""
    if x.dtype not in DTYPES or not len(x.shape):
        raise InvalidDispatch(
            f"Rows are arrays of float32 or float16 with one axis at least; {x.dtype} of the shape"
            f" {tuple(x.shape)} was given."
        )
    return x.dtype, tuple(x.shape)


def _plan(
    device: Device,
    name: str,
    dtype: np.dtype[Any],
    shape: int | tuple[int, ...],
    columns: dict[str, str],
    push: dict[str, Any],
    implementation: str,
    tuning: dict[str, Any],
) -> Plan:
    sizes = sizes_of(shape)
    if dtype not in DTYPES or math.prod(sizes) == 0 or not sizes:
        raise InvalidDispatch(f"Rows of float32 or float16 are planned, not {dtype} of the shape {sizes}.")
    length, rows = sizes[-1], math.prod(sizes[:-1])
    chosen = choose_full(device, implementation, "basic", "arithmetic", "shuffle")
    values = chosen_tuning(device, "rows", chosen, tuning)
    workgroup, team, items = _sizes(device, chosen, length, values)
    planner = Planner(device, name, chosen)
    bindings = {"values": planner.input("x", dtype, sizes)}
    for given, binding in columns.items():
        bindings[binding] = planner.input(given, dtype, length)
    bindings["results"] = planner.output("result", dtype, sizes)
    constants: dict[int | str, Any] = {"ITEMS": items, "TEAM": team, "ALIGNED": length % VECTOR == 0}
    if chosen == "shared":
        constants["RADIX"] = values["radix"]
    macros = type_macros(dtype)
    macros["T4"] = vectors(macros["T"])
    if name == "layer_norm":
        macros |= {"WEIGHT": int("weight" in columns), "BIAS": int("bias" in columns)}
    kernel = planner.kernel(
        f"row_normalization/{name}_{chosen}.comp",
        macros=macros,
        workgroup=workgroup,
        specialization=constants,
    )
    lanes = min(team, subgroup_size(device)) if chosen == "subgroup" else team
    groups = -(-rows // max(1, workgroup // lanes)) if team else rows
    limit = int(device.capabilities.limits["maxComputeWorkGroupCount"][0])
    planner.dispatch(
        kernel, min(groups, values["groups"], limit), bindings, {"length": length, "rows": rows, **push}
    )
    return planner.plan()


def _items_in(workgroup: int) -> int:
    """Return how many vectors an invocation of a workgroup of that size is to hold of a long row."""
    return _LONG_ITEMS if workgroup < _LARGE else 2 * _LONG_ITEMS


def _sizes(device: Device, implementation: str, length: int, values: dict[str, Any]) -> tuple[int, int, int]:
    """Choose invocations of a workgroup and of a team, and vectors of each, by the length of rows.

    Short rows get a team within a subgroup, which needs no barrier. Of the workgroups that can hold a longer
    row with few vectors for each invocation, the smallest: the more are under way, the fewer wait.
    """
    size = subgroup_size(device) if implementation == "subgroup" else _MOST_TEAM
    most = most_invocations(device)
    needed = -(-length // VECTOR)
    workgroup, team, items = values["workgroup"], values["team"], values["items"]
    if team is None:
        if workgroup is not None:
            size = most_team(device, implementation, workgroup)
        team = min(power_of_two(needed), size) if needed <= size * values["most_items"] else 0
    if workgroup is None:
        workgroup = min(_TEAM_WORKGROUP, most)
        if not team:
            able = [n for n in _WORKGROUPS if n <= most]
            fitting = [n for n in able if n * (items or _items_in(n)) >= needed]
            workgroup = min(fitting, default=min(_WORKGROUPS[-1], most))
            workgroup = max(workgroup, min(size, most))
    if team > workgroup:
        raise InvalidDispatch(f"A team of {team} does not fit into a workgroup of {workgroup}.")
    check_team(implementation, team, workgroup)
    if items is None:
        lanes = min(team, size) if team else workgroup
        items = max(1, min(-(-needed // lanes), values["most_items"]))
    return workgroup, team, items
