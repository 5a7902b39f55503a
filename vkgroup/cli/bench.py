"""``vkgroup bench``: time subgroup operations and their alternatives."""

from __future__ import annotations

import argparse
import secrets
import time
from pathlib import Path

from rich.progress import TimeElapsedColumn

import vkgroup
from vkgroup.base.errors import InvalidInput
from vkgroup.base.phases import CodeOwner, phase
from vkgroup.bench import catalogue, google, machine, plot
from vkgroup.bench.definition import Definition
from vkgroup.bench.machine import last_level_cache
from vkgroup.bench.run import BenchmarkOptions, BenchmarkResult, run
from vkgroup.cli import bench_tables
from vkgroup.cli.console import Console
from vkgroup.cli.output import write_json
from vkgroup.cli.progress import bars
from vkgroup.dispatch import Device
from vkgroup.outputs.history import HistoryRecording, recorded


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    console = Console.for_people(arguments.json)
    if (arguments.with_file or arguments.configuration) and not arguments.against:
        raise InvalidInput("--with, --configuration: only with --against B.comp.")
    own = None if arguments.definitions is None else catalogue.load(arguments.definitions)
    chosen = () if arguments.against else catalogue.choose(arguments.names, own)
    if arguments.list and not arguments.against:
        console.print(bench_tables.listing(chosen, arguments.wide))
        return 0
    if arguments.plot:
        plot.require_drawable(arguments.plot)
    source = None if arguments.json in (None, "-") else Path(arguments.json)
    with HistoryRecording(arguments.db, source) as recording, vkgroup.open(arguments.device) as device:
        if arguments.against:
            # Imported here, because vkgroup's own benchmarks need no reference model.
            from vkgroup.cli.bench_shaders import definitions

            found = definitions(arguments, device, console)
            if found is None:
                return 1
            chosen = tuple(found)
        return _run(arguments, device, chosen, console, recording)


def _run(
    arguments: argparse.Namespace,
    device: Device,
    chosen: tuple[Definition, ...],
    console: Console,
    recording: HistoryRecording,
) -> int:
    """Run the chosen benchmarks; print, write, record and plot the results."""
    started = time.monotonic()
    options = _options(arguments, device, console)
    context = machine.context(device, last_level_cache(device.capabilities), options.seed)
    console.write_line(bench_tables.heading(context))
    latest: list[BenchmarkResult] = []
    with bars(TimeElapsedColumn()) as progress:
        task = progress.add_task("bench", total=None)

        def on_row(result: BenchmarkResult, total: int) -> None:
            progress.update(task, completed=len(result.rows), total=total)
            latest[:] = [result]
            # Save the results after each row, in case the device is lost later.
            data = google.to_json(result, context)
            recording.update(recorded(data))
            if arguments.json not in (None, "-"):
                write_json(data, arguments.json)

        try:
            with phase("measuring", CodeOwner.EXECUTION):
                result = run(device, chosen, options, on_row=on_row)
        except (Exception, KeyboardInterrupt) as end:
            # The device is lost, vkgroup failed, or the user interrupted: print the results measured so far.
            for item in bench_tables.results(latest[0], options.smoke) if latest else ():
                console.write(item)
            if isinstance(end, KeyboardInterrupt):
                end.add_note(_partial_results(latest, arguments.json))
            raise
    for item in bench_tables.results(result, options.smoke):
        console.write(item)
    context |= {f"{name}_after": value for name, value in machine.clocks(device.capabilities).items()}
    data = google.to_json(result, context)
    write_json(data, arguments.json)
    recording.finish(recorded(data), time.monotonic() - started)
    if arguments.plot and not options.smoke:
        plot.plot(result.rows, arguments.plot, bench_tables.title(context), options.sweep)
        console.write_line(f"Plot written: {arguments.plot}")
    return 1 if result.wrong else 0


def _partial_results(latest: list[BenchmarkResult], json_file: str | None) -> str:
    """Return a sentence on the results of an interrupted run."""
    if not latest:
        return "no results yet"
    rows = len(latest[0].rows)
    where = f"above and in {json_file}" if json_file not in (None, "-") else "above"
    return f"{'1 row' if rows == 1 else f'{rows} rows'} measured until then: {where}"


def _options(arguments: argparse.Namespace, device: Device, console: Console) -> BenchmarkOptions:
    smoke = arguments.smoke
    if device.info.is_reference and not arguments.size and not smoke and not arguments.against:
        console.write_line("The reference device is slow: using --smoke; give --size to measure times.")
        smoke = True
    if arguments.plot and smoke:
        raise InvalidInput("--plot needs times, which --smoke does not measure: omit one of them.")
    return BenchmarkOptions(
        seed=secrets.randbits(32) if arguments.seed is None else arguments.seed,
        seconds=arguments.seconds,
        sizes=arguments.size,
        sweep=arguments.sweep,
        smoke=smoke,
        peers=() if arguments.against else arguments.peers,
    )
