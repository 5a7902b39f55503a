"""The options of ``vkgroup report``."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Show runs in one HTML file, which needs no network: what devices can do, conformance as a map, each"
        " failure lane by lane, findings of checks, benchmarks as charts; and what changed from the first run"
        " to the others."
    )
    parser.epilog = (
        "RUN is the folder of a run (`vkgroup conform --out`), its results.jsonl (.xz too), or what"
        " `vkgroup probe --json`, `vkgroup check --json` or `vkgroup bench --json` wrote. Charts of"
        " benchmarks need pip install 'vkgroup[report]'. What is in the report: docs/report.md."
    )
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", type=Path, help="what to show; two or more are compared"
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="F",
        type=Path,
        default=Path("report.html"),
        help="the file to write (default: report.html)",
    )
