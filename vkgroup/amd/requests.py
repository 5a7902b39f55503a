"""Requests of a driver to the kernel's ``amdgpu`` device: its submissions are executed here.

Mesa's no-op shim replaces the kernel's driver: it keeps all GPU memory in one file in memory, and completes
every submission at once. The functions here take the place of ``ioctl`` in Mesa's libraries; each request
goes to the shim, too.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import threading
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_char, c_int, c_ulong, c_void_p
from pathlib import Path

import numpy as np

from vkgroup.amd.errors import EmulationError, MissingPart, UnknownLayout
from vkgroup.amd.memory import GpuMemory

# Numbers of requests: of all devices (the kernel's drm.h), and of amdgpu (amdgpu_drm.h).
_GEM_CLOSE = 0x09
_LISTS_HANDLES = 0x59
_GEM_MMAP, _SUBMIT, _ADDRESSES = 0x41, 0x44, 0x48
_LAYOUTS = {_GEM_CLOSE: (8, 8), _SUBMIT: (24, 24), _ADDRESSES: (40, 64)}
"""Least and most bytes of the requests that are read here; the kernel only ever adds to their ends."""

_KNOWN = range(0x40, 0x56)
"""Requests of amdgpu by which Mesa submits; later numbers are queues that programs write themselves."""

_COMMAND_WORDS = 8  # of a part of a submission with an indirect buffer
_COMMANDS = 1  # kind of a part of a submission: an indirect buffer
_MAP, _UNMAP, _CLEAR, _REPLACE = 1, 2, 3, 4

_LIBRARIES = ("libdrm.so", "libdrm_amdgpu.so", "libvulkan_radeon.so")
_SHIM = "amdgpu_noop_drm_shim"


def loaded_libraries() -> dict[str, int]:
    """Return path and first address of the libraries in this process."""
    found: dict[str, int] = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and ".so" in words[5]:
            found.setdefault(words[5], int(words[0].partition("-")[0], 16))
    return found


def _relocations(path: str, symbol: str) -> list[int]:
    """Return where an ELF library keeps the addresses of a function that it calls, from its start."""
    data = Path(path).read_bytes()
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count, _ = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + number * size) for number in range(count)]
    found = []
    for header in headers:
        if header[1] != 4:  # SHT_RELA
            continue
        symbols = headers[header[6]]
        names = headers[symbols[6]]
        for entry in range(header[4], header[4] + header[5], 24):
            place, info, _ = struct.unpack_from("<QQq", data, entry)
            if info >> 32:
                (name,) = struct.unpack_from("<I", data, symbols[4] + (info >> 32) * 24)
                start = names[4] + name
                if data[start : data.index(b"\0", start)].decode() == symbol:
                    found.append(place)
    return found


_Ioctl = CFUNCTYPE(c_int, c_int, c_ulong, c_void_p)


def layout_problem(number: int, size: int) -> str:
    """Return what is unknown about a request of the device's driver; empty if nothing is."""
    least, most = _LAYOUTS.get(number, (0, 1 << 14))
    if not least <= size <= most:
        return f"request {number:#x} has {size} bytes, and not {least} to {most}"
    if 0x40 <= number <= 0x9F and number not in _KNOWN and number != _LISTS_HANDLES:
        return f"request {number:#x} is not one by which the emulated driver submits"
    return ""


