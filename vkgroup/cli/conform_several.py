"""``vkgroup conform`` on several devices at once, of this host or of a cluster."""

from __future__ import annotations

import argparse
import copy
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Queue

from rich.progress import Progress
from rich.text import Text

from vkgroup.cli.conform import conclude, default_folder, judge, number_of, progress_view
from vkgroup.cli.console import Console
from vkgroup.conformance import AnyCase, Run, several
from vkgroup.conformance.several import Target
from vkgroup.errors import VkgroupError


def execute_several(arguments: argparse.Namespace, cases: tuple[AnyCase, ...], console: Console) -> int:
    """Run the command on several devices or on a cluster; returns its exit code."""
    if arguments.cluster is None:
        devices = several.choose(arguments.device)
        if arguments.device.strip().lower() == several.ALL and not devices[0].is_gpu:
            names = ", ".join(
                f"{device.name} ({device.driver_info or device.driver_name})" for device in devices
            )
            console.print(Text(f"No GPU here; all software devices: {names}"), soft_wrap=True)
        made = several.targets(devices, arguments.jobs, each=arguments.each)
        return _judge_all(arguments, made, cases, console, apart=True)
    from vkgroup.cluster.connecting import connected

    with connected(arguments.cluster, arguments.jobs, arguments.device) as cluster:
        made = cluster.targets(arguments.device)
        apart = arguments.device is not None and arguments.device.strip().lower() == several.ALL
        return _judge_all(arguments, made, cases, console, apart=apart)


def _judge_all(
    arguments: argparse.Namespace,
    targets: Sequence[Target],
    cases: tuple[AnyCase, ...],
    console: Console,
    *,
    apart: bool,
) -> int:
    """Make all runs at once, and report them one after another; the exit code is the worst of them.

    Parameters
    ----------
    apart : whether each run has a folder of its own in that of ``--out``.
    """
    root = arguments.out or default_folder(several.ALL if apart else targets[0].name)
    own = [_own(arguments, target, root, apart, len(targets) > 1) for target in targets]
    for target, its in zip(targets, own, strict=True):
        jobs = "1 worker" if target.crew.jobs == 1 else f"{target.crew.jobs} workers"
        text = f"Judging {target.name} on {number_of(cases)} with {jobs}, results in {its.out}"
        console.print(Text(text), soft_wrap=True)
    with progress_view() as progress:
        ended = _together(own, targets, cases, progress)
    codes = [0]
    problems: list[VkgroupError] = []
    for target, its, found in zip(targets, own, ended, strict=True):
        if isinstance(found, VkgroupError):
            console.print(Text(f"{target.name}: {found}", style="bold red"), soft_wrap=True)
            problems.append(found)
        else:
            codes.append(conclude(its, found, its.out, console))
    if problems:
        raise problems[0]
    return max(codes)


def _own(
    arguments: argparse.Namespace, target: Target, root: Path, apart: bool, many: bool
) -> argparse.Namespace:
    """Return the arguments of one of several runs, with files of its own."""
    its = copy.copy(arguments)
    its.out = root / target.folder if apart else root
    if many and arguments.junit is not None:
        its.junit = arguments.junit.with_suffix(f".{target.folder}{arguments.junit.suffix}")
    return its


def _together(
    own: Sequence[argparse.Namespace],
    targets: Sequence[Target],
    cases: tuple[AnyCase, ...],
    progress: Progress,
) -> list[Run | VkgroupError]:
    """Make runs at the same time; one that cannot go on does not end the others.

    The threads end with the process: whoever interrupts it loses nothing, for all that was judged is written.
    """
    ended: Queue[tuple[int, Run | BaseException]] = Queue()

    def make(number: int) -> None:
        target, its = targets[number], own[number]
        try:
            ended.put((number, judge(its, target.device, cases, its.out, progress, target)))
        except BaseException as error:
            ended.put((number, error))

    for number in range(len(targets)):
        threading.Thread(target=make, args=(number,), daemon=True).start()
    found: dict[int, Run | VkgroupError] = {}
    while len(found) < len(targets):
        number, result = ended.get()
        if isinstance(result, BaseException) and not isinstance(result, VkgroupError):
            raise result
        found[number] = result
    return [found[number] for number in range(len(targets))]
