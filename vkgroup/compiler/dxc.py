"""DXC, Microsoft's compiler of HLSL, through its COM interface; runs in the compiler process.

Interfaces and their order of methods are those of ``dxcapi.h``.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import os
import re
import uuid
from functools import cache
from pathlib import Path
from typing import Any

from vkgroup.base.errors import CompilerUnavailable
from vkgroup.compiler.hlsl_front_ends import common_arguments, entry_point_of
from vkgroup.compiler.includes import Dependencies, Includer, require_unconfined, scan
from vkgroup.compiler.request import CompileRequest, failure, failure_of_log, from_shaderc

PATH_VARIABLE = "VKGROUP_DXC"
"""Environment variable with the path of libdxcompiler."""

_INSTALL = (
    "install the Vulkan SDK or a release of DirectXShaderCompiler and set VKGROUP_DXC to its"
    " libdxcompiler.so, or pip install compushady-lrtu, which contains one"
)

_PROFILES = {
    "vertex": "vs",
    "tessellation_control": "hs",
    "tessellation_evaluation": "ds",
    "geometry": "gs",
    "fragment": "ps",
    "compute": "cs",
    "task": "as",
    "mesh": "ms",
}
"""Prefix of the profile by stage."""

_MODEL = "6_8"
_NARROW = re.compile(r"\b(?:u?int16_t|float16_t)[1-4x]*\b")
"""Types that need ``-enable-16bit-types``, with which ``half`` has 16 bits too."""

_UNKNOWN, _UTF8 = 3, 65001
"""The number of methods of IUnknown, which every interface begins with; a code page."""


class _Guid(ctypes.Structure):
    _fields_ = (
        ("a", ctypes.c_uint32),
        ("b", ctypes.c_uint16),
        ("c", ctypes.c_uint16),
        ("d", ctypes.c_ubyte * 8),
    )


def _guid(text: str) -> _Guid:
    number = uuid.UUID(text)
    return _Guid(
        number.time_low, number.time_mid, number.time_hi_version, (ctypes.c_ubyte * 8)(*number.bytes[8:])
    )


class _Buffer(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("encoding", ctypes.c_uint32))


_COMPILER_CLASS = _guid("73e22d93-e6ce-47f3-b5bf-f0664f39c1b0")
_UTILS_CLASS = _guid("6245d6af-66e0-48fd-80b4-4d271796748c")
_COMPILER = _guid("228b4687-5a6a-4730-900c-9702b2203f54")
_UTILS = _guid("4605c4cb-2019-492a-ada4-65f20bb7d67f")
_RESULT = _guid("58346cda-dde7-4497-9461-6f87af5e0659")
_VERSION = _guid("b04f5b50-2059-4f12-a8ff-a1e0cde1cc7e")


def _call(interface: Any, method: int, result: Any, *arguments: Any) -> Any:
    """Call a method of a COM interface by its number in the table; arguments have ctypes."""
    table = ctypes.cast(interface, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    kind = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *(type(argument) for argument in arguments))
    return kind(table[method])(interface, *arguments)


def _release(*interfaces: Any) -> None:
    for interface in interfaces:
        if interface:
            _call(interface, 2, ctypes.c_uint32)


def dxc_library() -> Path | str:
    """Return the file of libdxcompiler, or its name if the system's linker finds it.

    It is that of VKGROUP_DXC, of the system, or of the package compushady.

    Raises CompilerUnavailable: there is none.
    """
    if given := os.environ.get(PATH_VARIABLE):
        if not Path(given).is_file():
            raise CompilerUnavailable(f"{PATH_VARIABLE} names {given}, which is no file; {_INSTALL}")
        return Path(given)
    if name := ctypes.util.find_library("dxcompiler"):
        return name
    spec = importlib.util.find_spec("compushady")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for file in sorted(Path(folder).glob("backends/libdxcompiler*.so")):
            return file
    raise CompilerUnavailable(f"DXC is not installed; {_INSTALL}")


def dxc_identity() -> str | None:
    """Return an identifier of the installed DXC; None if it is a system's library."""
    file = dxc_library()
    if isinstance(file, str):
        return None
    status = file.stat()
    return f"DXC {file} {status.st_size} {status.st_mtime_ns}"


