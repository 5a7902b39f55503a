"""Choice between libshaderc, which runs in the compiler process, and ``glslc``."""

from __future__ import annotations

from functools import cache

from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.isolated import compile_isolated, has_libshaderc
from vkgroup.compiler.request import Request
from vkgroup.compiler.shaderc import compile_by_executable, executable_identity
from vkgroup.spirv import Module


@cache
def _has_library() -> bool:
    return has_libshaderc()


def shaderc_identity() -> str | None:
    """Return an identifier of the installed shaderc build; None if unknown (a system's library)."""
    return None if _has_library() else executable_identity()


def compile_shaderc(request: Request) -> tuple[Module, Dependencies]:
    """Compile with the library if there is one, otherwise with ``glslc``; see `compile_by_library`.

    Raises CompileError: the source does not compile. Raises CompilerUnavailable: neither the library nor the
    executable is installed. The error names what to install.
    """
    if _has_library():
        return compile_isolated("shaderc", request)
    words, dependencies = compile_by_executable(request)
    return Module.from_bytes(words), dependencies
