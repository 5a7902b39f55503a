"""Buffers of Vulkan, and CUDA arrays of other libraries as such buffers."""

from __future__ import annotations

from sys import getrefcount
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DriverError, InvalidDispatch, NotShareable, Unsupported
from vkgroup.device.base import DeviceBase
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer, MemoryDevice
from vkgroup.device.sharing import CudaSharing, MemoryReference, SharedMemory, wait_for_cuda, why_unshared
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.checks import check_block, offset_step
from vkgroup.dispatch.dlpack import (
    CPU,
    CUDA,
    Borrowed,
    Described,
    array_at,
    describe,
    is_contiguous,
    place_of,
)
from vkgroup.dispatch.slots import Slot


class _Holder:
    """Has an attribute, as a buffer has its memory."""

    def __init__(self) -> None:
        self.memory = object()

    def count(self) -> int:
        memory = self.memory
        return getrefcount(memory)


_ONLY_REFERENCES = _Holder().count()
"""How many references Python counts to an object that only an attribute and a local variable refer to."""


class VulkanBuffer(Buffer):
    """A buffer in a device's memory; `memory` is the VkBuffer with its memory."""

    device: MemoryDevice
    memory: DeviceBuffer
    _keeper: object = None
    _plain = False

    def _create(self, host: bool, shared: bool, *, written: bool = True) -> None:
        addressable = "bufferDeviceAddress" in self.device.enabled_features
        exported = shared and _exports(self.device, host)
        self.memory = DeviceBuffer(
            self.device,
            self.nbytes,
            host=host,
            addressable=addressable,
            shared=exported,
            written=written,
            window=not (host or exported),
        )

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
        """Make a buffer with undefined contents; see `Buffer.undefined`."""
        if host or shared:
            return super().undefined(device, shape, dtype, nbytes, host, shared)
        assert isinstance(device, MemoryDevice)
        memory = device.kept.take_ready(nbytes)
        if memory is None:
            buffer = super().undefined(device, shape, dtype, nbytes, False, False)
            buffer._plain = True
            return buffer
        buffer = cls.__new__(cls)
        buffer.device, buffer.nbytes, buffer.dtype, buffer.shape = device, nbytes, dtype, shape
        buffer.memory, buffer._plain = memory, True
        return buffer

    def __del__(self) -> None:
        # If nothing else refers to the memory, the next buffer takes it as it is, which costs less than to
        # close this and make another.
        if self._plain and self._viewed is None:
            memory = self.memory
            if getrefcount(memory) == _ONLY_REFERENCES and not memory.references:
                self.device.kept.keep_ready(memory)
        elif self._holding:
            self.close()

    @classmethod
    def over(
        cls,
        memory: DeviceBuffer,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        offset: int,
        keeper: object = None,
    ) -> Self:
        """Make a view of existing memory; the view keeps `keeper` alive."""
        whole = cls.__new__(cls)
        whole.device, whole.memory, whole._keeper = memory.device, memory, keeper
        whole.nbytes, whole.dtype, whole.shape = memory.nbytes, np.dtype(np.uint8), (memory.nbytes,)
        view = whole.view(dtype, shape, offset)
        assert isinstance(view, cls)
        return view

    @property
    def shared(self) -> bool:
        """Whether CUDA sees the memory."""
        return self.memory.shared is not None

    @property
    def in_cuda(self) -> SharedMemory:
        """The memory as CUDA sees it; it is `shared`."""
        assert self.memory.shared is not None
        return self.memory.shared

    def _place(self) -> tuple[int, int]:
        self.device.require_open()
        if self.closed:
            raise DriverError("The buffer is closed; make a new one.")
        if self.shared:
            return CUDA, self.in_cuda.cuda.ordinal
        if self.memory.mapped is not None:
            return CPU, 0
        raise NotShareable(
            "The buffer lies on a GPU where no other library sees it; make it with shared=True, or read it."
        )

    def _lent(self) -> npt.NDArray[Any]:
        reference = MemoryReference(self.memory)
        if self.shared:
            start = self.in_cuda.address
        else:
            # Another library does not wait for the work that still writes here.
            self.memory.wait()
            assert self.memory.mapped is not None
            start = int(self.memory.mapped.ctypes.data)
        return array_at(start + self.offset, self.dtype, self.shape, reference)

    def _settle(self) -> None:
        if self.shared:
            wait_for_cuda((self.in_cuda,))

    def _duplicate(self) -> VulkanBuffer:
        duplicate = VulkanBuffer(self.device, self.nbytes, shared=True)
        duplicate.dtype, duplicate.shape = self.dtype, self.shape
        source = self.in_cuda.address + self.offset
        self.in_cuda.cuda.copy(duplicate.in_cuda.address, source, self.nbytes)
        return duplicate

    def _write(self, data: npt.NDArray[np.uint8], offset: int) -> None:
        self._require_view()
        self.memory.write(data, self.offset + offset)

    def _read(self, out: npt.NDArray[np.uint8], offset: int) -> None:
        self._require_view()
        self.memory.read(out, self.offset + offset)

    def _require_view(self) -> None:
        if self._released:
            raise DriverError("The view is closed; make a new one.")

    def _address(self) -> int:
        return self.memory.address + self.offset

    @property
    def closed(self) -> bool:
        """Whether the memory was freed."""
        return self._released or self.memory.handle is None

    def close(self) -> None:
        """Free the memory; of a view, only the view."""
        if self._viewed is None:
            self.memory.close()
        else:
            self._released = True
            self.device.forget(self)


