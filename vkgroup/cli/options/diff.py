"""The options of ``vkgroup diff``."""

from __future__ import annotations

import argparse

from vkgroup.cli.arguments import add_db
from vkgroup.cli.options.history import add_choice, add_threshold

SHOWN = 20
"""Default number of lines of each list."""

_NAMED = "a run's id or the beginning of it, latest, latest~1, …; or a folder or file with a run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = "Compare the cases, capabilities and speed of two runs, if both runs contain them."
    parser.epilog = (
        "Exit codes: 0 no new failure, 1 a new failure (a case, or a benchmark with wrong results), "
        "2 wrong usage or input. What is compared: docs/history.md."
    )
    parser.add_argument(
        "old", metavar="A", nargs="?", default="latest~1", help=f"{_NAMED} (default: latest~1)"
    )
    parser.add_argument("new", metavar="B", nargs="?", default="latest", help="the same (default: latest)")
    add_db(parser, "that contains the runs")
    add_choice(parser)
    add_threshold(parser)
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_limit,
        default=SHOWN,
        help=f"lines of each list (default: {SHOWN}; 0: all)",
    )
    parser.add_argument("--json", metavar="F", help="write all results as JSON (- is standard output)")


def _limit(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)
