"""A CUDA driver that is none: memory that Vulkan exported is mapped into the process, streams are queues.

It is a table of C functions with the prototypes and layouts of the CUDA Driver API, written down here again,
so that a call of vkgroup's with a wrong argument fails as it would with the real driver. Software drivers
export the memory of buffers as a memfd; what "CUDA" does with an address, a test does to the same bytes.

Work in a stream waits in a queue until something synchronises, in order: whoever looks at memory too early
sees what it was before.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import struct
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT = 0, 1, 2, 201
NAMES = {1: b"CUDA_ERROR_INVALID_VALUE", 2: b"CUDA_ERROR_OUT_OF_MEMORY", 201: b"CUDA_ERROR_INVALID_CONTEXT"}

#: As cuda.h declares them; CUdeviceptr_v2 is unsigned long long, CUdevice int, CUstream and such pointers.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuGetErrorName": (c_int, c_void_p),
    "cuDeviceGetCount": (c_void_p,),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDeviceGetUuid_v2": (c_void_p, c_int),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (c_void_p,),
    "cuCtxSynchronize": (),
    "cuStreamCreate": (c_void_p, c_uint),
    "cuStreamSynchronize": (c_void_p,),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuMemFree_v2": (c_uint64,),
    "cuImportExternalMemory": (c_void_p, c_void_p),
    "cuExternalMemoryGetMappedBuffer": (c_void_p, c_void_p, c_void_p),
    "cuDestroyExternalMemory": (c_void_p,),
}
#: Those that need no context to be current.
FREE = {"cuInit", "cuGetErrorName", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetUuid_v2"} | {
    "cuDevicePrimaryCtxRetain",
    "cuCtxPushCurrent_v2",
}
CONTEXT = 0xC0DE


class FakeCuda:
    """The library, with the functions as attributes.

    Parameters
    ----------
    uuids : of its devices, in hexadecimal digits.

    Attributes
    ----------
    calls : names of the functions called, in order.
    imported : sizes of imported memories by handle, as long as they are not destroyed.
    mapped : mappings by address, as long as they are not freed.
    allocated : arrays of CUDA's own by address.
    failing : CUresults by the name of the function that is to give them.
    """

    def __init__(self, uuids: list[str]) -> None:
        self.uuids = uuids
        self.calls: list[str] = []
        self.imported: dict[int, tuple[int, int]] = {}
        self.mapped: dict[int, tuple[int, mmap.mmap]] = {}
        self.allocated: dict[int, npt.NDArray[np.uint8]] = {}
        self.failing: dict[str, int] = {}
        self._contexts: list[int] = []
        self._queue: list[tuple[int, Callable[[], None]]] = []
        self._count = 0x1000
        for name, arguments in PROTOTYPES.items():
            setattr(self, name, CFUNCTYPE(c_int, *arguments)(self._guarded(name)))

    def _guarded(self, name: str) -> Callable[..., int]:
        words = re.sub("(?<!^)(?=[A-Z])", "_", name.removeprefix("cu").removesuffix("_v2"))
        method = f"_{words.lower()}"

        def function(*arguments: Any) -> int:
            self.calls.append(name)
            if name in self.failing:
                return self.failing[name]
            if name not in FREE and not self._contexts:
                return INVALID_CONTEXT
            return int(getattr(self, method)(*arguments) or SUCCESS)

        return function

    def _handle(self) -> int:
        self._count += 1
        return self._count

    # What tests do with it.

    def later(self, stream: int, work: Callable[[], None]) -> None:
        """Put work into a stream."""
        self._queue.append((stream, work))

    def flush(self, stream: int | None = None) -> None:
        """Do what waits in a stream, or in all."""
        doing = [entry for entry in self._queue if stream in (None, entry[0])]
        self._queue = [entry for entry in self._queue if entry not in doing]
        for _, work in doing:
            work()

    @property
    def idle(self) -> bool:
        """Return whether all streams are empty."""
        return not self._queue

    def allocate(self, values: npt.NDArray[Any]) -> int:
        """Do what cudaMalloc and a copy do: memory that Vulkan knows nothing of; gives its address."""
        data = np.ascontiguousarray(values).reshape(-1).view(np.uint8).copy()
        self.allocated[data.ctypes.data] = data
        return data.ctypes.data

    def clean(self) -> bool:
        """Return whether all imported memory was released and no context is current."""
        return not self.imported and not self.mapped and not self._contexts

    # The driver.

    def _init(self, flags: int) -> int:
        return SUCCESS if flags == 0 else INVALID_VALUE

    def _get_error_name(self, code: int, name: int) -> None:
        c_char_p.from_address(name).value = NAMES[code]

    def _device_get_count(self, count: int) -> None:
        c_int.from_address(count).value = len(self.uuids)

    def _device_get(self, device: int, ordinal: int) -> None:
        c_int.from_address(device).value = 70 + ordinal

    def _device_get_uuid(self, uuid: int, device: int) -> None:
        ctypes.memmove(uuid, bytes.fromhex(self.uuids[device - 70]), 16)

    def _device_primary_ctx_retain(self, context: int, device: int) -> int:
        c_uint64.from_address(context).value = CONTEXT
        return SUCCESS if device >= 70 else INVALID_VALUE

    def _ctx_push_current(self, context: int) -> int:
        self._contexts.append(context)
        return SUCCESS if context == CONTEXT else INVALID_CONTEXT

    def _ctx_pop_current(self, context: int) -> None:
        c_uint64.from_address(context).value = self._contexts.pop()

    def _ctx_synchronize(self) -> None:
        self.flush()

    def _stream_create(self, stream: int, flags: int) -> int:
        c_uint64.from_address(stream).value = self._handle()
        return SUCCESS if flags == 1 else INVALID_VALUE

    def _stream_synchronize(self, stream: int) -> None:
        self.flush(stream)

    def _pointer_get_attribute(self, data: int, attribute: int, address: int) -> int:
        if attribute != 9:
            return INVALID_VALUE
        c_int.from_address(data).value = len(self.uuids) - 1
        return SUCCESS

    def _memcpy_dto_d_async(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self.later(stream, lambda: ctypes.memmove(target, source, nbytes) and None)

    def _import_external_memory(self, memory: int, description: int) -> int:
        # CUDA_EXTERNAL_MEMORY_HANDLE_DESC: type, 4 unused, fd in a union of 16 bytes, size, flags, reserved.
        raw = ctypes.string_at(description, 104)
        kind, fd, size, flags = struct.unpack_from("=I4xi12xQI", raw)
        if kind != 1 or flags != 0 or any(raw[36:]):
            return INVALID_VALUE
        handle = self._handle()
        self.imported[handle] = fd, size
        c_uint64.from_address(memory).value = handle
        return SUCCESS

    def _external_memory_get_mapped_buffer(self, address: int, memory: int, description: int) -> int:
        # CUDA_EXTERNAL_MEMORY_BUFFER_DESC: offset, size, flags, reserved.
        raw = ctypes.string_at(description, 88)
        offset, size, flags = struct.unpack_from("=QQI", raw)
        fd, whole = self.imported[memory]
        if offset != 0 or size != whole or flags != 0 or any(raw[20:]):
            return INVALID_VALUE
        # lavapipe keeps a page for itself before the memory.
        skipped = mmap.PAGESIZE if "llvmpipe" in os.readlink(f"/proc/self/fd/{fd}") else 0
        mapping = mmap.mmap(fd, os.fstat(fd).st_size)
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapping)) + skipped
        self.mapped[start] = memory, mapping
        c_uint64.from_address(address).value = start
        return SUCCESS

    def _mem_free(self, address: int) -> int:
        return SUCCESS if self.mapped.pop(address, None) else INVALID_VALUE

    def _destroy_external_memory(self, memory: int) -> int:
        if any(memory == owner for owner, _ in self.mapped.values()):
            return INVALID_VALUE
        os.close(self.imported.pop(memory)[0])
        return SUCCESS


class Tensor:
    """An array of another library on the fake device, like torch's, with a separate current stream.

    Parameters
    ----------
    address, dtype, shape : where and what it is.
    strides : in elements; None for C order.
    read_only : as its capsule says.
    """

    stream = 7

    def __init__(
        self,
        cuda: FakeCuda,
        address: int,
        dtype: npt.DTypeLike,
        shape: tuple[int, ...],
        *,
        ordinal: int = 1,
        owner: object = None,
        strides: tuple[int, ...] | None = None,
        read_only: bool = False,
    ) -> None:
        self.cuda, self.address, self.ordinal = cuda, address, ordinal
        self.dtype, self.shape, self.read_only = np.dtype(dtype), shape, read_only
        self.owner, self.strides = owner, strides
        self.asked: list[dict[str, Any]] = []

    @classmethod
    def of(cls, cuda: FakeCuda, values: npt.NDArray[Any], **more: Any) -> Tensor:
        """Make one in memory that Vulkan knows nothing of."""
        return cls(cuda, cuda.allocate(values), values.dtype, values.shape, **more)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The elements as they are, with nothing waited for."""
        count = int(np.prod(self.shape))
        raw = (ctypes.c_char * (count * self.dtype.itemsize)).from_address(self.address)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)

    def later(self, work: Callable[[npt.NDArray[Any]], None]) -> None:
        """Let a kernel change the elements, in the tensor's stream."""
        self.cuda.later(self.stream, lambda: work(self.values))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.ordinal

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        self.asked.append({"stream": stream, "max_version": max_version})
        if stream is not None:
            cuda, own = self.cuda, self.stream  # what waits in a stream keeps no array
            cuda.later(stream, lambda: cuda.flush(own))
        elements = self.values
        if self.strides is not None:
            steps = tuple(step * self.dtype.itemsize for step in self.strides)
            elements = np.lib.stride_tricks.as_strided(elements, self.shape, steps)
        if self.read_only:
            elements.flags.writeable = False
        capsule = elements.__dlpack__(max_version=max_version)
        place_capsule(capsule, (2, self.ordinal))
        return capsule


def pointer_of(capsule: Any) -> tuple[int, bytes]:
    """Return a capsule's pointer and name."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.argtypes, get_name.restype = [ctypes.py_object], c_char_p
    name = get_name(capsule)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [ctypes.py_object, c_char_p], c_void_p
    return get(capsule, name), name


def place_capsule(capsule: Any, device: tuple[int, int]) -> tuple[int, int]:
    """Write another device into a capsule (DLTensor: data, then the device); gives the one before."""
    pointer, name = pointer_of(capsule)
    start = pointer + (32 if name == b"dltensor_versioned" else 0) + 8
    before = struct.unpack("=ii", ctypes.string_at(start, 8))
    ctypes.memmove(start, struct.pack("=ii", *device), 8)
    return before[0], before[1]


class _Carrier:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


def view(capsule: Any) -> tuple[npt.NDArray[Any], tuple[int, int]]:
    """Consume a capsule as another library does; gives the elements, and the device that it named."""
    device = place_capsule(capsule, (1, 0))
    return np.from_dlpack(_Carrier(capsule)), device  # type: ignore[arg-type]
