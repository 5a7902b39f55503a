"""The options of ``vkgroup check``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkgroup import choices
from vkgroup.cli.arguments import natural, seconds
from vkgroup.cli.options import pairs, shaders

_LARGEST = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Check a compute shader: run it on the reference device at every subgroup size, with lanes in order"
        " and shuffled, and on the real devices of this machine, and report errors and differences."
    )
    parser.epilog = (
        "B is a binding's name, its number in set 0, or SET.NUMBER. Exit codes: 0 no finding, 1 findings,"
        " 2 wrong usage or input, 3 missing capability. Findings: docs/check.md. Inputs and comparison:"
        " docs/check-comparison.md. Fields of the JSON: docs/check-json.md."
    )
    shaders.add_arguments(parser)
    _add_where(parser.add_argument_group("where it runs"))
    _add_inputs(parser.add_argument_group("inputs", "Inputs that are not given are generated."))
    parser.add_argument(
        "--repro",
        metavar="DIR",
        type=Path,
        help="write a folder that repeats the findings on any machine",
    )
    parser.add_argument("--json", metavar="F", help="write all results as JSON; - is standard output")


def _add_where(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--subgroup-size",
        metavar="N[,N]…",
        type=_sizes,
        help=f"sizes to run (default: {', '.join(map(str, choices.CHECK_SIZES))}, and those of devices)",
    )
    group.add_argument(
        "--device",
        metavar="D",
        dest="devices",
        action="append",
        help="also run on this device; may be repeated; none: only the reference device"
        " (default: VKGROUP_DEVICE, else all)",
    )
    group.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        default=choices.CHECK_TIMEOUT,
        help=f"time limit of one run in seconds (default: {choices.CHECK_TIMEOUT:g})",
    )
    group.add_argument(
        "--step-limit",
        metavar="N",
        type=_positive,
        default=choices.CHECK_STEP_LIMIT,
        help=f"rounds after which a loop counts as endless (default: {choices.CHECK_STEP_LIMIT})",
    )


def _add_inputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--groups", metavar="X[,Y[,Z]]", type=_groups, help="workgroups in each dimension (default: several)"
    )
    pairs.add_inputs(group)
    group.add_argument(
        "--out",
        dest="outputs",
        metavar="B",
        action="append",
        default=[],
        help="a binding whose contents are undefined before the run",
    )
    pairs.add_constants(group)
    group.add_argument(
        "--seed",
        metavar="N",
        type=natural,
        default=0,
        help="seed of the generated inputs and of the shuffled lanes (default: 0)",
    )


def _positive(text: str) -> int:
    number = natural(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _groups(text: str) -> tuple[int, ...]:
    numbers = tuple(_positive(word) for word in text.split(","))
    if len(numbers) > 3:
        raise argparse.ArgumentTypeError("one to three numbers, as in 4 or 8,8")
    return numbers


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(natural(word) for word in text.split(","))
    if any(not 1 <= size <= _LARGEST or size & (size - 1) for size in sizes):
        raise argparse.ArgumentTypeError(f"subgroup sizes are powers of two from 1 to {_LARGEST}")
    return sizes
