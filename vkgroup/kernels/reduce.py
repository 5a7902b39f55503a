"""Reductions as in NumPy: sum, prod, min, max, bitwise reductions, argmin and argmax."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.calls import call_again, keep_call
from vkgroup.kernels.plan import Plan
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.reduce_plan import ARG_OPERATIONS, Axis, plan_reduce, reduction_view, result_dtype

_IDENTITIES = {"add": 0, "mul": 1, "and": -1, "or": 0, "xor": 0}


def sum(
    x: Given,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Add the elements of an array, as `numpy.sum`.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    axis : an axis, adjacent axes, or None for all.
    keepdims : whether the result keeps the reduced axes with length 1.
    device : None selects the buffer's device, or the best one.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.

    Returns
    -------
    An array (a scalar if no axis remains), or a buffer if `x` is one. The dtype is that of `x`: unlike
    NumPy's, sums of uint32 and int32 wrap around at 32 bits. float16 is added in float32 and rounded once.

    No atomic operations are used on floats, so on one device the same call always returns the same bits. The
    order of additions differs from NumPy's, and depends on the device's subgroup size and the tuning.

    Raises
    ------
    InvalidDispatch
        The axis does not exist, or the reduction does not support the dtype.
    Unsupported
        The device lacks the type, or a feature that the implementation requires.

    Examples
    --------
    >>> vkgroup.kernels.sum(np.ones((2, 3), np.float32), axis=1)
    array([3., 3.], dtype=float32)
    """
    return reduced("add", x, axis, keepdims, device, implementation)


def prod(
    x: Given,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Multiply the elements of an array, as `numpy.prod`; `sum` describes the differences."""
    return reduced("mul", x, axis, keepdims, device, implementation)


def min(
    x: Given,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Return the least elements of an array, as `numpy.min`. Parameters are those of `sum`.

    If any element is NaN, the result is always the quiet NaN with an empty payload. Denormal numbers are not
    treated as zeros, and -0 is less than 0.

    Raises
    ------
    InvalidDispatch
        Also if there are no elements, as in NumPy.
    """
    return reduced("min", x, axis, keepdims, device, implementation)


def max(
    x: Given,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Return the greatest elements of an array, as `numpy.max`; see `min` for NaN and zeros."""
    return reduced("max", x, axis, keepdims, device, implementation)


@dataclass(frozen=True)
class Bitwise:
    """A bitwise operation on integers, by its name in `plan_reduce`, with its reduction."""

    operation: str

    def reduce(
        self,
        x: Given,
        axis: Axis = 0,
        *,
        keepdims: bool = False,
        device: Device | None = None,
        implementation: str = "auto",
    ) -> Result:
        """Combine the elements along an axis (by default the first), as `numpy.bitwise_and.reduce`.

        Parameters and errors are those of `sum`; integers of 32 or 64 bits only.
        """
        return reduced(self.operation, x, axis, keepdims, device, implementation)


bitwise_and = Bitwise("and")
bitwise_or = Bitwise("or")
bitwise_xor = Bitwise("xor")


def reduced(
    operation: str,
    x: Given,
    axis: Axis,
    keepdims: bool,
    device: Device | None,
    implementation: str,
) -> Result:
    """Run a reduction; empty arrays are reduced on the host."""
    key = (operation, axis, type(axis), keepdims, implementation)
    if (result := call_again(x, device, key)) is not None:
        return result
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    if not arguments.buffers and math.prod(given.shape) == 0:
        dtype = result_dtype(operation, given.dtype)
        _, length, _, shape = reduction_view(given.shape, axis, keepdims)
        if not length and operation not in _IDENTITIES:
            raise InvalidDispatch(
                f"The reduction {operation!r} of no elements is undefined; pass an array that is not empty."
            )
        empty: Result = np.full(shape, _IDENTITIES.get(operation, 0)).astype(dtype)[()]
        return empty
    plan = planned(
        plan_reduce,
        arguments.device,
        given.shape,
        given.dtype,
        operation,
        axis,
        implementation=implementation,
        keepdims=keepdims,
    )
    (value,) = arguments.run(plan, "result")
    keep_call(x, device, key, plan, "x", "result")
    return value if isinstance(value, Buffer) else value[()]


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
    keepdims, device, implementation : as for `sum`.

    Returns
    -------
    int64: the first index of each least element. NaN orders before every number, so the result is the index
    of the first NaN, if any. Zeros of both signs are equal.

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
