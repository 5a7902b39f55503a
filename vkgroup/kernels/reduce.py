"""Reductions as in NumPy: sum, prod, min, max, and bitwise reductions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result
from vkgroup.kernels.reduce_elements import checked_dtype
from vkgroup.kernels.reduce_plan import Axis, plan_reduce, reduction_view

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "max", "min", "plan_reduce", "prod", "reduced", "sum"]

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
    """A bitwise operation on integers, with its reduction.

    Attributes
    ----------
    operation : name of the operation in `plan_reduce`.
    """

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
    arguments = Arguments(device, x=x)
    given = arguments["x"]
    dtype = checked_dtype(operation, given.dtype)
    shape = tuple(given.shape)
    view = reduction_view(shape, axis)
    if math.prod(shape) == 0:
        result = view.kept if keepdims else view.result
        if math.prod(result) and operation not in _IDENTITIES:
            raise InvalidDispatch(
                f"The reduction {operation!r} of no elements is undefined; pass an array that is not empty."
            )
        empty: Result = np.full(result, _IDENTITIES.get(operation, 0)).astype(dtype)[()]
        return empty
    plan = plan_reduce(
        arguments.device,
        shape,
        given.dtype,
        operation,
        axis,
        implementation=implementation,
        keepdims=keepdims,
    )
    value: Result = arguments.run(plan, "result")[0]
    return value if isinstance(value, Buffer) else value[()]
