"""``vkgroup conform``: test the conformance of the drivers of one or several devices."""

from __future__ import annotations

import argparse
import copy
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from queue import Queue

from rich.progress import Progress
from rich.text import Text

from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.cli import conform_start
from vkgroup.cli.conform_end import number_of
from vkgroup.cli.conform_expected import Expecting, read_expecting
from vkgroup.cli.conform_run import ConformRun, check_files, default_folder, progress_view
from vkgroup.cli.console import Console
from vkgroup.cli.signals import keeping
from vkgroup.compiler.front_ends import compiler_of_language
from vkgroup.conformance import AnyCase, Run, select, select_names
from vkgroup.conformance.families import CATEGORIES, KHRONOS, cases_named, nearest_filter, with_categories
from vkgroup.conformance.languages import expressible
from vkgroup.device import DeviceInfo
from vkgroup.outputs.history import HistoryRecording
from vkgroup.record.journal import RESULTS
from vkgroup.workers import multi_device
from vkgroup.workers.cluster.offer import need_distributed
from vkgroup.workers.multi_device import RunTarget


def execute_devices(expecting: Expecting, console: Console) -> int:
    """Run the command on several devices or on a cluster; returns its exit code."""
    arguments, compiles = expecting.arguments, conform_start.compiles_only(expecting.arguments)
    if arguments.cluster is None:
        devices = multi_device.choose(arguments.device, compile_only=compiles)
        if arguments.device.strip().lower() == multi_device.ALL and not devices[0].is_gpu:
            names = ", ".join(
                f"{device.name} ({device.driver_info or device.driver_name})" for device in devices
            )
            console.write_line(f"No GPU here; all software devices: {names}")
        devices = _with_subgroups(devices, console)
        made = multi_device.targets(devices, arguments.jobs, each=arguments.each)
        return _judge_all(expecting, made, console, apart=True)
    need_distributed()
    # Dask is an optional dependency.
    from vkgroup.workers.cluster.connecting import connected
    from vkgroup.workers.cluster.targets import targets

    with connected(arguments.cluster, arguments.jobs, arguments.device, compile_only=compiles) as cluster:
        made = targets(cluster, arguments.device)
        if compiles and any(one.device.emulated for one in made):
            raise InvalidInput("The workers emulate this GPU: for its compiler alone, leave out --cluster.")
        apart = len(made) > 1 or (arguments.device or "").strip().lower() == multi_device.ALL
        return _judge_all(expecting, made, console, apart=apart)


def _with_subgroups(devices: Sequence[DeviceInfo], console: Console) -> list[DeviceInfo]:
    """Return devices without compile-only ones that lack Vulkan 1.1, which a glob may choose."""
    left = [device for device in devices if not device.gpu or device.api_version >= (1, 1)]
    for device in devices:
        if device not in left and left:
            version = ".".join(map(str, device.api_version[:2]))
            console.write_line(f"{device.choice} is left out: it has Vulkan {version}; subgroups need 1.1.")
    return left or list(devices)


def _judge_all(expecting: Expecting, targets: Sequence[RunTarget], console: Console, *, apart: bool) -> int:
    """Execute all runs at the same time, report them one after another, and return the worst exit code."""
    arguments = expecting.arguments
    root = arguments.out or default_folder(multi_device.ALL if apart else targets[0].name)
    codes = [0]
    problems: list[VkgroupError | OSError] = []
    with keeping(lambda: _kept(root)), ExitStack() as stack:
        runs = []
        separate = [_separate(arguments, target, root, apart, len(targets) > 1) for target in targets]
        for options in separate:
            check_files(options)
        for target, options in zip(targets, separate, strict=True):
            recording = HistoryRecording(arguments.db, options.out, resume=arguments.resume)
            target_expecting = replace(expecting, arguments=options, root=root)
            stack.enter_context(recording)
            runs.append(ConformRun(target_expecting, target.device, options.out, recording, target))
            jobs = "1 worker" if target.scheduler.jobs == 1 else f"{target.scheduler.jobs} workers"
            text = f"Testing {target.name} on {number_of(len(expecting.cases))} with {jobs}, results in"
            console.write_line(f"{text} {options.out}")
        with progress_view() as progress:
            ended = _together(runs, progress)
        for target, device_run, found in zip(targets, runs, ended, strict=True):
            try:
                if isinstance(found, VkgroupError):
                    raise found
                codes.append(device_run.conclude(found, console))
            except (VkgroupError, OSError) as problem:
                problems.append(problem)
                # Standard output may be closed: the other runs still write their files.
                with suppress(OSError):
                    console.write_line(f"{target.name}: {problem}", style="bold red")
    if problems:
        raise problems[0]
    return max(codes)


