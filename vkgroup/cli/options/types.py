"""Argument types and options shared by several commands."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from vkgroup.base import choices


def add_table(parser: argparse._ActionsContainer, rows: tuple[tuple[Any, ...], ...]) -> None:
    """Declare options that take one value.

    `rows`: option, metavar, type, help, and optionally the default value.
    """
    for option, metavar, type_, purpose, *default in rows:
        parser.add_argument(
            option, metavar=metavar, type=type_, help=purpose, default=default[0] if default else None
        )


def add_repeated(parser: argparse._ActionsContainer, rows: tuple[tuple[Any, ...], ...]) -> None:
    """Declare options that may be repeated; the values are stored in a list.

    `rows`: option, name of the list, metavar, type, help.
    """
    for option, name, metavar, type_, purpose in rows:
        parser.add_argument(
            option, dest=name, metavar=metavar, action="append", default=[], type=type_, help=purpose
        )


def add_device(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Declare ``--device``."""
    parser.add_argument(
        "--device",
        metavar="D",
        default=os.environ.get("VKGROUP_DEVICE") or None,
        help=f"device to {purpose} (default: VKGROUP_DEVICE, else the best one): a number or part of a name "
        "from `vkgroup devices`, gpu, reference:64, …; see `vkgroup --help`",
    )


def add_db(parser: argparse._ActionsContainer, purpose: str) -> None:
    """Declare ``--db`` for a database of runs."""
    parser.add_argument(
        "--db",
        metavar="F",
        type=Path,
        default=os.environ.get("VKGROUP_DB") or None,
        help=f"database {purpose} (default: VKGROUP_DB, if it is set)",
    )


def add_json(parser: argparse._ActionsContainer, purpose: str = "write all results as JSON") -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", metavar="F", help=f"{purpose} (- is standard output)")


def add_threshold(parser: argparse._ActionsContainer, purpose: str) -> None:
    """Declare ``--threshold``, where a command compares times."""
    parser.add_argument(
        "--threshold",
        metavar="P",
        type=percent,
        default=choices.BENCH_THRESHOLD,
        help=f"{purpose} (default: {100 * choices.BENCH_THRESHOLD:g})",
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def seconds(text: str) -> float:
    """Return a time limit in seconds; raise ArgumentTypeError unless it is positive and less than a day."""
    value = _number(text)
    if not 0 < value < 86400:
        raise argparse.ArgumentTypeError("must be a positive number of seconds, less than a day")
    return value


_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
"""Exponents of two by the letter of a size."""


def byte_count(text: str) -> int:
    """Return a size in bytes: ``512M``, ``8G``, ``1.5G`` or a number of bytes."""
    number = text.upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    value = _number(number.removesuffix(unit))
    if not 1 <= value * 2 ** _UNITS[unit] < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 512M or 8G")
    return int(value * 2 ** _UNITS[unit])


def percent(text: str) -> float:
    """Return a percentage as a fraction; raise ArgumentTypeError unless it is from 0 to below 1000."""
    value = _number(text.removesuffix("%"))
    if not 0 <= value < 1000:
        raise argparse.ArgumentTypeError("must be at least 0 and less than 1000 percent")
    return value / 100


def natural(text: str) -> int:
    """Return a nonnegative integer; raise ArgumentTypeError for other texts."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a nonnegative integer")
    return int(text)


def positive(text: str) -> int:
    """Return a positive integer; raise ArgumentTypeError for other texts."""
    number = natural(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def register_shifts(text: str) -> dict[str, int]:
    """Return shifts by class of registers: ``b=0,t=16``."""
    shifts: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name not in ("b", "t", "s", "u") or name in shifts or not number.isdecimal():
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form b=N,t=N,s=N,u=N")
        shifts[name] = int(number)
    return shifts


def pair(text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value
