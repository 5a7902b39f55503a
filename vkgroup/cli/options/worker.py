"""The options of ``vkgroup worker``."""

from __future__ import annotations

import argparse
import os


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "address",
        metavar="ADDRESS",
        help="address of the scheduler (tcp://host:8786), or the file that it wrote (.json)",
    )
    parser.add_argument(
        "--device",
        metavar="D",
        default=os.environ.get("VKGROUP_DEVICE") or "all",
        help="devices to offer (default: VKGROUP_DEVICE, else all): one, several separated by commas, "
        "or all: every GPU, or every software device if there is no GPU",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_positive, help="worker processes (default: one per core)"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number, at least 1")
    return int(text)