def _kept(root: Path) -> str:
    """Return a message with the folders of interrupted runs and the commands that continue them."""
    return (
        f"what was judged is under {root}: continue with the same command and --resume --out "
        f"{shlex.quote(str(root))}"
    )


def _separate(
    arguments: argparse.Namespace, target: RunTarget, root: Path, apart: bool, many: bool
) -> argparse.Namespace:
    """Return the arguments of one of several runs, with output files for this run only."""
    separate = copy.copy(arguments)
    separate.out = root / target.folder if apart else root
    for name in ("junit", "save_baseline", "report"):
        path: Path | None = getattr(arguments, name)
        if many and path is not None and path != Path():
            setattr(separate, name, path.with_suffix(f".{target.folder}{path.suffix}"))
    return separate


def _together(runs: Sequence[ConformRun], progress: Progress) -> list[Run | VkgroupError]:
    """Execute runs at the same time; an error in one does not end the others.

    The threads end with the process. An interruption loses no result: each is written when it arrives.
    """
    ended: Queue[tuple[int, Run | BaseException]] = Queue()

    def make(number: int) -> None:
        try:
            ended.put((number, runs[number].run_cases(progress)))
        except BaseException as error:
            ended.put((number, error))

    for number in range(len(runs)):
        threading.Thread(target=make, args=(number,), daemon=True).start()
    results: dict[int, Run | VkgroupError] = {}
    while len(results) < len(runs):
        number, result = ended.get()
        if isinstance(result, BaseException) and not isinstance(result, VkgroupError):
            raise result
        results[number] = result
    return [results[number] for number in range(len(runs))]


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    console = Console(stderr=False, highlight=False)
    if arguments.repro is not None:
        # Only --repro needs the modules of reproductions.
        from vkgroup.cli import reproduction

        return reproduction.execute(arguments)
    for name in ("shrink", "amber", "vkrunner", "offload"):
        if getattr(arguments, name):
            raise InvalidInput(f"--{name}: only with --repro CASE DIR.")
    if arguments.show is not None:
        # Only --show needs the null device.
        from vkgroup.conformance.show import named, show

        described, heading, sources = show(named(arguments.show), arguments.seed).partition("\nShader: ")
        console.write_line(described)
        sys.stdout.write(heading.lstrip() + sources)
        return 0
    if arguments.list and not _chooses_cases(arguments):
        check_files(arguments)
        return _list(with_categories(arguments.filter))
    expecting = read(arguments)
    if arguments.list:
        sys.stdout.write("".join(f"{case.name}\n" for case in expecting.cases))
        return 0
    return execute_run(expecting, console)


def read(arguments: argparse.Namespace) -> Expecting:
    """Check the options of a run, and return its cases and expected results."""
    check_files(arguments)
    if (arguments.resume or arguments.overwrite) and arguments.out is None:
        raise InvalidInput("--resume and --overwrite need the folder of the earlier run: --out DIR")
    if arguments.resume and arguments.overwrite:
        raise InvalidInput("--resume continues the run in --out, --overwrite replaces it: omit one of them")
    remarks = Console(stderr=True, highlight=False)
    return read_expecting(arguments, _cases(arguments, remarks), remarks)


def execute_run(expecting: Expecting, console: Console) -> int:
    """Run cases on the chosen devices; returns the exit code."""
    arguments = expecting.arguments
    if arguments.cluster is not None or multi_device.is_several(arguments.device):
        return execute_devices(expecting, console)
    device = conform_start.device(arguments)
    out = arguments.out or default_folder(device.name)
    console.write_line(f"Testing {device.name} on {number_of(len(expecting.cases))}, results in {out}")
    with (
        keeping(lambda: kept(out)),
        HistoryRecording(arguments.db, out, resume=arguments.resume) as recording,
    ):
        device_run = ConformRun(expecting, device, out, recording)
        with progress_view() as progress:
            run = device_run.run_cases(progress)
        return device_run.conclude(run, console)


def _chooses_cases(arguments: argparse.Namespace) -> bool:
    """Return whether an option other than ``--filter`` chooses cases or names a file to check."""
    files = (arguments.caselist, arguments.skips, arguments.baseline, arguments.flakes)
    return arguments.shard is not None or bool(arguments.compiler) or any(files)


