"""One run of ``vkgroup conform``: execute, compare with the expectations, write files, print a report."""

from __future__ import annotations

import argparse
import itertools
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rich.progress import Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from vkgroup.base.errors import InternalError, InvalidInput, NoDevice
from vkgroup.base.files import require_regular_if_exists
from vkgroup.cli.conform_end import (
    BATCHES,
    REPORT,
    finish,
    number_of,
    print_causes,
    print_failed_batches,
    print_not_run,
    write_failed_batches,
)
from vkgroup.cli.conform_expected import Expecting
from vkgroup.cli.console import Console
from vkgroup.cli.progress import bars
from vkgroup.conformance import AGAINST_THE_DEVICE, AnyCase, Result, Run, Status, run
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.device import DeviceInfo
from vkgroup.outputs.exports.baseline import check_baseline
from vkgroup.outputs.exports.folder import write_capabilities, write_summary
from vkgroup.outputs.exports.junit import write_junit
from vkgroup.outputs.history import HistoryRecording
from vkgroup.record.causes import Cause
from vkgroup.record.causes.findings import findings_for
from vkgroup.record.journal import discard
from vkgroup.record.record import TakeResults
from vkgroup.record.run import CasesWithoutVerdict
from vkgroup.workers import multi_device

_COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "bold red",
    Status.CRASH: "bold red",
    Status.TIMEOUT: "bold red",
    Status.UNDEFINED: "cyan",
    Status.NOT_SUPPORTED: "dim",
    Status.COMPILED: "green",
    Status.REJECTED: "bold red",
    Status.NOT_EMULATED: "yellow",
}


_FOR_A_RATE = 100
"""Cases from which their number in a second says something: a start takes seconds."""

OWN_FILES = ("results.jsonl", "run.json", "summary.json", "capabilities.json", "results.csv", "failures.csv",
             "reruns.jsonl", "gl-code-quality-report.json")  # fmt: skip
"""Files that every run writes into its folder; options must not name them."""


