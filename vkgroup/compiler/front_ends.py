"""Front ends by the names of ``--compiler``, and which of them compiles a request."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Protocol

from vkgroup.base.choices import COMPILERS, SOURCE_DIALECTS
from vkgroup.base.errors import CompileError, Diagnostic
from vkgroup.base.suggestions import nearest
from vkgroup.compiler.dxc import dxc_identity, dxc_library
from vkgroup.compiler.glslang import glslang_identity, glslang_name, with_include_directive
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.installed import InstalledCompiler, installed_glslang
from vkgroup.compiler.isolated import compile_isolated, has_libshaderc, version_of_dxc
from vkgroup.compiler.optimizer import trim_capabilities
from vkgroup.compiler.request import DEFAULT_VERSION, CompileRequest, find_version
from vkgroup.compiler.shaderc import compile_by_executable, executable_identity, executable_name
from vkgroup.compiler.slang import slang_folder, slang_identity, slang_name
from vkgroup.compiler.tint import compile_tint, require_tint
from vkgroup.spirv import Module, rename_entry_point


class FrontEnd(Protocol):
    """A compiler of one version."""

    @property
    def name(self) -> str:
        """Name and version for users."""

    @property
    def identity(self) -> str | None:
        """An identifier of the build for the cache of modules; None if unknown."""

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        """Compile a request without validation and optimization.

        Raises CompileError: the source does not compile. Raises CompilerUnavailable: the compiler is not
        installed. The error names what to install.
        """


_DIALECTS = {
    "glslang": ("vulkan", "gl", "hlsl", "slang", "wgsl"),
    "slang": ("hlsl", "slang"),
    "dxc": ("hlsl",),
    "tint": ("wgsl",),
}
"""Dialects by compiler, where they are not those of glslang."""


def front_end(compiler: str, dialect: str = "vulkan") -> FrontEnd:
    """Return the front end that compiles a dialect for a name in `COMPILERS`.

    ``"glslang"``: for GLSL for Vulkan, that in the user's cache if there is one. Otherwise, and for HLSL and
    the dialect ``"gl"``, that of the wheel. ``"glslang-13"``: that of the wheel. ``"shaderc"``: libshaderc or
    ``glslc`` of the system. ``"slang"``: Slang of the wheel slangpy, for Slang and HLSL; also ``"glslang"``,
    the default, means Slang for the dialect ``"slang"``. ``"dxc"``: libdxcompiler, for HLSL. ``"tint"``, and
    the default for the dialect ``"wgsl"``: tint in the user's cache.

    Raises CompileError: there is no such name, or the compiler does not compile the dialect.
    """
    if compiler not in COMPILERS:
        known = ", ".join(COMPILERS)
        raise CompileError(
            f"unknown compiler {compiler!r}; choose one of: {known}.{nearest(compiler, COMPILERS)}"
        )
    if not compiles(compiler, dialect):
        raise CompileError(
            f"{compiler} does not compile the dialect {dialect}; omit --compiler (in Python: compiler=)"
        )
    if "slang" in (compiler, dialect):
        return _Slang()
    if dialect == "wgsl":
        return _Tint()
    if compiler == "dxc":
        return _Dxc()
    if compiler == "shaderc":
        return _Shaderc()
    installed = installed_glslang() if compiler == "glslang" and dialect == "vulkan" else None
    return _Wheel() if installed is None else _Installed(installed)


def compiles(compiler: str, dialect: str) -> bool:
    """Return whether a compiler supports a dialect."""
    return dialect in _DIALECTS.get(compiler, ("vulkan", "gl", "hlsl"))


def compiler_name(compiler: str = "glslang", dialect: str = "vulkan") -> str:
    """Return name and version of the front end that compiles a dialect: ``glslang 16.4.0 (…)``.

    Raises CompileError: the compiler is unknown. Raises CompilerUnavailable: it is not installed.
    """
    return front_end(compiler, dialect).name


def compiler_of(path: Path, compiler: str = COMPILERS[0], dialect: str | None = None) -> str:
    """Return name and version of the front end that compiles a file; empty if the file is a module."""
    if path.suffix in (".spv", ".spvasm") or dialect == "spirv":
        return ""
    return compiler_name(compiler, dialect or SOURCE_DIALECTS.get(path.suffix, "vulkan"))


def compiler_of_language(compiler: str) -> str:
    """Return name and version of a compiler for the first dialect that it supports; errors as above."""
    return compiler_name(compiler, _DIALECTS.get(compiler, ("vulkan",))[0])


class _Wheel:
    """glslang 13 of the wheel."""

    @property
    def name(self) -> str:
        return glslang_name()

    @property
    def identity(self) -> str:
        return glslang_identity()

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        try:
            return compile_isolated("glslang", request)
        except CompileError as error:
            raise _with_hint(error, self.name) from None


_UNKNOWN = re.compile(r"extension not supported|not supported in this version|unrecognized layout identifier")
"""Messages of glslang 13 for sources that need a newer one."""


def _with_hint(error: CompileError, name: str) -> CompileError:
    """Return the error with a hint at the current glslang if its first message is about an extension."""
    diagnostics = list(error.diagnostics)
    for number, entry in enumerate(diagnostics):
        if entry.severity == "error" and _UNKNOWN.search(entry.message):
            hint = f"{name} is of 2023; the current one may support it: vkgroup compilers fetch"
            diagnostics[number] = replace(entry, message=f"{entry.message}; {hint}")
            return type(error)(str(error.args[0]), diagnostics)
    return error


class _Shaderc:
    """shaderc of the system: the library if there is one, otherwise ``glslc``."""

    @property
    def name(self) -> str:
        return "libshaderc of the system" if _has_libshaderc() else executable_name()

    @property
    def identity(self) -> str | None:
        return None if _has_libshaderc() else executable_identity()

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        if _has_libshaderc():
            return compile_isolated("shaderc", request)
        words, dependencies = compile_by_executable(request)
        return Module.from_bytes(words), dependencies


@cache
def _has_libshaderc() -> bool:
    return has_libshaderc()


class _Slang:
    """Slang of the wheel slangpy."""

    @property
    def name(self) -> str:
        return slang_name()

    @property
    def identity(self) -> str:
        return slang_identity()

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        slang_folder()  # without it, a clear error
        module, dependencies = compile_isolated("slang", request)
        return rename_entry_point(module, request.entry_point), dependencies


class _Dxc:
    """DXC: libdxcompiler of the system, of VKGROUP_DXC, or of the package compushady."""

    @property
    def name(self) -> str:
        dxc_library()
        return f"DXC {version_of_dxc()}"

    @property
    def identity(self) -> str | None:
        return dxc_identity()

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        dxc_library()  # without it, a clear error
        module, dependencies = compile_isolated("dxc", request)
        if _PARTITIONED in module.reflection.capabilities:
            # DXC also declares it for modules that do not need it (DirectXShaderCompiler, issue 6672).
            module = trim_capabilities(module)
        return rename_entry_point(module, request.entry_point), dependencies


_PARTITIONED = "GroupNonUniformPartitionedNV"


class _Tint:
    """tint in the user's cache."""

    @property
    def name(self) -> str:
        return require_tint().name

    @property
    def identity(self) -> str:
        return require_tint().identity

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        module, dependencies = compile_tint(request)
        return rename_entry_point(module, request.entry_point), dependencies


