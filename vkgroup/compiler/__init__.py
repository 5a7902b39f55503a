"""Source to SPIR-V: GLSL and HLSL through glslang or shaderc, assembly through SPIRV-Tools.

Names are imported when first used, because the compiler process needs few of these modules.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkgroup.base.choices import COMPILERS, DIALECTS
    from vkgroup.compiler.front import CompileOptions, compile_file, compile_source, link
    from vkgroup.compiler.gl.interface import GlInterface, interface_of
    from vkgroup.compiler.optimizer import optimize
    from vkgroup.compiler.request import DEFAULT_TARGET, TargetEnvironment
    from vkgroup.compiler.tools import assemble, disassemble, validate

__all__ = [
    "COMPILERS",
    "DEFAULT_TARGET",
    "DIALECTS",
    "CompileOptions",
    "GlInterface",
    "TargetEnvironment",
    "assemble",
    "compile_file",
    "compile_source",
    "disassemble",
    "interface_of",
    "link",
    "optimize",
    "validate",
]

_MODULES = {
    "vkgroup.base.choices": "COMPILERS DIALECTS",
    "vkgroup.compiler.front": "CompileOptions compile_file compile_source link",
    "vkgroup.compiler.gl.interface": "GlInterface interface_of",
    "vkgroup.compiler.optimizer": "optimize",
    "vkgroup.compiler.request": "DEFAULT_TARGET TargetEnvironment",
    "vkgroup.compiler.tools": "assemble disassemble validate",
}

#: Module of each public name.
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'vkgroup.compiler' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_PUBLIC[name]), name)
    return value
