"""Compilation and linking of a GL-dialect program by glslang; runs in the compiler process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from vkgroup.base.errors import CompileError, LinkError
from vkgroup.compiler.gl_source import Facts, facts, mended
from vkgroup.compiler.glslang import GlslangCompilation, with_include_directive
from vkgroup.compiler.includes import Dependencies, Includer, Inclusion
from vkgroup.compiler.request import CompileRequest
from vkgroup.compiler.stack import with_deep_stack


@dataclass(frozen=True)
class Compiled:
    """Result of compiling a program with glslang."""

    modules: dict[str, bytes]  # words of SPIR-V for OpenGL by stage
    facts: tuple[Facts, ...]  # facts about each shader, in order
    dependencies: Dependencies  # the files that were included


def compile_for_opengl(requests: Sequence[CompileRequest]) -> Compiled:
    """Compile and link the shaders of a program.

    Raises CompileError: a shader does not compile; one diagnostic for each message of glslang. Raises
    LinkError: the shaders of a stage do not link. Raises CompilerUnavailable: glslang is not installed.
    """
    inclusions = [
        Inclusion(Includer(request.folder, request.include_paths, request.confined_to))
        for request in requests
    ]
    dependencies = Dependencies()

    def work(longest: int) -> tuple[dict[str, bytes], list[Facts]]:
        with ExitStack() as stack:
            return _compile_and_link(GlslangCompilation(stack, longest), requests, inclusions)

    modules, shader_facts = with_deep_stack(work)
    for inclusion in inclusions:
        dependencies.present.update(inclusion.includer.dependencies.present)
        dependencies.absent |= inclusion.includer.dependencies.absent
    return Compiled(modules, tuple(shader_facts), dependencies)


def _compile_and_link(
    compilation: GlslangCompilation, requests: Sequence[CompileRequest], inclusions: Sequence[Inclusion]
) -> tuple[dict[str, bytes], list[Facts]]:
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
    modules: dict[str, bytes] = {}
    for request in requests:
        if request.stage.name not in modules:
            modules[request.stage.name] = compilation.generate(request, program)
    return modules, shader_facts
