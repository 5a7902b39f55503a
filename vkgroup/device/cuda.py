"""CUDA driver calls for sharing memory: devices by UUID, external memory, copies, synchronization.

It is `libcuda.so.1`, which NVIDIA's driver brings, through ctypes: no package of CUDA is needed. Names and
layouts are those of the CUDA Driver API ("External Resource Interoperability", "Memory Management").
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from vkgroup.base.errors import DriverError, Unsupported

_LIBRARY = "libcuda.so.1"
_OPAQUE_FD = 1  # CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
_DEDICATED = 0x1  # CUDA_EXTERNAL_MEMORY_DEDICATED
_NON_BLOCKING = 0x1  # CU_STREAM_NON_BLOCKING
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY

#: Arguments of the functions that are used; every one returns a CUresult. CUdeviceptr is 64 bits, a CUdevice
#: an int, handles are pointers. The suffixes are those that cuda.h gives the names.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
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


class _Win32(ctypes.Structure):
    _fields_ = (("handle", c_void_p), ("name", c_void_p))


class _Handle(ctypes.Union):
    _fields_ = (("fd", c_int), ("win32", _Win32), ("nvSciBufObject", c_void_p))


class _MemoryHandle(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC."""

    _fields_ = (
        ("type", c_uint),
        ("handle", _Handle),
        ("size", c_uint64),
        ("flags", c_uint),
        ("reserved", c_uint * 16),
    )


class _MappedBuffer(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC."""

    _fields_ = (("offset", c_uint64), ("size", c_uint64), ("flags", c_uint), ("reserved", c_uint * 16))


class CudaDriver:
    """The driver's functions, which are the attributes of a library; each raises where it fails."""

    def __init__(self, library: Any) -> None:
        self._functions: dict[str, Any] = {}
        for name, arguments in _FUNCTIONS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise Unsupported(
                    f"The CUDA driver has no {name}; sharing memory needs one of CUDA 11.4 or newer.", [name]
                ) from None
            function.argtypes, function.restype = arguments, c_int
            self._functions[name] = function

    def attempt(self, name: str, *arguments: Any) -> int:
        """Call a function and return its CUresult."""
        return int(self._functions[name](*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; `DriverError` where it fails."""
        code = self.attempt(name, *arguments)
        if code:
            text = c_char_p()
            self.attempt("cuGetErrorName", code, ctypes.byref(text))
            error = (text.value or b"").decode() or f"CUresult {code}"
            hint = " Free arrays that you no longer need." if code == _OUT_OF_MEMORY else ""
            raise DriverError(f"{name} of the CUDA driver failed ({error}).{hint}", error)


def load_library() -> Any:
    """Load CUDA's driver; `OSError` where there is none."""
    return ctypes.CDLL(_LIBRARY)


@cache
def _driver() -> CudaDriver | str:
    """Return the initialised driver, or the reason in words if there is none."""
    try:
        driver = CudaDriver(load_library())
        driver.call("cuInit", 0)
    except (OSError, DriverError, Unsupported) as error:
        return str(error)
    return driver


def why_none() -> str:
    """Say why CUDA does not have a device."""
    driver = _driver()
    if isinstance(driver, str):
        return f"there is no CUDA driver here ({driver})"
    return "CUDA has no device of its UUID (is it hidden by CUDA_VISIBLE_DEVICES?)"


@cache
def find_device(uuid: str) -> CudaDevice | None:
    """Return the CUDA device of a Vulkan device's `deviceUUID` in hexadecimal digits; None without one."""
    driver = _driver()
    if isinstance(driver, str):
        return None
    count = c_int()
    driver.call("cuDeviceGetCount", ctypes.byref(count))
    for ordinal in range(count.value):
        device, device_uuid = c_int(), (ctypes.c_ubyte * 16)()
        driver.call("cuDeviceGet", ctypes.byref(device), ordinal)
        driver.call("cuDeviceGetUuid_v2", ctypes.byref(device_uuid), device.value)
        if bytes(device_uuid).hex() == uuid:
            return CudaDevice(driver, ordinal, device.value)
    return None


class CudaDevice:
    """A GPU as CUDA sees it, with its `ordinal` in DLPack; `find_device` returns it.

    All is done in the device's primary context, which is that of the CUDA runtime, so of torch and CuPy. It
    is retained until the process ends: arrays that live in it may outlive everything of vkgroup.
    """

    def __init__(self, driver: CudaDriver, ordinal: int, device: int) -> None:
        self._driver, self.ordinal, self._device = driver, ordinal, device
        self._context: Any = None
        self._stream: Any = None
        self._lock = threading.Lock()

    @contextmanager
    def _current(self) -> Iterator[CudaDriver]:
        """Make the primary context current, and restore the previous one afterwards."""
        with self._lock:
            if self._context is None:
                context = c_void_p()
                self._driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
                self._context = context
        self._driver.call("cuCtxPushCurrent_v2", self._context)
        try:
            yield self._driver
        finally:
            self._driver.call("cuCtxPopCurrent_v2", ctypes.byref(c_void_p()))

    @property
    def stream(self) -> int:
        """A stream of vkgroup's own, as DLPack wants it: the address of a cudaStream_t."""
        with self._current() as driver:
            if self._stream is None:
                stream = c_void_p()
                driver.call("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
                self._stream = stream
        return int(self._stream.value)

    def synchronize(self) -> None:
        """Wait until all work of this process on the device in CUDA has finished."""
        with self._current() as driver:
            driver.call("cuCtxSynchronize")

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes between two addresses of the device, behind what `stream` was made to wait for; wait."""
        stream = self.stream
        with self._current() as driver:
            driver.call("cuMemcpyDtoDAsync_v2", target, source, nbytes, stream)
            driver.call("cuStreamSynchronize", stream)

    def ordinal_of(self, address: int) -> int:
        """Return the number of the device that an address belongs to."""
        ordinal = c_int()
        with self._current() as driver:
            driver.call("cuPointerGetAttribute", ctypes.byref(ordinal), _DEVICE_ORDINAL, address)
        return ordinal.value

    def map(self, fd: int, size: int, *, dedicated: bool) -> tuple[Any, int]:
        """Map the `size` bytes of a VkDeviceMemory exported as `fd`; returns CUDA's handle and the address.

        CUDA owns the descriptor from then on; it is closed where this fails. A `dedicated` memory was
        allocated for one buffer (VkMemoryDedicatedAllocateInfo).
        """
        handle = _MemoryHandle(type=_OPAQUE_FD, size=size, flags=_DEDICATED if dedicated else 0)
        handle.handle.fd = fd
        memory, address = c_void_p(), c_uint64()
        wanted = _MappedBuffer(offset=0, size=size)
        with self._current() as driver:
            try:
                driver.call("cuImportExternalMemory", ctypes.byref(memory), ctypes.byref(handle))
            except DriverError:
                os.close(fd)
                raise
            try:
                driver.call(
                    "cuExternalMemoryGetMappedBuffer", ctypes.byref(address), memory, ctypes.byref(wanted)
                )
            except DriverError:
                driver.call("cuDestroyExternalMemory", memory)
                raise
        return memory, address.value

    def unmap(self, memory: Any, address: int) -> None:
        """Undo `map`, after all work of CUDA that could use the memory.

        Failures are ignored: a context in an error state runs no work, and frees nothing.
        """
        with self._current() as driver:
            driver.attempt("cuCtxSynchronize")
            driver.attempt("cuMemFree_v2", address)
            driver.attempt("cuDestroyExternalMemory", memory)