def _exports(device: MemoryDevice, host: bool) -> bool:
    """Whether a buffer that is to be shared is exported to CUDA; not where any buffer is the host's."""
    device.require_open()
    if device.sharing is not None:
        if host:
            raise InvalidDispatch("A buffer is shared with CUDA or kept in the host's memory, not both.")
        return True
    if not host and device.capabilities.type == "discrete_gpu":
        raise Unsupported(
            f"{device.capabilities.name} shares no memory with CUDA: {why_unshared(device)}.",
            ["VK_KHR_external_memory_fd with a CUDA device of the same UUID"],
        )
    return False


def take(device: LogicalDevice, value: Any, what: str) -> Described:
    """Take another library's array on a CUDA device; `InvalidDispatch` where it cannot be used.

    Work of its library on the array in its current stream finishes before later work of vkgroup starts
    (DLPack's protocol of streams).
    """
    sharing = device.sharing
    if sharing is None:
        raise InvalidDispatch(
            f"{what}: the array lies on a CUDA device, and {device.capabilities.name} shares no memory with"
            f" CUDA: {why_unshared(device)}. Copy it to the host first (tensor.cpu(), cupy.asnumpy(array))."
        )
    try:
        described = _described(value, sharing, what)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, InvalidDispatch):
            raise
        raise InvalidDispatch(f"{what}: its library does not hand the array out: {error}") from error
    if described.device[1] != sharing.cuda.ordinal:
        raise InvalidDispatch(
            f"{what}: the array lies on CUDA device {described.device[1]}; {device.capabilities.name} is CUDA"
            f" device {sharing.cuda.ordinal}. Open the other GPU, or move the array."
        )
    if not described.contiguous:
        raise InvalidDispatch(
            f"{what}: the array is not contiguous in C order; give array.contiguous() (torch) or"
            " cupy.ascontiguousarray(array)."
        )
    if described.nbytes == 0:
        raise InvalidDispatch(f"{what}: the array is empty, and Vulkan has no empty buffers.")
    return described


def _described(value: Any, sharing: CudaSharing, what: str) -> Described:
    if not hasattr(value, "__dlpack__"):
        return _by_interface(value.__cuda_array_interface__, value, sharing)
    location, own = place_of(value), sharing.cuda.ordinal
    assert location is not None
    if location[1] != own:
        # Its library would make a stream of another GPU wait.
        return Described(location, 0, np.dtype(np.uint8), (), True, False, value)
    stream = sharing.cuda.stream
    try:
        capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a library of before DLPack 1.0
        capsule = value.__dlpack__(stream=stream)
    return describe(capsule, what)


