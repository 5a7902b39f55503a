"""Compiling and linking the shaders of a program for a device."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vkgroup.compiler.gl_interface import GlInterface, interface_of
from vkgroup.device.gl_limits import Limit, gl_limits
from vkgroup.dispatch import Device
from vkgroup.errors import CompileError, Diagnostic
from vkgroup.spirv import Module

Source = str | os.PathLike[str] | Module


def build(
    device: Device, shaders: Mapping[str, Sequence[Source]], options: Mapping[str, Any]
) -> tuple[dict[str, Module], GlInterface]:
    """Compile the shaders of each stage, and link them.

    Raises
    ------
    CompileError
        A shader does not compile, or the program does not link: its stages do not fit together, or it needs
        more than a limit of the device (OpenGL 4.2, 2.11.3).
    """
    if not shaders:
        raise link_error("the program has no shaders")
    if "compute" in shaders and len(shaders) > 1:
        others = ", ".join(sorted(shaders.keys() - {"compute"}))
        # ARB_compute_shader, 2.11.3 and "Errors".
        raise link_error(f"the program has compute shaders, and shaders of other stages: {others}")
    modules = {}
    for stage, sources in shaders.items():
        (source,) = sources
        modules[stage] = _compile(device, stage, source, options)
    interface = interface_of(next(iter(modules.values())))
    if interface is None:
        raise link_error("the module was not compiled in the GL dialect")
    over = over_limits(device, modules, interface)
    if over:
        raise link_error(*over)
    return modules, interface


def link_error(*messages: str) -> CompileError:
    """Make the error of a program that does not link."""
    found = [Diagnostic("error", "<program>", 0, 0, message) for message in messages]
    return CompileError("the program does not link", found)


def over_limits(device: Device, modules: Mapping[str, Module], interface: GlInterface) -> list[str]:
    """List the limits of the device that a program goes over, each with both numbers."""
    limits = gl_limits(device.capabilities)
    found = []
    for name, measure in _MEASURES.items():
        used, most = measure(interface), limits[name].number
        if used > most:
            found.append(f"{name} is {most}, and the program uses {used}")
    if "compute" in modules:
        shared = modules["compute"].reflection.workgroup_memory
        most = limits["MAX_COMPUTE_SHARED_MEMORY_SIZE"].number
        if shared > most:
            found.append(f"MAX_COMPUTE_SHARED_MEMORY_SIZE is {most}, and the shared variables take {shared}")
        found += _local_size(interface, limits)
    return found


def _local_size(interface: GlInterface, limits: Mapping[str, Limit]) -> list[str]:
    size = interface.local_size or (1, 1, 1)
    found = []
    most = limits["MAX_COMPUTE_WORK_GROUP_SIZE"].each
    if any(have > limit for have, limit in zip(size, most, strict=True)):
        found.append(f"MAX_COMPUTE_WORK_GROUP_SIZE is {most}, and the workgroup's size is {size}")
    invocations = limits["MAX_COMPUTE_WORK_GROUP_INVOCATIONS"].number
    if math.prod(size) > invocations:
        found.append(
            f"MAX_COMPUTE_WORK_GROUP_INVOCATIONS is {invocations}, and the workgroup has {math.prod(size)}"
        )
    return found


def _count(interface: GlInterface, kind: str) -> int:
    return sum(entry.length or 1 for entry in interface.resources if entry.kind == kind)


def _uniform_words(interface: GlInterface) -> int:
    blocks = sum(
        entry.size // 4 * (entry.length or 1)
        for entry in interface.resources
        if entry.kind == "uniform_block"
    )
    return blocks + _components(interface)


def _components(interface: GlInterface) -> int:
    return sum(uniform.components * (uniform.dtype.itemsize // 4) for uniform in interface.uniforms)


#: How much a program uses of what is limited. Vulkan's limits of a stage and a set are the same for all
#: stages, so those of compute shaders serve for each of them.
_MEASURES: Mapping[str, Callable[[GlInterface], int]] = {
    "MAX_COMPUTE_UNIFORM_BLOCKS": lambda interface: _count(interface, "uniform_block"),
    "MAX_COMPUTE_TEXTURE_IMAGE_UNITS": lambda interface: _count(interface, "sampler"),
    "MAX_COMPUTE_IMAGE_UNIFORMS": lambda interface: _count(interface, "image"),
    "MAX_COMPUTE_ATOMIC_COUNTER_BUFFERS": lambda interface: _count(interface, "atomic_counter_buffer"),
    "MAX_COMPUTE_ATOMIC_COUNTERS": lambda interface: sum(entry.length or 1 for entry in interface.counters),
    "MAX_COMPUTE_UNIFORM_COMPONENTS": _components,
    "MAX_COMBINED_COMPUTE_UNIFORM_COMPONENTS": _uniform_words,
}


def _compile(device: Device, stage: str, source: Source, options: Mapping[str, Any]) -> Module:
    if isinstance(source, Module):
        return source
    return device.compile(source, stage=stage, dialect="gl", **options)
