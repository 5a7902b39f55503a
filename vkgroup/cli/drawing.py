"""Arguments of ``vkgroup run`` for fragment shaders: size, vertices, attachments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vkgroup.cli import pairs
from vkgroup.dispatch import Device, DrawState, RunResult
from vkgroup.spirv import Module


def given(arguments: argparse.Namespace) -> list[str]:
    """Return the draw options that are given on the command line."""
    defaults: dict[str, tuple[Any, Any]] = {
        "--vertex": (arguments.vertex, None),
        "--vertices": (arguments.vertices, []),
        "--count": (arguments.count, None),
        "--tessellation": (arguments.tessellation, None),
        "--patch-vertices": (arguments.patch_vertices, 3),
        "--geometry": (arguments.geometry, None),
        "--mesh": (arguments.mesh, None),
        "--task": (arguments.task, None),
        "--topology": (arguments.topology, None),
        "--color": (arguments.colors, []),
        "--depth": (arguments.depth, None),
        "--depth-compare": (arguments.depth_compare, "less"),
        "--samples": (arguments.samples, 1),
        "--sample-shading": (arguments.sample_shading, False),
        "--all-samples": (arguments.all_samples, False),
    }
    return [option for option, (value, default) in defaults.items() if value != default]


def draw(
    device: Device,
    module: Module,
    stages: Mapping[str, Any],
    arguments: argparse.Namespace,
    **options: Any,
) -> RunResult:
    """Draw with the options of the command line.

    Parameters
    ----------
    module : the fragment shader.
    stages : the other stages, as keyword arguments of `Device.draw`.
    **options : options that draws and dispatches share.
    """
    return device.draw(
        module,
        arguments.size,
        state=DrawState(
            topology=arguments.topology,
            patch_vertices=arguments.patch_vertices,
            depth_compare=arguments.depth_compare,
            samples=arguments.samples,
            sample_shading=arguments.sample_shading,
            front_face="clockwise" if arguments.dialect == "gl" else "counter_clockwise",
            resolve=not arguments.all_samples,
        ),
        **stages,
        groups=arguments.groups,
        vertices=_arrays(arguments.vertices, "--vertices"),
        count=arguments.count,
        colors={_key(name): _before(text) for name, text in pairs.once(arguments.colors, "--color").items()},
        depth=None if arguments.depth is None else _before(arguments.depth),
        **options,
    )


def _arrays(files: list[tuple[str, str]], option: str) -> dict[str | int, Any]:
    return {_key(name): pairs.read(Path(file)) for name, file in pairs.once(files, option).items()}


def _key(name: str) -> str | int:
    return int(name) if name.isdecimal() else name


def _before(text: str) -> Any:
    """Return the array of an .npy file, or the name of a format unchanged."""
    return pairs.read(Path(text)) if text.endswith(".npy") else text
