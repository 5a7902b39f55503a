"""``vkgroup report``: runs as one HTML file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vkgroup.errors import InvalidInput
from vkgroup.report.html import read, write_html


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


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    if arguments.out.is_dir():
        raise InvalidInput(f"-o {arguments.out} is a folder: name a file")
    inputs = read(arguments.runs)
    write_html(inputs, arguments.out)
    parts = (
        ("run", len(inputs.runs)),
        ("probe", len(inputs.probes)),
        ("check", len(inputs.checks)),
        ("benchmark file", len(inputs.benches)),
    )
    shown = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in parts if count)
    size = arguments.out.stat().st_size
    sys.stdout.write(f"{arguments.out}: {shown} ({size / 1e6:.1f} MB)\n")
    return 0
