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
    add_db(output, "to record the rows in as they come")
    output.add_argument("--plot", metavar="F.png", type=Path, help="draw the results (.png, .svg or .pdf)")
    output.add_argument("--list", action="store_true", help="list the benchmarks, without any device")
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
        help=f"per cent of change that --compare calls slower or faster (default:"
        f" {100 * choices.BENCH_THRESHOLD:g})",
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
        default=choices.BENCH_SECONDS,
        help=f"for the rounds of one row; warming up comes on top (default: {choices.BENCH_SECONDS:g})",
    )
    group.add_argument("--seed", metavar="N", type=natural, help="of all data (default: a new one, printed)")
    group.add_argument("--smoke", action="store_true", help="verify at the smallest sizes and time nothing")
    group.add_argument(
        "--peers",
        metavar="P[,P]…",
        type=_words,
        help="other packages to time: their names, or none (default: all that are installed)",
    )


class _Compare(argparse.Action):
    """Keep the two files, and leave the command to `vkgroup.cli.bench_compare`."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: Any, option: object = None) -> None:
        setattr(namespace, self.dest, values)
        namespace.command = "bench_compare"


def _sizes(text: str) -> tuple[int, ...]:
    from vkgroup.bench.sizes import parse_size  # help and completion do without

    try:
        return tuple(parse_size(word) for word in text.split(","))
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _words(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(word.strip() for word in text.split(","))
