"""Programs of several shaders, linked like OpenGL's LinkProgram."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vkgroup.compiler.front import compile_program, request_of
from vkgroup.compiler.gl.limits import Limit, limits_of
from vkgroup.compiler.gl.rules import link_error
from vkgroup.compiler.target import Target
from vkgroup.errors import CompileError
from vkgroup.spirv import Module


def link(
    shaders: Sequence[tuple[str, str, str]],
    *,
    dialect: str = "gl",
    defines: Mapping[str, str | int] | None = None,
    include_paths: Sequence[str | os.PathLike[str]] = (),
    target: Target = Target.VULKAN_1_1,
    optimize: str | bool = False,
    debug: bool = False,
    compiler: str = "glslang",
    cache: bool = True,
    lower_legacy: bool = False,
    limits: Mapping[str, Limit] | None = None,
) -> dict[str, Module]:
    """Compile shaders and link them into a program (OpenGL 4.3, 7.3; ARB_compute_shader, 2.11.3).

    Several shaders of one stage are combined: they share the global functions and variables that they
    declare, and exactly one shader defines ``main``. Interfaces that stages share by name (uniforms, blocks,
    outputs that are the next stage's inputs) have the same binding or location in all stages.

    Parameters
    ----------
    shaders : source, stage and name of each shader; diagnostics use the name.
    dialect : ``"gl"``; sources of other dialects are not linked, see `compile_source`.
    defines, include_paths, target, optimize, debug, compiler, cache, lower_legacy, limits : see
        `compile_source`; they apply to all shaders.

    Returns
    -------
    The modules by stage. Each contains the interface of the whole program: `interface.interface_of`.

    Raises
    ------
    CompileError
        A shader does not compile.
    LinkError
        The shaders compile but do not link: no workgroup size or different ones, no ``main`` or several, a
        compute shader with other stages, conflicting declarations, or a limit is exceeded.
    CompilerUnavailable
        The compiler is not installed. The error names what to install.
    """
    if dialect != "gl":
        raise CompileError(
            f"dialect {dialect!r} cannot be linked; only dialect 'gl' can (other sources: compile_source)"
        )
    if not shaders:
        raise link_error(["the program has no shaders: give at least one"])
    checked = limits_of(limits)
    requests = [
        replace(
            request_of(source, stage, name, dialect, defines, include_paths, target, optimize, debug, "main"),
            lower_legacy=lower_legacy,
            limits=checked,
        )
        for source, stage, name in shaders
    ]
    return compile_program(requests, compiler, cache)
