"""The options of ``vkgroup history``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup import choices
from vkgroup.cli.arguments import add_db, percent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = "List the runs in a database, the latest first, or add, export or remove runs."
    add_db(parser, "to list")
    add_choice(parser)
    parser.add_argument("--json", metavar="F", help="write the list as JSON (- is standard output)")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    adding = actions.add_parser(
        "add", help="add recorded runs; runs that are already present are not changed"
    )
    adding.add_argument("file", metavar="F", type=Path, help="database; created if it does not exist")
    adding.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        type=Path,
        help="folder with runs, at any depth, or a file: results.jsonl, or JSON of probe or bench",
    )
    exporting = actions.add_parser("export", help="write a run as the files that its command writes")
    exporting.add_argument("file", metavar="F", type=Path, help="database")
    exporting.add_argument("run", metavar="RUN", help="id, the beginning of one, latest, latest~1, …")
    exporting.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder for the files")
    removing = actions.add_parser("remove", help="remove runs")
    removing.add_argument("file", metavar="F", type=Path, help="database")
    removing.add_argument("runs", metavar="RUN", nargs="+", help="id, or the beginning of one")


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose among runs."""
    parser.add_argument("--kind", choices=choices.RUN_KINDS, help="only runs of this command")
    parser.add_argument(
        "--device", metavar="D", default="", help="only runs of devices with this in the name"
    )


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """Declare ``--threshold``, where a command compares times."""
    parser.add_argument(
        "--threshold",
        metavar="P",
        type=percent,
        default=choices.BENCH_THRESHOLD,
        help="change of a time in per cent, beyond the intervals, from which it is reported (default:"
        f" {100 * choices.BENCH_THRESHOLD:g})",
    )
