"""``vkgroup history``: list the runs in a database; find runs by name for other commands."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from rich.table import Table
from rich.text import Text

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.console import Console
from vkgroup.cli.output import write_json
from vkgroup.cli.progress import working
from vkgroup.outputs import history
from vkgroup.outputs.exports.folder import export
from vkgroup.outputs.history import RunInfo, RunKind, RunRecord

_FILES = (".json", ".jsonl", ".xz", ".db", ".sqlite")


class Runs:
    """Finds runs by name; opens the database when the first run needs it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._database: history.Database | None = None

    def named(self, name: str) -> Path | RunRecord:
        """Return a path that exists, or else the run of that name in the database."""
        if Path(name).exists():
            return Path(name)
        if self._arguments.db is None and ("/" in name or name.endswith(_FILES)):
            raise InvalidInput(f"there is no {name}")
        if self._database is None:
            if self._arguments.db is None:
                raise InvalidInput(
                    f"there is no folder or file {name}, and no database given in which a run may have that"
                    " name: use --db FILE, or set VKGROUP_DB"
                )
            self._database = history.open(database(self._arguments.db))
        kind = RunKind(self._arguments.kind) if self._arguments.kind else None
        return self._database.run(name, kind=kind, device=self._arguments.device)

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        if self._database is not None:
            self._database.close()


def database(path: Path | None) -> Path:
    """Return the path of the database; InvalidInput if there is none."""
    if path is None:
        raise InvalidInput("no database given: use --db FILE, or set VKGROUP_DB")
    return path


_BAD = ("Fail", "Crash", "Timeout", "wrong", "failed")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    if arguments.action == "add":
        return _add(arguments.file, arguments.runs)
    if arguments.action == "export":
        with history.open(arguments.file) as runs:
            for path in export(runs.run(arguments.run), arguments.out, arguments.overwrite):
                print(path)
        return 0
    if arguments.action == "remove":
        with history.open(arguments.file, write=True) as runs:
            for name in arguments.runs:
                info = runs.remove(name)
                print(f"{info.id}  removed: {info.kind} of {info.device}, {info.started}")
        return 0
    return _list(arguments)


def _add(file: Path, paths: list[Path]) -> int:
    with working("reading the runs"):
        loaded = [(path, history.load_all(path)) for path in paths]  # errors come before the first write
    with history.open(file, write=True) as runs:
        for path, recorded in loaded:
            for run in recorded:
                key, new = runs.add(run)
                what = "added" if new else "there already"
                print(f"{key}  {what}: {run.info.kind} of {run.info.device or 'unknown device'}, {path}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    kind = RunKind(arguments.kind) if arguments.kind else None
    with history.open(database(arguments.db)) as runs:
        listed = runs.runs(kind=kind, device=arguments.device)
    console = Console.for_people(arguments.json, 140)
    if not listed:
        console.write_line(f"No such run in {arguments.db}.")
    else:
        console.print(_table(listed))
    write_json([info.to_json() for info in listed], arguments.json)
    return 0


def _table(infos: list[RunInfo]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("run", "command", "started"):
        table.add_column(name, no_wrap=True)
    for name in ("device", "driver", "results"):
        table.add_column(name, overflow="fold")
    table.add_column("seconds", justify="right", no_wrap=True)
    for info in infos:
        table.add_row(
            Text(info.id, style="bold"),
            Text(info.kind.value),
            Text(moment(info)),
            Text(info.device or "–"),
            Text(info.driver or "–"),
            counts(info),
            Text("–" if info.seconds is None else f"{info.seconds:.1f}"),
        )
    return table


def moment(info: RunInfo) -> str:
    """Return the start of a run as local time, to the minute."""
    try:
        return f"{datetime.fromisoformat(info.started).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return info.started


def counts(info: RunInfo) -> Text:
    """Return the number of results with each status of a run as text, failures first."""
    text = Text()
    if not info.finished:
        text.append("unfinished", style="yellow")
    for bad in (True, False):
        for name, number in info.counts.items():
            if number and (name in _BAD) == bad:
                text.append(", " if text else "")
                text.append(f"{number} {name.replace('_', ' ')}", style="bold red" if bad else "")
    return text