class _Installed:
    """glslang in the user's cache."""

    def __init__(self, compiler: InstalledCompiler) -> None:
        self._compiler = compiler

    @property
    def name(self) -> str:
        return self._compiler.name

    @property
    def identity(self) -> str:
        return self._compiler.identity

    def compile(self, request: CompileRequest) -> tuple[Module, Dependencies]:
        try:
            return compile_isolated("shaderc", request, self._compiler)
        except CompileError as error:
            diagnostics = _with_columns(self._compiler, request, error.diagnostics)
            raise type(error)(str(error.args[0]), diagnostics) from None


_COLUMN = re.compile(r"(?:ERROR|WARNING): .*?:(?P<line>\d+):(?P<column>\d+): (?P<message>.*)")
_COLUMN_SECONDS = 10.0
"""Time limit of the second compilation."""


def _with_columns(
    compiler: InstalledCompiler, request: CompileRequest, diagnostics: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """Return the diagnostics with columns, which only the executable ``glslang`` prints.

    It compiles the source again. Its messages are those of the library, so they are found by line and text.
    """
    if not any(entry.line for entry in diagnostics):
        return list(diagnostics)
    command = [str(compiler.program), "--stdin", "-S", request.stage.suffix, "-C", "--error-column"]
    command += ["--target-env", f"vulkan1.{min(request.target.vulkan_version[1], 3)}", "-o", "/dev/null"]
    command += [f"-D{name}={value}" for name, value in request.defines]
    command += [f"-I{path.absolute()}" for path in request.include_paths]
    if find_version(request.source) is None:
        command += ["--glsl-version", str(DEFAULT_VERSION)]
    try:
        done = subprocess.run(
            compiler.command(*command),
            input=with_include_directive(request),
            cwd=request.folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COLUMN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return list(diagnostics)
    columns: dict[tuple[int, str], list[int]] = {}
    for match in map(_COLUMN.fullmatch, (done.stdout + done.stderr).splitlines()):
        if match is not None:
            key = int(match["line"]), _comparable(match["message"])
            columns.setdefault(key, []).append(int(match["column"]))
    return [_with_column(entry, columns) for entry in diagnostics]


def _with_column(entry: Diagnostic, columns: dict[tuple[int, str], list[int]]) -> Diagnostic:
    """Return the entry with the next column of its line and text."""
    known = columns.get((entry.line, _comparable(entry.message)))
    return replace(entry, column=known.pop(0)) if known else entry


def _comparable(message: str) -> str:
    return re.sub(r"\s+", " ", message.strip().removeprefix("'' : ")).strip()
