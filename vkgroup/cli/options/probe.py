"""The options of ``vkgroup probe``."""

from __future__ import annotations

import argparse

from vkgroup.cli.arguments import add_db, add_device


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_device(parser, "probe")
    add_db(parser, "in which to record the results")
    parser.add_argument("--json", metavar="F", help="write all results as JSON (- is standard output)")
