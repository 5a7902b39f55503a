"""Slang through the library in the wheel slangpy; runs in the compiler process (`vkgroup.compiler.isolated`).

Slang compiles ``.slang`` and HLSL. The functions are those of ``slang-deprecated.h``, which need no C++.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from vkgroup.base.errors import CompilerUnavailable, Diagnostic
from vkgroup.base.files import is_inside, read_bytes
from vkgroup.base.wheels import wheel_version
from vkgroup.compiler.hlsl_front_ends import common_arguments, entry_point_of
from vkgroup.compiler.includes import Dependencies, digest, outside_of
from vkgroup.compiler.request import CompileRequest, failure, failure_of_log

_WHEEL = "slangpy"
INSTALL = "install it: pip install 'vkgroup[slang]'"

_LANGUAGES = {"slang": 1, "hlsl": 2}
"""SlangSourceLanguage by dialect."""

_STAGES = {
    **{"vertex": 1, "tessellation_control": 2, "tessellation_evaluation": 3, "geometry": 4, "fragment": 5},
    **{"compute": 6, "raygen": 7, "intersection": 8, "any_hit": 9, "closest_hit": 10, "miss": 11},
    **{"callable": 12, "mesh": 13, "task": 14},
}
"""SlangStage by stage."""

_POINTERS = "spCreateSession spCreateCompileRequest spGetCompileRequestCode"
_TEXTS = "spGetBuildTagString spGetDiagnosticOutput spGetDependencyFilePath"


def slang_folder() -> Path:
    """Return the folder of the wheel's libraries, without importing it.

    Raises CompilerUnavailable: slangpy is not installed.
    """
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise CompilerUnavailable(f"Slang is not installed; {INSTALL}")
    return Path(spec.submodule_search_locations[0])


def slang_identity() -> str:
    """Return an identifier of the installed Slang; CompilerUnavailable if there is none."""
    return f"slang {_library_file('compiler').name} of {_WHEEL} {wheel_version(_WHEEL)}"


def slang_name() -> str:
    """Return name and version for users: ``Slang 2026.12``; CompilerUnavailable if there is none."""
    version = re.search(r"\d{4}\.\d+(?:\.\d+)?", _library_file("compiler").name)
    return f"Slang {version[0] if version else 'of unknown version'}"


def _library_file(name: str) -> Path:
    files = sorted(slang_folder().glob(f"libslang-{name}*.so*"))
    if not files:
        raise CompilerUnavailable(f"slangpy has no library libslang-{name}; {INSTALL} (0.43 or later)")
    return files[0]


@cache
def _opened() -> tuple[Any, int]:
    """Return the library and its session, which are made once per process."""
    try:
        # Slang opens this library by its name, to optimize modules.
        ctypes.CDLL(str(_library_file("glslang")), ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(_library_file("compiler")))
    except OSError as error:
        raise CompilerUnavailable(f"Slang cannot be loaded ({error}); {INSTALL}") from error
    for name in _POINTERS.split():
        getattr(library, name).restype = ctypes.c_void_p
    for name in _TEXTS.split():
        getattr(library, name).restype = ctypes.c_char_p
    return library, library.spCreateSession(None)


def compile_slang(request: CompileRequest) -> tuple[bytes, Dependencies]:
    """Compile without validation; return the module's words and the included or imported files.

    If the source has no function with the entry point's name and one function with ``[shader("…")]`` of the
    stage, that is the entry point. In the module it has the name of the request.

    Raises CompileError: the source does not compile; one diagnostic for each message of Slang. Raises
    CompilerUnavailable: slangpy is not installed.
    """
    library, session = _opened()
    handle = ctypes.c_void_p(library.spCreateCompileRequest(ctypes.c_void_p(session)))
    try:
        return _compiled(library, handle, request)
    finally:
        library.spDestroyCompileRequest(handle)


def _compiled(library: Any, handle: ctypes.c_void_p, request: CompileRequest) -> tuple[bytes, Dependencies]:
    options = _arguments(request)
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    if library.spProcessCommandLineArguments(handle, words, len(options)) < 0:
        raise failure_of_log(request.name, _diagnostics(library, handle, request), "")
    unit = library.spAddTranslationUnit(handle, _LANGUAGES[request.dialect], None)
    library.spAddTranslationUnitSourceString(handle, unit, request.name.encode(), request.source.encode())
    library.spAddEntryPoint(handle, unit, entry_point_of(request).encode(), _STAGES[request.stage.name])
    if library.spCompile(handle) < 0:
        log = (library.spGetDiagnosticOutput(handle) or b"").decode("utf-8", "replace")
        diagnostics = _diagnostics(library, handle, request)
        for entry in diagnostics:  # Slang lists no dependencies of a source that does not compile
            _require_confined(entry.file, request)
        raise failure_of_log(request.name, diagnostics, log if request.confined_to is None else "")
    dependencies = _dependencies(library, handle, request)
    size = ctypes.c_size_t()
    code = library.spGetCompileRequestCode(handle, ctypes.byref(size))
    if not code or not size.value:
        raise failure(request.name, 0, "Slang produced no code")
    return ctypes.string_at(code, size.value), dependencies


def _arguments(request: CompileRequest) -> list[str]:
    major, minor = request.target.spirv_version
    arguments = ["-target", "spirv", "-profile", f"spirv_{major}_{minor}", "-O1"]
    arguments += ["-g2"] if request.debug else []
    return arguments + common_arguments(request)


# "error[E30015]: undefined identifier" and, on a later line, " --> /tmp/bad.slang:3:58".
_MESSAGE = re.compile(r"(?P<severity>error|warning)(?:\[\w+\])?: (?P<message>.*)")
_PLACE = re.compile(r"\s*--> (?P<file>.*):(?P<line>\d+):(?P<column>\d+)")
_DETAIL = re.compile(r"\s*\|\s*\^+ (?P<detail>.+)")


def _diagnostics(library: Any, handle: ctypes.c_void_p, request: CompileRequest) -> list[Diagnostic]:
    """Return the messages of Slang: a headline, a place, and what stands beside the carets."""
    log = (library.spGetDiagnosticOutput(handle) or b"").decode("utf-8", "replace")
    diagnostics: list[Diagnostic] = []
    for line in log.splitlines():
        if match := _MESSAGE.match(line):
            diagnostics.append(Diagnostic(match["severity"], request.name, 0, 0, match["message"]))
        elif diagnostics and not diagnostics[-1].line and (match := _PLACE.match(line)):
            last = diagnostics[-1]
            diagnostics[-1] = Diagnostic(
                last.severity, match["file"], int(match["line"]), int(match["column"]), last.message
            )
        elif diagnostics and (match := _DETAIL.match(line)):
            last = diagnostics[-1]
            message = f"{last.message}: {match['detail'].strip()}"
            diagnostics[-1] = Diagnostic(last.severity, last.file, last.line, last.column, message)
    return diagnostics


def _require_confined(path: str, request: CompileRequest) -> None:
    """Raise CompileError for another file than the source that is outside of `request.confined_to`."""
    folder = request.confined_to
    if folder is not None and path != request.name and not is_inside(path, folder):
        raise failure(request.name, 0, outside_of(path, folder))


def _dependencies(library: Any, handle: ctypes.c_void_p, request: CompileRequest) -> Dependencies:
    """Return the included and imported files; CompileError if one is outside of `request.confined_to`."""
    dependencies = Dependencies()
    get: Callable[..., bytes] = library.spGetDependencyFilePath
    for number in range(library.spGetDependencyFileCount(handle)):
        path = get(handle, number).decode("utf-8", "replace")
        if path != request.name and Path(path).is_file():
            _require_confined(path, request)
            dependencies.present[path] = digest(read_bytes(path))
    return dependencies