def check_files(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput, before the run starts, if one of its output files cannot be written."""
    if arguments.junit is not None and arguments.junit.is_dir():
        raise InvalidInput(f"--junit {arguments.junit} is a folder; give the name of a file")
    if arguments.report is not None and arguments.report != Path() and arguments.report.is_dir():
        raise InvalidInput(f"--report {arguments.report} is a folder; give the name of a file")
    if arguments.out is not None:
        _check_folder(arguments.out)
    _check_distinct(arguments)
    if arguments.save_baseline is not None:
        check_baseline(arguments.save_baseline)


def remove_run(folder: Path) -> None:
    """Remove what an earlier run wrote into its folder; InvalidInput if it is not finished."""
    discard(folder)
    for name in (*OWN_FILES, REPORT):
        (folder / name).unlink(missing_ok=True)
    for name in (BATCHES, "reproducers"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _check_folder(out: Path) -> None:
    """Raise InvalidInput if a file of the run's folder is a device, a pipe or a socket."""
    for path in (out / name for name in (*OWN_FILES, REPORT)):
        try:
            require_regular_if_exists(path)
        except OSError as error:
            raise InvalidInput(f"cannot write {path}: {error.strerror}") from error


def _check_distinct(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput if an output file would replace another one, or a file of the results."""
    own = set() if arguments.out is None else {(arguments.out / name).resolve() for name in OWN_FILES}
    options: dict[Path, str] = {}
    for name in ("junit", "report", "save_baseline", "db"):
        file = getattr(arguments, name)
        if file is None or file == Path() or (Path(file).exists() and not Path(file).is_file()):
            continue
        option, path = f"--{name.replace('_', '-')}", Path(file).resolve()
        if path in own:
            raise InvalidInput(f"{option} {file} is a file of the run's results; give another name")
        if path in options:
            raise InvalidInput(f"{options[path]} and {option} name the same file: {file}; give two names")
        options[path] = option


@dataclass
class ConformRun:
    """One run of the command.

    `expecting`: the options, the cases and the expectations.
    `out`: the run's folder.
    `recording`: stores the results in a database.
    `target`: one of several devices, or a cluster; None for one device of this host.
    `unexpected`: cases with unexpected results so far, for ``--maxfail``.
    """

    expecting: Expecting
    device: DeviceInfo
    out: Path
    recording: HistoryRecording
    target: multi_device.RunTarget | None = None
    unexpected: set[str] = field(default_factory=set)

    def run_cases(self, progress: Progress) -> Run:
        """Run the cases with a progress bar.

        The run may have cases without a verdict, or a problem that ended it; `conclude` raises the error.
        """
        if self.expecting.arguments.overwrite:
            remove_run(self.out)
        name = self.target.name if self.target else "conform"
        limit, recording = self.expecting.arguments.time_limit, self.recording
        return self._run(
            progress, name, self.expecting.cases, limit, recording.add, recording.begin, self.out
        )

    def _judge_again(self, cases: Sequence[AnyCase], limit: float | None, take: TakeResults) -> Run:
        """Repeat cases within a number of seconds; no results are stored, `take` is called with them."""
        with progress_view() as progress:
            repeated = self._run(progress, "again", tuple(cases), limit, take)
        if repeated.problem is not None:
            raise repeated.problem
        if repeated.without_verdict:
            raise CasesWithoutVerdict(repeated)
        return repeated

    def _run(
        self,
        progress: Progress,
        name: str,
        cases: tuple[AnyCase, ...],
        limit: float | None,
        take: TakeResults,
        begin: Callable[[Run], None] | None = None,
        out: Path | None = None,
    ) -> Run:
        """Run cases with a progress bar; `begin` is called with the run, `take` with each result."""
        arguments = self.expecting.arguments
        counts = dict.fromkeys(Status, 0)
        task = progress.add_task(name, total=len(cases), verdicts="")

        def on_results(results: list[Result]) -> None:
            take(results)
            for result in results:
                counts[result.status] += 1
            bad = sum(counts[status] for status in AGAINST_THE_DEVICE)
            progress.update(task, advance=len(results), verdicts=f"{bad} failed")

        begun: list[Run] = []

        def on_start(run: Run) -> None:
            begun.append(run)
            if begin is not None:
                begin(run)

        try:
            return run(
                self.device,
                cases=cases,
                jobs=arguments.jobs,
                seed=arguments.seed,
                out=out,
                resume=arguments.resume,
                timeout=arguments.timeout,
                time_limit=limit,
                shuffle=self.expecting.shuffle,
                on_start=on_start,
                on_results=on_results,
                is_enough=None if out is None or arguments.maxfail is None else self._is_enough,
                scheduler=self.target.scheduler if self.target else None,
                allow_hangs=arguments.allow_hangs,
                compiler=arguments.compiler,
                statistics=arguments.statistics,
            )
        except CasesWithoutVerdict as error:
            return error.run
        except (InternalError, NoDevice):
            if not begun or begun[0].problem is None:
                raise
            return begun[0]

    def _is_enough(self, results: list[Result]) -> bool:
        """Count unexpected results, and return whether these are the last ones that ``--maxfail`` permits."""
        arguments, expectations = self.expecting.arguments, self.expecting.expectations
        device = self.device
        known = findings_for(device.driver_name, device.driver_info, device.name) if arguments.known else ()
        for result in results:
            outcome = expectations.outcome(result.case, result.status)
            explained = outcome.expected or any(finding.explains(result) for finding in known)
            if outcome.improved or not explained:
                self.unexpected.add(result.case)
        return len(self.unexpected) >= (arguments.maxfail or 1)

    def conclude(self, found: Run, console: Console) -> int:
        """Repeat cases with unexpected results, then print the results and write the requested files.

        Returns the exit code. An error while repeating is raised at the end, after all files are written.
        """
        expecting, out = self.expecting, self.out
        outcomes, problem = expecting.judged(found, out, self._judge_again, console)
        try:
            write_summary(found, out / "summary.json", outcomes)
            write_failed_batches(found, out)
            write_capabilities(found, out / "capabilities.json")
            self.recording.finish(found)
            expecting.write(outcomes, out)
        finally:
            _report(outcomes, self.device, out, console)
            expecting.report(outcomes, out, console)
        causes = unexpected_causes(outcomes)
        wanted = found.problem is None and not expecting.arguments.no_repro
        if wanted and not all(cause.known for cause in causes):
            # Imported here, because runs without a new cause start faster without it.
            from vkgroup.cli.reproducers import write_reproducers

            write_reproducers(expecting.arguments, self.device, causes, found, out, console)
        if expecting.arguments.junit is not None:
            write_junit(outcomes, expecting.arguments.junit)
        if found.problem is not None:
            raise found.problem
        if problem is not None:
            text = "What is unexpected could not be judged again: the first results stand."
            if outcomes.reruns:
                text = (
                    "Not all that is unexpected could be judged again: of the rest the first results stand."
                )
            console.write_line(text)
            raise problem
        code = finish(outcomes, expecting.arguments, out, console)
        if found.without_verdict:
            raise CasesWithoutVerdict(found)
        return code


def default_folder(device: str) -> Path:
    """Return the default folder of a run, named after the device and the time."""
    folder = Path("vkgroup-results") / f"{multi_device.slug(device)}-{datetime.now():%Y%m%d-%H%M%S}"
    # The name exists after two runs in one second, or after the clock was set back.
    further = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([folder], further) if not name.exists())


def progress_view() -> Progress:
    """Return the progress display with one bar for each run."""
    return bars(TimeRemainingColumn(), TextColumn("{task.fields[verdicts]}"))


def unexpected_causes(outcomes: RunOutcomes) -> list[Cause]:
    """Return the causes of unexpected failures."""
    found = outcomes.run
    unexpected = {result.case for result in found.failures if not outcomes.by_case[result.case].expected}
    return [cause for cause in found.causes if not unexpected.isdisjoint(cause.cases)]


def _report(outcomes: RunOutcomes, device: DeviceInfo, out: Path, console: Console) -> None:
    """Print the causes of unexpected failures, the table by category, and where everything is."""
    found = outcomes.run
    print_causes(unexpected_causes(outcomes), out, console)
    for promise in found.capabilities.minimum_promises():
        console.print(Text(f"The device breaks a promise of Vulkan: {promise}", style="bold red"))
    console.print(_table(found))
    print_not_run(found.not_run, out, console)
    print_failed_batches(found, device, out, console)
    compiled = found.counts[Status.COMPILED]
    done = "executed"
    if compiled or found.counts[Status.REJECTED]:
        done = f"given to the compiler, {compiled:,} compiled, none executed,"
    elif device.emulated:
        done = f"executed {device.by_emulation}," if found.executed else "executed"
    rate = f"{found.executed / found.seconds:,.0f} a second, " if found.executed >= _FOR_A_RATE else ""
    workers = "1 worker" if found.jobs == 1 else f"{found.jobs} workers"
    text = f"{number_of(found.executed)} {done} in {found.seconds:.1f} s ({rate}{workers})"
    left = found.counts[Status.NOT_EMULATED]
    console.print(Text(f"{text}; {number_of(left)} not emulated" if left else text))
    if memory := _memory(found):
        console.print(Text(memory))
    console.write_line(f"Results: {out / 'results.jsonl'}, {out / 'summary.json'}")


def _memory(found: Run) -> str:
    """Return the peak memory as text; empty if the system does not tell it."""
    peak = found.summary["peak_memory"]
    parts = {"this process": peak["process"], "largest worker": peak["largest_worker"]}
    texts = [f"{name} {size / 1e6:.0f} MB" for name, size in parts.items() if size]
    return f"Peak memory: {', '.join(texts)}" if texts else ""


def _table(found: Run) -> Table:
    summary = found.summary
    table = Table(title=f"{summary['device']} · {summary['driver']['name']} {summary['driver']['info']}")
    table.add_column("category")
    for status in summary["totals"]:
        table.add_column(status, justify="right")
    for category, counts in summary["by_category"].items():
        table.add_row(category, *(_cell(status, count, "·") for status, count in counts.items()))
    table.add_section()
    table.add_row(
        "total", *(_cell(status, count) for status, count in summary["totals"].items()), style="bold"
    )
    return table


def _cell(status: str, count: int, zero: str = "0") -> Text:
    """Return a number in the colour of its status; zero is no error."""
    return Text(str(count), style=_COLOURS[Status(status)]) if count else Text(zero, style="dim")
