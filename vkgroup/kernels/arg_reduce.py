"""Indices of the least and the greatest elements, as in NumPy: argmin and argmax."""

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
    """Return the indices of the least elements of an array, as `numpy.argmin`.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits; not empty.
    axis : an axis; None flattens the array.
    keepdims, device, implementation : as for `vkgroup.kernels.sum`.

    Returns
    -------
    int64: the first index of each least element. NaN orders before every number, so the result is the index
    of the first NaN, if any. Zeros of both signs are equal.

    Raises
    ------
    InvalidDispatch
        The axis does not exist, there are no elements, or argmin does not support the dtype.
    Unsupported
        The device lacks the type, or a feature that the implementation requires.

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
    """Return the indices of the greatest elements of an array, as `numpy.argmax`; see `argmin`."""
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
    """Plan an argmin or argmax with the input ``x`` and the output ``result``, int64.

    Parameters
    ----------
    operation : ``"argmin"`` or ``"argmax"``.
    shape, dtype, axis, implementation, **tuning : as for `vkgroup.kernels.reduce_plan.plan_reduce`.

    Raises
    ------
    InvalidDispatch, Unsupported
        As `vkgroup.kernels.reduce_plan.plan_reduce`.
    """
    if operation not in ARG_OPERATIONS:
        raise InvalidDispatch(f"operation must be 'argmin' or 'argmax'; {operation!r} was given.")
    return plan_reduce(
        device, shape, dtype, operation, _checked_axis(axis), implementation=implementation, **tuning
    )


def _checked_axis(axis: int | None) -> int | None:
    if isinstance(axis, tuple):
        raise InvalidDispatch(f"argmin and argmax take one axis, or None for all; {axis!r} was given.")
    return axis
