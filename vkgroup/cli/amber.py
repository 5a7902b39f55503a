"""``vkgroup run F.amber``: run Amber scripts, one line each."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import Any

from vkgroup.amber import ScriptOutcome, ScriptStatus, read_script, run_script
from vkgroup.base.errors import DeviceLost, DispatchTimeout, InvalidInput, Unsupported, VkgroupError
from vkgroup.base.phases import DeadlineReached
from vkgroup.check.outcome import worst
from vkgroup.cli import deadline, output
from vkgroup.cli.console import Console
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import changed
from vkgroup.cli.signals import keeping
from vkgroup.cli.supervisor import GRACE_SECONDS
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.outputs.exports.junit import JUnitCase, write_cases
from vkgroup.workers.each import NoAnswer, perform_all
from vkgroup.workers.opening import open_device, select
from vkgroup.workers.pool import default_jobs

SUFFIX = ".amber"

_OWN = ("scripts", "device", "timeout", "memory", "jobs", "junit", "json")
"""The options of ``vkgroup run`` that scripts have."""

_STYLES = {
    ScriptStatus.PASS: "green",
    ScriptStatus.FAIL: "bold red",
    ScriptStatus.INVALID: "bold red",
    ScriptStatus.ERROR: "magenta",
    ScriptStatus.NOT_SUPPORTED: "yellow",
}

_TAGS = {
    ScriptStatus.PASS: "",
    ScriptStatus.FAIL: "failure",
    ScriptStatus.INVALID: "failure",
    ScriptStatus.ERROR: "error",
    ScriptStatus.NOT_SUPPORTED: "skipped",
}


def scripts_of(arguments: argparse.Namespace) -> list[Path]:
    """Return the scripts that the command line names: files, folders with scripts, and globs; else nothing.

    Raises InvalidInput: a glob matches nothing, or something is not a script.
    """
    given = [path for path in (arguments.shader, *arguments.scripts) if path is not None]
    found: list[Path] = []
    for path in given:
        if path.is_dir():
            found += sorted(path.rglob(f"*{SUFFIX}"))
        elif path.suffix == SUFFIX and not path.exists() and any(sign in str(path) for sign in "*?["):
            matching = sorted(map(Path, glob(str(path), recursive=True)))
            if not matching:
                raise InvalidInput(f"{path} matches no script.")
            found += matching
        elif path.suffix == SUFFIX:
            found.append(path)
        elif found or path is not given[0]:
            raise InvalidInput(f"{path} is no Amber script ({SUFFIX}).")
        else:
            break
    if arguments.scripts and not found:
        raise InvalidInput(f"{arguments.shader}: only one shader, or several Amber scripts ({SUFFIX}).")
    return found


def execute(arguments: argparse.Namespace, scripts: Sequence[Path]) -> int:
    """Run the scripts; return the exit code."""
    given = changed(OPTIONS["run"].options, arguments)
    if foreign := [option.name for option in given if option.key not in (*_OWN, "shader")]:
        raise InvalidInput(f"An Amber script is complete: omit {', '.join(foreign)}.")
    output.require_writable(arguments.json)
    output.require_writable(arguments.junit)
    runs = ScriptRuns(arguments, scripts, select(arguments.device))
    try:
        with keeping(lambda: f"{len(runs.outcomes)} of {len(scripts)} scripts were run"):
            runs.run()
    finally:
        runs.finish()
    codes = [outcome.exit_code for outcome in runs.outcomes.values()]
    # Among others that pass, a script that the device cannot run is no error.
    return worst(code for code in codes if code != 3 or 0 not in codes)


@dataclass
class ScriptRuns:
    """The scripts of one command, and their outcomes by index."""

    arguments: argparse.Namespace
    scripts: Sequence[Path]
    device: DeviceInfo
    outcomes: dict[int, ScriptOutcome] = field(default_factory=dict)
    start: float = field(default_factory=time.monotonic)

    @property
    def console(self) -> Console:
        """The console for people."""
        return Console(file=output.people(self.arguments.json), highlight=False)

    def run(self) -> None:
        """Run all scripts in worker processes, and print a line for each."""
        timeout = self.arguments.timeout
        setup = ScriptSession(self.device, timeout)
        jobs = min(self.arguments.jobs or default_jobs(), len(self.scripts))
        answers = perform_all(setup, self.scripts, jobs, [timeout] * len(self.scripts), GRACE_SECONDS)
        console = self.console
        with closing(answers):
            for index, answer, seconds in answers:
                outcome = _failed(answer, self.device) if isinstance(answer, NoAnswer) else answer
                self.outcomes[index] = replace(outcome, seconds=seconds)
                line = f"{outcome.status}: {self.scripts[index]}"
                reason = _without_file(outcome.reason, self.scripts[index])
                console.write_line(f"{line}{reason}", style=_STYLES[outcome.status])

    def finish(self) -> None:
        """Print the totals, and write the files of the options."""
        counts = Counter(outcome.status for outcome in self.outcomes.values())
        listed = ", ".join(f"{counts[status]} {status}" for status in ScriptStatus if counts[status])
        missing = len(self.scripts) - len(self.outcomes)
        listed += f", {missing} not run" if missing else ""
        seconds = time.monotonic() - self.start
        count = "1 script" if len(self.scripts) == 1 else f"{len(self.scripts)} scripts"
        self.console.write_line(f"{count} on {self.device.name} in {seconds:.1f} s: {listed}", style="bold")
        ended = [(self.scripts[index], self.outcomes[index]) for index in sorted(self.outcomes)]
        output.write_json({"device": self.device.name, "scripts": [_record(*pair) for pair in ended]},
                          self.arguments.json)  # fmt: skip
        if self.arguments.junit is not None:
            write_cases("vkgroup run", (_case(*pair) for pair in ended), self.arguments.junit)


def _without_file(reason: str, script: Path) -> str:
    """Return a reason for the end of a line that has the script's name: ``:12: …``."""
    return (
        reason.removeprefix(str(script)) if reason.startswith(f"{script}:") else f": {reason}" * bool(reason)
    )


