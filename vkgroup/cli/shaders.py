"""A shader named on the command line, with the options that compile it: shared by commands."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vkgroup.compiler import Target, compile_file, link
from vkgroup.compiler.source import read
from vkgroup.errors import InvalidInput
from vkgroup.spirv import Module

# Types only: commands that do not need these packages start without them.
if TYPE_CHECKING:
    from vkgroup.device import Capabilities
    from vkgroup.device.gl_limits import Value

_TARGETS = {".".join(map(str, target.vulkan_version)): target for target in reversed(Target)}


def named_target(arguments: argparse.Namespace) -> Target:
    """The target that the command line names."""
    return _TARGETS[arguments.target]


def load(arguments: argparse.Namespace, target: Target, capabilities: Capabilities | None = None) -> Module:
    """The module that the command line names: compiled, assembled or read, and validated.

    Parameters
    ----------
    capabilities : those of the device that it is for; from them follow OpenGL's limits for ``--dialect gl``.
    """
    limits = None if arguments.dialect != "gl" or capabilities is None else _limits(capabilities)
    return compile_file(
        arguments.shader,
        stage=arguments.stage,
        dialect=arguments.dialect,
        entry_point=arguments.entry_point,
        limits=limits,
        **_options(arguments, target),
    )


def _limits(capabilities: Capabilities) -> dict[str, Value]:
    """OpenGL's limits on a device; compiling for none needs nothing of `vkgroup.device`."""
    from vkgroup.device.gl_limits import gl_values

    return gl_values(capabilities)


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
        modules = link(sources, limits=_limits(capabilities), **_options(arguments, target))
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
