"""Compiling and linking the shaders of a program for a device."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vkgroup.compiler.front import link
from vkgroup.compiler.gl.interface import GlInterface, interface_of
from vkgroup.compiler.request import read
from vkgroup.device.gl_limits import gl_values
from vkgroup.dispatch import Device
from vkgroup.errors import LinkError
from vkgroup.spirv import Module

Source = str | os.PathLike[str] | Module


def build(
    device: Device, shaders: Mapping[str, Sequence[Source]], options: Mapping[str, Any]
) -> tuple[dict[str, Module], GlInterface]:
    """Compile the shaders of each stage, and link them, with the device's limits.

    Raises
    ------
    CompileError
        A shader does not compile, or (`LinkError`) the program does not link.
    """
    several = [(stage, source) for stage, sources in shaders.items() for source in sources]
    modules = {stage: source for stage, source in several if isinstance(source, Module)}
    if modules:
        if len(modules) != len(several):
            raise LinkError("Modules are linked already; give them alone, one for each stage.")
    else:
        given = {"target": device.target, "limits": gl_values(device.capabilities), **options}
        modules = link([_named(stage, source) for stage, source in several], **given)
    interface = interface_of(next(iter(modules.values())))
    if interface is None:
        raise LinkError("The module was not compiled in the dialect gl.")
    return modules, interface


def _named(stage: str, source: Source) -> tuple[str, str, str]:
    """Return a source's text, stage and name."""
    assert not isinstance(source, Module)
    if isinstance(source, os.PathLike):
        return read(Path(source)), stage, str(source)
    return source, stage, f"<{stage} shader>"
