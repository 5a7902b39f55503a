"""A shader named on the command line, with the options that compile it: shared by commands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vkgroup.compiler import COMPILERS, DIALECTS, Target, compile_file, link
from vkgroup.compiler.optimizer import LEVELS
from vkgroup.compiler.source import read
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_values
from vkgroup.errors import InvalidInput
from vkgroup.spirv import STAGE_NAMES, Module

_TARGETS = {".".join(map(str, target.vulkan_version)): target for target in reversed(Target)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shader and the options that compile it."""
    parser.add_argument(
        "shader",
        metavar="SHADER",
        type=Path,
        help="GLSL or HLSL, the suffix telling its stage (.comp, .vert, .comp.glsl, …), or .spv, .spvasm",
    )
    parser.add_argument(
        "--stage", metavar="S", choices=STAGE_NAMES, help="the stage, where the suffix does not tell it"
    )
    parser.add_argument("--dialect", choices=DIALECTS, help="default: hlsl for .hlsl, vulkan for the rest")
    parser.add_argument(
        "-D", dest="defines", metavar="NAME[=V]", action="append", default=[], help="define a macro (as 1)"
    )
    parser.add_argument(
        "-I", dest="include_paths", metavar="DIR", action="append", default=[], help="look here for #include"
    )
    parser.add_argument("--entry-point", metavar="NAME", default="main", help="default: main")
    parser.add_argument(
        "--compiler", choices=COMPILERS, default=COMPILERS[0], help=f"default: {COMPILERS[0]}"
    )
    parser.add_argument("--optimize", choices=LEVELS, help="optimise with SPIRV-Tools")
    parser.add_argument(
        "--lower-legacy",
        action="store_true",
        help="replace SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote by SPIR-V 1.3's group instructions",
    )
    parser.add_argument("--debug", action="store_true", help="keep line numbers and the source")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the target, where no device decides it."""
    parser.add_argument(
        "--target", choices=sorted(_TARGETS), default="1.1", help="Vulkan version (default: 1.1)"
    )


def named_target(arguments: argparse.Namespace) -> Target:
    """The target that the command line names."""
    return _TARGETS[arguments.target]


def load(arguments: argparse.Namespace, target: Target, capabilities: Capabilities | None = None) -> Module:
    """The module that the command line names: compiled, assembled or read, and validated.

    Parameters
    ----------
    capabilities : those of the device that it is for; from them follow OpenGL's limits for ``--dialect gl``.
    """
    limits = gl_values(capabilities) if arguments.dialect == "gl" and capabilities is not None else None
    return compile_file(
        arguments.shader,
        stage=arguments.stage,
        dialect=arguments.dialect,
        entry_point=arguments.entry_point,
        limits=limits,
        **_options(arguments, target),
    )


def load_stage(
    arguments: argparse.Namespace, file: Path, stage: str, target: Target, capabilities: Capabilities
) -> Module:
    """Load another shader, with the options of the one that the command line names."""
    given = vars(arguments) | {"shader": file, "stage": stage}
    return load(argparse.Namespace(**given), target, capabilities)


def load_stages(
    arguments: argparse.Namespace, target: Target, capabilities: Capabilities
) -> tuple[Module, dict[str, Any]]:
    """Load the shader that the command line names, and those that it is to be drawn with.

    In the dialect gl a vertex and a fragment shader are linked: they share uniforms.

    Returns
    -------
    The shader; the others as `Device.draw` takes them.
    """

    def one(file: Path | None, stage: str) -> Module | None:
        if file is None:
            return None
        return load_stage(arguments, file, stage, target, capabilities)

    others = any((arguments.tessellation, arguments.geometry, arguments.mesh, arguments.task))
    if arguments.dialect == "gl" and others:
        raise InvalidInput(
            "--dialect gl draws with a vertex and a fragment shader; leave the other stages out."
        )
    if arguments.dialect == "gl" and arguments.vertex is not None:
        files = {"fragment": arguments.shader, "vertex": arguments.vertex}
        sources = [(read(file), stage, str(file)) for stage, file in files.items()]
        modules = link(sources, limits=gl_values(capabilities), **_options(arguments, target))
        return modules["fragment"], {"vertex": modules["vertex"]}
    stages = ("tessellation_control", "tessellation_evaluation")
    pair = arguments.tessellation and tuple(map(one, arguments.tessellation, stages))
    found: dict[str, Any] = {
        stage: one(vars(arguments)[stage], stage) for stage in ("vertex", "geometry", "mesh", "task")
    }
    found["tessellation"] = pair
    return load(arguments, target, capabilities), found


def _options(arguments: argparse.Namespace, target: Target) -> dict[str, Any]:
    """The options that compiling one shader and linking several have in common."""
    return {
        "defines": dict(define(text) for text in arguments.defines),
        "include_paths": arguments.include_paths,
        "target": target,
        "optimize": arguments.optimize or False,
        "debug": arguments.debug,
        "compiler": arguments.compiler,
        "lower_legacy": arguments.lower_legacy,
    }


def define(text: str) -> tuple[str, str]:
    """Return the name and the value of a macro."""
    name, equals, value = text.partition("=")
    return name, value if equals else "1"
