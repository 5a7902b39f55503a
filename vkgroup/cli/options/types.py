"""Types of arguments, and options shared by several commands."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from vkgroup.base import choices
from vkgroup.cli.options.table import Option


def device(purpose: str) -> Option:
    """Return ``--device``."""
    return Option(
        "--device",
        "D",
        f"device to {purpose} (default: VKGROUP_DEVICE, else the best one): a number or part of a name "
        "from `vkgroup devices`, gpu, reference:64, …; see `vkgroup --help`",
        default=lambda: os.environ.get("VKGROUP_DEVICE") or None,
    )


def database(purpose: str) -> Option:
    """Return ``--db`` for a database of runs."""
    return Option(
        "--db",
        "F",
        f"database {purpose} (default: VKGROUP_DB, if it is set)",
        Path,
        lambda: Path(name) if (name := os.environ.get("VKGROUP_DB")) else None,
    )


def json(purpose: str = "write all results as JSON") -> Option:
    """Return ``--json``."""
    return Option("--json", "F", f"{purpose} (- is standard output)")


def threshold(purpose: str, default: float = choices.BENCH_THRESHOLD) -> Option:
    """Return ``--threshold``, where a command compares times or costs."""
    return Option("--threshold", "P", f"{purpose} (default: {100 * default:g})", percent, default)


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


_LARGEST = 128


def groups_or_none(text: str) -> tuple[int, ...]:
    """Return numbers of workgroups: one to three, none of them negative."""
    numbers = tuple(int(word) for word in text.split(","))
    if len(numbers) > 3 or min(numbers) < 0:
        raise argparse.ArgumentTypeError("one to three numbers, none of them negative")
    return numbers


def groups(text: str) -> tuple[int, ...]:
    """Return one to three positive numbers: ``8,8``."""
    numbers = tuple(positive(word) for word in text.split(","))
    if len(numbers) > 3:
        raise argparse.ArgumentTypeError("one to three numbers, as in 4 or 8,8")
    return numbers


def subgroup_sizes(text: str) -> tuple[int, ...]:
    """Return subgroup sizes: ``8,32``."""
    sizes = tuple(natural(word) for word in text.split(","))
    if any(not 1 <= size <= _LARGEST or size & (size - 1) for size in sizes):
        raise argparse.ArgumentTypeError(f"subgroup sizes are powers of two from 1 to {_LARGEST}")
    return sizes


def size(text: str) -> tuple[int, ...]:
    """Return two or three positive numbers: ``640,480`` or ``640x480``."""
    match = re.fullmatch(r"(\d+)[,x](\d+)(?:[,x](\d+))?", text)
    numbers = () if match is None else tuple(int(number) for number in match.groups() if number is not None)
    if 0 in numbers or not numbers:
        raise argparse.ArgumentTypeError(f"{text!r} is not W,H with both at least 1")
    return numbers
