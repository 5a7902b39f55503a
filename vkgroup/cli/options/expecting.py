"""Options of ``vkgroup conform`` for continuous integration: what is expected, which part, how long."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vkgroup import choices
from vkgroup.cli.arguments import seconds
from vkgroup.errors import InvalidInput

# Types only: commands that do not need these packages start without them.
if TYPE_CHECKING:
    from vkgroup.conformance.shards import Shard


def add_expecting(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    for option, purpose in (
        ("--baseline", "files of expected failures, NAME,STATUS a line (deqp-runner's format)"),
        ("--skips", "files of regular expressions: cases to leave out"),
        ("--flakes", "files of regular expressions: cases that fail at times"),
    ):
        parser.add_argument(
            option, metavar="F", type=Path, nargs="+", action="extend", default=[], help=purpose
        )
    parser.add_argument(
        "--save-baseline", metavar="F", type=Path, help="write the failures found, or bring F up to date"
    )
    parser.add_argument(
        "--annotations",
        metavar="|".join(choices.ANNOTATIONS),
        choices=choices.ANNOTATIONS,
        help="what is unexpected, for GitHub (printed) or GitLab (a file in the results' folder)",
    )
    parser.add_argument(
        "--shard", metavar="I/N", type=_shard, help="judge only the I-th of N parts of the cases"
    )
    parser.add_argument(
        "--shuffle",
        metavar="N",
        type=int,
        nargs="?",
        const=True,
        help="judge in another order, of this seed (default: --seed's)",
    )
    parser.add_argument(
        "--time-limit",
        metavar="S",
        type=seconds,
        help="seconds the run may take: what is not reached is missing, and --resume goes on",
    )


def _shard(text: str) -> Shard:
    from vkgroup.conformance.shards import parse_shard  # help and completion do without

    try:
        return parse_shard(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
