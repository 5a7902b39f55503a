"""Options of ``vkgroup run`` for ray-generation shaders: the shaders that rays start."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup import choices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of rays."""
    group = parser.add_argument_group(
        "ray-generation shaders",
        "--size W,H[,D] is the number of invocations. --in SCENE=F.npy creates an acceleration structure of "
        "triangles (an array of shape (n, 3, 3)) or of boxes (n, 2, 3), with one hit group.",
    )
    for option, kind in (("--miss", "miss"), ("--callable", "callable")):
        group.add_argument(
            option,
            metavar="SHADER",
            action="append",
            default=[],
            type=Path,
            help=f"{kind} shader; repeat the option for the next index",
        )
    for stage in choices.HITS:
        words = stage.replace("_", "-")
        group.add_argument(f"--{words}", metavar="SHADER", type=Path, help=f"{words} shader")
    group.add_argument(
        "--max-recursion", metavar="N", type=int, help="maximum recursion depth of rays (default: 1)"
    )
