"""What ``vkgroup run`` takes for ray-generation shaders: a size, and the shaders that rays start."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vkgroup.cli import shaders
from vkgroup.dispatch import Device, HitGroup, RunResult
from vkgroup.spirv import Module

_HITS = ("closest_hit", "any_hit", "intersection")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of rays."""
    group = parser.add_argument_group(
        "ray-generation shaders",
        "--size W,H[,D] says how many run. --in SCENE=F.npy makes an acceleration structure of triangles (an "
        "array of shape (n, 3, 3)) or of boxes (n, 2, 3), which all have one hit group.",
    )
    for option, kind in (("--miss", "miss"), ("--callable", "callable")):
        group.add_argument(
            option,
            metavar="SHADER",
            action="append",
            default=[],
            type=Path,
            help=f"{kind} shader; again for the next index",
        )
    for stage in _HITS:
        words = stage.replace("_", "-")
        group.add_argument(f"--{words}", metavar="SHADER", type=Path, help=f"{words} shader")
    group.add_argument("--max-recursion", metavar="N", type=int, help="how deep rays start rays (default: 1)")


def given(arguments: argparse.Namespace) -> list[str]:
    """Return the options of rays that the command line has."""
    names = ("miss", "callable", *_HITS, "max_recursion")
    return [f"--{name.replace('_', '-')}" for name in names if vars(arguments)[name] not in (None, [])]


def wanted(arguments: argparse.Namespace) -> bool:
    """Whether the command line means a ray-generation shader: by its stage, name or options."""
    suffixes = [suffix for suffix in arguments.shader.suffixes if suffix not in (".glsl", ".hlsl")]
    by_name = arguments.stage is None and suffixes[-1:] == [".rgen"]
    return arguments.stage in ("raygen", "rgen") or by_name or bool(given(arguments))


def load_stages(arguments: argparse.Namespace, device: Device) -> tuple[Module, dict[str, Any]]:
    """Load the shader that the command line names, and those that its rays start.

    Returns
    -------
    The shader; the others as `Device.trace` takes them.
    """

    def one(file: Path, stage: str) -> Module:
        return shaders.load_stage(arguments, file, stage, device.target, device.capabilities)

    hits = {stage: one(file, stage) for stage in _HITS if (file := vars(arguments)[stage]) is not None}
    others: dict[str, Any] = {
        stage: [one(file, stage) for file in vars(arguments)[stage]] for stage in ("miss", "callable")
    }
    others["hit_groups"] = [HitGroup(**hits)] if hits else []
    return shaders.load(arguments, device.target, device.capabilities), others


def trace(
    device: Device, module: Module, stages: dict[str, Any], arguments: argparse.Namespace, **options: Any
) -> RunResult:
    """Trace as the command line says.

    Parameters
    ----------
    module, stages : of `load_stages`.
    **options : what rays and dispatches share.
    """
    return device.trace(module, arguments.size, max_recursion=arguments.max_recursion, **stages, **options)
