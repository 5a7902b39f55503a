"""Options of ``vkgroup conform`` for continuous integration: expected results, shards, time limits."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vkgroup import choices
from vkgroup.cli.arguments import seconds
from vkgroup.errors import InvalidInput

# Types only: commands that do not need these packages start without them.
if TYPE_CHECKING:
    from vkgroup.conformance.plan import Shard


def add_expecting(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    for option, purpose in (
        ("--baseline", "files of expected failures, one NAME,STATUS per line (format of deqp-runner)"),
        ("--skips", "files of regular expressions: cases to leave out"),
        ("--flakes", "files of regular expressions: flaky cases"),
    ):
        parser.add_argument(
            option, metavar="F", type=Path, nargs="+", action="extend", default=[], help=purpose
        )
    parser.add_argument(
        "--save-baseline", metavar="F", type=Path, help="write the failures to F, or update F"
    )
    parser.add_argument(
        "--annotations",
        metavar="|".join(choices.ANNOTATIONS),
        choices=choices.ANNOTATIONS,
        help="report unexpected results for GitHub (printed) or GitLab (a file in the results' folder)",
    )
    parser.add_argument(
        "--shard", metavar="I/N", type=_shard, help="run only the I-th of N parts of the cases"
    )
    parser.add_argument(
        "--shuffle",
        metavar="N",
        type=int,
        nargs="?",
        const=True,
        help="run in a random order with this seed (default: that of --seed)",
    )
    parser.add_argument(
        "--time-limit",
        metavar="S",
        type=seconds,
        help="time limit of the run in seconds; cases not reached are missing, and --resume continues",
    )


def _shard(text: str) -> Shard:
    from vkgroup.conformance.plan import parse_shard  # help and completion do without

    try:
        return parse_shard(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
