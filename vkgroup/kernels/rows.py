"""Row normalization: softmax and layer norm along the last axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.calls import call_again, keep_call
from vkgroup.kernels.pipelines import choose_full, parts, possible_groups, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.reduce_tuning import (
    MOST_TEAM,
    VECTOR,
    check_team,
    most_invocations,
    most_team,
    power_of_two,
    reduction_values,
    team_lanes,
)
from vkgroup.kernels.types import dtype_of, sizes_of, type_macros, vector_type

DTYPES = (np.dtype(np.float32), np.dtype(np.float16))
"""Types of elements; all computation is in float32."""

_TEAM_WORKGROUP = 256
_LONG_ITEMS = 4
_LARGE = 256
"""Workgroup size from which more items per invocation are faster than more invocations."""

_WORKGROUPS = (64, 128, 256, 512, 1024)


def softmax(x: Given, *, device: Device | None = None, implementation: str = "auto") -> Result:
    """Divide the exponentials of each row's elements by their sum, as `scipy.special.softmax` with axis -1.

    Parameters
    ----------
    x : array or buffer of float32 or float16, with at least one axis; rows are along the last axis.

    Returns
    -------
    An array, or a buffer if `x` is one, of the dtype and shape of `x`. The greatest element of a row is
    subtracted first, so the exponentials cannot overflow. If a row contains NaN or infinity, or only minus
    infinity, all its results are NaN. This requires a device that preserves NaN and infinity in float32
    arithmetic (``shaderSignedZeroInfNanPreserveFloat32``).
    """
    key = ("softmax", implementation)
    if (result := call_again(x, device, key)) is not None:
        return result
    arguments = KernelArguments(device, x=x)
    dtype, shape = _checked(arguments["x"])
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    plan = planned(plan_softmax, arguments.device, shape, dtype, implementation=implementation)
    (normalized,) = arguments.run(plan, "result")
    keep_call(x, device, key, plan, "x", "result")
    return normalized


def layer_norm(
    x: Given,
    weight: Given | None = None,
    bias: Given | None = None,
    *,
    epsilon: float = 1e-5,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Normalize each row to mean 0 and variance 1, as PyTorch's layer_norm over the last axis.

    Parameters
    ----------
    x : array or buffer of float32 or float16, with at least one axis; rows are along the last axis.
    weight, bias : one factor and one summand per column, of the dtype of `x`; None omits them.
    epsilon : added to the variance.

    Returns
    -------
    ``(x - mean) / sqrt(variance + epsilon) * weight + bias``, as an array or a buffer; the variance is the
    population variance (the sum of squares divided by the length of the row). A row whose variance is not a
    finite float32 may become NaN.
    """
    given = {name: value for name, value in (("weight", weight), ("bias", bias)) if value is not None}
    arguments = KernelArguments(device, x=x, **given)
    dtype, shape = _checked(arguments["x"])
    for name in given:
        column_values = arguments[name]
        if column_values.dtype != dtype or tuple(column_values.shape) != shape[-1:]:
            raise InvalidDispatch(
                f"{name} must have the shape {shape[-1:]} and the dtype {dtype}, one number for each column;"
                f" it has {tuple(column_values.shape)} and {column_values.dtype}."
            )
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    plan = planned(
        plan_layer_norm,
        arguments.device,
        shape,
        dtype,
        weight=weight is not None,
        bias=bias is not None,
        epsilon=epsilon,
        implementation=implementation,
    )
    return arguments.run(plan, "result")[0]


