"""``vkgroup conform`` on several devices at once, of this host or of a cluster."""

from __future__ import annotations

import argparse
import copy
import shlex
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue

from rich.progress import Progress
from rich.text import Text

from vkgroup.cli.conform_run import check_files, conclude, default_folder, judge, number_of, progress_view
from vkgroup.cli.console import Console
from vkgroup.cli.expecting import Expecting
from vkgroup.cli.signals import keeping
from vkgroup.conformance import Run
from vkgroup.errors import VkgroupError
from vkgroup.results.history import Recording
from vkgroup.runner import multi_device
from vkgroup.runner.cluster.offer import need_distributed
from vkgroup.runner.multi_device import Target


def execute_devices(expecting: Expecting, console: Console) -> int:
    """Run the command on several devices or on a cluster; returns its exit code."""
    arguments = expecting.arguments
    if arguments.cluster is None:
        devices = multi_device.choose(arguments.device)
        if arguments.device.strip().lower() == multi_device.ALL and not devices[0].is_gpu:
            names = ", ".join(
                f"{device.name} ({device.driver_info or device.driver_name})" for device in devices
            )
            console.print(Text(f"No GPU here; all software devices: {names}"), soft_wrap=True)
        made = multi_device.targets(devices, arguments.jobs, each=arguments.each)
        return _judge_all(expecting, made, console, apart=True)
    need_distributed()
    # Dask is an optional dependency.
    from vkgroup.runner.cluster.connecting import connected
    from vkgroup.runner.cluster.targets import targets

    with connected(arguments.cluster, arguments.jobs, arguments.device) as cluster:
        made = targets(cluster, arguments.device)
        apart = len(made) > 1 or (arguments.device or "").strip().lower() == multi_device.ALL
        return _judge_all(expecting, made, console, apart=apart)


@dataclass
class _One:
    """One of several runs: what is expected of it, where it goes, and where it is recorded."""

    target: Target
    expecting: Expecting
    recording: Recording

    @property
    def out(self) -> Path:
        """Its folder."""
        folder: Path = self.expecting.arguments.out
        return folder


def _judge_all(expecting: Expecting, targets: Sequence[Target], console: Console, *, apart: bool) -> int:
    """Make all runs at once, and report them one after another; the exit code is the worst of them.

    Parameters
    ----------
    apart : whether each run has a folder of its own in that of ``--out``.
    """
    arguments = expecting.arguments
    root = arguments.out or default_folder(multi_device.ALL if apart else targets[0].name)
    codes = [0]
    problems: list[VkgroupError | OSError] = []
    with keeping(lambda: _kept(root)), ExitStack() as stack:
        ones = []
        owns = [_own(arguments, target, root, apart, len(targets) > 1) for target in targets]
        for own in owns:
            check_files(own)
        for target, own in zip(targets, owns, strict=True):
            its = replace(expecting, arguments=own, root=root)
            recording = Recording(arguments.db, its.arguments.out, resume=arguments.resume)
            ones.append(_One(target, its, stack.enter_context(recording)))
            jobs = "1 worker" if target.scheduler.jobs == 1 else f"{target.scheduler.jobs} workers"
            text = f"Judging {target.name} on {number_of(expecting.cases)} with {jobs}, results in"
            console.print(Text(f"{text} {its.arguments.out}"), soft_wrap=True)
        with progress_view() as progress:
            ended = _together(ones, progress)
        for one, found in zip(ones, ended, strict=True):
            try:
                codes.append(_conclude(one, found, console))
            except (VkgroupError, OSError) as problem:
                problems.append(problem)
                with suppress(OSError):  # as where standard output is closed: the others write their files
                    console.print(Text(f"{one.target.name}: {problem}", style="bold red"), soft_wrap=True)
    if problems:
        raise problems[0]
    return max(codes)


def _conclude(one: _One, found: Run | VkgroupError, console: Console) -> int:
    """Write and print what a run found, or raise what it ended with; returns its exit code."""
    if isinstance(found, VkgroupError):
        raise found
    return conclude(one.expecting, one.target.device, found, one.out, console, one.recording, one.target)


def _kept(root: Path) -> str:
    """Say where the results of runs are that were interrupted, and how to go on."""
    return (
        f"what was judged is under {root}: go on with the same command and --resume --out "
        f"{shlex.quote(str(root))}"
    )


def _own(
    arguments: argparse.Namespace, target: Target, root: Path, apart: bool, many: bool
) -> argparse.Namespace:
    """Return the arguments of one of several runs, with files of its own."""
    its = copy.copy(arguments)
    its.out = root / target.folder if apart else root
    for name in ("junit", "save_baseline"):
        path: Path | None = getattr(arguments, name)
        if many and path is not None:
            setattr(its, name, path.with_suffix(f".{target.folder}{path.suffix}"))
    return its


def _together(ones: Sequence[_One], progress: Progress) -> list[Run | VkgroupError]:
    """Make runs at the same time; one that cannot go on does not end the others.

    The threads end with the process: whoever interrupts it loses nothing, for all that was judged is written.
    """
    ended: Queue[tuple[int, Run | BaseException]] = Queue()

    def make(number: int) -> None:
        one = ones[number]
        its, device, limit = one.expecting, one.target.device, one.expecting.arguments.time_limit
        try:
            found = judge(its, device, its.cases, one.out, progress, limit, one.recording, one.target)
            ended.put((number, found))
        except BaseException as error:
            ended.put((number, error))

    for number in range(len(ones)):
        threading.Thread(target=make, args=(number,), daemon=True).start()
    found: dict[int, Run | VkgroupError] = {}
    while len(found) < len(ones):
        number, result = ended.get()
        if isinstance(result, BaseException) and not isinstance(result, VkgroupError):
            raise result
        found[number] = result
    return [found[number] for number in range(len(ones))]
