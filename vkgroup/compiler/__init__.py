"""Source to SPIR-V: GLSL and HLSL through glslang or shaderc, assembly through SPIRV-Tools."""

from __future__ import annotations

from vkgroup.choices import COMPILERS, DIALECTS
from vkgroup.compiler.front import CompileOptions, compile_file, compile_source, link
from vkgroup.compiler.gl.interface import GlInterface, interface_of
from vkgroup.compiler.optimizer import optimize
from vkgroup.compiler.request import Target
from vkgroup.compiler.tools import assemble, disassemble, validate

__all__ = [
    "COMPILERS",
    "DIALECTS",
    "CompileOptions",
    "GlInterface",
    "Target",
    "assemble",
    "compile_file",
    "compile_source",
    "disassemble",
    "interface_of",
    "link",
    "optimize",
    "validate",
]
