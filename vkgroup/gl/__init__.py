"""OpenGL's compute model on any device: programs, uniforms by name, binding points, errors.

It is the API of ARB_compute_shader for shaders compiled with ``dialect="gl"``; see `Context`.
"""

from __future__ import annotations

from vkgroup.device.gl_limits import Limit
from vkgroup.gl.context import Context
from vkgroup.gl.program import Block, Program, ProgramPipeline
from vkgroup.gl.tokens import GLError, InvalidEnum, InvalidOperation, InvalidValue
from vkgroup.gl.uniforms import Names

__all__ = [
    "Block",
    "Context",
    "GLError",
    "InvalidEnum",
    "InvalidOperation",
    "InvalidValue",
    "Limit",
    "Names",
    "Program",
    "ProgramPipeline",
]