class _Dxc:
    """The opened library with a compiler and a handler of includes."""

    def __init__(self, file: str) -> None:
        try:
            self._library = ctypes.CDLL(file)
        except OSError as error:
            raise CompilerUnavailable(f"{file} cannot be loaded ({error}); {_INSTALL}") from error
        self.compiler = self._instance(_COMPILER_CLASS, _COMPILER)
        utils = self._instance(_UTILS_CLASS, _UTILS)
        self.includes = ctypes.c_void_p()
        _call(
            utils, _UNKNOWN + 6, ctypes.c_int32, ctypes.pointer(self.includes)
        )  # CreateDefaultIncludeHandler

    def _instance(self, class_id: _Guid, interface: _Guid) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        code = self._library.DxcCreateInstance(
            ctypes.byref(class_id), ctypes.byref(interface), ctypes.byref(made)
        )
        if code or not made:
            raise CompilerUnavailable(f"this libdxcompiler lacks an interface of DXC 1.7; {_INSTALL}")
        return made


@cache
def _opened(file: str) -> _Dxc:
    return _Dxc(file)


def dxc_version(_: None = None) -> str:
    """Return the version of the library: ``1.8``; ``of unknown version`` if it does not tell."""
    compiler, info = _opened(str(dxc_library())).compiler, ctypes.c_void_p()
    if _call(compiler, 0, ctypes.c_int32, ctypes.pointer(_VERSION), ctypes.pointer(info)) or not info:
        return "of unknown version"
    major, minor = ctypes.c_uint32(), ctypes.c_uint32()
    _call(info, _UNKNOWN, ctypes.c_int32, ctypes.pointer(major), ctypes.pointer(minor))
    _release(info)
    return f"{major.value}.{minor.value}"


def compile_dxc(request: CompileRequest) -> tuple[bytes, Dependencies]:
    """Compile without validation; return the module's words and the included files.

    The entry point is chosen as for Slang (`hlsl_front_ends.entry_point_of`), and keeps its name.

    Raises CompileError: the source does not compile, or has a stage of ray tracing. Raises
    CompilerUnavailable: DXC is not installed.
    """
    dxc = _opened(str(dxc_library()))
    profile = _PROFILES.get(request.stage.name)
    if profile is None:
        raise failure(request.name, 0, f"DXC compiles no {request.stage.name} shaders here; use Slang")
    require_unconfined(request, "DXC")
    includer = Includer(request.folder, request.include_paths)
    if request.has_includes:
        scan(includer, request.source, request.name)
    options = _arguments(request, f"{profile}_{_MODEL}")
    words = (ctypes.c_wchar_p * len(options))(*options)
    source = request.source.encode()
    result = ctypes.c_void_p()
    code = _call(
        dxc.compiler,
        _UNKNOWN,
        ctypes.c_int32,
        ctypes.pointer(_Buffer(source, len(source), _UTF8)),
        words,
        ctypes.c_uint32(len(options)),
        dxc.includes,
        ctypes.pointer(_RESULT),
        ctypes.pointer(result),
    )
    if code or not result:
        raise failure(request.name, 0, f"DXC failed without a message (HRESULT {code & 0xFFFFFFFF:#x})")
    try:
        return _words_of(result, request), includer.dependencies
    finally:
        _release(result)


def _words_of(result: Any, request: CompileRequest) -> bytes:
    """Return the module of a result; raise its errors."""
    status = ctypes.c_int32()
    _call(result, _UNKNOWN, ctypes.c_int32, ctypes.pointer(status))
    if status.value >= 0:
        module = _blob(result, _UNKNOWN + 1)
        if module:
            return module
    log = _blob(result, _UNKNOWN + 2).decode("utf-8", "replace").rstrip("\0")
    lines = [line for line in log.splitlines() if re.search(r": (?:error|warning): ", line)]
    raise failure_of_log(request.name, from_shaderc("\n".join(lines), lambda file: file), log)


def _blob(result: Any, method: int) -> bytes:
    blob = ctypes.c_void_p()
    _call(result, method, ctypes.c_int32, ctypes.pointer(blob))
    if not blob:
        return b""
    try:
        address = _call(blob, _UNKNOWN, ctypes.c_void_p)
        size = _call(blob, _UNKNOWN + 1, ctypes.c_size_t)
        return ctypes.string_at(address, size) if address else b""
    finally:
        _release(blob)


def _arguments(request: CompileRequest, profile: str) -> list[str]:
    minor = min(request.target.vulkan_version[1], 3)
    environment = "vulkan1.1spirv1.4" if request.target.name == "VULKAN_1_1_SPIRV_1_4" else f"vulkan1.{minor}"
    arguments = [request.name, "-E", entry_point_of(request), "-T", profile, "-spirv"]
    arguments += [f"-fspv-target-env={environment}"]
    arguments += ["-enable-16bit-types"] if _NARROW.search(request.source) else []
    arguments += ["-Zi"] if request.debug else []
    return arguments + common_arguments(request)
