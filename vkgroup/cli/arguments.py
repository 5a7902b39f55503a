"""Argument types and options shared by several commands."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_device(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Declare ``--device``."""
    parser.add_argument(
        "--device",
        metavar="D",
        default=os.environ.get("VKGROUP_DEVICE") or None,
        help=f"device to {purpose} (default: VKGROUP_DEVICE, else the best one): a number or part of a name "
        "from `vkgroup devices`, gpu, reference:64, …; see `vkgroup --help`",
    )


def seconds(text: str) -> float:
    """Return a time limit in seconds; raise ArgumentTypeError unless it is positive and less than a day."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < 86400:
        raise argparse.ArgumentTypeError("must be a positive number of seconds, less than a day")
    return value


def add_db(parser: argparse.ArgumentParser | argparse._ArgumentGroup, purpose: str) -> None:
    """Add the option ``--db`` for a database of runs to a parser."""
    parser.add_argument(
        "--db",
        metavar="F",
        type=Path,
        default=os.environ.get("VKGROUP_DB") or None,
        help=f"database {purpose} (default: VKGROUP_DB, if it is set)",
    )


def percent(text: str) -> float:
    """Return a percentage as a fraction; raise ArgumentTypeError unless it is from 0 to below 1000."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= value < 1000:
        raise argparse.ArgumentTypeError("must be at least 0 and less than 1000 percent")
    return value / 100


def natural(text: str) -> int:
    """Return a nonnegative integer; raise ArgumentTypeError for other texts."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a nonnegative integer")
    return int(text)
