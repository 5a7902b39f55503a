"""``vkgroup run F.amber``: run Amber scripts, one line each."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from glob import glob
from operator import attrgetter
from pathlib import Path

from vkgroup.amber import ScriptOutcome, ScriptStatus, read_script, run_script
from vkgroup.base.errors import InvalidInput, Unsupported, VkgroupError
from vkgroup.base.phases import DeadlineReached
from vkgroup.check.outcome import worst
from vkgroup.cli import deadline, output
from vkgroup.cli.console import Console
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.shaders import SUFFIXES
from vkgroup.cli.options.table import changed
from vkgroup.cli.signals import keeping
from vkgroup.cli.supervisor import GRACE_SECONDS
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.outputs.exports.junit import JUnitCase, write_cases
from vkgroup.workers.each import NoAnswer, perform_all
from vkgroup.workers.opening import open_device, select
from vkgroup.workers.pool import default_jobs

_OWN = ("shader", "scripts", "device", "timeout", "memory", "jobs", "junit", "json")
"""The options of ``vkgroup run`` that scripts have."""

_SHOWN = {
    ScriptStatus.PASS: ("green", ""),
    ScriptStatus.FAIL: ("bold red", "failure"),
    ScriptStatus.INVALID: ("bold red", "failure"),
    ScriptStatus.ERROR: ("magenta", "error"),
    ScriptStatus.NOT_SUPPORTED: ("yellow", "skipped"),
}
"""The style of a line, and the element of JUnit XML."""


def scripts_of(arguments: argparse.Namespace) -> list[Path]:
    """Return the scripts that the command line names: files, folders with scripts, and globs.

    Raises InvalidInput: a glob matches nothing, or something is not a script.
    """
    found: list[Path] = []
    for path in (arguments.shader, *arguments.scripts):
        if path.is_dir():
            found += sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
        elif path.suffix not in SUFFIXES:
            raise InvalidInput(f"{path} is no Amber script ({' or '.join(SUFFIXES)}): name scripts only.")
        elif not path.exists() and any(sign in str(path) for sign in "*?["):
            matching = sorted(file for file in map(Path, glob(str(path), recursive=True)) if file.is_file())
            if not matching:
                raise InvalidInput(f"{path} matches no script.")
            found += matching
        else:
            found.append(path)
    if not found:
        raise InvalidInput(f"{arguments.shader} has no Amber script (*{' or *'.join(SUFFIXES)}).")
    return found


def refuse_others(command: str, own: Sequence[str], arguments: argparse.Namespace) -> None:
    """Raise InvalidInput if a command on scripts has other options than its own."""
    given = changed(OPTIONS[command].options, arguments)
    if foreign := [option.name for option in given if option.key not in own]:
        raise InvalidInput(f"An Amber script is complete: omit {', '.join(foreign)}.")


def execute(arguments: argparse.Namespace) -> int:
    """Run the scripts that the command line names; return the exit code."""
    refuse_others("run", _OWN, arguments)
    scripts = scripts_of(arguments)
    output.require_writable(arguments.json)
    output.require_writable(arguments.junit)
    console = Console(file=output.people(arguments.json), highlight=False)
    runs = ScriptRuns(arguments, scripts, select(arguments.device), console)
    try:
        with keeping(lambda: f"{len(runs.outcomes)} of {len(scripts)} scripts were run"):
            runs.run()
    finally:
        runs.finish()
    codes = [outcome.status.exit_code for outcome in runs.outcomes.values()]
    # Among others that pass, a script that the device cannot run is no error.
    return worst(code for code in codes if code != 3 or 0 not in codes)


@dataclass
class ScriptRuns:
    """The scripts of one command, and their outcomes by index."""

    arguments: argparse.Namespace
    scripts: Sequence[Path]
    device: DeviceInfo
    console: Console
    outcomes: dict[int, ScriptOutcome] = field(default_factory=dict)
    start: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Run all scripts in worker processes, and print a line for each."""
        timeout = self.arguments.timeout
        setup = ScriptSession(self.device, timeout)
        jobs = min(self.arguments.jobs or default_jobs(), len(self.scripts))
        limits = [timeout] * len(self.scripts)
        answers = perform_all(setup, self.scripts, jobs, limits, GRACE_SECONDS, attrgetter("lost"))
        with closing(answers):
            for index, answer, seconds in answers:
                if isinstance(answer, NoAnswer):
                    is_failure = (answer.is_crash or answer.is_late) and not self.device.is_reference
                    kind = ScriptStatus.FAIL if is_failure else ScriptStatus.ERROR
                    answer = ScriptOutcome(kind, f"{self.scripts[index]}: {answer}")
                self.outcomes[index] = replace(answer, seconds=seconds)
                text = answer.reason or str(self.scripts[index])
                self.console.write_line(f"{answer.status}: {text}", style=_SHOWN[answer.status][0])

    def finish(self) -> None:
        """Print the totals, and write the files of the options."""
        counts = Counter(outcome.status for outcome in self.outcomes.values())
        parts = [f"{counts[status]} {status}" for status in ScriptStatus if counts[status]]
        if missing := len(self.scripts) - len(self.outcomes):
            parts.append(f"{missing} not run")
        seconds = time.monotonic() - self.start
        count = "1 script" if len(self.scripts) == 1 else f"{len(self.scripts)} scripts"
        line = f"{count} on {self.device.name} in {seconds:.1f} s: {', '.join(parts)}"
        self.console.write_line(line, style="bold")
        ended = [(self.scripts[index], self.outcomes[index]) for index in sorted(self.outcomes)]
        records = [
            {"script": str(script), "status": each.status, "reason": each.reason,
             "seconds": round(each.seconds, 3)}
            for script, each in ended
        ]  # fmt: skip
        output.write_json({"device": self.device.name, "scripts": records}, self.arguments.json)
        if self.arguments.junit is not None:
            cases = (
                JUnitCase(str(script.parent), script.name, each.seconds, _SHOWN[each.status][1], each.reason)
                for script, each in ended
            )
            write_cases("vkgroup run", cases, self.arguments.junit)


@dataclass
class ScriptSession:
    """The first message to a worker that runs scripts, and its session.

    `timeout`: time limit of a script, in seconds.
    """

    device: DeviceInfo
    timeout: float
    _opened: Device | None = None

    def open(self) -> ScriptSession:
        """Open the device."""
        self._opened = open_device(self.device)
        return self

    def close(self) -> None:
        """Close the device."""
        if self._opened is not None:
            self._opened.close()

    def perform(self, script: Path) -> ScriptOutcome:
        """Run a script."""
        assert self._opened is not None
        is_read = False
        try:
            with deadline.within(self.timeout, since_start=False):
                content = read_script(script)
                is_read = True
                return run_script(self._opened, content, self.timeout)
        except Unsupported as error:
            return ScriptOutcome(ScriptStatus.NOT_SUPPORTED, str(error))
        except DeadlineReached:
            # The work of a real device goes on in this process.
            is_own = self.device.is_reference or not is_read
            status = ScriptStatus.ERROR if is_own else ScriptStatus.FAIL
            return ScriptOutcome(status, f"{script}: no end within {self.timeout:g} s", lost=not is_own)
        except VkgroupError as error:
            return ScriptOutcome(ScriptStatus.ERROR, str(error))
