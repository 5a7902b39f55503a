"""Buffers on a device, and their exchange with other array libraries."""

from __future__ import annotations

import math
from abc import abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DriverError, InvalidDispatch, NotShareable, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.dlpack import CPU, CUDA, as_host, capsule_of

_NO_WAIT = -1


def as_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """View an array's elements in C order as bytes; copies only arrays that are not contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def checked_array(array: Any, what: str) -> npt.NDArray[Any]:
    """Return `array` as a NumPy array whose bytes a shader can read; `InvalidDispatch` where it has none."""
    held = as_host(array, what)
    try:
        result = np.asarray(held)
    except ValueError as error:
        raise InvalidDispatch(f"{what}: {error}") from error
    if result.dtype.hasobject:
        raise InvalidDispatch(
            f"{what}: an array of Python objects has no bytes for a shader; give it a numeric dtype."
        )
    if not result.dtype.isnative:
        order = "another byte order" if result.dtype.fields else f"the byte order {result.dtype.str!r}"
        raise InvalidDispatch(
            f"{what}: the array has {order}; convert it with array.astype(array.dtype.newbyteorder('='))."
        )
    if result.nbytes == 0:
        raise InvalidDispatch(f"{what}: the array is empty, and Vulkan has no empty buffers.")
    return result


def _check_out(out: Any, dtype: Any, shape: Any) -> None:
    if not isinstance(out, np.ndarray) or not out.flags.c_contiguous or not out.flags.writeable:
        raise InvalidDispatch("out must be a NumPy array in C order that can be written to.")
    if out.dtype.hasobject or dtype is not None or shape is not None:
        raise InvalidDispatch(
            "out has its own dtype, of numbers, and its own shape; leave dtype and shape out."
        )


class Buffer(Closeable):
    """Memory on a device that shaders read and write; `Device.buffer` makes it.

    Other array libraries view it without a copy, on the host and, where it was made with ``shared=True``, in
    CUDA: ``numpy.from_dlpack(buffer)``, ``torch.from_dlpack(buffer)``, ``cupy.asarray(buffer)``. Such a view
    keeps the memory: where the buffer is closed, vkgroup uses it no more, and the memory is freed when the
    last view is gone. Work that is started after another library has written sees what it wrote.

    Attributes
    ----------
    nbytes : its size.
    dtype, shape : those of the array it was made from; bytes where it was made from a size. Of the result of
        a compaction, `shape` and `nbytes` wait for the device when they are first used.
    device : the device that it was made from.
    offset : of a view, the byte of the viewed buffer at which it begins; else 0.
    """

    nbytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset = 0
    _viewed: Buffer | None = None
    _released = False
    _interface: npt.NDArray[Any] | None = None

    def __init__(
        self, device: DeviceBase, data: npt.ArrayLike | int, *, host: bool = False, shared: bool = False
    ) -> None:
        self.device = device
        if isinstance(data, int | np.integer) and not isinstance(data, bool | np.bool_):
            if data <= 0:
                raise InvalidDispatch(f"A buffer of {data} bytes cannot be made; give a positive number.")
            self.nbytes, self.dtype, self.shape = int(data), np.dtype(np.uint8), (int(data),)
            self._create(host, shared, written=False)
        else:
            if isinstance(data, bool | float | complex | str) and not isinstance(data, np.generic):
                raise InvalidDispatch(
                    f"Device.buffer: {data!r} is neither a number of bytes (an integer) nor an array;"
                    " for a buffer of one number give an array, such as np.float32([1])."
                )
            array = checked_array(data, "Device.buffer")
            self.nbytes, self.dtype, self.shape = array.nbytes, array.dtype, array.shape
            self._create(host, shared)
            self._write(as_bytes(array), 0)
        device.raise_validation_errors()

    @classmethod
    def undefined(
        cls,
        device: DeviceBase,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        nbytes: int,
        host: bool,
        shared: bool,
    ) -> Self:
        """Make a buffer with undefined contents, of arguments that were checked."""
        buffer = cls.__new__(cls)
        buffer.device, buffer.nbytes, buffer.dtype, buffer.shape = device, nbytes, dtype, shape
        buffer._create(host, shared, written=False)
        return buffer

    @abstractmethod
    def _create(self, host: bool, shared: bool, *, written: bool = True) -> None:
        """Get the memory, whose contents are undefined; `written` if the host writes to it at once."""

    @abstractmethod
    def _write(self, data: npt.NDArray[np.uint8], offset: int) -> None:
        """Copy bytes into it."""

    @abstractmethod
    def _read(self, out: npt.NDArray[np.uint8], offset: int) -> None:
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

    def defined(self) -> npt.NDArray[np.bool_] | None:
        """Return which bytes are defined, (nbytes,); None where the device cannot tell."""
        return None

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

    def _shorten(self, count: int) -> None:
        """Make this a buffer of its first `count` elements, in one axis; the rest of its memory is unused."""
        self.shape, self.nbytes = (count,), count * self.dtype.itemsize

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
        *,
        out: npt.NDArray[Any] | None = None,
    ) -> npt.NDArray[Any]:
        """Copy elements out of the buffer, after all work that uses it.

        Parameters
        ----------
        dtype : of the result; None takes that of the array the buffer was made from.
        shape : of the result, or its number of elements; None takes all that is left behind `offset`
            (with neither `dtype` nor `offset`: the shape of the array the buffer was made from).
        offset : first byte to read.
        out : an array in C order to copy into, in place of a new one; `dtype` and `shape` are then its own.
            Copies are fastest into arrays of `Device.host_array`.

        Returns
        -------
        `out`, or a new array.

        Raises
        ------
        InvalidDispatch
            The buffer has fewer bytes; `out` is not contiguous or not writable.
        """
        if out is not None:
            _check_out(out, dtype, shape)
            dtype, shape = out.dtype, out.shape
        kind, dimensions = self._elements(dtype, shape, offset)
        nbytes = math.prod(dimensions) * kind.itemsize
        self._check_range(nbytes, offset)
        data = np.empty(nbytes, np.uint8) if out is None else out.reshape(-1).view(np.uint8)
        if nbytes:
            self._read(data, offset)
        self.device.raise_validation_errors()
        return data.view(kind).reshape(dimensions) if out is None else out

    def _elements(
        self, dtype: npt.DTypeLike | None, shape: int | tuple[int, ...] | None, offset: int
    ) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return a dtype and a shape with the defaults filled in."""
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

    @abstractmethod
    def _place(self) -> tuple[int, int]:
        """Return DLPack's type and number of the memory's device; `NotShareable` if others see none."""

    @abstractmethod
    def _lent(self) -> npt.NDArray[Any]:
        """Return an array of the memory, of the buffer's dtype and shape, that keeps it.

        Its elements are the host's to touch only where `_place` says so.
        """

    def _settle(self) -> None:
        """Wait for what another library may be writing in a stream; the host's memory needs none."""
        return

    @abstractmethod
    def _duplicate(self) -> Buffer:
        """Make a buffer with the same contents on the same device."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where the memory lies for others: (2, number) with CUDA, (1, 0) in the host's memory.

        Raises `NotShareable` where no other library finds it: on a GPU, and made without ``shared=True``.
        """
        return self._place()

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of the memory, for ``torch.from_dlpack`` and its like.

        All work of vkgroup has finished when this returns. Where the memory belonged to CUDA before, so has
        the work of other libraries there, unless `stream` is -1.

        Parameters
        ----------
        stream : the consumer's; on the host only None. 1 and 2 are CUDA's default streams, others addresses.
        max_version : the newest DLPack that the consumer knows.
        dl_device : where the consumer wants the elements; the host can always have a copy.
        copy : True for a copy, False for none.

        Raises
        ------
        NotShareable
            The memory cannot be exported in this form; it is a `BufferError`.
        """
        location = self._place()
        wanted = location if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if wanted[0] == CPU and (copy or wanted != location):
            if copy is False:
                raise NotShareable("The buffer lies on a GPU; the host can only have a copy of it.")
            return capsule_of(self.read(), max_version, copied=True)
        if wanted != location:
            raise NotShareable(
                f"The buffer lies on DLPack's device {location}; it cannot be given on {wanted}."
            )
        if location[0] == CPU and stream is not None:
            raise NotShareable(
                f"The buffer lies in the host's memory, which has no streams; {stream} was given."
            )
        if location[0] == CUDA and stream == 0:
            raise NotShareable("Stream 0 of CUDA is ambiguous in DLPack; 1 is the legacy default stream.")
        if location[0] == CUDA and stream != _NO_WAIT:
            self._settle()
        source = self._duplicate() if copy else self
        return capsule_of(source._lent(), max_version, location, copied=bool(copy))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory for ``cupy.asarray`` and its like (CUDA array interface, version 3).

        The user of the memory holds the buffer, as the interface asks for: from now on the memory is freed
        when nothing refers to the buffer any more.

        Raises
        ------
        AttributeError
            CUDA does not see the memory.
        """
        try:
            location = self._place()
        except NotShareable as error:
            raise AttributeError(str(error)) from None
        if location[0] != CUDA:
            raise AttributeError("The buffer does not lie on a CUDA device.")
        self._settle()
        self._interface = self._lent()
        fields = {} if self.dtype.fields is None else {"descr": self.dtype.descr}
        return fields | {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._interface.ctypes.data, False),
            "strides": None,
            "stream": None,
        }

    def __repr__(self) -> str:
        return f"<vkgroup Buffer of {self.nbytes} bytes>"