def _by_interface(interface: dict[str, Any], value: Any, sharing: CudaSharing) -> Described:
    """Read the CUDA array interface, after all work of CUDA, that of the array's library included."""
    dtype, fields = np.dtype(interface["typestr"]), interface.get("descr")
    if dtype.kind == "V" and fields:
        dtype = np.dtype(fields)
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    address, read_only = interface["data"]
    contiguous = strides is None or is_contiguous(shape, tuple(strides), dtype.itemsize)
    own = sharing.cuda.ordinal
    number = sharing.cuda.ordinal_of(address) if address else own
    sharing.cuda.synchronize()
    return Described((CUDA, number), address, dtype, shape, contiguous, bool(read_only), value)


def in_place(device: LogicalDevice, array: Described, step: int) -> VulkanBuffer | None:
    """Return a CUDA array as a buffer in place, at a multiple of `step` bytes; None where it cannot be."""
    assert device.sharing is not None
    location = device.sharing.find(array.address, array.nbytes)
    if location is None or location[1] % step:
        return None
    memory, offset = location
    assert isinstance(memory, DeviceBuffer)
    if memory.handle is None:
        raise InvalidDispatch("The array views a buffer of vkgroup that is closed; make a new one.")
    # The capsule keeps the array's memory alive, and so the view's.
    return VulkanBuffer.over(memory, array.dtype, array.shape, offset, array.keeper)


def copy_in(array: Described, memory: DeviceBuffer) -> None:
    """Copy a CUDA array to the start of a shared buffer, on the GPU, after earlier work on the array."""
    shared = memory.shared
    assert shared is not None
    shared.cuda.copy(shared.address, array.address, array.nbytes)


class BorrowedArray(Borrowed):
    """A CUDA array that is bound: in place, or as a copy in a buffer of the device's pool."""

    def __init__(self, device: LogicalDevice, slot: Slot, value: Any) -> None:
        array = take(device, value, slot.label)
        # Its elements are not the host's: one of that dtype stands for all.
        check_block(slot, np.broadcast_to(np.zeros((), array.dtype), array.shape))
        if array.read_only and slot.writable:
            raise InvalidDispatch(
                f"{slot.label} is written, and the array given is read-only; declare the buffer readonly in"
                " the shader, or give a copy of the array."
            )
        self.source, self._array = value, array
        self._device, self._copy = device, None
        buffer = in_place(device, array, offset_step(slot, device))
        if buffer is None:
            self._copy = device.take_buffer(array.nbytes, shared=True)
            copy_in(array, self._copy)
            buffer = VulkanBuffer.over(self._copy, array.dtype, array.shape, 0, array.keeper)
        self.buffer: VulkanBuffer = buffer

    def give_back(self) -> None:
        """Copy the contents of the copy, if there is one, to the array on the GPU."""
        if self._copy is None:
            return
        shared = self._copy.shared
        assert shared is not None
        shared.cuda.synchronize()
        shared.cuda.copy(self._array.address, shared.address, self._array.nbytes)

    def close(self) -> None:
        """Give the copy's memory back."""
        self.buffer.close()
        if self._copy is not None:
            self._device.give_buffer(self._copy)
            self._copy = None


def adopt(device: LogicalDevice, value: Any, copy: bool | None) -> VulkanBuffer:
    """Make a buffer of a CUDA array, in place or not as `Device.from_dlpack` says."""
    array = take(device, value, "from_dlpack")
    # Only a buffer in place writes to the array itself, which must then be writable.
    if not copy and not array.read_only:
        step = device.capabilities.limits["minStorageBufferOffsetAlignment"]
        view = in_place(device, array, step)
        if view is not None:
            return view
    if copy is False:
        raise NotShareable(
            "The array cannot be used in place: vkgroup has not exported its memory, it begins where"
            " the device cannot bind a buffer, or it is read-only (docs/python/sharing-memory.md)."
        )
    buffer = VulkanBuffer(device, array.nbytes, shared=True)
    copy_in(array, buffer.memory)
    buffer.dtype, buffer.shape = array.dtype, array.shape
    return buffer
