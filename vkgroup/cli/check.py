"""``vkgroup check``: check a compute shader on every subgroup size."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import vkgroup
from vkgroup.check.findings import Report, lines_of
from vkgroup.choices import CHECK_STEP_LIMIT, SOURCE_DIALECTS
from vkgroup.cli import output, pairs, shaders
from vkgroup.cli.check_one import Checked, check_one, guarantees
from vkgroup.cli.console import Console
from vkgroup.cli.main import exit_code_of
from vkgroup.cli.save_with import assumed
from vkgroup.cli.with_file import Settings, settings_of
from vkgroup.compiler import COMPILERS
from vkgroup.configuration import Arrays, Configuration, write
from vkgroup.device import DeviceInfo
from vkgroup.errors import InvalidInput, VkgroupError
from vkgroup.opening import select


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    settings = settings_of(arguments)
    arrays = None if arguments.save_with is None else Arrays(arguments.save_with)
    devices = _devices(arguments.devices)
    console = Console(file=output.people(arguments.json), highlight=False)
    check = Check(arguments, devices, console, arrays)
    if len(settings) == 1:
        return check.alone(settings[0])
    return check.all(settings)


@dataclass
class Check:
    """The checks of one command.

    `arrays`: writes the arrays of ``--save-with``; None without it.
    """

    arguments: argparse.Namespace
    devices: list[DeviceInfo]
    console: Console
    arrays: Arrays | None
    saved: list[Configuration] = field(default_factory=list)

    def alone(self, settings: Settings) -> int:
        """Check the only configuration, write its files, and return the exit code."""
        checked = self._print(settings)
        output.write_json(checked.report.to_json(), self.arguments.json)
        self._write_saved()
        if self.arguments.repro is not None:
            _make_folder(self.arguments.repro, settings, checked, self.devices)
            folder = shlex.quote(str(self.arguments.repro))
            self.console.print(f"Reproduce it on any host: vkgroup run {folder}", soft_wrap=True)
        return _code(checked.report)

    def all(self, settings: Sequence[Settings]) -> int:
        """Check several configurations, and return the worst exit code."""
        if self.arguments.repro is not None:
            raise InvalidInput("--repro: only for one configuration; choose it with --configuration NAME.")
        records: list[dict[str, Any]] = []
        try:
            for entry in settings:
                self.console.write_line(f"=== {entry.name} ===", style="bold")
                records.append(self._record(entry))
        finally:
            output.write_json({"configurations": records}, self.arguments.json)
            self._write_saved()
        return worst(record["exit_code"] for record in records)

    def _record(self, settings: Settings) -> dict[str, Any]:
        """Check one of several configurations; return its entry in the JSON output."""
        start, report, error = time.monotonic(), None, ""
        try:
            report = self._print(settings).report
            code = _code(report)
        except VkgroupError as problem:
            error, code = str(problem), exit_code_of(problem)
            self.console.write_line(f"{settings.options.shader}: {error}", style="bold red")
        return {
            "name": settings.name,
            "shader": str(settings.options.shader),
            "exit_code": code,
            "seconds": round(time.monotonic() - start, 3),
            "error": error,
            "report": None if report is None else report.to_json(),
        }

    def _print(self, settings: Settings) -> Checked:
        """Check a shader, and print the report."""
        checked = check_one(settings, self.devices, _command(self.arguments, settings))
        for line in lines_of(checked.report):
            self.console.print(line, soft_wrap=True)
        if self.arrays is not None:
            file = self.arguments.save_with
            self.saved.append(assumed(settings, checked, self.devices, file, self.arrays))
        return checked

    def _write_saved(self) -> None:
        """Write the configurations of ``--save-with``."""
        if self.saved:
            write(self.arguments.save_with, self.saved)


def _code(report: Report) -> int:
    """Return the exit code of a report; raise the error of a check without a verdict."""
    if report.interrupted is not None:
        report.interrupted.add_note("partial results are above: run the command again for all of them")
        raise report.interrupted
    report.require_verdict()
    return 1 if report.findings else 0


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of several checks: findings first, then errors, then missing support."""
    return min(filter(None, codes), default=0)


def _make_folder(folder: Path, settings: Settings, checked: Checked, devices: list[DeviceInfo]) -> None:
    """Write the reproduction folder of ``--repro``."""
    # Imported here, because only --repro needs the suite.
    from vkgroup.results.reproduction.findings import Checked as Described
    from vkgroup.results.reproduction.findings import make_check

    options = settings.options
    how = Described(
        dialect=options.dialect or SOURCE_DIALECTS.get(options.shader.suffix),
        defines=dict(shaders.define(text) for text in options.defines),
        entry_point=options.entry_point,
        outputs=[pairs.key(name) for name in options.outputs],
        push=settings.push(),
        specialization=settings.specialization(),
        seed=options.seed,
        step_limit=options.step_limit,
        local_size=options.local_size,
        host=guarantees(options),
    )
    make_check(folder, checked.module, checked.report, how, devices[0] if devices else None)


def _devices(choices: list[str] | None) -> list[DeviceInfo]:
    """Return the real devices to run on: those of --device or `VKGROUP_DEVICE`, else all that work."""
    if choices is None and os.environ.get("VKGROUP_DEVICE"):
        return [select()]
    if choices is None:
        return [device for device in vkgroup.devices().devices if not device.is_reference]
    return [select(choice) for choice in choices if choice != "none"]


_REPEATED = (
    ("-D", "defines"),
    ("-I", "include_paths"),
    ("--stage", "stage"),
    ("--dialect", "dialect"),
    ("--optimize", "optimize"),
    ("--in", "inputs"),
    ("--out", "outputs"),
    ("--push", "push"),
    ("--spec", "spec"),
)


def _command(arguments: argparse.Namespace, settings: Settings) -> str:
    """Return the command that repeats a check, without sizes and devices."""
    words = ["vkgroup", "check", *([] if arguments.shader is None else [str(arguments.shader)])]
    if arguments.with_file is not None:
        words += ["--with", str(arguments.with_file)]
        words += ["--configuration", settings.name] if settings.name else []
    for option, name in _REPEATED:
        given = getattr(arguments, name)
        for entry in given if isinstance(given, list) else [given] if given else []:
            words += [option, "=".join(entry) if isinstance(entry, tuple) else str(entry)]
    if arguments.entry_point != "main":
        words += ["--entry-point", arguments.entry_point]
    if arguments.compiler != COMPILERS[0]:
        words += ["--compiler", arguments.compiler]
    if arguments.local_size:
        words += ["--local-size", ",".join(map(str, arguments.local_size))]
    if arguments.register_shift:
        shifts = ",".join(f"{name}={shift}" for name, shift in arguments.register_shift.items())
        words += ["--register-shift", shifts]
    if arguments.groups:
        words += ["--groups", ",".join(map(str, arguments.groups))]
    if arguments.seed:
        words += ["--seed", str(arguments.seed)]
    words += ["--full-subgroups"] * arguments.full_subgroups
    words += ["--lanes", arguments.lanes] if arguments.lanes != "any" else []
    words += ["--no-size-control"] * (not arguments.size_control)
    if arguments.step_limit != CHECK_STEP_LIMIT:
        words += ["--step-limit", str(arguments.step_limit)]
    return shlex.join(words)
