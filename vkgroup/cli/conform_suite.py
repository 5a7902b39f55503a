"""``vkgroup conform --suite FILE``: the runs of a file, one after another, with a table at the end."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from rich.table import Table

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.files import read_text
from vkgroup.base.suggestions import nearest
from vkgroup.check.outcome import worst
from vkgroup.cli import conform
from vkgroup.cli.conform_expected import Expecting
from vkgroup.cli.conform_run import default_folder
from vkgroup.cli.console import Console
from vkgroup.cli.main import exit_code_of
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.parser import Parser
from vkgroup.configuration.reading import read_data
from vkgroup.workers import multi_device

_ALONE = ("suite", "list", "show", "repro", "shrink", "amber", "vkrunner", "offload")
"""The options that no run of a file has."""


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return the worst exit code of the runs, or of the entries if one cannot be run."""
    console, errors = Console(stderr=False, highlight=False), Console(stderr=True, highlight=False)
    runs: list[tuple[str, Expecting]] = []
    codes = []
    for title, run in read_suite(arguments):
        try:
            runs.append((title, conform.read(run)))
            if run.cluster is None and run.device is not None:
                multi_device.choose(run.device)
        except VkgroupError as error:
            errors.write_line(f"vkgroup: {title}: {error}")
            codes.append(exit_code_of(error))
    if codes:
        return worst(codes)
    table = Table("run", "cases", "exit code")
    for title, expecting in runs:
        console.write_line(f"== {title}", style="bold")
        out = expecting.arguments.out
        earlier = _summaries(out)
        try:
            codes.append(conform.execute_run(expecting, console))
        except VkgroupError as error:
            console.write_line(f"{title}: {error}", style="bold red")
            codes.append(exit_code_of(error))
        table.add_row(title, _totals(out, earlier), str(codes[-1]))
        sys.stdout.flush()
    console.print(table)
    return worst(codes)


def _summaries(out: Path) -> dict[Path, int]:
    """Return the summaries in a run's folder, or in those of its devices, with the times of writing."""
    return {file: file.stat().st_mtime_ns for file in out.rglob("summary.json")}


def _totals(out: Path, earlier: Mapping[Path, int]) -> str:
    """Return the number of cases with each status in the summaries that a run has written."""
    totals: Counter[str] = Counter()
    for file, time in _summaries(out).items():
        if earlier.get(file) != time:
            summary = json.loads(read_text(file))
            totals.update(summary["totals"] | {"Missing": summary["missing"]})
    return ", ".join(f"{count:,} {status}" for status, count in totals.items() if count)


def read_suite(arguments: argparse.Namespace) -> list[tuple[str, argparse.Namespace]]:
    """Return the title and the options of each run of a file.

    The options of the command line apply to runs without them; each run has its own files, and its own folder
    in that of the command line.
    """
    file = arguments.suite
    if alone := [name for name in _ALONE[1:] if getattr(arguments, name)]:
        raise InvalidInput(f"--suite: omit --{alone[0]}, which is for one run.")
    data = read_data(file)
    entries = data.pop("run", None)
    if data or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput(f"{file}: a suite has a [[run]] with options for each run, and nothing else.")
    if not entries:
        raise InvalidInput(f"{file}: the suite has no run.")
    titles = [str(entry.pop("title", number)) for number, entry in enumerate(entries, 1)]
    root = arguments.out or default_folder("suite")
    runs: list[tuple[str, argparse.Namespace]] = []
    for title, entry, folder in zip(titles, entries, multi_device.unique_slugs(titles), strict=True):
        parser = _Parser(prog=f"{file}, run {title}")
        OPTIONS["conform"].declare(parser)
        run = parser.parse_args(list(_words(entry, parser)))
        OPTIONS["conform"].complete(run)
        for name in arguments.given - run.given - {"suite", "out"}:
            value = getattr(arguments, name)
            if name in ("junit", "report", "save_baseline") and value != Path():
                value = value.with_suffix(f".{folder}{value.suffix}")
            setattr(run, name, value)
        name = Path(folder) if run.out is None else run.out
        if name.is_absolute() or ".." in name.parts or not name.parts:
            parser.error(f"out = {str(name)!r}: give the name of a folder, which is made in --out")
        run.out = root / name
        if any(run.out == other.out for _, other in runs):
            parser.error(f"{run.out} is the folder of an earlier run; give two names")
        runs.append((title, run))
    return runs


class _Parser(Parser):
    """A parser of a run's options; its errors name the run."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{self.prog}: {message}")


def _words(entry: dict[str, Any], parser: _Parser) -> Iterator[str]:
    """Yield the options of a run as words of the command line."""
    options = {option.name: option for option in OPTIONS["conform"].options if option.key not in _ALONE}
    for name, value in entry.items():
        option = options.get(f"--{name}")
        if option is None:
            parser.error(f"{name} is no option of a run.{nearest(f'--{name}', options)}")
        values = value if isinstance(value, list) else [value]
        if not values:
            parser.error(f"{name} is an empty list")
        if option.nargs == "+":
            yield from (option.name, *map(str, values))
        elif value is True:
            yield option.name
        elif value is not False:
            yield from (f"{option.name}={part}" for part in values)
