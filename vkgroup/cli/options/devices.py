"""The options of ``vkgroup devices``."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--json", metavar="F", help="write the list as JSON (- is standard output)")
