"""``vkgroup conform``: is the driver right?"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from vkgroup.cli.arguments import add_device, seconds
from vkgroup.cli.console import Console
from vkgroup.conformance import AGAINST_THE_DEVICE, AnyCase, Result, Run, Status, run, select, several
from vkgroup.conformance.caselist import read_caselist
from vkgroup.device import DeviceInfo
from vkgroup.errors import InvalidInput
from vkgroup.opening import select as select_device
from vkgroup.report import write_junit, write_summary

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_device(parser, "judge")
    parser.add_argument(
        "--each",
        action="store_true",
        help="with --device all, or A,B: every device judges all cases, also where some are one model",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="judge on the workers of a Dask cluster: the address or file (.json) of its scheduler, or local",
    )
    parser.add_argument(
        "--filter",
        metavar="GLOB",
        action="append",
        default=[],
        help="cases whose names match; may be repeated",
    )
    parser.add_argument(
        "--caselist", metavar="F", type=Path, help="file of case names, ours or those of Khronos' suite"
    )
    parser.add_argument("--jobs", metavar="N", type=_positive, help="worker processes (default: one a core)")
    parser.add_argument("--seed", metavar="N", type=_natural, default=0, help="seed of all data (default: 0)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder for the results")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    parser.add_argument("--junit", metavar="F", type=Path, help="write JUnit XML too")
    parser.add_argument("--list", action="store_true", help="list the cases, without any device")
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        default=20.0,
        help="seconds a dispatch may take (default: 20)",
    )


def _positive(text: str) -> int:
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def _natural(text: str) -> int:
    value = _whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    console = Console(stderr=False, highlight=False)
    if arguments.junit is not None and arguments.junit.is_dir():
        raise InvalidInput(f"--junit {arguments.junit} is a folder: name a file")
    if arguments.resume and arguments.out is None:
        raise InvalidInput("--resume needs the folder of the run to resume: --out DIR")
    cases = _cases(arguments, Console(stderr=True, highlight=False))
    if arguments.list:
        sys.stdout.write("".join(f"{case.name}\n" for case in cases))
        return 0
    if arguments.cluster is not None or several.is_several(arguments.device):
        from vkgroup.cli.conform_several import execute_several

        return execute_several(arguments, cases, console)
    device = select_device(arguments.device)
    out = arguments.out or default_folder(device.name)
    console.print(Text(f"Judging {device.name} on {number_of(cases)}, results in {out}"), soft_wrap=True)
    with progress_view() as progress:
        found = judge(arguments, device, cases, out, progress)
    return conclude(arguments, found, out, console)


def conclude(arguments: argparse.Namespace, found: Run, out: Path, console: Console) -> int:
    """Print what a run found and write what is asked for; returns the exit code."""
    write_summary(found, out / "summary.json")
    _report(found, out, console)
    if arguments.junit is not None:
        write_junit(found, arguments.junit)
    return 1 if found.failures or found.capabilities.minimum_promises() else 0


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


def number_of(cases: tuple[AnyCase, ...]) -> str:
    """Return how many cases there are, in words."""
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"


def default_folder(device: str) -> Path:
    """Return the folder of a run that is given none: a device's name, and the time."""
    return Path("vkgroup-results") / f"{several.slug(device)}-{datetime.now():%Y%m%d-%H%M%S}"


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
    arguments: argparse.Namespace,
    device: DeviceInfo,
    cases: tuple[AnyCase, ...],
    out: Path,
    progress: Progress,
    target: several.Target | None = None,
) -> Run:
    """Run the cases under a progress bar, on one device or on a target's."""
    counts = dict.fromkeys(Status, 0)
    task = progress.add_task(target.name if target else "conform", total=len(cases), verdicts="")

    def on_results(results: list[Result]) -> None:
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
        on_results=on_results,
        crew=target.crew if target else None,
    )


def _report(found: Run, out: Path, console: Console) -> None:
    """Print the table by category, the first failures and where everything is."""
    for result in found.failures[:SHOWN_FAILURES]:
        console.print(Text(f"{result.status}: {result.case}", style=_COLOURS[result.status]), soft_wrap=True)
        for line in result.detail.splitlines():
            console.print(Text(f"    {line}"), soft_wrap=True)
    if len(found.failures) > SHOWN_FAILURES:
        more = len(found.failures) - SHOWN_FAILURES
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
