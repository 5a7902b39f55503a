"""The options of ``vkgroup report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup.cli.arguments import add_db
from vkgroup.cli.options.history import add_choice, add_threshold


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Show runs in one HTML file, which needs no network: what devices can do, conformance as a map, each"
        " failure lane by lane, findings of checks, benchmarks as charts; and what changed from the first run"
        " to the others."
    )
    parser.epilog = (
        "RUN is the folder of a run (`vkgroup conform --out`), its results.jsonl (.xz too), what"
        " `vkgroup probe --json`, `vkgroup check --json` or `vkgroup bench --json` wrote, or a run in a"
        " database: its id or the beginning of it, latest, latest~1, …. Charts of benchmarks need"
        " pip install 'vkgroup[report]'. What is in the report: docs/report.md."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="what to show; two or more are compared")
    add_db(parser, "that has the runs which are no paths")
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
