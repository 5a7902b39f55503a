"""OpenGL rules for programs that glslang does not check, and advice for errors that it reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from vkgroup.base.errors import CompileError, Diagnostic, LinkError
from vkgroup.compiler.gl.interface import GlInterface
from vkgroup.compiler.gl_limits import Limits
from vkgroup.compiler.gl_source import Facts
from vkgroup.spirv import Module

#: Advice by pattern of glslang's message.
_ADVICE = tuple(
    (re.compile(pattern), advice)
    for pattern, advice in (
        (r"'local_size' :\s*too large", "this is the device's limit: declare a smaller workgroup"),
        (
            r"'local_size' :\s*cannot change previously set size",
            "all declarations of the workgroup size in a shader must be equal",
        ),
        (
            r"Contradictory local size|Initializers must match: gl_WorkGroupSize",
            "all compute shaders of a program must declare the same size",
        ),
        (
            r"'shared' :.*initializer",
            "shared variables cannot have initializers: assign in main(), then call barrier()",
        ),
        (
            r"'gl_(?:NumWorkGroups|WorkGroup(?:Size|ID)|LocalInvocation(?:ID|Index)|GlobalInvocationID)' :\s*"
            r"identifiers starting",
            "built-in variables of compute shaders cannot be redeclared: remove the declaration",
        ),
        (
            r"'(?:in|out)' :\s*global storage (?:in|out)put qualifier cannot be used in a compute shader|"
            r"'(?:in|out)put block' :\s*not supported in this stage: compute",
            "compute shaders have no user-defined inputs and outputs: use a uniform, an image or a buffer",
        ),
        (
            r"'location qualifier on input' :\s*not supported in this stage: compute",
            "compute shaders have no inputs with locations: remove the qualifier",
        ),
        (r"'shared' :\s*not supported in this stage", "only compute shaders have shared variables"),
        (
            r"required extension not requested: GL_ARB_compute_shader|"
            r"'gl_WorkGroupSize' :\s*not supported for this version",
            "write #version 430, or #extension GL_ARB_compute_shader : require",
        ),
        (
            r"'(?:memoryBarrierShared|groupMemoryBarrier)' :\s*no matching",
            "only compute shaders have this function: use memoryBarrier()",
        ),
        (r"'barrier' :\s*no matching", "only compute and tessellation control shaders have this function"),
        (
            r"Missing entry point|multiple entry points per stage",
            "exactly one of a stage's shaders must define main()",
        ),
        (r"'subroutine' :\s*not allowed", "Vulkan has no subroutines: use a uniform and a switch"),
        (r"No function definition \(body\) found", "define it in one of the stage's shaders"),
        (r"Multiple function bodies", "one shader of a stage defines a function, the others only declare it"),
    )
)


def advise(error: CompileError) -> CompileError:
    """Return the error with advice added to its messages."""
    diagnostics = []
    for entry in error.diagnostics:
        advice = [text for pattern, text in _ADVICE if pattern.search(entry.message)]
        diagnostics.append(replace(entry, message="; ".join([entry.message, *advice])))
    return type(error)(str(error.args[0]), diagnostics)


# Before linking ------------------------------------------------------------------------------------


def check_stages(stages: Sequence[str]) -> None:
    """Raise LinkError for a compute shader with other stages (ARB_compute_shader, 2.11.3)."""
    others = sorted(set(stages) - {"compute"})
    if "compute" in stages and others:
        raise link_error(
            [
                f"the program has a compute shader and shaders of other stages ({', '.join(others)}): link "
                "them as two programs"
            ]
        )


def check_declarations(shaders: Sequence[Facts]) -> None:
    """Raise CompileError for declarations that are missing.

    They are the workgroup size before gl_WorkGroupSize (GLSL 4.30, 7.1), and the bindings of atomic counters
    (GLSL 4.30, 4.4.6.1).
    """
    for shader in shaders:
        for tokens, message in (
            (
                shader.early_uses,
                "gl_WorkGroupSize has no value yet: declare layout(local_size_x = …) in; before this use",
            ),
            (
                shader.unbound_counters,
                "an atomic counter needs a binding: write layout(binding = …) uniform atomic_uint",
            ),
        ):
            if tokens:
                diagnostics = [
                    Diagnostic("error", token.file or shader.name, token.line, 0, message) for token in tokens
                ]
                raise CompileError(f"{shader.name} does not compile", diagnostics)


#: Message by OpenGL execution mode that Vulkan does not have.
_MODES = {
    "PixelCenterInteger": "Vulkan has pixel centers at half integers: remove pixel_center_integer",
    "OriginUpperLeft": "gl_FragCoord counts rows as the image does, from row 0: remove origin_upper_left",
}


def check_module(module: Module, name: str) -> None:
    """Raise CompileError for features that Vulkan does not have."""
    reflection = module.reflection
    messages = [
        _MODES[mode] for entry in reflection.entry_points for mode in entry.execution_modes if mode in _MODES
    ]
    if reflection.capabilities & {"SampledRect", "ImageRect"}:
        messages.append(
            "Vulkan has no rectangle textures: use sampler2D and texelFetch, or divide by textureSize"
        )
    if messages:
        raise CompileError(
            f"{name} does not compile", [Diagnostic("error", name, 0, 0, message) for message in messages]
        )


# After linking -------------------------------------------------------------------------------------


def check_local_size(shaders: Sequence[Facts], size: tuple[int, int, int]) -> None:
    """Check that all declarations of the workgroup size are equal (ARB_compute_shader, 4.4.1.4).

    A dimension that a declaration does not name has size 1.

    Raises CompileError: two declarations of one shader differ. Raises LinkError: the declarations of two
    shaders differ, or no shader has one.
    """
    needed = frozenset(axis for axis, extent in zip("xyz", size, strict=True) if extent != 1)
    for shader in shaders:
        named = frozenset[str]().union(*(entry.dimensions for entry in shader.local_sizes))
        for entry in shader.local_sizes:
            if (missing := named & needed - entry.dimensions) and not entry.is_specializable:
                axes = ", ".join(sorted(missing))
                message = (
                    f"this declaration omits {axes} of the workgroup size, which means 1, and another one in "
                    "this shader declares a larger size: all declarations must be equal"
                )
                diagnostic = Diagnostic("error", entry.file or shader.name, entry.line, 0, message)
                raise CompileError(f"{shader.name} does not compile", [diagnostic])
    declaring = [shader for shader in shaders if shader.local_sizes]
    if not declaring:
        raise link_error(
            ["no compute shader declares the workgroup size: add layout(local_size_x = …) in; to one"]
        )
    for shader in declaring:
        named = frozenset[str]().union(*(entry.dimensions for entry in shader.local_sizes))
        if missing := needed - named:
            raise link_error(
                [
                    f"{shader.name} omits {', '.join(sorted(missing))} of the workgroup size, which means 1, "
                    "and another shader declares a larger size: all declarations must be equal"
                ]
            )


def check_limits(interface: GlInterface, modules: Mapping[str, Module], limits: Limits) -> None:
    """Raise LinkError if a program exceeds the limits that the host gave."""
    given = dict(limits)
    over = [
        f"{name} is {given[name]}, but the program uses {used}: {advice}"
        for name, used, advice in _uses(interface, modules)
        if name in given and isinstance(limit := given[name], int) and used > limit
    ]
    if over:
        raise link_error(over)


def _uses(interface: GlInterface, modules: Mapping[str, Module]) -> Iterator[tuple[str, int, str]]:
    """Yield each limit's OpenGL name, the amount that the program uses, and advice for using less."""
    for stage in interface.stages:
        yield from _uses_of_stage(interface, stage)
    if "compute" in modules:
        yield (
            "MAX_COMPUTE_SHARED_MEMORY_SIZE",
            modules["compute"].reflection.workgroup_memory,
            "declare fewer or smaller shared variables",
        )
        yield (
            "MAX_COMPUTE_WORK_GROUP_INVOCATIONS",
            math.prod(interface.local_size or (1,)),
            "declare a smaller workgroup",
        )


