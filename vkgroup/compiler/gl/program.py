"""Compile, link and lower the shaders of a GL-dialect program to SPIR-V for Vulkan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from vkgroup.compiler import glslang as base
from vkgroup.compiler.gl.coordinates import sizes_as_inputs
from vkgroup.compiler.gl.interface import GlInterface
from vkgroup.compiler.gl.limits import fill
from vkgroup.compiler.gl.locations import PlanError
from vkgroup.compiler.gl.lowering import lower
from vkgroup.compiler.gl.plan import plan
from vkgroup.compiler.gl.rules import (
    advise,
    check_counters,
    check_early_uses,
    check_limits,
    check_local_size,
    check_module,
    check_stages,
    link_error,
)
from vkgroup.compiler.gl.source import Facts, facts, mended
from vkgroup.compiler.gl.stage import GlStage
from vkgroup.compiler.includes import Dependencies, Includer, Inclusion
from vkgroup.compiler.optimizer import inline
from vkgroup.compiler.request import Request, failure
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
    glslang = base.opened_glslang()
    inclusions = [Inclusion(Includer(request.folder, request.include_paths)) for request in requests]
    dependencies = Dependencies()

    def work(longest: int) -> tuple[dict[str, Module], list[Facts]]:
        with ExitStack() as stack:
            return _Run(glslang, stack, longest).program(requests, inclusions)

    modules, shader_facts = with_deep_stack(work)
    for inclusion in inclusions:
        dependencies.present.update(inclusion.includer.dependencies.present)
        dependencies.absent |= inclusion.includer.dependencies.absent
    return Compiled(modules, tuple(shader_facts), dependencies)


class _Run:
    """Compilation of one program; objects that C code refers to exist until the stack is unwound."""

    def __init__(self, glslang: base.Glslang, stack: ExitStack, longest: int) -> None:
        self._glslang, self._front, self._ffi = glslang, glslang.front, glslang.ffi
        self._stack, self._longest = stack, longest
        self._references: list[Any] = []

    def program(
        self, requests: Sequence[Request], inclusions: Sequence[Inclusion]
    ) -> tuple[dict[str, Module], list[Facts]]:
        """Parse and link the shaders, and generate the module of each stage."""
        shader_facts = []
        entries, shaders = [], []
        for request, inclusion in zip(requests, inclusions, strict=True):
            entry, shader, facts_of_shader = self._shader(request, inclusion)
            entries.append(entry)
            shaders.append(shader)
            shader_facts.append(facts_of_shader)
        # The program refers to its shaders: it is created last and deleted first.
        program = self._stack.enter_context(
            self._ffi.gc(self._front.glslang_program_create(), self._front.glslang_program_delete)
        )
        for shader in shaders:
            self._front.glslang_program_add_shader(program, shader)
        if not self._front.glslang_program_link(program, entries[0].messages):
            log = self._ffi.string(self._front.glslang_program_get_info_log(program))
            reported = base.failure_of_log(requests[0], log).diagnostics
            diagnostics = [replace(entry, file="<program>") for entry in reported]
            raise LinkError("the program does not link", diagnostics)
        modules: dict[str, Module] = {}
        for request, entry in zip(requests, entries, strict=True):
            if request.stage.name not in modules:
                modules[request.stage.name] = base.generate(self._glslang, request, program, entry.stage)
        return modules, shader_facts

    def _shader(self, request: Request, inclusion: Inclusion) -> tuple[Any, Any, Facts]:
        """Preprocess a shader, apply the changes for glslang, and parse it."""
        entry, shader = self._created(request, base.with_include_directive(request), inclusion)
        preamble = self._ffi.new("char[]", base.preamble_of(request).encode())
        self._front.glslang_shader_set_preamble(shader, preamble)
        text = self._preprocessed(request, entry, shader, inclusion)
        changed = mended(text, request.stage.name)
        self._front.glslang_shader_set_preamble(shader, self._ffi.NULL)
        if changed != text:
            entry, shader = self._created(request, changed, inclusion)
            self._preprocessed(request, entry, shader, inclusion)
        if not self._front.glslang_shader_parse(shader, entry):
            raise base.failure_of_log(request, self._log(shader))
        return entry, shader, facts(text, request.name)

    def _created(self, request: Request, source: str, inclusion: Inclusion) -> tuple[Any, Any]:
        handle = self._ffi.new_handle(inclusion)
        code = self._ffi.new("char[]", source.encode())
        resource = self._ffi.new("resource *")
        self._ffi.memmove(resource, self._glslang.resource, self._ffi.sizeof("resource"))
        fill(resource, request.limits)
        entry = base.shader_input(self._glslang, request, code, handle)
        entry.resource = resource
        self._references += (handle, code, resource, entry)
        shader = self._stack.enter_context(
            self._ffi.gc(self._front.glslang_shader_create(entry), self._front.glslang_shader_delete)
        )
        self._front.glslang_shader_set_options(shader, base.OPTIONS["gl"])
        return entry, shader

    def _preprocessed(self, request: Request, entry: Any, shader: Any, inclusion: Inclusion) -> str:
        done = self._front.glslang_shader_preprocess(shader, entry)
        if inclusion.crash is not None:
            raise inclusion.crash
        if not done:
            raise base.failure_of_log(request, self._log(shader))
        text: bytes = self._ffi.string(self._front.glslang_shader_get_preprocessed_code(shader))
        if len(text) > self._longest:
            message = f"{len(text)} characters after preprocessing; the maximum is {self._longest}"
            raise failure(request.name, 0, message)
        return text.decode("utf-8", "replace")

    def _log(self, shader: Any) -> bytes:
        log: bytes = self._ffi.string(self._front.glslang_shader_get_info_log(shader))
        return log


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
    check_early_uses(compiled.facts)
    check_counters(compiled.facts)
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
    _check(compiled, planned.interface, requests)
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


def _check(compiled: Compiled, interface: GlInterface, requests: Sequence[Request]) -> None:
    if interface.local_size is not None and compiled.facts:
        check_local_size(compiled.facts, interface.local_size)
    check_limits(interface, compiled.modules, requests[0].limits)


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
