"""Compile, link and lower the shaders of a GL-dialect program to SPIR-V for Vulkan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vkgroup.base.errors import CompileError, LinkError
from vkgroup.compiler.front_ends import front_end
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
from vkgroup.compiler.gl.stage import GlStage, PlanError
from vkgroup.compiler.gl_compilation import Compiled
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.isolated import link_isolated
from vkgroup.compiler.optimizer import inline
from vkgroup.compiler.request import CompileRequest
from vkgroup.spirv import Module


def build_program(
    requests: Sequence[CompileRequest], compiler: str
) -> tuple[dict[str, Module], Dependencies]:
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


def _build(requests: Sequence[CompileRequest], compiler: str) -> tuple[dict[str, Module], Dependencies]:
    check_stages([request.stage.name for request in requests])
    try:
        compiled = _by_shaderc(requests) if compiler == "shaderc" else link_isolated(requests)
    except CompileError as error:
        raise advise(error) from None
    check_declarations(compiled.facts)
    modules = {name: Module.from_bytes(words) for name, words in compiled.modules.items()}
    for request in requests:
        check_module(modules[request.stage.name], request.name)
    stages = [
        _without_moved_parameters(GlStage(name, sizes_as_inputs(module), _bound(compiled, requests, name)))
        for name, module in modules.items()
    ]
    try:
        planned = plan(stages)
    except PlanError as error:
        raise link_error([str(message) for message in error.args]) from None
    if planned.interface.local_size is not None and compiled.facts:
        check_local_size(compiled.facts, planned.interface.local_size)
    check_limits(planned.interface, modules, requests[0].limits)
    return {stage.name: lower(stage, planned) for stage in stages}, compiled.dependencies


def _by_shaderc(requests: Sequence[CompileRequest]) -> Compiled:
    """Compile with shaderc, which does not link: one shader per stage."""
    modules: dict[str, bytes] = {}
    dependencies = Dependencies()
    for request in requests:
        if request.stage.name in modules:
            raise link_error(
                [f"shaderc supports only one {request.stage.name} shader per program: use glslang"]
            )
        module, included = front_end("shaderc", "gl").compile(request)
        modules[request.stage.name] = module.to_bytes()
        dependencies.present.update(included.present)
        dependencies.absent |= included.absent
    return Compiled(modules, (), dependencies)


def _without_moved_parameters(stage: GlStage) -> GlStage:
    """Return the stage with all functions inlined if a parameter points to a variable that moves."""
    if not stage.hands_moved_pointers:
        return stage
    return GlStage(stage.name, inline(stage.module), stage.bound)


def _bound(compiled: Compiled, requests: Sequence[CompileRequest], stage: str) -> frozenset[str] | None:
    """Return the names with an explicit binding in a stage; None if unknown."""
    if not compiled.facts:
        return None
    of_stage = [
        shader_facts.bound
        for shader_facts, request in zip(compiled.facts, requests, strict=True)
        if request.stage.name == stage
    ]
    return frozenset[str]().union(*of_stage)