#: Prefix of the limits of each stage's resources.
_PREFIXES = {
    "compute": "MAX_COMPUTE",
    "vertex": "MAX_VERTEX",
    "tessellation_control": "MAX_TESS_CONTROL",
    "tessellation_evaluation": "MAX_TESS_EVALUATION",
    "geometry": "MAX_GEOMETRY",
    "fragment": "MAX_FRAGMENT",
}


def _uses_of_stage(interface: GlInterface, stage: str) -> Iterator[tuple[str, int, str]]:
    def count(kind: str) -> int:
        return sum(
            entry.length or 1 for entry in interface.resources if entry.kind == kind and stage in entry.stages
        )

    prefix = _PREFIXES.get(stage, "")
    block = interface.default_block
    own = block is not None and stage in block.stages
    components = (
        sum(entry.components * entry.dtype.itemsize // 4 for entry in interface.uniforms) if own else 0
    )
    blocks = sum(
        entry.size // 4 * (entry.length or 1)
        for entry in interface.resources
        if entry.kind == "uniform_block" and stage in entry.stages
    )
    counted = {
        entry.gl_binding
        for entry in interface.resources
        if entry.kind == "atomic_counter_buffer" and stage in entry.stages
    }
    counters = sum(entry.length or 1 for entry in interface.counters if entry.binding in counted)
    texture_units = "MAX_TEXTURE_IMAGE_UNITS" if stage == "fragment" else f"{prefix}_TEXTURE_IMAGE_UNITS"
    yield texture_units, count("sampler"), "use fewer samplers"
    yield f"{prefix}_IMAGE_UNIFORMS", count("image"), "use fewer images"
    yield f"{prefix}_UNIFORM_BLOCKS", count("uniform_block"), "use fewer uniform blocks"
    yield f"{prefix}_SHADER_STORAGE_BLOCKS", count("storage_block"), "use fewer buffer blocks"
    yield f"{prefix}_ATOMIC_COUNTERS", counters, "use fewer atomic counters, or atomic functions on a buffer"
    yield (
        f"{prefix}_ATOMIC_COUNTER_BUFFERS",
        count("atomic_counter_buffer"),
        "put the counters at fewer binding points",
    )
    yield f"{prefix}_UNIFORM_COMPONENTS", components, "move uniforms into a uniform or buffer block"
    combined = prefix.replace("MAX_", "MAX_COMBINED_") + "_UNIFORM_COMPONENTS"
    yield combined, components + blocks, "move uniforms into a buffer block"


def link_error(messages: Sequence[str]) -> LinkError:
    """Return the LinkError of a program with one diagnostic per message."""
    diagnostics = [Diagnostic("error", "<program>", 0, 0, message) for message in messages]
    return LinkError("the program does not link", diagnostics)