def plan_softmax(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    *,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a softmax with the input ``x`` and the output ``result``.

    Parameters
    ----------
    shape, dtype : of input and output, in C order; rows are along the last axis.
    **tuning : see `vkgroup.kernels.reduce_tuning`.
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
    """Plan a layer norm with the inputs ``x``, ``weight`` and ``bias`` and the output ``result``.

    Parameters
    ----------
    weight, bias : whether the plan has these inputs: one factor and one summand per column.
    epsilon : added to the variance.
    shape, dtype, implementation, **tuning : as for `plan_softmax`.
    """
    columns = {"weight": "weights"} if weight else {}
    if bias:
        columns["bias"] = "biases"
    return _plan(
        device, "layer_norm", dtype_of(dtype), shape, columns, {"epsilon": epsilon}, implementation, tuning
    )


def _checked(x: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the dtype and shape of an array of rows, after checking them."""
    if x.dtype not in DTYPES or not len(x.shape):
        raise InvalidDispatch(
            f"Rows must be float32 or float16 arrays with at least one axis; {x.dtype} of shape"
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
        raise InvalidDispatch(
            f"A plan needs nonempty rows of float32 or float16; {dtype} of shape {sizes} was given."
        )
    length, rows = sizes[-1], math.prod(sizes[:-1])
    version = choose_full(device, implementation, "basic", "arithmetic", "shuffle")
    values = reduction_values(device, "rows", version, tuning)
    workgroup, team, items = _sizes(device, version, (rows, length), values)
    planner = Planner(device, name, version)
    bindings = {"values": planner.input("x", dtype, sizes)}
    for given, binding in columns.items():
        bindings[binding] = planner.input(given, dtype, length)
    bindings["results"] = planner.output("result", dtype, sizes)
    constants: dict[str, Any] = {"ITEMS": items, "TEAM": team, "ALIGNED": length % VECTOR == 0}
    if version == "shared":
        constants["RADIX"] = values["radix"]
    macros = type_macros(dtype)
    macros["T4"] = vector_type(macros["T"])
    if name == "layer_norm":
        macros |= {"WEIGHT": int("weight" in columns), "BIAS": int("bias" in columns)}
    kernel = planner.kernel(
        f"row_normalization/{name}_{version}.comp",
        macros=macros,
        workgroup=workgroup,
        specialization=constants,
    )
    groups = parts(rows, max(1, workgroup // team_lanes(device, version, team))) if team else rows
    planner.dispatch(
        kernel,
        possible_groups(device, groups, values["groups"]),
        bindings,
        {"length": length, "rows": rows, **push},
    )
    return planner.plan()


def _sizes(
    device: Device, implementation: str, shape: tuple[int, int], values: dict[str, Any]
) -> tuple[int, int, int]:
    """Return the sizes of workgroups and teams, and the vectors per invocation, for rows of a length.

    Short rows use a team within a subgroup, which needs no barrier. Longer rows use the smallest workgroup
    that holds a row with few vectors per invocation: more workgroups then run at once, and hide latency.
    """
    rows, length = shape
    size = subgroup_size(device) if implementation == "subgroup" else MOST_TEAM
    most = most_invocations(device)
    needed = parts(length, VECTOR)
    workgroup, team, items = values["workgroup"], values["team"], values["items"]
    if team is None:
        if workgroup is not None:
            size = most_team(device, implementation, workgroup)
        team = min(power_of_two(needed), size) if needed <= size * values["team_items"] else 0
    if workgroup is None:
        workgroup = max(size, min(_TEAM_WORKGROUP, most, power_of_two(rows * max(1, team))))
        if not team:
            fitting = [
                size
                for size in _WORKGROUPS
                if size <= most and size * (items or _LONG_ITEMS * (1 if size < _LARGE else 2)) >= needed
            ]
            workgroup = min(fitting, default=min(_WORKGROUPS[-1], most))
            workgroup = max(workgroup, min(size, most))
    if team > workgroup:
        raise InvalidDispatch(f"A team of {team} does not fit into a workgroup of {workgroup}.")
    check_team(implementation, team, workgroup)
    if items is None:
        lanes = min(team, size) if team else workgroup
        items = max(1, min(parts(needed, lanes), values["most_items"]))
    return workgroup, team, items