def _failed(answer: NoAnswer, device: DeviceInfo) -> ScriptOutcome:
    """Return the outcome of a script whose worker process gave no answer."""
    of_driver = (answer.is_crash or answer.is_late) and not device.is_reference
    return ScriptOutcome(ScriptStatus.FAIL if of_driver else ScriptStatus.ERROR, str(answer))


def _record(script: Path, outcome: ScriptOutcome) -> dict[str, Any]:
    seconds = round(outcome.seconds, 3)
    return {"script": str(script), "status": outcome.status, "reason": outcome.reason, "seconds": seconds}


def _case(script: Path, outcome: ScriptOutcome) -> JUnitCase:
    return JUnitCase(str(script.parent), script.name, outcome.seconds, _TAGS[outcome.status], outcome.reason)


@dataclass
class ScriptSession:
    """The first message to a worker that runs scripts, and its session.

    `device`: the device.
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
        """Run a script.

        Raises `DispatchTimeout` and `DeviceLost` of a real device: its work goes on in this process, which
        must then be replaced.
        """
        assert self._opened is not None
        is_late = ScriptOutcome(ScriptStatus.ERROR, f"{script}: no end within {self.timeout:g} s")
        try:
            with deadline.within(self.timeout, since_start=False):
                outcome = run_script(self._opened, read_script(script), self.timeout)
        except Unsupported as error:
            return ScriptOutcome(ScriptStatus.NOT_SUPPORTED, str(error))
        except DeadlineReached:
            if not self.device.is_reference:
                raise DispatchTimeout(is_late.reason) from None
            return is_late
        except VkgroupError as error:
            return ScriptOutcome(ScriptStatus.ERROR, str(error))
        if self._opened.lost:
            raise DeviceLost(outcome.reason)
        return outcome
