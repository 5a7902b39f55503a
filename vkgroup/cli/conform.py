"""``vkgroup conform``: is the driver right?"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from vkgroup.cli import reproduction
from vkgroup.cli.console import Console
from vkgroup.cli.expecting import Expecting, read_expecting
from vkgroup.cli.signals import keeping
from vkgroup.conformance import AGAINST_THE_DEVICE, AnyCase, Result, Run, Status, run, select, several
from vkgroup.conformance.caselist import read_caselist
from vkgroup.conformance.judged import Judged
from vkgroup.conformance.results import TakeResults
from vkgroup.conformance.store import RESULTS
from vkgroup.device import DeviceInfo
from vkgroup.errors import InvalidInput
from vkgroup.history import Recording
from vkgroup.opening import select as select_device
from vkgroup.report import check_baseline, write_capabilities, write_junit, write_summary

SHOWN_FAILURES = 5
"""Failures that are printed whole; all are in the results."""

_COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "bold red",
    Status.CRASH: "bold red",
    Status.TIMEOUT: "bold red",
    Status.UNDEFINED: "cyan",
    Status.NOT_SUPPORTED: "dim",
}


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    console = Console(stderr=False, highlight=False)
    if arguments.repro is not None:
        return reproduction.execute(arguments)
    check_files(arguments)
    if arguments.resume and arguments.out is None:
        raise InvalidInput("--resume needs the folder of the run to resume: --out DIR")
    remarks = Console(stderr=True, highlight=False)
    expecting = read_expecting(arguments, _cases(arguments, remarks), remarks)
    cases = expecting.cases
    if arguments.list:
        sys.stdout.write("".join(f"{case.name}\n" for case in cases))
        return 0
    if arguments.cluster is not None or several.is_several(arguments.device):
        from vkgroup.cli.conform_several import execute_several

        return execute_several(expecting, console)
    device = select_device(arguments.device)
    out = arguments.out or default_folder(device.name)
    console.print(Text(f"Judging {device.name} on {number_of(cases)}, results in {out}"), soft_wrap=True)
    with keeping(lambda: kept(out)), Recording(arguments.db, out, resume=arguments.resume) as recording:
        with progress_view() as progress:
            found = judge(expecting, device, cases, out, progress, arguments.time_limit, recording)
        return conclude(expecting, device, found, out, console, recording)


def check_files(arguments: argparse.Namespace) -> None:
    """Raise InvalidInput where a file could not be written that a run is to write in the end."""
    if arguments.junit is not None and arguments.junit.is_dir():
        raise InvalidInput(f"--junit {arguments.junit} is a folder: name a file")
    if arguments.save_baseline is not None:
        check_baseline(arguments.save_baseline)


def conclude(
    expecting: Expecting,
    device: DeviceInfo,
    found: Run,
    out: Path,
    console: Console,
    recording: Recording,
    target: several.Target | None = None,
) -> int:
    """Judge again what is unexpected, print what a run found and write what is asked for.

    Returns the exit code. Whatever keeps it from judging again is raised in the end, when all is written.
    """

    def again(cases: Sequence[AnyCase], left: float | None, take: TakeResults) -> Run:
        with progress_view() as progress:
            return judge(expecting, device, tuple(cases), None, progress, left, target=target, take=take)

    judged, problem = expecting.judged(found, out, again, console)
    try:
        summary = write_summary(found, out / "summary.json", judged)
        write_capabilities(found, out / "capabilities.json")
        recording.finish_conform(found, summary)
        expecting.write(judged, out)
    finally:
        _report(judged, out, console)
        expecting.report(judged, out, console)
    if expecting.arguments.junit is not None:
        write_junit(found, expecting.arguments.junit, judged)
    if problem is not None:
        text = "What is unexpected could not be judged again: the first results stand."
        if judged.again:
            text = "Not all that is unexpected could be judged again: of the rest the first results stand."
        console.print(Text(text), soft_wrap=True)
        raise problem
    return 0 if judged.success else 1


def _cases(arguments: argparse.Namespace, console: Console) -> tuple[AnyCase, ...]:
    """Return the cases that filters and case list choose together."""
    cases = select(tuple(arguments.filter))
    if arguments.filter and not cases:
        raise InvalidInput(
            f"no case matches {' or '.join(arguments.filter)}: list the names with vkgroup conform --list"
        )
    if arguments.caselist is None:
        return cases
    found = read_caselist(arguments.caselist)
    total = len(found.mapped) + len(found.unmapped)
    console.print(
        Text(f"{arguments.caselist}: {len(found.mapped)} of {total} names map to {len(found.cases)} cases")
    )
    for reason, count in found.reasons().items():
        console.print(Text(f"  {count} {'name' if count == 1 else 'names'} cannot be mapped yet: {reason}"))
    chosen = set(found.cases)
    cases = tuple(case for case in cases if case in chosen)
    if not cases:
        raise InvalidInput(f"no case is left to run after mapping {arguments.caselist}")
    return cases


def kept(out: Path) -> str:
    """Say where the results of a run are that was interrupted, and how to go on."""
    if not (out / RESULTS).exists():
        return "nothing was judged yet"
    return (
        f"what was judged is in {out / RESULTS}: go on with the same command and --resume --out "
        f"{shlex.quote(str(out))}"
    )


def number_of(cases: tuple[AnyCase, ...]) -> str:
    """Return how many cases there are, in words."""
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"


def default_folder(device: str) -> Path:
    """Return the folder of a run that is given none: a device's name, and the time."""
    folder = Path("vkgroup-results") / f"{several.slug(device)}-{datetime.now():%Y%m%d-%H%M%S}"
    # Two runs of one second, or a clock that was set back.
    further = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([folder], further) if not name.exists())


