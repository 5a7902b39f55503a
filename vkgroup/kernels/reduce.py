"""Reductions as in NumPy: sum, prod, min, max, and the bitwise ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vkgroup.dispatch import Buffer, Device
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.arguments import Arguments, Given, Result
from vkgroup.kernels.reduce_elements import checked_dtype
from vkgroup.kernels.reduce_plan import Axis, plan_reduce, sight_of

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
    """Add up the elements of an array; as `numpy.sum`.

    Parameters
    ----------
    x : array or buffer of float32, float64, float16, or integers of 32 or 64 bits.
    axis : an axis, axes next to each other, or None for all.
    keepdims : whether the axes that went stay, with length 1.
    device : where to run; None takes the buffer's, or the best device.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``.

    Returns
    -------
    An array (a number where no axis is left), or a buffer where `x` is one. The dtype is that of `x`: unlike
    NumPy's, sums of uint32 and int32 wrap around at 32 bits. Halves are added as float32 and rounded once.

    No atomic operations are used on floats: on one device the same call gives the same bits each time. The
    order of additions is another than NumPy's, and depends on the device's subgroup size and the tuning.

    Raises
    ------
    InvalidDispatch
        There is no such axis, or no reduction of that dtype.
    Unsupported
        The device lacks the type, or what the implementation needs.

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
    """Multiply the elements of an array; as `numpy.prod`, but for what `sum` says."""
    return reduced("mul", x, axis, keepdims, device, implementation)


def min(
    x: Given,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    device: Device | None = None,
    implementation: str = "auto",
) -> Result:
    """Find the least elements of an array; as `numpy.min`. Parameters are those of `sum`.

    The result is a NaN where any element is one (the quiet NaN with an empty payload, whichever was found),
    denormal numbers count, and -0 is below 0.

    Raises
    ------
    InvalidDispatch
        Also where there are no elements, as in NumPy.
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
    """Find the greatest elements of an array; as `numpy.max`, and as `min` says."""
    return reduced("max", x, axis, keepdims, device, implementation)


@dataclass(frozen=True)
class Bitwise:
    """A bitwise operation on integers, of which there is the reduction.

    Attributes
    ----------
    operation : as `plan_reduce` calls it.
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
        """Combine the elements along an axis (by default the first); as `numpy.bitwise_and.reduce`.

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
    """Run a reduction; what is empty needs no device."""
    arguments = Arguments(device, x=x)
    given = arguments["x"]
    dtype = checked_dtype(operation, given.dtype)
    shape = tuple(given.shape)
    sight = sight_of(shape, axis)
    if math.prod(shape) == 0:
        result = sight.kept if keepdims else sight.result
        if math.prod(result) and operation not in _IDENTITIES:
            raise InvalidDispatch(f"No elements have no {operation}; give an array that is not empty.")
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
    found: Result = arguments.run(plan, "result")[0]
    return found if isinstance(found, Buffer) else found[()]
