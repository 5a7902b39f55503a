"""``vkgroup bench``: is it worth it?"""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

import vkgroup
from vkgroup.bench import catalogue, compare, google, machine, plot
from vkgroup.bench.caches import last_level_cache
from vkgroup.bench.definition import Definition
from vkgroup.bench.run import SECONDS, Options, Result, run
from vkgroup.bench.sizes import parse_size
from vkgroup.cli import bench_tables
from vkgroup.cli.arguments import add_device, seconds
from vkgroup.cli.console import Console
from vkgroup.cli.output import people, write_json
from vkgroup.dispatch import Device
from vkgroup.errors import DriverError, InvalidInput

_WIDTH = 100
"""Columns where the output is no terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Times subgroup operations beside their shared-memory alternatives, other packages, and what the"
        " device can do at most."
    )
    parser.epilog = (
        "Exit codes: 0 all results right, 1 a wrong result or, with --compare, a slower row, 2 bad usage or"
        " input, 3 no such device or missing capability. What is measured and how: docs/bench.md."
    )
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="benchmarks: globs, or beginnings up to a dot, as in reduce or 'scan.*.uint32' (default: all but"
        " micro and ceiling)",
    )
    add_device(parser, "measure")
    _add_how(parser.add_argument_group("how it is measured"))
    output = parser.add_argument_group("output")
    output.add_argument("--json", metavar="F", help="write Google Benchmark's JSON; - is standard output")
    output.add_argument("--plot", metavar="F.png", type=Path, help="draw the results (.png, .svg or .pdf)")
    output.add_argument("--list", action="store_true", help="list the benchmarks, without any device")
    output.add_argument(
        "--compare", metavar=("A.json", "B.json"), nargs=2, type=Path, help="compare two recorded runs"
    )
    output.add_argument(
        "--threshold",
        metavar="P",
        type=_percent,
        default=compare.THRESHOLD,
        help=f"per cent of change that --compare calls slower or faster (default:"
        f" {100 * compare.THRESHOLD:g})",
    )


def _add_how(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--size",
        metavar="N[,N]…",
        type=_sizes,
        default=(),
        help="sizes, as 1000003, 2^20, 64k or 1M; with --sweep size the largest (default: the largest on a"
        " GPU, on a CPU what there is time for)",
    )
    group.add_argument(
        "--sweep", metavar="P", help="a row for each size, or for each workgroup, items or other parameter"
    )
    group.add_argument(
        "--seconds",
        metavar="S",
        type=seconds,
        default=SECONDS,
        help=f"for the rounds of one row; warming up comes on top (default: {SECONDS:g})",
    )
    group.add_argument("--seed", metavar="N", type=_natural, help="of all data (default: a new one, printed)")
    group.add_argument("--smoke", action="store_true", help="verify at the smallest sizes and time nothing")
    group.add_argument(
        "--peers",
        metavar="P[,P]…",
        type=_words,
        help="other packages to time: their names, or none (default: all that are installed)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    stream = people(arguments.json)
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH)
    if arguments.compare:
        return _compare(arguments, console)
    chosen = catalogue.choose(arguments.names)
    if arguments.list:
        console.print(bench_tables.listing(chosen))
        return 0
    if arguments.plot:
        plot.require_drawable(arguments.plot)
    with vkgroup.open(arguments.device) as device:
        return _run(arguments, device, chosen, console)


def _compare(arguments: argparse.Namespace, console: Console) -> int:
    old, new = arguments.compare
    found = compare.compare(old, new, arguments.threshold)
    for item in bench_tables.comparison(found):
        console.print(item)
    return 1 if found.worse else 0


def _run(
    arguments: argparse.Namespace, device: Device, chosen: tuple[Definition, ...], console: Console
) -> int:
    """Run what was chosen, and print, write and draw what was found."""
    options = _options(arguments, device, console)
    context = machine.context(device, last_level_cache(device.capabilities), options.seed)
    console.print(Text(bench_tables.heading(context)), soft_wrap=True)
    latest: list[Result] = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("bench", total=None)

        def on_row(result: Result, total: int) -> None:
            progress.update(task, completed=len(result.rows), total=total)
            latest[:] = [result]
            if arguments.json not in (None, "-"):
                # After each row: what was measured is not lost with a device that is.
                write_json(google.to_json(result, context), arguments.json)

        try:
            result = run(device, chosen, options, on_row=on_row)
        except (DriverError, KeyboardInterrupt) as end:
            # The device is lost, or nobody wants to wait; what was measured is kept.
            for item in bench_tables.results(latest[0], options.smoke) if latest else ():
                console.print(item)
            if isinstance(end, KeyboardInterrupt):
                end.add_note(_kept(latest, arguments.json))
            raise
    for item in bench_tables.results(result, options.smoke):
        console.print(item)
    context |= {f"{name}_after": value for name, value in machine.clocks(device.capabilities).items()}
    write_json(google.to_json(result, context), arguments.json)
    if arguments.plot and not options.smoke:
        plot.plot(result.rows, arguments.plot, bench_tables.title(context), options.sweep)
        console.print(Text(f"Drawn: {arguments.plot}"), soft_wrap=True)
    return 1 if result.wrong else 0


def _kept(latest: list[Result], json_file: str | None) -> str:
    """Say what is left of a run that was interrupted."""
    if not latest:
        return "nothing was measured yet"
    rows = len(latest[0].rows)
    where = f"above and in {json_file}" if json_file not in (None, "-") else "above"
    return f"{'1 row' if rows == 1 else f'{rows} rows'} measured until then: {where}"


def _options(arguments: argparse.Namespace, device: Device, console: Console) -> Options:
    smoke = arguments.smoke
    if device.info.is_reference and not arguments.size and not smoke:
        console.print("The reference device is slow: --smoke, unless --size says what to time.")
        smoke = True
    if arguments.plot and smoke:
        raise InvalidInput("There is nothing to draw where nothing is timed: leave --plot out.")
    return Options(
        seed=secrets.randbits(32) if arguments.seed is None else arguments.seed,
        seconds=arguments.seconds,
        sizes=arguments.size,
        sweep=arguments.sweep,
        smoke=smoke,
        peers=arguments.peers,
    )


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(parse_size(word) for word in text.split(","))
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _words(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(word.strip() for word in text.split(","))


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= value < 1000:
        raise argparse.ArgumentTypeError("must be from 0 to 1000 per cent")
    return value / 100
