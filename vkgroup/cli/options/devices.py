"""The options of commands that list or measure devices, and of ``vkgroup completion``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput
from vkgroup.cli.options.types import (
    add_db,
    add_device,
    add_json,
    add_table,
    add_threshold,
    natural,
    positive,
    seconds,
)

SHELLS = ("bash", "zsh", "fish")


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup devices``."""
    add_json(parser, "write the list as JSON")


def add_drivers(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup drivers``."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the drivers in the cache and those of the distribution")
    add_json(listing, "write the list as JSON")
    purpose = "download drivers into the cache, without root"
    fetching = actions.add_parser("fetch", help=purpose, description=f"{purpose.capitalize()}.")
    fetching.add_argument(
        "names",
        metavar="NAME",
        nargs="+",
        help="swiftshader, lavapipe (the newest), lavapipe-VERSION; radv, nvk, turnip, honeykrisp: compile"
        " for absent GPUs and execute nothing",
    )
    fetching.add_argument(
        "--offline", metavar="FOLDER", type=Path, help="take the drivers from this bundle, without network"
    )
    finding = actions.add_parser("path", help="print the ICD file of a downloaded driver, for --device")
    finding.add_argument("name", metavar="NAME")


def add_compilers(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup compilers``."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the compilers and their versions")
    add_json(listing, "write the list as JSON")
    purpose = "download the newest glslang into the cache, without root"
    actions.add_parser("fetch", help=purpose, description=f"{purpose.capitalize()}.")


def add_probe(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup probe``."""
    add_device(parser, "probe")
    add_db(parser, "in which to record the results")
    add_json(parser)


def add_worker(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup worker``."""
    parser.add_argument(
        "address",
        metavar="ADDRESS",
        help="address of the scheduler (tcp://host:8786), or the file that it wrote (.json)",
    )
    parser.add_argument(
        "--device",
        metavar="D",
        default=os.environ.get("VKGROUP_DEVICE") or "all",
        help="devices to offer (default: VKGROUP_DEVICE, else all): one, several separated by commas, "
        "or all: every GPU, or every software device if there is no GPU",
    )
    parser.add_argument("--jobs", metavar="N", type=positive, help="worker processes (default: one per core)")


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup completion``."""
    parser.description = (
        "Print a script with which a shell completes commands, options and their values. The script contains"
        " all of them and does not start vkgroup."
    )
    parser.epilog = (
        "bash: vkgroup completion bash > ~/.local/share/bash-completion/completions/vkgroup. "
        "zsh: vkgroup completion zsh > DIR/_vkgroup, where DIR is in $fpath. "
        "fish: vkgroup completion fish > ~/.config/fish/completions/vkgroup.fish."
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"{', '.join(SHELLS)}")


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup bench``."""
    parser.description = (
        "Measure subgroup operations against their shared-memory alternatives, other packages, and the"
        " limits of the device."
    )
    parser.epilog = (
        "Exit codes: 0 all results right, 1 a wrong result or, with --compare, a slower row, 2 wrong usage or"
        " input, 3 no such device or missing capability. Method: docs/benchmarks/method.md."
    )
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="benchmarks: globs, or beginnings up to a dot, as in reduce or 'scan.*.uint32' (default: all"
        " except micro and ceiling)",
    )
    add_device(parser, "measure")
    sizes = (
        "sizes, as in 1000003, 2^20, 64k or 1M; with --sweep size the largest (default: the largest on"
        " a GPU; on a CPU the largest that fits into --seconds)"
    )
    rounds = f"time for the rounds of one row, without the warm-up (default: {choices.BENCH_SECONDS:g})"
    sweep = "one row for each value of a parameter: size, workgroup, items or another"
    peers = "other packages to measure: names, or none (default: all that are installed)"
    measurement = parser.add_argument_group("measurement")
    add_table(
        measurement,
        (
            ("--size", "N[,N]…", _sizes, sizes, ()),
            ("--sweep", "P", str, sweep),
            ("--seconds", "S", seconds, rounds, choices.BENCH_SECONDS),
            ("--seed", "N", natural, "seed of all data (default: a new one, which is printed)"),
            ("--peers", "P[,P]…", _words, peers),
        ),
    )
    measurement.add_argument(
        "--smoke", action="store_true", help="verify results at the smallest sizes, and measure no time"
    )
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
    add_threshold(output, "change in per cent from which --compare reports slower or faster")


class _Compare(argparse.Action):
    """Store the two file names, and select the command `vkgroup.cli.bench_compare`."""

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
