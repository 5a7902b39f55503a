"""Types of arguments that several commands take."""

from __future__ import annotations

import argparse


def add_device(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Declare ``--device``, where a command takes one."""
    parser.add_argument(
        "--device",
        metavar="D",
        help=f"device to {purpose} (default: the best one): a number or part of a name of `vkgroup devices`, "
        "gpu, reference:64, …: see `vkgroup --help`",
    )


def seconds(text: str) -> float:
    """Return a time-out; anything but a positive number of seconds is bad usage."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 < value < 86400:
        raise argparse.ArgumentTypeError("must be a positive number of seconds, less than a day")
    return value
