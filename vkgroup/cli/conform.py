"""``vkgroup conform``: driver conformance, on one device or several."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from rich.text import Text

from vkgroup.cli import reproduction
from vkgroup.cli.conform_devices import execute_devices
from vkgroup.cli.conform_run import check_files, conclude, default_folder, judge, number_of, progress_view
from vkgroup.cli.console import Console
from vkgroup.cli.expecting import read_expecting
from vkgroup.cli.signals import keeping
from vkgroup.conformance import AnyCase, select
from vkgroup.conformance.caselist import read_caselist
from vkgroup.errors import InvalidInput
from vkgroup.opening import select as select_device
from vkgroup.results.history import Recording
from vkgroup.results.journal import RESULTS
from vkgroup.runner import multi_device


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
    if arguments.cluster is not None or multi_device.is_several(arguments.device):
        return execute_devices(expecting, console)
    device = select_device(arguments.device)
    out = arguments.out or default_folder(device.name)
    console.print(Text(f"Testing {device.name} on {number_of(cases)}, results in {out}"), soft_wrap=True)
    with keeping(lambda: kept(out)), Recording(arguments.db, out, resume=arguments.resume) as recording:
        with progress_view() as progress:
            run = judge(expecting, device, cases, out, progress, arguments.time_limit, recording)
        return conclude(expecting, device, run, out, console, recording)


def _cases(arguments: argparse.Namespace, console: Console) -> tuple[AnyCase, ...]:
    """Return the cases that both the filters and the case list choose."""
    cases = select(tuple(arguments.filter))
    if arguments.filter and not cases:
        raise InvalidInput(
            f"no case matches {' or '.join(arguments.filter)}: list the names with vkgroup conform --list"
        )
    if arguments.caselist is None:
        return cases
    caselist = read_caselist(arguments.caselist)
    total = len(caselist.mapped) + len(caselist.unmapped)
    mapped, count = len(caselist.mapped), len(caselist.cases)
    console.print(Text(f"{arguments.caselist}: {mapped} of {total} names map to {count} cases"))
    for reason, count in caselist.reasons().items():
        console.print(Text(f"  {count} {'name' if count == 1 else 'names'} cannot be mapped yet: {reason}"))
    chosen = set(caselist.cases)
    cases = tuple(case for case in cases if case in chosen)
    if not cases:
        raise InvalidInput(f"no case is left to run after mapping {arguments.caselist}")
    return cases


def kept(out: Path) -> str:
    """Return where the results of an interrupted run are, and how to continue it."""
    if not (out / RESULTS).exists():
        return "nothing was judged yet"
    return (
        f"what was judged is in {out / RESULTS}: continue with the same command and --resume --out "
        f"{shlex.quote(str(out))}"
    )
