"""Arrays of other libraries: the device that they are on, and host arrays as NumPy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from vkgroup.dispatch.dlpack import CUDA, CUDA_MANAGED, HOST
from vkgroup.errors import InvalidDispatch

_OWN = (np.ndarray, np.generic, list, tuple, int, float)
#: Where arrays lie that are not the host's, by DLDeviceType.
_DEVICES = {2: "CUDA device", 10: "ROCm device", 13: "CUDA device", 14: "oneAPI device"}
_UNKNOWN = -1


def place_of(value: Any) -> tuple[int, int] | None:
    """Return on which device an array of another library lies, in DLPack's numbers.

    Returns
    -------
    Type and number, -1 where only the address would tell; None for what is no such array.
    """
    if isinstance(value, _OWN):
        return None
    if hasattr(value, "__dlpack_device__") and hasattr(value, "__dlpack__"):
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    # An array that CUDA does not see raises AttributeError here.
    return (CUDA, _UNKNOWN) if hasattr(value, "__cuda_array_interface__") else None


def on_cuda(value: Any) -> bool:
    """Whether a value is another library's array in memory that CUDA manages for a device."""
    location = place_of(value)
    return location is not None and location[0] in (CUDA, CUDA_MANAGED)


def as_host(value: Any, what: str) -> Any:
    """Return another library's array in the host's memory as one of NumPy's, and all else as it is.

    Raises
    ------
    InvalidDispatch
        It lies elsewhere, or its library does not hand it out: a tensor that requires a gradient, say.
    """
    location = place_of(value)
    if location is None:
        return value
    if location[0] not in HOST:
        where = _DEVICES.get(location[0], f"device of DLPack type {location[0]}")
        number = "" if location[1] == _UNKNOWN else f" {location[1]}"
        raise InvalidDispatch(
            f"{what}: the array lies on {where}{number}. Give it to a buffer's binding or to"
            " device.from_dlpack of that GPU, or copy it to the host (tensor.cpu(), cupy.asnumpy(array))."
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidDispatch(f"{what}: NumPy cannot take the array: {error}") from error


class Borrowed(ABC):
    """Another library's array on a GPU while it is bound.

    Attributes
    ----------
    source : as it was given.
    buffer : what is bound for it.
    """

    source: Any
    buffer: Any

    @abstractmethod
    def give_back(self) -> None:
        """Make what was written to the buffer the array's contents."""

    @abstractmethod
    def close(self) -> None:
        """Give back what was taken for it."""
