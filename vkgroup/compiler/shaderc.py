"""shaderc: through the C interface of libshaderc (in the compiler process), or through ``glslc``.

The declarations of the C interface follow ``shaderc/shaderc.h``.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from vkgroup.base.errors import CompileError, CompilerUnavailable
from vkgroup.base.files import require_regular
from vkgroup.base.unraisable import called_from_c
from vkgroup.compiler.includes import Cycle, Dependencies, Includer, Inclusion, require_unconfined, scan
from vkgroup.compiler.installed import LIBRARY_VARIABLE
from vkgroup.compiler.request import (
    DEFAULT_VERSION,
    CompileRequest,
    failure,
    failure_of_log,
    find_version,
    from_shaderc,
)
from vkgroup.compiler.stack import with_deep_stack
from vkgroup.compiler.validator import DECLARATIONS, SpirvTools

_SONAMES = (
    "libshaderc_shared.so.1",
    "libshaderc.so.1",
    "libshaderc_shared.1.dylib",
    "libshaderc_shared.dylib",
    "shaderc_shared.dll",
)

_DECLARATIONS = """
typedef struct {
    const char *source_name; size_t source_name_length;
    const char *content; size_t content_length; void *user_data;
} included;
typedef included *(*resolve_function)(void *context, const char *name, int kind, const char *includer,
                                      size_t depth);
typedef void (*release_function)(void *context, included *result);
void *shaderc_compiler_initialize(void);
void *shaderc_compile_options_initialize(void);
void shaderc_compile_options_release(void *options);
void shaderc_compile_options_add_macro_definition(void *options, const char *name, size_t name_length,
                                                  const char *value, size_t value_length);
void shaderc_compile_options_set_source_language(void *options, int language);
void shaderc_compile_options_set_generate_debug_info(void *options);
void shaderc_compile_options_set_forced_version_profile(void *options, int version, int profile);
void shaderc_compile_options_set_include_callbacks(void *options, resolve_function resolve,
                                                   release_function release, void *context);
void shaderc_compile_options_set_target_env(void *options, int target, uint32_t version);
void shaderc_compile_options_set_target_spirv(void *options, int version);
void shaderc_compile_options_set_auto_bind_uniforms(void *options, bool value);
void shaderc_compile_options_set_auto_map_locations(void *options, bool value);
void *shaderc_compile_into_spv(void *compiler, const char *text, size_t length, int kind, const char *name,
                               const char *entry_point, void *options);
