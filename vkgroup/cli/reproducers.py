"""Reproducers of a run's new causes: made after the run, and named in the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from vkgroup.cli.conform_end import CAUSES_SHOWN
from vkgroup.cli.console import Console
from vkgroup.conformance import Run
from vkgroup.conformance.run import Setup
from vkgroup.device import DeviceInfo
from vkgroup.outputs.reproduction.automatic import Reproducer, make_reproducers
from vkgroup.outputs.reproduction.folder import PROGRAM
from vkgroup.record.causes import Cause


def write_reproducers(
    arguments: argparse.Namespace,
    device: DeviceInfo,
    causes: Sequence[Cause],
    run: Run,
    out: Path,
    console: Console,
) -> None:
    """Make and name the reproducers of the new causes that were printed, unless ``--no-repro`` is given."""
    new = [cause for cause in causes if not cause.known][:CAUSES_SHOWN]
    if not new or arguments.no_repro:
        return
    if arguments.cluster is not None:
        console.write_line("Reproducers are not made on a cluster: use vkgroup conform --repro CASE DIR.")
        return
    remarks = Console(stderr=True, highlight=False)

    def on_cause(cause: Cause) -> None:
        remarks.write_line(f"Searching for the smallest case of cause {causes.index(cause) + 1} …")

    setup = Setup(device, arguments.seed, arguments.timeout, compiler=arguments.compiler)
    made = make_reproducers(new, run.results, setup, run.capabilities, out, on_cause)
    for reproducer in made:
        console.write_line(_line(causes.index(reproducer.cause) + 1, reproducer))


def _line(number: int, reproducer: Reproducer) -> str:
    """Return the line on one reproducer."""
    remark = f" ({reproducer.remark})" if reproducer.remark else ""
    if reproducer.folder is None:
        return f"Cause {number} has no reproducer{remark}."
    lines = [f"Reproducer: {reproducer.folder} (cause {number}, {reproducer.case}){remark}"]
    if (reproducer.folder / PROGRAM).is_file():
        lines.append(f"  cc {reproducer.folder / PROGRAM} -lvulkan && ./a.out")
    return "\n".join(lines)
