"""The options of ``vkgroup conform``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup.cli.arguments import add_db, add_device, seconds
from vkgroup.cli.options.expecting import add_expecting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_device(parser, "judge")
    parser.add_argument(
        "--each",
        action="store_true",
        help="with --device all, or A,B: every device judges all cases, also where some are one model",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="judge on the workers of a Dask cluster: the address or file (.json) of its scheduler, or local",
    )
    parser.add_argument(
        "--filter",
        metavar="GLOB",
        action="append",
        default=[],
        help="cases whose names match; may be repeated",
    )
    parser.add_argument(
        "--caselist", metavar="F", type=Path, help="file of case names, ours or those of Khronos' suite"
    )
    parser.add_argument("--jobs", metavar="N", type=_positive, help="worker processes (default: one a core)")
    parser.add_argument("--seed", metavar="N", type=_natural, default=0, help="seed of all data (default: 0)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder for the results")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    parser.add_argument("--junit", metavar="F", type=Path, help="write JUnit XML too")
    add_db(parser, "to record the results in as they come")
    parser.add_argument(
        "--repro",
        metavar=("CASE", "DIR"),
        nargs=2,
        help="judge one case, and make a folder with all that it takes to repeat it anywhere",
    )
    parser.add_argument("--list", action="store_true", help="list the cases, without any device")
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        default=20.0,
        help="seconds a dispatch may take (default: 20)",
    )
    add_expecting(parser)


def _positive(text: str) -> int:
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def _natural(text: str) -> int:
    value = _whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value
