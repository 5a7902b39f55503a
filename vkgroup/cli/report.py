"""``vkgroup report``: write runs as one HTML file."""

from __future__ import annotations

import argparse
import sys

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.history import Runs
from vkgroup.cli.progress import working
from vkgroup.outputs.report import read, write_html


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    if arguments.out.is_dir():
        raise InvalidInput(f"-o {arguments.out} is a folder; give the name of a file")
    with Runs(arguments) as runs, working("making the report"):
        inputs = read([runs.named(name) for name in arguments.runs])
        write_html(inputs, arguments.out, threshold=arguments.threshold)
    parts = (
        ("run", len(inputs.runs)),
        ("probe", len(inputs.probes)),
        ("check", len(inputs.checks)),
        ("cost", len(inputs.costs)),
        ("benchmark file", len(inputs.benches)),
    )
    shown = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in parts if count)
    size = arguments.out.stat().st_size
    sys.stdout.write(f"{arguments.out}: {shown} ({size / 1e6:.1f} MB)\n")
    return 0
