"""``vkgroup check``: check a compute or fragment shader on every subgroup size."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vkgroup.base import phases
from vkgroup.base.choices import SOURCE_DIALECTS
from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.check.outcome import of_error, of_late, of_report, worst
from vkgroup.check.report import Report
from vkgroup.check.report_text import lines_of
from vkgroup.cli import deadline, output, pairs, shaders
from vkgroup.cli.check_command import command_of
from vkgroup.cli.check_compile import CompileResults, compile_all, with_compilation
from vkgroup.cli.check_one import CheckedShader, check_one, devices_of, guarantees, load, record_of, target_of
from vkgroup.cli.console import Console
from vkgroup.cli.save_with import assumed
from vkgroup.cli.supervisor import late
from vkgroup.cli.with_file import Settings, settings_of
from vkgroup.configuration import Arrays, Configuration, write
from vkgroup.device import DeviceInfo

_OF_LIBRARIES = (
    ("--jobs", "jobs"),
    ("--junit", "junit"),
    ("--annotations", "annotations"),
    ("--no-cache", "no_cache"),
)
"""Options that only a check of a folder has, with their names."""


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    output.require_writable(arguments.json)
    if arguments.shader is not None and arguments.shader.is_dir():
        # Imported here, because only folders need worker processes.
        from vkgroup.cli.check_library import execute_library

        return execute_library(arguments)
    if given := [option for option, name in _OF_LIBRARIES if vars(arguments)[name]]:
        raise InvalidInput(f"{', '.join(given)}: only for a folder of shaders.")
    settings = settings_of(arguments)
    compilations = {} if arguments.compile_on is None else compile_all(settings, arguments.compile_on)
    arrays = None if arguments.save_with is None else Arrays(arguments.save_with)
    devices = devices_of(arguments.devices)
    console = Console(file=output.people(arguments.json), highlight=False)
    check = CheckCommand(arguments, devices, console, arrays, compilations)
    if len(settings) == 1:
        return check.alone(settings[0])
    return check.all(settings)


def _require_compute(settings: Settings) -> None:
    """Raise InvalidInput if the shader is a fragment shader."""
    entry = load(settings).reflection.entry_point(settings.options.entry_point)
    if entry.stage == "fragment":
        raise InvalidInput("--repro and --save-with support compute shaders only.")


@dataclass
class CheckCommand:
    """The checks of one command.

    `arrays`: writes the arrays of ``--save-with``; None without it.
    `compilations`: results of ``--compile-on`` by the name of the configuration.
    """

    arguments: argparse.Namespace
    devices: list[DeviceInfo]
    console: Console
    arrays: Arrays | None
    compilations: dict[str, CompileResults]
    saved: list[Configuration] = field(default_factory=list)

    def alone(self, settings: Settings) -> int:
        """Check the only configuration, write its files, and return the exit code."""
        # Compilations for other devices have their own time limits.
        with deadline.within(settings.options.timeout, since_start=self.arguments.compile_on is None):
            if self.arguments.repro is not None or self.arrays is not None:
                _require_compute(settings)
            checked = self._print(settings)
        phases.allow_writing()
        output.write_json(checked.report.to_json(), self.arguments.json)
        self._write_saved()
        if self.arguments.repro is not None:
            _make_folder(self.arguments.repro, settings, checked, self.devices)
            folder = shlex.quote(str(self.arguments.repro))
            self.console.print(f"Reproduce it on any host: vkgroup run {folder}", soft_wrap=True)
        return _code(checked.report, self.arguments.strict)

    def all(self, settings: Sequence[Settings]) -> int:
        """Check several configurations, and return the worst exit code."""
        if self.arguments.repro is not None:
            raise InvalidInput("--repro: only for one configuration; choose it with --configuration NAME.")
        records: list[dict[str, Any]] = []
        try:
            for entry in settings:
                self.console.write_line(f"=== {entry.name} ===", style="bold")
                records.append(self._record(entry))
                if self.arguments.json != "-":
                    # Now, because a library that a later configuration calls may end this process.
                    output.write_json({"configurations": records}, self.arguments.json)
        finally:
            output.write_json({"configurations": records}, self.arguments.json)
            self._write_saved()
        return worst(record["exit_code"] for record in records)

    def _record(self, settings: Settings) -> dict[str, Any]:
        """Check one of several configurations; return its entry in the JSON output."""
        start = time.monotonic()
        try:
            with deadline.within(settings.options.timeout, since_start=False):
                report = self._print(settings).report
            if report.interrupted is not None:
                raise report.interrupted
            outcome = of_report(report, time.monotonic() - start, strict=self.arguments.strict)
        except phases.DeadlineReached:
            outcome = of_late(late(phases.status()), time.monotonic() - start)
            self.console.write_line(f"{settings.options.shader}: {outcome.summary}", style="bold red")
        except VkgroupError as error:
            outcome = of_error(error, time.monotonic() - start)
            self.console.write_line(f"{settings.options.shader}: {error}", style="bold red")
        return record_of(settings, outcome)

    def _print(self, settings: Settings) -> CheckedShader:
        """Check a shader, and print the report."""
        checked = check_one(settings, self.devices, command_of(self.arguments, settings))
        report = with_compilation(checked.report, self.compilations.get(settings.name))
        checked = replace(checked, report=report)
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


def _code(report: Report, strict: bool) -> int:
    """Return the exit code of a report; raise the error of a check without a verdict."""
    if report.interrupted is not None:
        report.interrupted.add_note("partial results are above: run the command again for all of them")
        raise report.interrupted
    report.require_verdict()
    return 1 if report.fails(strict) else 0


def _make_folder(folder: Path, settings: Settings, checked: CheckedShader, devices: list[DeviceInfo]) -> None:
    """Write the reproduction folder of ``--repro``."""
    # Imported here, because only --repro needs the suite.
    from vkgroup.outputs.reproduction.findings import CheckOptions as Described
    from vkgroup.outputs.reproduction.findings import make_check

    options = settings.options
    how = Described(
        dialect=options.dialect or SOURCE_DIALECTS.get(options.shader.suffix),
        defines=dict(shaders.define(text) for text in options.defines),
        entry_point=options.entry_point,
        outputs=[pairs.key(name) for name in options.outputs],
        push=settings.push(),
        specialization=settings.specialization(checked.module),
        seed=options.seed,
        step_limit=options.step_limit,
        local_size=options.local_size,
        host=guarantees(options),
        strict=options.strict,
        target=target_of(settings).environment,
    )
    make_check(folder, checked.module, checked.report, how, devices[0] if devices else None)
