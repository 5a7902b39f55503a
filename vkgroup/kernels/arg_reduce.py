"""Places of the least and the greatest elements, as in NumPy: argmin and argmax."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Given, Result
from vkgroup.kernels.plan import Plan
from vkgroup.kernels.reduce import reduced
from vkgroup.kernels.reduce_elements import ARG_OPERATIONS
from vkgroup.kernels.reduce_plan import plan_reduce


def argmin(
    x: Given,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Find where the least elements of an array are; as `numpy.argmin`.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits; not empty.
    axis : an axis; None takes the array as flat.
    keepdims, device, implementation : as for `vkgroup.kernels.sum`.

    Returns
    -------
    int64: the first place of each least element. A NaN is less than everything, so the first NaN is found;
    zeros of both signs are equal.

    Raises
    ------
    InvalidDispatch
        There is no such axis, no elements, or no argmin of that dtype.
    Unsupported
        The device lacks the type, or what the implementation needs.

    Examples
    --------
    >>> vkgroup.kernels.argmin(np.array([[3, 1, 1], [0, 2, 0]], np.int32), axis=1)
    array([1, 0])
    """
    return reduced("argmin", x, _checked_axis(axis), keepdims, device, implementation)


def argmax(
    x: Given,
    axis: int | None = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Find where the greatest elements of an array are; as `numpy.argmax`, and as `argmin` says."""
    return reduced("argmax", x, _checked_axis(axis), keepdims, device, implementation)


def plan_arg_reduce(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    operation: str,
    axis: int | None = None,
    *,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan an argmin or argmax: the input ``x``, the output ``result`` of int64.

    Parameters
    ----------
    operation : ``"argmin"`` or ``"argmax"``.
    shape, dtype, axis, implementation, **tuning : as for `vkgroup.kernels.reduce_plan.plan_reduce`.

    Raises
    ------
    InvalidDispatch, Unsupported
        As there.
    """
    if operation not in ARG_OPERATIONS:
        raise InvalidDispatch(f"The operation is 'argmin' or 'argmax'; {operation!r} was given.")
    return plan_reduce(
        device, shape, dtype, operation, _checked_axis(axis), implementation=implementation, **tuning
    )


def _checked_axis(axis: int | None) -> int | None:
    if isinstance(axis, tuple):
        raise InvalidDispatch(f"argmin and argmax take one axis, or None for all; {axis!r} was given.")
    return axis
