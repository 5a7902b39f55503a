"""The options of ``vkgroup run``."""

from __future__ import annotations

import argparse

from vkgroup.cli.arguments import add_device, seconds
from vkgroup.cli.options import drawing, pairs, shaders, tracing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = (
        "B is a binding's name (with --dialect gl also an atomic counter's), its number in set 0, or "
        "SET.NUMBER. Example: vkgroup run scan.comp "
        "--groups 4 --in data=x.npy --out sums=uint[4]:sums.npy, or: vkgroup run x.frag --size 64,64 "
        "--out color=picture.npy"
    )
    parser.usage = (
        "%(prog)s SHADER --groups X,Y,Z | --size W,H [--in B=F.npy] [--out B=…:F.npy] [OPTION …]\n"
        "       %(prog)s FOLDER [--device D] [--timeout S]   (made by --repro: repeats it)"
    )
    shaders.add_arguments(parser)
    parser.add_argument(
        "--groups", metavar="X[,Y[,Z]]", type=pairs.groups, help="workgroups of a compute shader to run"
    )
    pairs.add_inputs(parser)
    parser.add_argument(
        "--out",
        dest="outputs",
        metavar="B=DTYPE[N]:F.npy",
        action="append",
        default=[],
        type=pairs.pair,
        help="bind zeros, and write (without :F.npy: print) the result; B=F.npy for a binding of --in",
    )
    add_device(parser, "run on")
    pairs.add_constants(parser)
    pairs.add_uniforms(parser)
    parser.add_argument("--subgroup-size", metavar="N", type=int, help="require this subgroup size")
    drawing.add_arguments(parser)
    tracing.add_arguments(parser)
    parser.add_argument("--full-subgroups", action="store_true", help="require full subgroups")
    parser.add_argument(
        "--repeat", metavar="N", type=int, default=1, help="number of runs, one after the other"
    )
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, default=10.0, help="time limit in seconds (default: 10)"
    )
