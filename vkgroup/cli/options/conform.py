"""The options of ``vkgroup conform``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup.cli.arguments import add_db, add_device, seconds
from vkgroup.cli.options.expecting import add_expecting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_device(parser, "test")
    parser.add_argument(
        "--each",
        action="store_true",
        help="with --device all, or A,B: every device runs all cases, even if some are the same model",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run on the workers of a Dask cluster: the address or file (.json) of its scheduler, or local",
    )
    parser.add_argument(
        "--filter",
        metavar="GLOB",
        action="append",
        default=[],
        help="run the cases whose names match; may be repeated",
    )
    parser.add_argument(
        "--caselist", metavar="F", type=Path, help="file with names of cases, of vkgroup or of Khronos' suite"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_positive, help="worker processes (default: one per core)"
    )
    parser.add_argument("--seed", metavar="N", type=_natural, default=0, help="seed of all data (default: 0)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder for the results")
    parser.add_argument("--resume", action="store_true", help="continue the run in --out")
    parser.add_argument("--junit", metavar="F", type=Path, help="also write JUnit XML")
    add_db(parser, "in which to record each result")
    parser.add_argument(
        "--repro",
        metavar=("CASE", "DIR"),
        nargs=2,
        help="run one case, and write a folder that repeats it on any machine",
    )
    parser.add_argument("--list", action="store_true", help="list the cases; needs no device")
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        default=20.0,
        help="time limit of a dispatch in seconds (default: 20)",
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
