"""Tests of Vulkan subgroup operations: driver conformance, shader checking, benchmarks, and their runtime.

Names are imported when first used: importing vkgroup needs no Vulkan loader and no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkgroup.compiler import assemble, disassemble
    from vkgroup.compiler import compile_file as compile_file
    from vkgroup.compiler import compile_source as compile
    from vkgroup.device import Capabilities, DeviceInfo
    from vkgroup.dispatch import (
        AccelerationStructure,
        Boxes,
        Buffer,
        Device,
        DrawState,
        HitGroup,
        Image,
        Instance,
        Pipeline,
        RunResult,
        Triangles,
        Work,
    )
    from vkgroup.opening import devices
    from vkgroup.opening import open_device as open
    from vkgroup.sampler import Sampler
    from vkgroup.spirv import Module

__version__ = "0.1.0"

#: Where each public name lives: module and name in it.
_PUBLIC = {
    "AccelerationStructure": ("vkgroup.dispatch", "AccelerationStructure"),
    "Boxes": ("vkgroup.dispatch", "Boxes"),
    "Buffer": ("vkgroup.dispatch", "Buffer"),
    "Capabilities": ("vkgroup.device", "Capabilities"),
    "Device": ("vkgroup.dispatch", "Device"),
    "DeviceInfo": ("vkgroup.device", "DeviceInfo"),
    "DrawState": ("vkgroup.dispatch", "DrawState"),
    "HitGroup": ("vkgroup.dispatch", "HitGroup"),
    "Image": ("vkgroup.dispatch", "Image"),
    "Instance": ("vkgroup.dispatch", "Instance"),
    "Module": ("vkgroup.spirv", "Module"),
    "Pipeline": ("vkgroup.dispatch", "Pipeline"),
    "RunResult": ("vkgroup.dispatch", "RunResult"),
    "Sampler": ("vkgroup.sampler", "Sampler"),
    "Triangles": ("vkgroup.dispatch", "Triangles"),
    "Work": ("vkgroup.dispatch", "Work"),
    "assemble": ("vkgroup.compiler", "assemble"),
    "compile": ("vkgroup.compiler", "compile_source"),
    "compile_file": ("vkgroup.compiler", "compile_file"),
    "devices": ("vkgroup.opening", "devices"),
    "disassemble": ("vkgroup.compiler", "disassemble"),
    "errors": ("vkgroup.errors", ""),
    "gl": ("vkgroup.gl", ""),
    "interop": ("vkgroup.interop", ""),
    "kernels": ("vkgroup.kernels", ""),
    "open": ("vkgroup.opening", "open_device"),
    "testing": ("vkgroup.testing", ""),
}

__all__ = [
    "AccelerationStructure",
    "Boxes",
    "Buffer",
    "Capabilities",
    "Device",
    "DeviceInfo",
    "DrawState",
    "HitGroup",
    "Image",
    "Instance",
    "Module",
    "Pipeline",
    "RunResult",
    "Sampler",
    "Triangles",
    "Work",
    "assemble",
    "compile",
    "compile_file",
    "devices",
    "disassemble",
    "errors",
    "gl",
    "interop",
    "kernels",
    "open",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'vkgroup' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    found = importlib.import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