def progress_view() -> Progress:
    """Return the view of how far runs are, a bar each."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[verdicts]}"),
        console=Console(stderr=True),
        transient=True,
    )


def judge(
    expecting: Expecting,
    device: DeviceInfo,
    cases: tuple[AnyCase, ...],
    out: Path | None,
    progress: Progress,
    time_limit: float | None,
    recording: Recording | None = None,
    target: several.Target | None = None,
    take: TakeResults | None = None,
) -> Run:
    """Run the cases under a progress bar, on one device or a target's; without a folder nothing is kept.

    `take` is given the results as they come.
    """
    arguments = expecting.arguments
    counts = dict.fromkeys(Status, 0)
    name = target.name if target else "conform"
    task = progress.add_task(name if out is not None else "again", total=len(cases), verdicts="")

    def on_results(results: list[Result]) -> None:
        if recording is not None:
            recording.add(results)
        if take is not None:
            take(results)
        for result in results:
            counts[result.status] += 1
        bad = sum(counts[status] for status in AGAINST_THE_DEVICE)
        progress.update(task, advance=len(results), verdicts=f"{bad} against the device")

    return run(
        device,
        cases=cases,
        jobs=arguments.jobs,
        seed=arguments.seed,
        out=out,
        resume=arguments.resume,
        timeout=arguments.timeout,
        time_limit=time_limit,
        shuffle=expecting.shuffle,
        on_start=None if recording is None else recording.begin_conform,
        on_results=on_results,
        crew=target.crew if target else None,
    )


def _report(judged: Judged, out: Path, console: Console) -> None:
    """Print the table by category, the first unexpected failures and where everything is."""
    found = judged.run
    failures = [result for result in found.failures if not judged.outcomes[result.case].expected]
    for result in failures[:SHOWN_FAILURES]:
        console.print(Text(f"{result.status}: {result.case}", style=_COLOURS[result.status]), soft_wrap=True)
        for line in result.detail.splitlines():
            console.print(Text(f"    {line}"), soft_wrap=True)
    if len(failures) > SHOWN_FAILURES:
        more = len(failures) - SHOWN_FAILURES
        console.print(Text(f"… and {more} more in {out / 'results.jsonl'}"), soft_wrap=True)
    for promise in found.capabilities.minimum_promises():
        console.print(Text(f"The device breaks a promise of Vulkan: {promise}", style="bold red"))
    console.print(_table(found))
    rate = found.executed / found.seconds if found.seconds else 0.0
    console.print(
        Text(
            f"{found.executed} {'case' if found.executed == 1 else 'cases'} executed in "
            f"{found.seconds:.1f} s ({rate:.0f} a second, {found.jobs} workers)"
        )
    )
    console.print(Text(f"Results: {out / 'results.jsonl'}, {out / 'summary.json'}"), soft_wrap=True)


def _table(found: Run) -> Table:
    summary = found.summary()
    table = Table(title=f"{summary['device']} · {summary['driver']['name']} {summary['driver']['info']}")
    table.add_column("category")
    for status in Status:
        table.add_column(status.value, justify="right", style=_COLOURS[status])
    for category, counts in summary["by_category"].items():
        table.add_row(category, *(str(counts[status.value] or "·") for status in Status))
    table.add_section()
    table.add_row("total", *(str(summary["totals"][status.value]) for status in Status), style="bold")
    return table
