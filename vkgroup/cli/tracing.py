"""Arguments of ``vkgroup run`` for ray-generation shaders: size, and shaders of the other ray stages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vkgroup.choices import HITS
from vkgroup.cli import shaders
from vkgroup.dispatch import Device, HitGroup, RunResult
from vkgroup.spirv import Module


def given(arguments: argparse.Namespace) -> list[str]:
    """Return the ray tracing options that are given on the command line."""
    names = ("miss", "callable", *HITS, "max_recursion")
    return [f"--{name.replace('_', '-')}" for name in names if vars(arguments)[name] not in (None, [])]


def wanted(arguments: argparse.Namespace) -> bool:
    """Return whether stage, file name or options select a ray-generation shader."""
    suffixes = [suffix for suffix in arguments.shader.suffixes if suffix not in (".glsl", ".hlsl")]
    by_name = arguments.stage is None and suffixes[-1:] == [".rgen"]
    return arguments.stage in ("raygen", "rgen") or by_name or bool(given(arguments))


def load_stages(arguments: argparse.Namespace, device: Device) -> tuple[Module, dict[str, Any]]:
    """Load the shader on the command line and the shaders of the other ray stages.

    Returns
    -------
    The shader, and the other stages as keyword arguments of `Device.trace`.
    """

    def load_file(file: Path, stage: str) -> Module:
        return shaders.load_stage(arguments, file, stage, device.target, device.capabilities)

    hits = {stage: load_file(file, stage) for stage in HITS if (file := vars(arguments)[stage]) is not None}
    others: dict[str, Any] = {
        stage: [load_file(file, stage) for file in vars(arguments)[stage]] for stage in ("miss", "callable")
    }
    others["hit_groups"] = [HitGroup(**hits)] if hits else []
    return shaders.load(arguments, device.target, device.capabilities), others


def trace(
    device: Device, module: Module, stages: dict[str, Any], arguments: argparse.Namespace, **options: Any
) -> RunResult:
    """Trace rays with the options of the command line.

    Parameters
    ----------
    module, stages : results of `load_stages`.
    **options : options that traces and dispatches share.
    """
    return device.trace(module, arguments.size, max_recursion=arguments.max_recursion, **stages, **options)
