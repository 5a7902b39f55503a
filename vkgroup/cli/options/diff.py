"""The options of ``vkgroup diff``."""

from __future__ import annotations

import argparse

from vkgroup.cli.arguments import add_db
from vkgroup.cli.options.history import add_choice, add_threshold

SHOWN = 20
"""Lines of each list, unless told otherwise."""

_NAMED = "a run's id or the beginning of it, latest, latest~1, …; or a folder or file with a run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Compares two runs by case, by capability and by speed, as far as both have what can be compared."
    )
    parser.epilog = (
        "Exit codes: 0 nothing newly fails, 1 something does that did not (a case, a benchmark's results), "
        "2 bad usage or input. What is compared and how: docs/history.md."
    )
    parser.add_argument(
        "old", metavar="A", nargs="?", default="latest~1", help=f"{_NAMED} (default: latest~1)"
    )
    parser.add_argument("new", metavar="B", nargs="?", default="latest", help="the same (default: latest)")
    add_db(parser, "that has the runs")
    add_choice(parser)
    add_threshold(parser)
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_limit,
        default=SHOWN,
        help=f"lines of each list (default: {SHOWN}; 0: all)",
    )
    parser.add_argument("--json", metavar="F", help="write everything as JSON (- is standard output)")


def _limit(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)
