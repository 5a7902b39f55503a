"""Compile, link and lower the shaders of a GL-dialect program to SPIR-V for Vulkan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from vkgroup.compiler.gl.coordinates import sizes_as_inputs
from vkgroup.compiler.gl.lowering import lower
from vkgroup.compiler.gl.plan import plan
from vkgroup.compiler.gl.rules import (
    advise,
    check_declarations,
    check_limits,
    check_local_size,
    check_module,
    check_stages,
    link_error,
)
from vkgroup.compiler.gl.source import Facts, facts, mended
from vkgroup.compiler.gl.stage import GlStage, PlanError
from vkgroup.compiler.glslang import Compilation, with_include_directive
from vkgroup.compiler.includes import Dependencies, Includer, Inclusion
from vkgroup.compiler.optimizer import inline
from vkgroup.compiler.request import Request
from vkgroup.compiler.shaderc import compile_shaderc
from vkgroup.compiler.stack import with_deep_stack
from vkgroup.errors import CompileError, LinkError
from vkgroup.spirv import Module


@dataclass(frozen=True)
class Compiled:
    """Result of compiling a program with glslang."""

    modules: dict[str, Module]  # SPIR-V for OpenGL by stage
    facts: tuple[Facts, ...]  # facts about each shader, in order
    dependencies: Dependencies  # the files that were included


def compile_for_opengl(requests: Sequence[Request]) -> Compiled:
    """Compile and link the shaders of a program.

    Raises CompileError: a shader does not compile; one diagnostic for each message of glslang. Raises
    LinkError: the shaders of a stage do not link. Raises CompilerUnavailable: glslang is not installed.
    """
    inclusions = [Inclusion(Includer(request.folder, request.include_paths)) for request in requests]
    dependencies = Dependencies()

    def work(longest: int) -> tuple[dict[str, Module], list[Facts]]:
        with ExitStack() as stack:
            return _compile_and_link(Compilation(stack, longest), requests, inclusions)

    modules, shader_facts = with_deep_stack(work)
    for inclusion in inclusions:
        dependencies.present.update(inclusion.includer.dependencies.present)
        dependencies.absent |= inclusion.includer.dependencies.absent
    return Compiled(modules, tuple(shader_facts), dependencies)


def _compile_and_link(
    compilation: Compilation, requests: Sequence[Request], inclusions: Sequence[Inclusion]
) -> tuple[dict[str, Module], list[Facts]]:
    """Return the module of each stage, and the facts about each shader."""
    shader_facts, shaders = [], []
    for request, inclusion in zip(requests, inclusions, strict=True):
        shader = compilation.create(request, with_include_directive(request), inclusion)
        text = compilation.preprocess(request, shader, inclusion)
        changed = mended(text, request.stage.name)
        if changed != text:
            shader = compilation.create(request, changed, inclusion, macros=False)
            compilation.preprocess(request, shader, inclusion)
        compilation.parse(request, shader)
        shaders.append(shader)
        shader_facts.append(facts(text, request.name))
    try:
        program = compilation.link(requests[0], shaders)
    except CompileError as error:
        diagnostics = [replace(entry, file="<program>") for entry in error.diagnostics]
        raise LinkError("the program does not link", diagnostics) from None
    modules: dict[str, Module] = {}
    for request in requests:
        if request.stage.name not in modules:
            modules[request.stage.name] = compilation.generate(request, program)
    return modules, shader_facts


def build_program(requests: Sequence[Request], compiler: str) -> tuple[dict[str, Module], Dependencies]:
    """Return the modules of a program by stage, not validated, and the included files.

    Each module contains the interface of the program (`interface.interface_of`).

    Raises CompileError: a shader does not compile. Raises LinkError: the shaders do not link, or the program
    exceeds a limit.
    """
    try:
        return _build(requests, compiler)
    except LinkError as error:
        if len(requests) > 1:
            raise
        name = requests[0].name
        diagnostics = [replace(entry, file=name) for entry in error.diagnostics]
        raise LinkError(f"{name} does not link", diagnostics) from None


def _build(requests: Sequence[Request], compiler: str) -> tuple[dict[str, Module], Dependencies]:
    check_stages([request.stage.name for request in requests])
    try:
        compiled = compile_for_opengl(requests) if compiler == "glslang" else _by_shaderc(requests)
    except CompileError as error:
        raise advise(error) from None
    check_declarations(compiled.facts)
    for request in requests:
        check_module(compiled.modules[request.stage.name], request.name)
    stages = [
        _without_moved_parameters(GlStage(name, sizes_as_inputs(module), _bound(compiled, requests, name)))
        for name, module in compiled.modules.items()
    ]
    try:
        planned = plan(stages)
    except PlanError as error:
        raise link_error([str(message) for message in error.args]) from None
    if planned.interface.local_size is not None and compiled.facts:
        check_local_size(compiled.facts, planned.interface.local_size)
    check_limits(planned.interface, compiled.modules, requests[0].limits)
    return {stage.name: lower(stage, planned) for stage in stages}, compiled.dependencies


def _by_shaderc(requests: Sequence[Request]) -> Compiled:
    """Compile with shaderc, which does not link: one shader per stage."""
    modules: dict[str, Module] = {}
    dependencies = Dependencies()
    for request in requests:
        if request.stage.name in modules:
            raise link_error(
                [f"shaderc supports only one {request.stage.name} shader per program: use glslang"]
            )
        modules[request.stage.name], included = compile_shaderc(request)
        dependencies.present.update(included.present)
        dependencies.absent |= included.absent
    return Compiled(modules, (), dependencies)


def _without_moved_parameters(stage: GlStage) -> GlStage:
    """Return the stage with all functions inlined if a parameter points to a variable that moves."""
    if not stage.hands_moved_pointers:
        return stage
    return GlStage(stage.name, inline(stage.module), stage.bound)


def _bound(compiled: Compiled, requests: Sequence[Request], stage: str) -> frozenset[str] | None:
    """Return the names with an explicit binding in a stage; None if unknown."""
    if not compiled.facts:
        return None
    of_stage = [
        shader_facts.bound
        for shader_facts, request in zip(compiled.facts, requests, strict=True)
        if request.stage.name == stage
    ]
    return frozenset[str]().union(*of_stage)
