"""``vkgroup probe``: what a device declares, and what experiments find."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from rich.table import Table
from rich.text import Text

import vkgroup
from vkgroup.cli.console import Console
from vkgroup.cli.output import people, write_json
from vkgroup.probe import EXPERIMENTS, Failed, Probe, probe
from vkgroup.probe.declared import NO, declared, opengl

_STYLES = {"observed": "", "not_supported": "dim", "not_run": "yellow", "failed": "bold red"}

_WIDTH = 100
"""Columns where the output is no terminal."""


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code: 1 where the device breaks a promise, fails or is lost."""
    stream = people(arguments.json)
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH)
    source = None if arguments.json in (None, "-") else Path(arguments.json)
    with ExitStack() as stack:
        recording = None
        if arguments.db is not None:
            # Databases know the suite's cases, which nothing else here needs.
            from vkgroup.results.history import Recording

            recording = stack.enter_context(Recording(arguments.db, source))
        found = probe(stack.enter_context(vkgroup.open(arguments.device)))
        # A device that was lost may fail once more when it is closed: by then everything is written.
        _print(found, console)
        data = found.to_json()
        write_json(data, arguments.json)
        if recording is not None:
            recording.probe(data)
    if found.interrupted is not None:
        found.interrupted.add_note("what was found until then is above: run the command again for the rest")
        raise found.interrupted
    failed = any(isinstance(outcome, Failed) for outcome in found.outcomes.values())
    return 1 if failed or found.lost or found.capabilities.minimum_promises() else 0


def _print(found: Probe, console: Console) -> None:
    table = _table()
    for section in declared(found.capabilities):
        _head(table, section.title)
        for label, words in section.lines:
            style = "dim" if words == NO else "bold red" if words.startswith("broken") else ""
            table.add_row(Text("  " + label), Text(words, style=style))
    _head(table, "Observed")
    for experiment in EXPERIMENTS:
        outcome = found.outcomes[experiment.name]
        for number, line in enumerate(outcome.lines()):
            title = "" if number else "  " + experiment.title
            table.add_row(Text(title), Text(line, style=_STYLES[outcome.status]))
    console.print(table)
    # Its names are longer than all others, and a table of their own keeps them from widening the other.
    limits, section = _table(), opengl(found.capabilities)
    _head(limits, section.title)
    for label, words in section.lines:
        limits.add_row(Text("  " + label), Text(words))
    console.print()
    console.print(limits)
    if found.lost:
        console.print(Text("The device was lost: this is what was known until then.", style="bold red"))


def _table() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _head(table: Table, title: str) -> None:
    if table.row_count:
        table.add_row()
    table.add_row(Text(title, style="bold"))
