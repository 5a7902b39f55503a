"""Programs of several shaders: OpenGL's LinkProgram."""

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

    Several shaders of one stage become one: each function and variable of global scope is known to all that
    declare it, and exactly one shader defines ``main``. What the stages share by name (uniforms, blocks,
    outputs that are the next stage's inputs) has one place in all of them.

    Parameters
    ----------
    shaders : source, stage and name of each; the name is what diagnostics call it.
    dialect : ``"gl"``; sources of the other dialects are whole by themselves, see `compile_source`.
    defines, include_paths, target, optimize, debug, compiler, cache, lower_legacy, limits : see
        `compile_source`; they hold for all shaders.

    Returns
    -------
    The modules by stage. Each carries the record of the whole program: `interface.interface_of`.

    Raises
    ------
    CompileError
        A shader does not compile.
    LinkError
        Each compiles, and they make no program: no size of the workgroup or two, no ``main`` or two, compute
        shaders with others, stages that contradict each other, more of something than a limit allows.
    CompilerUnavailable
        The compiler is not installed; says what to install.
    """
    if dialect != "gl":
        raise CompileError(f"only sources of the dialect 'gl' are linked, not of {dialect!r}")
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
