"""Tests of Vulkan subgroup operations: driver conformance, shader checking, benchmarks, and their runtime.

Names are imported when first used: importing vkgroup needs no Vulkan loader and no compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkgroup.base.sampler import Sampler
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
    from vkgroup.spirv import Module
    from vkgroup.workers.opening import devices
    from vkgroup.workers.opening import open_device as open

__version__ = "0.1.0"

_DISPATCH = """
    AccelerationStructure Boxes Buffer Device DrawState HitGroup Image Instance Pipeline RunResult Triangles
    Work
"""

#: Module and attribute of each public name; submodules have no attribute.
_PUBLIC = {
    **{name: ("vkgroup.dispatch", name) for name in _DISPATCH.split()},
    **{name: (f"vkgroup.{name}", "") for name in ("errors", "gl", "interop", "kernels", "testing")},
    "Capabilities": ("vkgroup.device", "Capabilities"),
    "DeviceInfo": ("vkgroup.device", "DeviceInfo"),
    "Module": ("vkgroup.spirv", "Module"),
    "Sampler": ("vkgroup.base.sampler", "Sampler"),
    "assemble": ("vkgroup.compiler", "assemble"),
    "compile": ("vkgroup.compiler", "compile_source"),
    "compile_file": ("vkgroup.compiler", "compile_file"),
    "devices": ("vkgroup.workers.opening", "devices"),
    "disassemble": ("vkgroup.compiler", "disassemble"),
    "open": ("vkgroup.workers.opening", "open_device"),
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
    path, attribute = _PUBLIC[name]
    module = importlib.import_module(path)
    value = getattr(module, attribute) if attribute else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
