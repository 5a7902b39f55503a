"""The options of ``vkgroup bench``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from vkgroup import choices
from vkgroup.cli.arguments import add_db, add_device, natural, percent, seconds
from vkgroup.errors import InvalidInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Measure subgroup operations against their shared-memory alternatives, other packages, and the"
        " limits of the device."
    )
    parser.epilog = (
        "Exit codes: 0 all results right, 1 a wrong result or, with --compare, a slower row, 2 wrong usage or"
        " input, 3 no such device or missing capability. Method: docs/bench.md."
    )
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="benchmarks: globs, or beginnings up to a dot, as in reduce or 'scan.*.uint32' (default: all"
        " except micro and ceiling)",
    )
    add_device(parser, "measure")
    _add_how(parser.add_argument_group("measurement"))
    output = parser.add_argument_group("output")
    output.add_argument("--json", metavar="F", help="write Google Benchmark's JSON; - is standard output")
    add_db(output, "in which to record each row")
    output.add_argument("--plot", metavar="F.png", type=Path, help="draw the results (.png, .svg or .pdf)")
    output.add_argument("--list", action="store_true", help="list the benchmarks; needs no device")
    output.add_argument(
        "--compare",
        metavar=("A.json", "B.json"),
        nargs=2,
        type=Path,
        action=_Compare,
        help="compare two recorded runs",
    )
    output.add_argument(
        "--threshold",
        metavar="P",
        type=percent,
        default=choices.BENCH_THRESHOLD,
        help=f"change in per cent from which --compare reports slower or faster (default:"
        f" {100 * choices.BENCH_THRESHOLD:g})",
    )


def _add_how(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--size",
        metavar="N[,N]…",
        type=_sizes,
        default=(),
        help="sizes, as in 1000003, 2^20, 64k or 1M; with --sweep size the largest (default: the largest on"
        " a GPU; on a CPU the largest that fits into --seconds)",
    )
    group.add_argument(
        "--sweep",
        metavar="P",
        help="one row for each value of a parameter: size, workgroup, items or another",
    )
    group.add_argument(
        "--seconds",
        metavar="S",
        type=seconds,
        default=choices.BENCH_SECONDS,
        help=f"time for the rounds of one row, without the warm-up (default: {choices.BENCH_SECONDS:g})",
    )
    group.add_argument(
        "--seed", metavar="N", type=natural, help="seed of all data (default: a new one, which is printed)"
    )
    group.add_argument(
        "--smoke", action="store_true", help="verify results at the smallest sizes, and measure no time"
    )
    group.add_argument(
        "--peers",
        metavar="P[,P]…",
        type=_words,
        help="other packages to measure: names, or none (default: all that are installed)",
    )


class _Compare(argparse.Action):
    """Keep the two files, and leave the command to `vkgroup.cli.bench_compare`."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: Any, option: object = None) -> None:
        setattr(namespace, self.dest, values)
        namespace.command = "bench_compare"


def _sizes(text: str) -> tuple[int, ...]:
    from vkgroup.bench.catalogue import parse_size  # help and completion do without

    try:
        return tuple(parse_size(word) for word in text.split(","))
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _words(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(word.strip() for word in text.split(","))
