"""``vkgroup check``: check a compute or fragment shader on every subgroup size."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkgroup.base import phases
from vkgroup.base.choices import SOURCE_DIALECTS
from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.check import CheckRequest, Report, perform
from vkgroup.check.outcome import ConfigurationOutcome, of_error, of_late, of_report
from vkgroup.check.report_text import lines_of
from vkgroup.cli import deadline, output
from vkgroup.cli.check_compile import CompileResults, compile_all, with_compilation
from vkgroup.cli.check_files import code_of, require_files, write_files
from vkgroup.cli.check_request import ChosenDevices, command_of, devices_of, record_of, request_of
from vkgroup.cli.check_saved import assumed
from vkgroup.cli.console import Console
from vkgroup.cli.options.check import OF_FOLDERS
from vkgroup.cli.options.shaders import has_scripts, names_several
from vkgroup.cli.options.table import changed
from vkgroup.cli.progress import working
from vkgroup.cli.settings import Settings, settings_of
from vkgroup.cli.supervisor import late
from vkgroup.configuration import Arrays, Configuration, write


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    require_files(arguments)
    if arguments.watch:
        # Imported here, because only --watch needs other processes.
        from vkgroup.cli import check_watch

        return check_watch.execute(arguments)
    if has_scripts(arguments):
        # Imported here, because only scripts need worker processes.
        from vkgroup.cli import check_amber

        return check_amber.execute(arguments)
    if names_several(arguments):
        # Imported here, because only several shaders need worker processes.
        from vkgroup.cli.check_folder import execute_folder

        return execute_folder(arguments)
    if given := [option.name for option in changed(OF_FOLDERS, arguments)]:
        raise InvalidInput(f"{', '.join(given)}: only for several shaders or a folder.")
    settings = settings_of(arguments)
    compilations = {} if arguments.compile_on is None else compile_all(settings, arguments.compile_on)
    arrays = None if arguments.save_with is None else Arrays(arguments.save_with)
    devices = devices_of(arguments.devices, several=len(settings) > 1 or arguments.with_file is not None)
    console = Console(file=output.people(arguments.json), highlight=False)
    if devices.note:
        console.write_line(devices.note)
    check = CheckCommand(arguments, devices, console, arrays, compilations)
    if len(settings) == 1:
        return check.alone(settings[0])
    return check.all(settings)


@dataclass
class CheckCommand:
    """The checks of one command.

    `arrays`: writes the arrays of ``--save-with``; None without it.
    `compilations`: results of ``--compile-on`` by the name of the configuration.
    """

    arguments: argparse.Namespace
    devices: ChosenDevices
    console: Console
    arrays: Arrays | None
    compilations: dict[str, CompileResults]
    saved: list[Configuration] = field(default_factory=list)

    def alone(self, settings: Settings) -> int:
        """Check the only configuration, write its files, and return the exit code."""
        # Compilations for other devices have their own time limits.
        start = time.monotonic()
        try:
            with deadline.within(settings.options.timeout, since_start=self.arguments.compile_on is None):
                request = self._request(settings)
                writes = self.arguments.repro is not None or self.arrays is not None
                writes |= self.arguments.trace is not None
                if writes and request.entry.stage == "fragment":
                    raise InvalidInput("--repro, --save-with and --trace support compute shaders only.")
                report = self._print(settings, request)
        except VkgroupError as error:
            outcome = of_error(error, time.monotonic() - start)
            output.write_json({"configurations": [record_of(settings, outcome)]}, self.arguments.json)
            write_files(self.arguments, [(settings, outcome)], self.console)
            raise
        phases.allow_writing()
        output.write_json(report.to_json(), self.arguments.json)
        outcome = of_report(report, time.monotonic() - start, strict=self.arguments.strict)
        complete = report.interrupted is None and not report.no_verdict
        write_files(self.arguments, [(settings, outcome)], self.console, complete=complete)
        self._write_saved()
        if self.arguments.trace is not None:
            # Imported here, because only --trace writes a page.
            from vkgroup.cli.trace import write_check

            self.console.write_line(write_check(settings.options, request.module, report))
        if self.arguments.repro is not None:
            _make_folder(self.arguments.repro, settings, request, report)
            folder = shlex.quote(str(self.arguments.repro))
            self.console.write_line(f"Reproduce it on any host: vkgroup run {folder}")
        code = _code(report, self.arguments.strict)
        return output.UNDECIDED if self.arguments.bisect and not code and report.gaps else code

    def all(self, settings: Sequence[Settings]) -> int:
        """Check several configurations, and return the worst exit code."""
        for name in ("repro", "trace"):
            if getattr(self.arguments, name) is not None:
                raise InvalidInput(
                    f"--{name}: only for one configuration; choose it with --configuration NAME."
                )
        outcomes: list[tuple[Settings, ConfigurationOutcome]] = []

        def records() -> dict[str, Any]:
            return {"configurations": [record_of(*each) for each in outcomes]}

        try:
            for entry in settings:
                self.console.write_line(f"=== {entry.name} ===", style="bold")
                outcomes.append((entry, self._outcome(entry)))
                if self.arguments.json != "-":
                    # Now, because a library that a later configuration calls may end this process.
                    output.write_json(records(), self.arguments.json)
        finally:
            output.write_json(records(), self.arguments.json)
            write_files(self.arguments, outcomes, self.console, complete=len(outcomes) == len(settings))
            self._write_saved()
        return code_of([outcome for _, outcome in outcomes], bisect=self.arguments.bisect)

    def _outcome(self, settings: Settings) -> ConfigurationOutcome:
        """Check one of several configurations; print and return the outcome."""
        start = time.monotonic()
        try:
            with deadline.within(settings.options.timeout, since_start=False):
                report = self._print(settings, self._request(settings))
            if report.interrupted is not None:
                raise report.interrupted
            outcome = of_report(report, time.monotonic() - start, strict=self.arguments.strict)
        except phases.DeadlineReached:
            outcome = of_late(late(phases.status()), time.monotonic() - start)
            self.console.write_line(f"{settings.options.shader}: {outcome.summary}", style="bold red")
        except VkgroupError as error:
            outcome = of_error(error, time.monotonic() - start)
            self.console.write_line(f"{settings.options.shader}: {error}", style="bold red")
        return outcome

    def _request(self, settings: Settings) -> CheckRequest:
        return request_of(settings, self.devices, command_of(self.arguments, settings))

    def _print(self, settings: Settings, request: CheckRequest) -> Report:
        """Check a shader, and print and return the report."""
        with working():
            report = with_compilation(perform(request), self.compilations.get(settings.name))
        for line in lines_of(report):
            self.console.write(line)
        if self.arrays is not None:
            file = self.arguments.save_with
            self.saved.append(assumed(settings, request, report, file, self.arrays))
        return report

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


def _make_folder(folder: Path, settings: Settings, request: CheckRequest, report: Report) -> None:
    """Write the reproduction folder of ``--repro``."""
    # Imported here, because only --repro needs the suite.
    from vkgroup.outputs.reproduction.findings import make_check

    options = settings.options
    dialect = options.dialect or SOURCE_DIALECTS.get(options.shader.suffix)
    make_check(folder, request, report, dialect=dialect, local_size=options.local_size, strict=options.strict)
