"""Options of ``devices``, ``probe``, ``drivers``, ``compilers``, ``worker``, ``bench`` and ``completion``."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput
from vkgroup.base.suggestions import suggestion
from vkgroup.cli.options.table import (
    WIDE,
    Command,
    Option,
    database,
    device,
    flag,
    grouped,
    json,
    natural,
    positive,
    repeated,
    seconds,
    threshold,
)

SHELLS = ("bash", "zsh", "fish")


class _Compare(argparse.Action):
    """Store the two file names, and select the command `vkgroup.cli.bench_compare`."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: Any, option: object = None) -> None:
        setattr(namespace, self.dest, values)
        namespace.command = "bench_compare"


def _fetched(text: str) -> str:
    # Python 3.11 compares the default of an argument that may be missing with `choices`, too.
    if text not in choices.FETCHED_COMPILERS:
        hint = suggestion(text, choices.FETCHED_COMPILERS)
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r}.{hint}")
    return text


def _sizes(text: str) -> tuple[int, ...]:
    from vkgroup.bench.catalogue import parse_size  # help and completion do without

    try:
        return tuple(parse_size(word) for word in text.split(","))
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _words(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(word.strip() for word in text.split(","))


# fmt: off
_DRIVERS = Command(
    actions={
        "list": Command(
            (json("write the list as JSON"),),
            purpose="list the drivers in the cache and those of the distribution",
        ),
        "fetch": Command(
            (
                Option("names", "NAME",
                       "swiftshader, lavapipe (the newest), lavapipe-VERSION; radv, nvk, turnip, honeykrisp:"
                       " compile for absent GPUs; those of radv are emulated", nargs="+"),
                Option("--offline", "FOLDER", "take the drivers from this bundle, without network", Path),
            ),
            "Download drivers into the cache, without root.",
            purpose="download drivers into the cache, without root",
        ),
        "path": Command(
            (Option("name", "NAME"),), purpose="print the ICD file of a downloaded driver, for --device"
        ),
    }
)

_COMPILERS = Command(
    actions={
        "list": Command((json("write the list as JSON"),), purpose="list the compilers and their versions"),
        "fetch": Command(
            (
                Option("names", "NAME", "glslang (the default), for GLSL; tint, for WGSL", _fetched, list,
                       nargs="*"),
            ),
            "Download the newest glslang or tint into the cache, without root.",
            purpose="download the newest glslang or tint into the cache, without root",
        ),
    }
)

_WORKER = Command(
    (
        Option("address", "ADDRESS",
               "address of the scheduler (tcp://host:8786), or the file that it wrote (.json)"),
        Option("--device", "D",
               "devices to offer (default: VKGROUP_DEVICE, else all): one, several separated by commas, "
               "or all: every GPU, or every software device if there is no GPU",
               default=lambda: os.environ.get("VKGROUP_DEVICE") or "all"),
        Option("--jobs", "N", "worker processes (default: one per core)", positive),
    )
)

_COMPLETION = Command(
    (Option("shell", "SHELL", ", ".join(SHELLS), choices=SHELLS),),
    "Print a script with which a shell completes commands, options and their values. The script contains"
    " all of them and does not start vkgroup.",
    "bash: vkgroup completion bash > ~/.local/share/bash-completion/completions/vkgroup. "
    "zsh: vkgroup completion zsh > DIR/_vkgroup, where DIR is in $fpath. "
    "fish: vkgroup completion fish > ~/.config/fish/completions/vkgroup.fish.",
)

_BENCH = Command(
    (
        Option("names", "NAME",
               "benchmarks: globs, or beginnings up to a dot, as in reduce or 'scan.*.uint32' (default: all"
               " except micro and ceiling)", default=list, nargs="*"),
        device("measure"),
        Option("--definitions", "F.py",
               "benchmarks of your own, in a file or a folder (docs/benchmarks/definitions.md)", Path),
        *grouped(
            "shaders of your own",
            repeated("--against", "against", "SHADER",
                     "compare the times of the compute shader NAME and of this one, whose outputs must be the"
                     " same", Path),
            Option("--with", "F",
                   "their groups, inputs and constants (docs/shaders/configuration.md)", Path,
                   dest="with_file"),
            Option("--configuration", "NAME", "with --with: the configuration of this name"),
        ),
        *grouped(
            "measurement",
            Option("--size", "N[,N]…",
                   "sizes, as in 1000003, 2^20, 64k or 1M; with --sweep size the largest (default: the"
                   " largest on a GPU; on a CPU the largest that fits into --seconds)", _sizes, ()),
            Option("--sweep", "P",
                   "one row for each value of a parameter: size, workgroup, items or another"),
            Option("--seconds", "S",
                   "time for the rounds of one row, without the warm-up (default:"
                   f" {choices.BENCH_SECONDS:g})",
                   seconds, choices.BENCH_SECONDS),
            Option("--seed", "N", "seed of all data (default: a new one, which is printed)", natural),
            Option("--peers", "P[,P]…",
                   "other packages to measure: names, or none (default: all that are installed)", _words),
            flag("--smoke", "verify results at the smallest sizes, and measure no time"),
        ),
        *grouped(
            "output",
            Option("--json", "F", "write Google Benchmark's JSON; - is standard output"),
            database("in which to record each row"),
            Option("--plot", "F.png", "draw the results (.png, .svg or .pdf)", Path),
            flag("--list", "list the benchmarks; needs no device"),
            replace(WIDE, help="with --list: also print what --sweep takes"),
            Option("--compare", ("A.json", "B.json"), "compare two recorded runs", Path, action=_Compare,
                   nargs=2),
            threshold("change in per cent from which --compare reports slower or faster"),
        ),
    ),
    "Measure subgroup operations against their shared-memory alternatives, other packages, and the"
    " limits of the device.",
    "Exit codes: 0 all results right, 1 a wrong result or, with --compare, a slower row, 2 wrong usage or"
    " input, 3 no such device or missing capability. Method: docs/benchmarks/method.md.",
    usage="%(prog)s [NAME …] [--device D] [--size N] [OPTION …]",
)

_EXECUTION = flag(
    "--execution",
    "also count outcomes of litmus tests: lockstep, order of memory, progress, reconvergence, models of"
    " lanes",
)

COMMANDS = {
    "devices": Command((WIDE, json("write the list as JSON"))),
    "drivers": _DRIVERS,
    "compilers": _COMPILERS,
    "probe": Command((device("probe"), _EXECUTION, database("in which to record the results"), json())),
    "worker": _WORKER,
    "completion": _COMPLETION,
    "bench": _BENCH,
}
# fmt: on