class DriverRequests:
    """The requests of this process's driver, seen from when it is made on.

    Attributes
    ----------
    memory : the memory of the GPU; None until the driver has allocated some.
    problem : the error that ended a submission; the driver is told that all submissions ended.

    Raises EmulationError: the process has no driver under the shim.
    """

    def __init__(self, execute: Callable[[GpuMemory, list[tuple[int, int]]], None]) -> None:
        self._execute = execute
        self._offsets: dict[int, int] = {}
        self.memory: GpuMemory | None = None
        self.problem: BaseException | None = None
        self._lock = threading.RLock()
        libraries = loaded_libraries()
        shim = next((path for path in libraries if _SHIM in path), None)
        if shim is None:
            raise EmulationError("Mesa's no-op shim is not loaded in this process")
        self._real = ctypes.CDLL(shim, use_errno=True).ioctl
        self._real.argtypes, self._real.restype = [c_int, c_ulong, c_void_p], c_int
        self._callback = _Ioctl(self._request)
        pointer = ctypes.cast(self._callback, c_void_p).value
        patched = 0
        for path, base in libraries.items():
            if os.path.basename(path).startswith(_LIBRARIES):
                patched += _patch(path, base, pointer)
        if not patched:
            raise EmulationError("no call of ioctl found in the driver's libraries")

    def _request(self, file: int, request: int, argument: int | None) -> int:
        number, size = request & 0xFF, request >> 16 & 0x3FFF
        of_device = (request >> 8 & 0xFF) == ord("d")
        if of_device and (unknown := layout_problem(number, size)):
            self.problem = self.problem or UnknownLayout(unknown)
            return int(self._real(file, request, argument))
        if not of_device or number not in _LAYOUTS:
            return int(self._real(file, request, argument))
        before = bytes((c_char * size).from_address(argument)) if argument else b""
        with self._lock:
            if number == _SUBMIT:
                return self._submit(file, request, argument, before)
            result = int(self._real(file, request, argument))
            if number == _ADDRESSES and result == 0:
                self._change_addresses(file, before)
            elif number == _GEM_CLOSE and result == 0:
                self._offsets.pop(struct.unpack_from("<I", before)[0], None)
            return result

    def _change_addresses(self, file: int, before: bytes) -> None:
        handle, _, operation, _, address, offset, size = struct.unpack_from("<IIIIQQQ", before)
        memory = self._opened()
        if operation in (_MAP, _REPLACE):
            if handle:
                memory.map(address, size, self._offset(file, handle) + offset)
            else:
                memory.unmap(address, size)
        elif operation in (_UNMAP, _CLEAR):
            memory.unmap(address, size)

    def _offset(self, file: int, handle: int) -> int:
        """Return where a buffer lies in the shim's memory, which its request for a mapping tells."""
        if handle not in self._offsets:
            argument = ctypes.create_string_buffer(struct.pack("<II", handle, 0), 8)
            request = 3 << 30 | 8 << 16 | ord("d") << 8 | _GEM_MMAP
            if self._real(file, request, ctypes.addressof(argument)):
                raise EmulationError("the shim has no memory for a buffer")
            self._offsets[handle] = struct.unpack("<Q", argument.raw)[0]
        return self._offsets[handle]

    def _opened(self) -> GpuMemory:
        if self.memory is None:
            for entry in os.listdir("/proc/self/fd"):
                try:
                    if "memfd:shim" in os.readlink(f"/proc/self/fd/{entry}"):
                        view = mmap.mmap(int(entry), os.fstat(int(entry)).st_size)
                        self.memory = GpuMemory(np.frombuffer(view, np.uint8))
                        break
                except OSError:
                    continue
            else:
                raise EmulationError("the shim's memory was not found")
        return self.memory

    def _submit(self, file: int, request: int, argument: int | None, before: bytes) -> int:
        _, _, parts, _, pointer = struct.unpack_from("<IIIIQ", before)
        commands, others = [], False
        for number in range(parts):
            (at,) = struct.unpack("<Q", _bytes(pointer + 8 * number, 8))
            kind, words, data = struct.unpack("<IIQ", _bytes(at, 16))
            if kind == _COMMANDS:
                if words != _COMMAND_WORDS:
                    self.problem = self.problem or UnknownLayout(f"a part of a submission has {words} words")
                _, _, address, size, engine = struct.unpack("<IIQII", _bytes(data, 24))
                commands.append((address, size // 4))
                others |= engine not in (0, 1)  # not graphics or compute
        try:
            if others:
                raise MissingPart("a submission to the copy engine")
            if self.problem is None:
                self._execute(self._opened(), commands)
        except BaseException as problem:
            self.problem = problem
        return int(self._real(file, request, argument))


def _bytes(address: int, size: int) -> bytes:
    return bytes((c_char * size).from_address(address))


def _patch(path: str, base: int, pointer: int | None) -> int:
    """Let a loaded library call another function as ``ioctl``; return the number of changed places."""
    places = _relocations(path, "ioctl")
    libc = ctypes.CDLL(None)
    for place in places:
        page = (base + place) & ~(mmap.PAGESIZE - 1)
        libc.mprotect(c_void_p(page), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)
        c_void_p.from_address(base + place).value = pointer
    return len(places)
