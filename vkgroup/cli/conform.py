"""``vkgroup conform``: is the driver right?"""

from __future__ import annotations

import argparse
import re
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
from vkgroup.conformance import AGAINST_THE_DEVICE, AnyCase, Result, Run, Status, run, select
from vkgroup.conformance.caselist import read_caselist
from vkgroup.conformance.judged import Judged
from vkgroup.device import DeviceInfo
from vkgroup.errors import InvalidInput
from vkgroup.history import Recording
from vkgroup.opening import select as select_device
from vkgroup.report import write_capabilities, write_junit, write_summary

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
    if arguments.junit is not None and arguments.junit.is_dir():
        raise InvalidInput(f"--junit {arguments.junit} is a folder: name a file")
    if arguments.resume and arguments.out is None:
        raise InvalidInput("--resume needs the folder of the run to resume: --out DIR")
    remarks = Console(stderr=True, highlight=False)
    expecting = read_expecting(arguments, _cases(arguments, remarks), remarks)
    cases = expecting.cases
    if arguments.list:
        sys.stdout.write("".join(f"{case.name}\n" for case in cases))
        return 0
    device = select_device(arguments.device)
    out = arguments.out or _default_folder(device.name)
    number = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
    console.print(Text(f"Judging {device.name} on {number}, results in {out}"), soft_wrap=True)
    with Recording(arguments.db, out, resume=arguments.resume) as recording:
        found = _run(expecting, device, cases, out, arguments.time_limit, recording)

        def judge(again: Sequence[AnyCase], left: float | None) -> Run:
            return _run(expecting, device, tuple(again), None, left, None)

        judged = expecting.judged(found, out, judge, console)
        summary = write_summary(found, out / "summary.json", judged)
        write_capabilities(found, out / "capabilities.json")
        recording.finish_conform(found, summary)
        expecting.write(judged, out)
        if arguments.junit is not None:
            write_junit(found, arguments.junit, judged)
        _report(judged, out, console)
        expecting.report(judged, out, console)
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


def _default_folder(device: str) -> Path:
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")[:40] or "device"
    return Path("vkgroup-results") / f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"


def _run(
    expecting: Expecting,
    device: DeviceInfo,
    cases: tuple[AnyCase, ...],
    out: Path | None,
    time_limit: float | None,
    recording: Recording | None,
) -> Run:
    """Run the cases under a progress bar; without a folder nothing is kept."""
    arguments = expecting.arguments
    counts = dict.fromkeys(Status, 0)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[verdicts]}"),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("conform" if out is not None else "again", total=len(cases), verdicts="")

        def on_results(results: list[Result]) -> None:
            if recording is not None:
                recording.add(results)
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
