"""Loading of shaders named on the command line, with their compiler options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vkgroup.base.choices import SOURCE_DIALECTS
from vkgroup.base.errors import InvalidInput
from vkgroup.compiler import DEFAULT_TARGET, TargetEnvironment, compile_file, link
from vkgroup.compiler.request import read
from vkgroup.spirv import Module, set_local_size

# Types only, because some commands do not need these packages at run time.
if TYPE_CHECKING:
    from vkgroup.device import Capabilities
    from vkgroup.device.gl_limits import Value


def load(
    arguments: argparse.Namespace,
    default_target: TargetEnvironment = DEFAULT_TARGET,
    capabilities: Capabilities | None = None,
) -> Module:
    """Return the validated module of the shader on the command line.

    `default_target`: the target of a source without ``--target``.
    `capabilities`: capabilities of the device; they determine OpenGL's limits for ``--dialect gl``.
    """
    dialect = arguments.dialect or SOURCE_DIALECTS.get(arguments.shader.suffix, "vulkan")
    is_glsl = dialect in ("vulkan", "gl") and arguments.shader.suffix not in (".spv", ".spvasm")
    if is_glsl and arguments.entry_point != "main" and not vars(arguments).get("is_other_stage"):
        raise InvalidInput(f"--entry-point {arguments.entry_point}: the entry point of GLSL is always main.")
    limits = None if arguments.dialect != "gl" or capabilities is None else _limits(capabilities)
    module = compile_file(
        arguments.shader,
        stage=arguments.stage,
        dialect=arguments.dialect,
        entry_point=arguments.entry_point,
        limits=limits,
        **_options(arguments, default_target),
    )
    given = vars(arguments).get("push") or vars(arguments).get("configured_push")
    is_hlsl = arguments.shader.suffix == ".hlsl" and not module.reflection.push_constants
    if given and is_hlsl and "vk::push_constant" in read(arguments.shader):
        raise InvalidInput(
            f"{arguments.shader}: glslang ignores [[vk::push_constant]] of a structure. Write"
            " [[vk::push_constant]] ConstantBuffer<TYPE> NAME; or give --compiler slang or --compiler dxc."
        )
    if arguments.local_size is None:
        return module
    # The entry point of a SPIR-V module may have another name than the default of --entry-point.
    names = {entry.name for entry in module.reflection.entry_points}
    name = arguments.entry_point if arguments.entry_point in names else None
    return set_local_size(module, arguments.local_size, name)


def _limits(capabilities: Capabilities) -> dict[str, Value]:
    """Return OpenGL's limits on a device; `vkgroup.device` is imported only here."""
    from vkgroup.device.gl_limits import gl_values

    return gl_values(capabilities)


def load_stage(
    arguments: argparse.Namespace,
    file: Path,
    stage: str,
    default_target: TargetEnvironment,
    capabilities: Capabilities,
) -> Module:
    """Return the module of another shader, with the options of the main shader."""
    given = vars(arguments) | {"shader": file, "stage": stage, "local_size": None, "is_other_stage": True}
    return load(argparse.Namespace(**given), default_target, capabilities)


def load_stages(
    arguments: argparse.Namespace, default_target: TargetEnvironment, capabilities: Capabilities
) -> tuple[Module, dict[str, Any]]:
    """Load the shader on the command line and the other stages of the draw.

    In the dialect gl, vertex and fragment shader are linked, because they share uniforms.

    Returns the shader, and the other stages as keyword arguments of `Device.draw`.
    """

    def load_file(file: Path | None, stage: str) -> Module | None:
        if file is None:
            return None
        return load_stage(arguments, file, stage, default_target, capabilities)

    others = any((arguments.tessellation, arguments.geometry, arguments.mesh, arguments.task))
    if arguments.dialect == "gl" and others:
        raise InvalidInput("--dialect gl supports only vertex and fragment shaders; omit the other stages.")
    if arguments.dialect == "gl" and arguments.vertex is not None:
        files = {"fragment": arguments.shader, "vertex": arguments.vertex}
        sources = [(read(file), stage, str(file)) for stage, file in files.items()]
        modules = link(sources, limits=_limits(capabilities), **_options(arguments, default_target))
        return modules["fragment"], {"vertex": modules["vertex"]}
    stages = ("tessellation_control", "tessellation_evaluation")
    pair = arguments.tessellation and tuple(map(load_file, arguments.tessellation, stages))
    modules_by_stage: dict[str, Any] = {
        stage: load_file(vars(arguments)[stage], stage) for stage in ("vertex", "geometry", "mesh", "task")
    }
    modules_by_stage["tessellation"] = pair
    return load(arguments, default_target, capabilities), modules_by_stage


def _options(arguments: argparse.Namespace, default_target: TargetEnvironment) -> dict[str, Any]:
    """Return the options that compiling and linking share."""
    return {
        "defines": dict(define(text) for text in arguments.defines),
        "include_paths": arguments.include_paths,
        "target": vars(arguments).get("target"),  # `vkgroup run` has no such option
        "default_target": default_target,
        "optimize": arguments.optimize or False,
        "debug": arguments.debug,
        "compiler": arguments.compiler,
        "lower_legacy": arguments.lower_legacy,
        "register_shifts": arguments.register_shift,
        "robustness": arguments.robustness != "off",
        "workgroup_zeros": arguments.workgroup_zeros != "off",
    }


def define(text: str) -> tuple[str, str]:
    """Return name (with the parameters of the macro) and value of a definition; the default value is 1."""
    name, equals, value = text.partition("=")
    return name, value if equals else "1"
