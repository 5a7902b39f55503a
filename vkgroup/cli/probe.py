"""``vkgroup probe``: print declared properties of a device and observations of experiments."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from rich.table import Table
from rich.text import Text

import vkgroup
from vkgroup.cli.console import Console
from vkgroup.cli.output import people, write_json
from vkgroup.errors import InternalError
from vkgroup.probe import EXPERIMENTS, Failed, InternalFailure, Probe, probe
from vkgroup.probe.declared import NO, declared, opengl

_STYLES = {
    "observed": "",
    "not_supported": "dim",
    "not_run": "yellow",
    "failed": "bold red",
    "internal_error": "bold yellow",
}

_WIDTH = 100
"""Width of output that does not go to a terminal, in columns."""


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return 1 if the device lacks a required minimum, fails or is lost, else 0.

    InternalError: an experiment failed by an error of vkgroup or the host.
    """
    stream = people(arguments.json)
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH)
    source = None if arguments.json in (None, "-") else Path(arguments.json)
    with ExitStack() as stack:
        recording = None
        if arguments.db is not None:
            # Imported here, because databases import the suite, which this command does not need otherwise.
            from vkgroup.results.history import Recording, recorded

            recording = stack.enter_context(Recording(arguments.db, source))
        result = probe(stack.enter_context(vkgroup.open(arguments.device)))
        # Write everything before the device is closed, because closing a lost device may fail.
        _print(result, console)
        data = result.to_json()
        write_json(data, arguments.json)
        if recording is not None:
            recording.finish(recorded(data))
    if result.interrupted is not None:
        result.interrupted.add_note("partial results are above: run the command again for all of them")
        raise result.interrupted
    if errors := [n for n, outcome in result.outcomes.items() if isinstance(outcome, InternalFailure)]:
        raise InternalError(
            f"Internal error in {', '.join(errors)}, which is no verdict on the device. All other results "
            "are above. Please report it."
        )
    failed = any(isinstance(outcome, Failed) for outcome in result.outcomes.values())
    return 1 if failed or result.lost or result.capabilities.minimum_promises() else 0


def _print(result: Probe, console: Console) -> None:
    table = _table()
    for section in declared(result.capabilities):
        _head(table, section.title)
        for label, words in section.lines:
            style = "dim" if words == NO else "bold red" if words.startswith("broken") else ""
            table.add_row(Text("  " + label), Text(words, style=style))
    _head(table, "Observed")
    for experiment in EXPERIMENTS:
        outcome = result.outcomes[experiment.name]
        for number, line in enumerate(outcome.lines()):
            title = "" if number else "  " + experiment.title
            table.add_row(Text(title), Text(line, style=_STYLES[outcome.status]))
    console.print(table)
    # A separate table, because the long names of these limits would widen the first table.
    limits, section = _table(), opengl(result.capabilities)
    _head(limits, section.title)
    for label, words in section.lines:
        limits.add_row(Text("  " + label), Text(words))
    console.print()
    console.print(limits)
    if result.lost:
        console.print(Text("The device was lost: the results above are partial.", style="bold red"))


def _table() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _head(table: Table, title: str) -> None:
    if table.row_count:
        table.add_row()
    table.add_row(Text(title, style="bold"))
