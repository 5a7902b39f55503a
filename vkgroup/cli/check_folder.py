"""``vkgroup check DIR``: check many configurations in worker processes, one line each."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vkgroup.base.choices import SOURCE_DIALECTS
from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.files import read_text
from vkgroup.base.phases import DeadlineReached, status
from vkgroup.check import outcome_cache, perform
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind, check_all, of_error, of_late, of_report
from vkgroup.check.state import LEFT_OUT
from vkgroup.cli import deadline, output
from vkgroup.cli.check_compile import CompileResults, compile_all, with_compilation
from vkgroup.cli.check_files import code_of, write_files
from vkgroup.cli.check_request import ChosenDevices, command_of, devices_of, record_of, request_of
from vkgroup.cli.console import Console
from vkgroup.cli.options.shaders import names_several
from vkgroup.cli.settings import Settings, settings_of
from vkgroup.cli.signals import keeping
from vkgroup.cli.supervisor import GRACE_SECONDS
from vkgroup.compiler.hlsl_front_ends import stage_of_source
from vkgroup.compiler.wgsl import read_wgsl
from vkgroup.device import DeviceInfo
from vkgroup.workers.messages import WorkerSetup
from vkgroup.workers.opening import select
from vkgroup.workers.pool import default_jobs

_LANGUAGES = (".glsl", *SOURCE_DIALECTS)
"""Suffixes after that of the stage."""

_COLOURS = {
    OutcomeKind.CLEAN: "green",
    OutcomeKind.FINDINGS: "bold red",
    OutcomeKind.QUESTIONS: "bold yellow",
    OutcomeKind.WEAK: "bold yellow",
    OutcomeKind.IN_PART: "yellow",
    OutcomeKind.NOT_COVERED: "yellow",
}


_IN_TOTALS = {
    kind: f"with {kind}" for kind in (OutcomeKind.FINDINGS, OutcomeKind.QUESTIONS, OutcomeKind.WEAK)
}
"""Outcomes of which the totals count configurations."""


def execute_folder(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    for option in ("repro", "save_with", "trace"):
        if vars(arguments)[option] is not None:
            raise InvalidInput(f"--{option.replace('_', '-')}: only for one shader.")
    return execute_library(
        Library(arguments, settings_of_all(arguments), Console(file=output.people(arguments.json)))
    )


def execute_library(library: Library) -> int:
    """Check all configurations of a library; return the exit code."""
    try:
        with keeping(lambda: f"{library.ended} of {len(library.settings)} configurations were checked"):
            library.check()
    finally:
        library.finish()
    return code_of(list(library.outcomes.values()), bisect=library.arguments.bisect)


def settings_of_all(arguments: argparse.Namespace) -> list[Settings]:
    """Return the settings of all configurations."""
    if arguments.with_file is not None and arguments.scripts:
        raise InvalidInput("--with: for one shader or one folder; its configurations name several shaders.")
    if arguments.with_file is not None:
        return [
            replace(entry, name=entry.name or _name(entry.options.shader, arguments.shader))
            for entry in settings_of(arguments)
        ]
    settings = []
    folders = [path for path in (arguments.shader, *arguments.scripts) if path.is_dir()]
    shaders = {shader: folder for folder in folders for shader in _shaders_in(folder)}
    shaders |= {path: path.parent for path in (arguments.shader, *arguments.scripts) if path not in folders}
    for shader, folder in shaders.items():
        name = str(shader) if arguments.scripts else _name(shader, folder)
        for entry_point in _entry_points(shader):
            options = argparse.Namespace(**{**vars(arguments), "shader": shader})
            if entry_point:
                options.entry_point = entry_point
            settings.append(Settings(options, name=f"{name}:{entry_point}" if entry_point else name))
    return settings


def _entry_points(shader: Path) -> list[str]:
    """Return the compute entry points of a file of WGSL with several entry points; else an empty name."""
    if shader.suffix != ".wgsl" or not shader.is_file():
        return [""]
    entries = read_wgsl(read_text(shader, errors="replace")).entry_points
    names = [entry.name for entry in entries if entry.stage == "compute"]
    return names if len(entries) > 1 else [""]


def _shaders_in(folder: Path) -> list[Path]:
    """Return the compute shaders below a folder.

    They are files with the suffix ``.comp``, also before ``.glsl``, ``.hlsl``, ``.slang`` or ``.wgsl``, and
    files of HLSL, Slang and WGSL with a compute entry point. Hidden files and folders are left out.

    Raises InvalidInput: there are none.
    """
    found = sorted(_compute_shaders(folder))
    if not found:
        kinds = "*.comp; *.hlsl and *.slang with numthreads; *.wgsl with @compute; or only *.amber"
        raise InvalidInput(f"{folder} has no compute shader ({kinds}).")
    return found


def _compute_shaders(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts) or not path.is_file():
            continue
        suffixes = [suffix for suffix in path.suffixes if suffix not in _LANGUAGES]
        if suffixes[-1:] == [".comp"] or (not suffixes and _is_compute(path)):
            yield path


def _is_compute(path: Path) -> bool:
    """Whether a file of HLSL, Slang or WGSL has a compute shader by its source."""
    if path.suffix not in SOURCE_DIALECTS:
        return False
    text = read_text(path, errors="replace")
    if path.suffix == ".wgsl":
        return any(entry.stage == "compute" for entry in read_wgsl(text).entry_points)
    return stage_of_source(text) == "compute"


def _name(shader: Path, folder: Path) -> str:
    """Return the name of a shader in the folder; of another one, which a configuration may name, its path."""
    return str(shader.relative_to(folder) if shader.is_relative_to(folder) else shader)


@dataclass
class Library:
    """The checks of a folder, and their outcomes by index."""

    arguments: argparse.Namespace
    settings: Sequence[Settings]
    console: Console
    outcomes: dict[int, ConfigurationOutcome] = field(default_factory=dict)
    start: float = field(default_factory=time.monotonic)

    @property
    def ended(self) -> int:
        """The number of configurations that were checked."""
        return len(self.outcomes)

    @property
    def jobs(self) -> int:
        """The number of worker processes."""
        return min(self.arguments.jobs or default_jobs(), len(self.settings))

    def check(self) -> None:
        """Check all configurations, and print a line for each."""
        arguments = self.arguments
        devices = devices_of(arguments.devices, several=True) if arguments.devices else ChosenDevices([])
        if devices.note:
            self.console.write_line(devices.note)
        setup, jobs = self.work(devices)
        limits = [settings.options.timeout for settings in self.settings]
        outcomes = check_all(setup, jobs, self.jobs, limits, GRACE_SECONDS)
        with closing(outcomes):
            for index, outcome in outcomes:
                self.outcomes[index] = outcome
                self.print(self.settings[index], outcome)

    def work(self, devices: ChosenDevices) -> tuple[WorkerSetup, list[Any]]:
        """Return the first message to the workers, and the jobs."""
        arguments, choice = self.arguments, self.arguments.compile_on
        compilations = {} if choice is None else compile_all(self.settings, choice)
        jobs = [
            Job(settings, command_of(arguments, settings), compilations.get(settings.name))
            for settings in self.settings
        ]
        setup = LibrarySession(select("reference"), devices, arguments.timeout, not arguments.no_cache)
        return setup, jobs

    def print(self, settings: Settings, outcome: ConfigurationOutcome) -> None:
        """Print the line of a configuration."""
        time_taken = "unchanged" if outcome.unchanged else f"{outcome.seconds:.1f} s"
        summary = outcome.summary.replace(f"{self.arguments.shader}{os.sep}", "")
        line = f"[{self.ended}/{len(self.settings)}] {settings.name}: {summary} ({time_taken})"
        self.console.write_line(line, style=_COLOURS.get(outcome.kind, "magenta"))
        for line in (outcome.report or {}).get("compilations", ())[1:]:
            self.console.write_line(f"    {line}", style="dim")

    def finish(self) -> None:
        """Print the totals, and write the files of the options."""
        arguments = self.arguments
        checked = [(self.settings[index], self.outcomes[index]) for index in sorted(self.outcomes)]
        for device, reason in self._left_out().items():
            self.console.write_line(f"{device}: {reason}", style="yellow")
        failed = [settings for settings, outcome in checked if outcome.exit_code]
        if failed and names_several(arguments):
            self.console.write_line(f"To see all of it: {command_of(arguments, failed[0])}")
        self.console.write_line(self._totals(), style="bold")
        records = [record_of(*each) for each in checked]
        output.write_json({"configurations": records}, arguments.json)
        write_files(arguments, checked, self.console, complete=len(checked) == len(self.settings))

    def _left_out(self) -> dict[str, str]:
        """Return the devices that turned out to execute nothing, each with how it was seen."""
        reports = [outcome.report for outcome in self.outcomes.values() if outcome.report is not None]
        return {
            device: reason
            for report in reports
            for device, reason in report["covered"]["not_covered"]
            if reason.startswith(LEFT_OUT)
        }

    def _totals(self) -> str:
        """Return the number of configurations with each outcome."""
        counts = Counter(outcome.kind for outcome in self.outcomes.values())
        listed = ", ".join(
            f"{counts[kind]} {_IN_TOTALS.get(kind, kind)}" for kind in OutcomeKind if counts[kind]
        )
        unchanged = sum(outcome.unchanged for outcome in self.outcomes.values())
        missing = len(self.settings) - self.ended
        parts = [listed or "none checked", *([f"{unchanged} unchanged"] if unchanged else [])]
        parts += [f"{missing} not checked"] if missing else []
        workers = "1 worker" if self.jobs == 1 else f"{self.jobs} workers"
        count = "1 configuration" if self.ended == 1 else f"{self.ended} configurations"
        return f"{count} in {time.monotonic() - self.start:.1f} s with {workers}: {'; '.join(parts)}"


@dataclass(frozen=True)
class Job:
    """One configuration, the command that repeats its check, and the results of ``--compile-on``."""

    settings: Settings
    command: str
    compilation: CompileResults | None


@dataclass(frozen=True)
class LibrarySession:
    """The first message to a worker that checks configurations, and its session.

    `device`: the reference device, which needs not be opened.
    `devices`: real devices on which the shaders also run.
    `timeout`: time limit of a configuration that has no other, in seconds.
    `use_cache`: whether outcomes of earlier checks are used.
    """

    device: DeviceInfo
    devices: ChosenDevices
    timeout: float
    use_cache: bool

    def open(self) -> LibrarySession:
        """Return the session."""
        return self

    def close(self) -> None:
        """Do nothing: the session holds no device."""

    def perform(self, job: Job) -> ConfigurationOutcome:
        """Check a configuration, or return the outcome of an earlier check."""
        start = time.monotonic()
        try:
            with deadline.within(job.settings.options.timeout, since_start=False):
                return self._outcome(job, start)
        except DeadlineReached:
            return of_late(status().late, time.monotonic() - start)

    def _outcome(self, job: Job, start: float) -> ConfigurationOutcome:
        strict = job.settings.options.strict
        try:
            request = request_of(job.settings, self.devices, job.command)
            key = outcome_cache.key(request, strict, job.compilation)
            stored = outcome_cache.load(key) if self.use_cache else None
            if stored is not None:
                return replace(stored, unchanged=True)
        except VkgroupError as error:
            return of_error(error, time.monotonic() - start)
        try:
            report = with_compilation(perform(request), job.compilation)
            outcome = of_report(report, time.monotonic() - start, strict=strict)
        except VkgroupError as error:
            outcome = of_error(error, time.monotonic() - start)
        outcome_cache.store(key, outcome)
        return outcome