void shaderc_result_release(void *result);
size_t shaderc_result_get_length(void *result);
const char *shaderc_result_get_bytes(void *result);
int shaderc_result_get_compilation_status(void *result);
const char *shaderc_result_get_error_message(void *result);
"""

_LANGUAGE_HLSL, _TARGET_VULKAN, _TARGET_OPENGL, _CORE_PROFILE = 1, 0, 1, 1
_OPENGL_VERSION = 450
_RELATIVE_INCLUDE = 0
_TEXT = ctypes.c_char_p

#: Time limits of ``glslc`` in seconds: for a source, and for a source with an include cycle.
_TIMEOUT = 120
_TIMEOUT_OF_A_CYCLE = 5


class _Library:
    """An opened libshaderc with its compiler."""

    def __init__(self, ffi: cffi.FFI, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib
        self.compiler = lib.shaderc_compiler_initialize()
        self.resolve = ffi.callback("resolve_function", self._resolve)
        self.release = ffi.callback("release_function", lambda context, result: None)

    @called_from_c
    def _resolve(self, context: Any, name: Any, kind: int, includer: Any, depth: int) -> Any:
        """Return the included file to shaderc; with an empty name, the text is a diagnostic."""
        inclusion: Inclusion = self.ffi.from_handle(context)
        try:
            wanted, source = (self.ffi.string(text).decode("utf-8", "replace") for text in (name, includer))
            # An including file that was not itself included is the main source.
            known = source if source in inclusion.includer.dependencies.present else ""
            header, text = inclusion.answer(wanted, known, depth, kind == _RELATIVE_INCLUDE)
        except BaseException as error:  # must not unwind through C; raised afterwards
            inclusion.crash = error
            header, text = b"", b"stopped"
        memory = self.ffi.new("char[]", header), self.ffi.new("char[]", text)
        result = self.ffi.new("included *", (memory[0], len(header), memory[1], len(text), self.ffi.NULL))
        inclusion.references += (*memory, result)
        return result


@cache
def _library() -> _Library | None:
    """Return the first libshaderc that loads; None if none loads."""
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    given = os.environ.get(LIBRARY_VARIABLE)
    for name in (given,) if given else _SONAMES:
        try:
            if "/" in name:
                require_regular(name)
            return _Library(ffi, ffi.dlopen(name))
        except (OSError, AttributeError):
            continue
    return None


def _executable() -> str:
    """Return the path of ``glslc``: from ``VKGROUP_GLSLC``, else from PATH."""
    wanted = os.environ.get("VKGROUP_GLSLC") or "glslc"
    path = shutil.which(wanted)
    if path is None:
        raise CompilerUnavailable(
            f"shaderc is not installed: no libshaderc loads and there is no executable {wanted!r}; "
            "install glslc (Debian and Ubuntu: apt-get install glslc; elsewhere: the Vulkan SDK), "
            "or set VKGROUP_GLSLC to its path"
        )
    return os.path.abspath(path)


@cache
def _executable_version(path: str, size: int, changed: int) -> str:
    """Return path, size, time and version of ``glslc``; size and time are part of the key of `cache`."""
    return f"{path} {size} {changed} {_run([path, '--version'], b'', None).stdout.decode(errors='replace')}"


def executable_identity() -> str:
    """Return an identifier of the installed ``glslc``."""
    path = _executable()
    status = os.stat(path)
    return _executable_version(path, status.st_size, status.st_mtime_ns)


def executable_name() -> str:
    """Return path and version of the installed ``glslc``: ``/usr/bin/glslc (shaderc 2023.8)``."""
    path = _executable()
    first = _run([path, "--version"], b"", None).stdout.decode(errors="replace").split("\n")[0]
    return f"{path} ({first.removeprefix('shaderc').strip() or 'unknown version'})"


def has_library(_: None = None) -> bool:
    """Return whether a libshaderc can be loaded; it is loaded in this process."""
    return _library() is not None


def compile_by_library(request: CompileRequest) -> tuple[bytes, Dependencies]:
    """Compile with libshaderc, without validation and optimization; return words and included files.

    The entry point of a GLSL source is called ``main``. In the dialect ``"gl"`` the result is a module for
    OpenGL, which `vkgroup.compiler.gl.program` lowers.

    Raises CompileError: the source does not compile; one diagnostic for each message of shaderc.
    """
    library = _library()
    assert library is not None
    return with_deep_stack(lambda _: _compile_by_library(library, request))


@cache
def _validator() -> SpirvTools:
    ffi = cffi.FFI()
    ffi.cdef(DECLARATIONS)
    return SpirvTools(ffi, ffi.dlopen(os.environ[LIBRARY_VARIABLE]))


def problem(question: tuple[str, bytes]) -> str:
    """Return why SPIRV-Tools in the given libshaderc rejects a module; empty if it is valid.

    `question`: SPIRV-Tools' name of the environment, and the module's words.
    """
    environment, words = question
    tools = _validator()
    return tools.problem(environment, tools.ffi.from_buffer("uint32_t[]", words))


def _versions(request: CompileRequest) -> tuple[int, int]:
    """Return the minor versions of Vulkan (1.3 at most: common shaderc builds lack 1.4) and of SPIR-V.

    For HLSL, shaderc writes BufferBlock, which SPIR-V 1.4 removed; HLSL is compiled to SPIR-V 1.3 at most.
    """
    spirv = request.target.spirv_version[1]
    if request.dialect == "hlsl" and request.stage.since <= (1, 3):
        spirv = min(spirv, 3)
    return min(request.target.vulkan_version[1], 3), spirv


def _compile_by_library(library: _Library, request: CompileRequest) -> tuple[bytes, Dependencies]:
    ffi, lib = library.ffi, library.lib
    inclusion = Inclusion(Includer(request.folder, request.include_paths, request.confined_to))
    handle = ffi.new_handle(inclusion)
    text = request.source.encode()
    entry = request.entry_point if request.dialect == "hlsl" else "main"
    with ffi.gc(lib.shaderc_compile_options_initialize(), lib.shaderc_compile_options_release) as options:
        lib.shaderc_compile_options_set_include_callbacks(options, library.resolve, library.release, handle)
        _set_options(lib, request, options)
        result = lib.shaderc_compile_into_spv(
            library.compiler,
            text,
            len(text),
            request.stage.shaderc,
            request.name.encode(),
            entry.encode(),
            options,
        )
    with ffi.gc(result, lib.shaderc_result_release):
        if inclusion.crash is not None:
            raise inclusion.crash
        if lib.shaderc_result_get_compilation_status(result) != 0:
            log = ffi.string(lib.shaderc_result_get_error_message(result)).decode("utf-8", "replace")
            raise failure_of_log(request.name, from_shaderc(log, lambda file: file), log)
        size = lib.shaderc_result_get_length(result)
        words = bytes(ffi.buffer(lib.shaderc_result_get_bytes(result), size))
    return words, inclusion.includer.dependencies


def _set_options(lib: Any, request: CompileRequest, options: Any) -> None:
    vulkan, spirv = _versions(request)
    if request.dialect == "gl":
        lib.shaderc_compile_options_set_target_env(options, _TARGET_OPENGL, _OPENGL_VERSION)
    else:
        lib.shaderc_compile_options_set_target_env(options, _TARGET_VULKAN, (1 << 22) | (vulkan << 12))
    lib.shaderc_compile_options_set_target_spirv(options, (1 << 16) | (spirv << 8))
    for name, value in request.defines:
        pair = name.encode(), value.encode()
        lib.shaderc_compile_options_add_macro_definition(
            options, pair[0], len(pair[0]), pair[1], len(pair[1])
        )
    if request.debug:
        lib.shaderc_compile_options_set_generate_debug_info(options)
    if request.dialect == "hlsl":
        lib.shaderc_compile_options_set_source_language(options, _LANGUAGE_HLSL)
    elif find_version(request.source) is None:
        lib.shaderc_compile_options_set_forced_version_profile(options, DEFAULT_VERSION, _CORE_PROFILE)
    if request.dialect != "vulkan":
        lib.shaderc_compile_options_set_auto_bind_uniforms(options, True)
        lib.shaderc_compile_options_set_auto_map_locations(options, True)


def compile_by_executable(request: CompileRequest) -> tuple[bytes, Dependencies]:
    """Run ``glslc`` with the source on its standard input; results and errors as `compile_by_library`.

    ``glslc`` resolves includes of the main source from the working directory. This is therefore the source's
    folder, or an empty folder for text without a file. ``glslc`` does not detect include cycles; if the
    source has one, the time limit is short.
    """
    require_unconfined(request, "glslc")
    path = _executable()
    includer = Includer(request.folder, request.include_paths)
    cycle = scan(includer, request.source, request.name) if request.has_includes else None
    timeout = _TIMEOUT if cycle is None else _TIMEOUT_OF_A_CYCLE
    with tempfile.TemporaryDirectory(prefix="vkgroup-") as empty:
        folder = str(request.folder) if request.folder is not None else empty
        try:
            done = _run([path, *_arguments(request)], request.source.encode(), folder, timeout)
        except subprocess.TimeoutExpired:
            raise _endless(request, path, timeout, cycle) from None
    if done.returncode == 0:
        return done.stdout, includer.dependencies
    log = done.stderr.decode("utf-8", "replace")
    raise failure_of_log(request.name, from_shaderc(log, lambda file: _known_name(request, file)), log)


def _arguments(request: CompileRequest) -> list[str]:
    vulkan, spirv = _versions(request)
    arguments = [
        f"-fshader-stage={request.stage.suffix}",
        "--target-env=opengl4.5" if request.dialect == "gl" else f"--target-env=vulkan1.{vulkan}",
        f"--target-spv=spv1.{spirv}",
        *(f"-D{name}={value}" for name, value in request.defines),
    ]
    for include_path in request.include_paths:
        arguments += ["-I", os.path.abspath(include_path)]
    if request.debug:
        arguments.append("-g")
    if request.dialect == "hlsl":
        arguments += ["-x", "hlsl", f"-fentry-point={request.entry_point}"]
    elif find_version(request.source) is None:
        arguments.append(f"-std={DEFAULT_VERSION}core")
    if request.dialect != "vulkan":
        arguments += ["-fauto-bind-uniforms", "-fauto-map-locations"]
    return [*arguments, "-o", "-", "-"]


def _run(
    command: list[str], data: bytes, folder: str | None, timeout: float = _TIMEOUT
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, input=data, capture_output=True, cwd=folder, timeout=timeout, check=False
        )
    except OSError as error:
        raise CompilerUnavailable(
            f"{command[0]} cannot be run ({error.strerror}); install glslc (Debian and Ubuntu: "
            "apt-get install glslc), or set VKGROUP_GLSLC to the path of a working one"
        ) from None


def _endless(request: CompileRequest, path: str, timeout: float, cycle: Cycle | None) -> CompileError:
    """Return the error for a compiler that exceeded its time limit."""
    if cycle is None:
        return failure(request.name, 0, f"{path} did not finish in {timeout} seconds")
    return failure(cycle.file, cycle.line, f"include cycle: {' → '.join(cycle.paths)}")


def _known_name(request: CompileRequest, file: str) -> str:
    """Return the user's name for a file: the source's name, or a path below an include path as given."""
    if file in ("<stdin>", "glslc"):
        return request.name
    for include_path in request.include_paths:
        rest = file.removeprefix(os.path.abspath(include_path) + os.sep)
        if rest != file:
            return os.path.normpath(os.path.join(include_path, rest))
    return str(Path(os.path.normpath(os.path.join(request.folder or "", file))))


class _Version(ctypes.Structure):
    """``glslang::Version``."""

    _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int), ("flavor", _TEXT))


def glslang_version() -> str | None:
    """Return the version of glslang in the libshaderc that this process loads; None if it does not tell."""
    library = _library()
    if library is None:
        return None
    name = os.environ.get(LIBRARY_VARIABLE) or _SONAMES[0]
    try:
        # glslang::GetVersion(), which the C interface of shaderc does not offer.
        function = ctypes.CDLL(name)._ZN7glslang10GetVersionEv
    except (OSError, AttributeError):
        return None
    function.restype = _Version
    version = function()
    return f"{version.major}.{version.minor}.{version.patch}"


if __name__ == "__main__":
    print(glslang_version() or "")
