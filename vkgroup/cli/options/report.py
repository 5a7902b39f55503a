"""The options of ``vkgroup report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup.cli.arguments import add_db
from vkgroup.cli.options.history import add_choice, add_threshold


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Show runs in one HTML file that needs no network: capabilities, a map of conformance, each failure"
        " by lane, findings of checks, charts of benchmarks, and the changes since the first run."
    )
    parser.epilog = (
        "RUN is the folder of a run (`vkgroup conform --out`), its results.jsonl (.xz too), what"
        " `vkgroup probe --json`, `vkgroup check --json` or `vkgroup bench --json` wrote, or a run in a"
        " database: its id or the beginning of it, latest, latest~1, …. Charts of benchmarks need"
        " pip install 'vkgroup[report]'. Contents of the report: docs/report.md."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="runs to show; two or more are compared")
    add_db(parser, "that contains the runs that are not paths")
    add_choice(parser)
    add_threshold(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="F",
        type=Path,
        default=Path("report.html"),
        help="the file to write (default: report.html)",
    )