def _list(filters: tuple[str, ...]) -> int:
    """Write the names that the filters select as they are found; no case is made for most of them."""
    if any(word.startswith(KHRONOS) for word in filters):
        names: Iterable[str] = (case.name for case in _filtered(filters))
    else:
        _check_filters(filters)
        names = select_names(filters)
    sys.stdout.writelines(f"{name}\n" for name in names)
    return 0


def _filtered(filters: tuple[str, ...]) -> tuple[AnyCase, ...]:
    """Return the cases that the filters select; some may be Khronos names, or globs over these."""
    own = tuple(word for word in filters if not word.startswith(KHRONOS))
    _check_filters(own)
    if len(own) == len(filters):
        return select(filters)
    from vkgroup.conformance.caselist import names_for

    names = {name for word in filters if word not in own for name in names_for(word)}
    names.update(case.name for case in (select(own) if own else ()))
    return tuple(cases_named(names).values())


def _check_filters(filters: Sequence[str]) -> None:
    """Raise InvalidInput if one of the globs matches no case."""
    if missing := [glob for glob in filters if next(select_names((glob,)), None) is None]:
        raise _none_matches(missing)


def _none_matches(filters: Sequence[str]) -> InvalidInput:
    patterns = " or ".join(map(repr, filters))
    hints = "".join(map(nearest_filter, filters))
    is_word = not hints and any(word.isidentifier() for word in filters)
    words = f"; categories: {', '.join(CATEGORIES)}" if is_word else ""
    return InvalidInput(
        f"no case matches {patterns}.{hints} `vkgroup conform --list` lists the names{words}."
    )


def _cases(arguments: argparse.Namespace, console: Console) -> tuple[AnyCase, ...]:
    """Return the cases that the filters and the case list select and the compiler can compile."""
    selected = _selected(arguments, console)
    if not arguments.compiler:
        return selected
    name = compiler_of_language(arguments.compiler)
    cases = expressible(selected, arguments.compiler)
    if not cases:
        raise InvalidInput(
            f"{name} compiles none of the selected cases: they are not in a language that it supports. "
            "Omit --compiler, or select others (HLSL: --filter 'hlsl.*')."
        )
    left = len(selected) - len(cases)
    console.write_line(f"Compiler: {name}" + f"; {left} in other languages left out" * bool(left))
    return cases


def _selected(arguments: argparse.Namespace, console: Console) -> tuple[AnyCase, ...]:
    """Return the cases that are selected by both the filters and the case list."""
    # A case list without filters needs no other cases.
    selects = arguments.filter or arguments.caselist is None
    # The cases in WGSL are selected by name only; they are all that tint compiles.
    filters = with_categories(arguments.filter) or (("wgsl.*",) if arguments.compiler == "tint" else ())
    cases = _filtered(filters) if selects else ()
    if any(word not in filters for word in arguments.filter):
        counts = Counter(case.category for case in cases)
        console.write_line("Cases: " + ", ".join(f"{count:,} of {name}" for name, count in counts.items()))
    if arguments.caselist is None:
        return cases
    # RE2 and the rules of Khronos' names are needed for case lists only.
    from vkgroup.conformance.caselist import read_caselist

    caselist = read_caselist(arguments.caselist)
    total = len(caselist.mapped) + len(caselist.unmapped)
    verb = "name maps" if total == 1 else "names map"
    mapped = f"{len(caselist.mapped)} of {total} {verb} to {number_of(len(caselist.cases))}"
    console.print(Text(f"{arguments.caselist}: {mapped}"))
    for reason, count in caselist.reasons().items():
        without = "name has" if count == 1 else "names have"
        console.print(Text(f"  {count} {without} no counterpart: {reason}"))
    chosen = set(caselist.cases)
    cases = tuple(case for case in cases if case in chosen) if selects else caselist.cases
    if not cases:
        raise InvalidInput(f"no case is left to run after mapping {arguments.caselist}")
    return cases


def kept(out: Path) -> str:
    """Return a message with the folder of an interrupted run and the command that continues it."""
    if not (out / RESULTS).exists():
        return "nothing was judged yet"
    return (
        f"what was judged is in {out / RESULTS}: continue with the same command and --resume --out "
        f"{shlex.quote(str(out))}"
    )
