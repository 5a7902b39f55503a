"""Buffers on a device."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.closing import Closing
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.exports import Exports
from vkgroup.dispatch.foreign import as_host
from vkgroup.errors import DriverError, InvalidDispatch, Unsupported


def as_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """View an array's elements in C order as bytes; copies only what is not contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def checked_array(array: Any, what: str) -> npt.NDArray[Any]:
    """Return `array` as a NumPy array whose bytes a shader can read; `InvalidDispatch` where it has none."""
    try:
        result = np.asarray(as_host(array, what))
    except ValueError as error:
        raise InvalidDispatch(f"{what}: {error}") from error
    if result.dtype.hasobject:
        raise InvalidDispatch(
            f"{what}: an array of Python objects has no bytes for a shader; give it a numeric dtype."
        )
    if not result.dtype.isnative:
        raise InvalidDispatch(
            f"{what}: the array has the byte order {result.dtype.str!r}; convert it with"
            " array.astype(array.dtype.newbyteorder('='))."
        )
    if result.nbytes == 0:
        raise InvalidDispatch(f"{what}: the array is empty, and Vulkan has no empty buffers.")
    return result


class Buffer(Closing, Exports):
    """Memory on a device that shaders read and write; `Device.buffer` makes it.

    Other array libraries view it without a copy, on the host and, where it was made with ``shared=True``, in
    CUDA: ``numpy.from_dlpack(buffer)``, ``torch.from_dlpack(buffer)``, ``cupy.asarray(buffer)``.

    Attributes
    ----------
    nbytes : its size.
    dtype, shape : those of the array it was made from; bytes where it was made from a size.
    device : what it was made from.
    offset : of a view, the byte of the viewed buffer at which it begins; else 0.
    """

    nbytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset = 0
    _viewed: Buffer | None = None
    _released = False

    def __init__(
        self, device: DeviceBase, data: npt.ArrayLike | int, *, host: bool = False, shared: bool = False
    ) -> None:
        self.device = device
        if isinstance(data, int | np.integer) and not isinstance(data, bool | np.bool_):
            if data <= 0:
                raise InvalidDispatch(f"A buffer of {data} bytes cannot be made; give a positive number.")
            self.nbytes, self.dtype, self.shape = int(data), np.dtype(np.uint8), (int(data),)
            self._create(host, shared)
        else:
            array = checked_array(data, "Device.buffer")
            self.nbytes, self.dtype, self.shape = array.nbytes, array.dtype, array.shape
            self._create(host, shared)
            self._write(as_bytes(array), 0)
        device.raise_validation_errors()

    @abstractmethod
    def _create(self, host: bool, shared: bool) -> None:
        """Get the memory; its contents are undefined."""

    @abstractmethod
    def _write(self, data: npt.NDArray[np.uint8], offset: int) -> None:
        """Copy bytes into it."""

    @abstractmethod
    def _read(self, nbytes: int, offset: int) -> npt.NDArray[np.uint8]:
        """Copy bytes out of it."""

    @abstractmethod
    def _address(self) -> int:
        """Return where it lies; the device has addresses."""

    @property
    def address(self) -> int:
        """Where it lies, for shaders that follow addresses (``GL_EXT_buffer_reference``).

        Such an address is a number of 64 bits in push constants or in another buffer. The buffer must
        stay open as long as shaders may follow it.

        Raises
        ------
        Unsupported
            The device has no addresses of buffers.
        """
        self.device.require_open()
        if self.closed:
            raise DriverError("The buffer is closed; make a new one.")
        if "bufferDeviceAddress" not in self.device.capabilities.features:
            raise Unsupported(
                f"{self.device.capabilities.name} has no addresses of buffers.", ["bufferDeviceAddress"]
            )
        return self._address()

    @property
    def shared(self) -> bool:
        """Whether CUDA sees the memory."""
        return False

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the memory was freed."""

    def view(
        self,
        dtype: npt.DTypeLike | None = None,
        shape: int | tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> Buffer:
        """Make a buffer that is a part of this one's memory, or all of it with another dtype or shape.

        Parameters
        ----------
        dtype, shape : of the view's elements, as for `read`.
        offset : first byte of the view in this buffer. Where it is bound, the device wants it to be a
            multiple of `minStorageBufferOffsetAlignment` (or of the limit of its kind).

        Returns
        -------
        A buffer that lives as long as this one's memory; closing the view frees nothing.

        Raises
        ------
        InvalidDispatch
            This buffer has fewer bytes, or the view would have none.
        """
        if self.closed:
            raise DriverError("The buffer is closed; make a new one.")
        kind, dimensions = self._elements(dtype, shape, offset)
        nbytes = math.prod(dimensions) * kind.itemsize
        self._check_range(nbytes, offset)
        if nbytes == 0:
            raise InvalidDispatch("A view of no bytes cannot be made: Vulkan has no empty buffers.")
        view = copy(self)
        view._viewed = self._viewed or self
        view.dtype, view.shape, view.nbytes = kind, dimensions, nbytes
        view.offset = self.offset + offset
        view._start_view()
        return view

    def overlaps(self, other: Buffer) -> bool:
        """Whether this buffer and another, or the memory that they view, have a byte in common."""
        same = (self._viewed or self) is (other._viewed or other)
        return same and self.offset < other.offset + other.nbytes and other.offset < self.offset + self.nbytes

    def _start_view(self) -> None:
        """Prepare a view, once its offset is known; some kinds of devices need nothing."""

    def write(self, array: npt.ArrayLike, offset: int = 0) -> None:
        """Copy an array's elements, in C order, into the buffer.

        Parameters
        ----------
        array : any shape and dtype.
        offset : first byte to write.

        Raises
        ------
        InvalidDispatch
            The array does not fit.
        """
        data = as_bytes(checked_array(array, "Buffer.write"))
        self._check_range(data.size, offset)
        self._write(data, offset)
        self.device.raise_validation_errors()

    def read(
        self,
        dtype: npt.DTypeLike | None = None,
        shape: int | tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> npt.NDArray[Any]:
        """Copy elements out of the buffer.

        Parameters
        ----------
        dtype : of the result; None takes that of the array the buffer was made from.
        shape : of the result, or its number of elements; None takes all that is left behind `offset`
            (with neither `dtype` nor `offset`: the shape of the array the buffer was made from).
        offset : first byte to read.

        Returns
        -------
        A new array.

        Raises
        ------
        InvalidDispatch
            The buffer has fewer bytes.
        """
        kind, dimensions = self._elements(dtype, shape, offset)
        nbytes = math.prod(dimensions) * kind.itemsize
        self._check_range(nbytes, offset)
        data = self._read(nbytes, offset)
        self.device.raise_validation_errors()
        return data.view(kind).reshape(dimensions)

    def _elements(
        self, dtype: npt.DTypeLike | None, shape: int | tuple[int, ...] | None, offset: int
    ) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Fill in what was left out of a dtype and a shape."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        if shape is None:
            whole = dtype is None and offset == 0
            shape = self.shape if whole else max(0, self.nbytes - offset) // kind.itemsize
        return kind, (int(shape),) if isinstance(shape, int | np.integer) else tuple(shape)

    def _check_range(self, nbytes: int, offset: int) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise InvalidDispatch(
                f"{nbytes} bytes from byte {offset} on do not fit into a buffer of {self.nbytes} bytes."
            )

    def __repr__(self) -> str:
        return f"<vkgroup Buffer of {self.nbytes} bytes>"
