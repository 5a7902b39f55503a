"""Options of ``vkgroup run`` for fragment shaders: size, vertices, attachments."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from vkgroup import choices
from vkgroup.cli.options import pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of draws."""
    group = parser.add_argument_group(
        "fragment shaders",
        "Without vertices, one triangle covers the image. --out NAME=F.npy writes the output NAME, "
        "--out depth=F.npy the depths.",
    )
    group.add_argument("--size", metavar="W,H", type=_size, help="size in pixels; for rays also W,H,D")
    group.add_argument(
        "--vertex", metavar="SHADER", type=Path, help="vertex shader (default: one that passes --vertices on)"
    )
    group.add_argument(
        "--vertices",
        metavar="NAME=F.npy",
        action="append",
        default=[],
        type=pairs.pair,
        help="values of an input of the vertex shader; without a vertex shader: position, and inputs of the "
        "fragment shader",
    )
    group.add_argument("--count", metavar="N", type=int, help="number of vertices to draw")
    group.add_argument(
        "--tessellation",
        metavar=("CONTROL", "EVALUATION"),
        nargs=2,
        type=Path,
        help="tessellation shaders; they receive patches",
    )
    group.add_argument(
        "--patch-vertices", metavar="N", type=int, default=3, help="vertices per patch (default: 3)"
    )
    group.add_argument("--geometry", metavar="SHADER", type=Path, help="geometry shader")
    group.add_argument(
        "--mesh", metavar="SHADER", type=Path, help="mesh shader; --groups gives the number of workgroups"
    )
    group.add_argument("--task", metavar="SHADER", type=Path, help="task shader before the mesh shader")
    group.add_argument(
        "--topology", choices=choices.TOPOLOGIES, help="default: triangles, or patches with --tessellation"
    )
    group.add_argument(
        "--color",
        dest="colors",
        metavar="NAME=FORMAT",
        action="append",
        default=[],
        type=pairs.pair,
        help="format of an output (rgba8, r32ui, …), or F.npy with its initial contents",
    )
    group.add_argument(
        "--depth", metavar="FORMAT", help="enable the depth test: d32f, d16, or F.npy with the initial depths"
    )
    group.add_argument("--depth-compare", choices=choices.COMPARISONS, default="less", help="default: less")
    group.add_argument("--samples", type=int, choices=choices.SAMPLES, default=1, help="samples per pixel")
    group.add_argument("--sample-shading", action="store_true", help="run the shader for each sample")
    group.add_argument("--all-samples", action="store_true", help="write every sample, without resolving")


def _size(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d+)[,x](\d+)(?:[,x](\d+))?", text)
    numbers = () if match is None else tuple(int(number) for number in match.groups() if number is not None)
    if 0 in numbers or not numbers:
        raise argparse.ArgumentTypeError(f"{text!r} is no width and height, both at least 1")
    return numbers
