"""The options of commands that make, show or compare runs: ``conform``, ``history``, ``diff``, ``report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

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

# Types only: commands that do not need these packages start without them.
if TYPE_CHECKING:
    from vkgroup.conformance.plan import Shard

SHOWN = 20
"""Default number of lines of each list of ``vkgroup diff``."""

_NAMED = "a run's id or the beginning of it, latest, latest~1, …; or a folder or file with a run"


def add_conform(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup conform``."""
    add_device(parser, "test")
    parser.add_argument(
        "--each",
        action="store_true",
        help="with --device all, or A,B: every device runs all cases, even if some are the same model",
    )
    parser.add_argument(
        "--filter",
        metavar="GLOB",
        action="append",
        default=[],
        help="run the cases whose names match; may be repeated",
    )
    cluster = "run on the workers of a Dask cluster: the address or file (.json) of its scheduler, or local"
    add_table(
        parser,
        (
            ("--cluster", "ADDRESS", str, cluster),
            ("--caselist", "F", Path, "file with names of cases, of vkgroup or of Khronos' suite"),
            ("--jobs", "N", positive, "worker processes (default: one per core)"),
            ("--seed", "N", natural, "seed of all data (default: 0)", 0),
            ("--out", "DIR", Path, "folder for the results"),
            ("--junit", "F", Path, "also write JUnit XML"),
            ("--timeout", "S", seconds, "time limit of a dispatch in seconds (default: 20)", 20.0),
        ),
    )
    parser.add_argument(
        "--compiler",
        choices=choices.COMPILERS,
        default="",
        help="compile all shaders with this compiler, and run only cases in its languages (default: glslang)",
    )
    parser.add_argument(
        "--statistics",
        action="store_true",
        help="on a compile-only device: compile each case alone, and record registers, code size and others"
        " for vkgroup diff",
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in --out")
    add_db(parser, "in which to record each result")
    parser.add_argument(
        "--repro",
        metavar=("CASE", "DIR"),
        nargs=2,
        help="run one case, and write a folder that repeats it on any machine",
    )
    parser.add_argument(
        "--no-repro", action="store_true", help="make no folder that repeats the smallest case of a new cause"
    )
    parser.add_argument("--list", action="store_true", help="list the cases; needs no device")
    parser.add_argument(
        "--show",
        metavar="CASE",
        help="print what a case tests: requirements, rule, expected results, inputs, shaders; no device",
    )
    parser.add_argument(
        "--allow-hangs",
        action="store_true",
        help="also run cases that are known to hang the device, and go on with cases like one that hung",
    )
    parser.add_argument(
        "--known",
        action="store_true",
        help="exit with 0 if all failures have known causes; end with a summary of this driver's errors",
    )
    parser.add_argument(
        "--report",
        metavar="F",
        type=Path,
        nargs="?",
        const=Path(),
        help="also write the HTML report (default: report.html in the results' folder)",
    )
    _add_expecting(parser)


def _add_expecting(parser: argparse.ArgumentParser) -> None:
    """Declare the options for continuous integration: expected results, shards, time limits."""
    for option, purpose in (
        ("--baseline", "files of expected failures, one NAME,STATUS per line (format of deqp-runner)"),
        ("--skips", "files of regular expressions: cases to leave out"),
        ("--flakes", "files of regular expressions: flaky cases"),
    ):
        parser.add_argument(
            option, metavar="F", type=Path, nargs="+", action="extend", default=[], help=purpose
        )
    parser.add_argument(
        "--annotations",
        metavar="|".join(choices.ANNOTATIONS),
        choices=choices.ANNOTATIONS,
        help="report unexpected results for GitHub (printed) or GitLab (a file in the results' folder)",
    )
    limit = "time limit of the run in seconds; cases not reached are missing, and --resume continues"
    add_table(
        parser,
        (
            ("--save-baseline", "F", Path, "write the failures to F, or update F"),
            ("--shard", "I/N", _shard, "run only the I-th of N parts of the cases"),
            ("--time-limit", "S", seconds, limit),
        ),
    )
    parser.add_argument(
        "--shuffle",
        metavar="N",
        type=int,
        nargs="?",
        const=True,
        help="run in a random order with this seed (default: that of --seed)",
    )


def _shard(text: str) -> Shard:
    from vkgroup.conformance.plan import parse_shard  # help and completion do without

    try:
        return parse_shard(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_history(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup history``."""
    parser.description = "List the runs in a database, the latest first, or add, export or remove runs."
    add_db(parser, "to list")
    _add_choice(parser)
    add_json(parser, "write the list as JSON")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    adding = actions.add_parser(
        "add", help="add recorded runs; runs that are already present are not changed"
    )
    adding.add_argument("file", metavar="F", type=Path, help="database; created if it does not exist")
    adding.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        type=Path,
        help="folder with runs, at any depth, or a file: results.jsonl, or JSON of probe or bench",
    )
    exporting = actions.add_parser("export", help="write a run as the files that its command writes")
    exporting.add_argument("file", metavar="F", type=Path, help="database")
    exporting.add_argument("run", metavar="RUN", help="id, the beginning of one, latest, latest~1, …")
    exporting.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder for the files")
    removing = actions.add_parser("remove", help="remove runs")
    removing.add_argument("file", metavar="F", type=Path, help="database")
    removing.add_argument("runs", metavar="RUN", nargs="+", help="id, or the beginning of one")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    """Declare the options that select runs."""
    parser.add_argument("--kind", choices=choices.RUN_KINDS, help="only runs of this command")
    parser.add_argument(
        "--device", metavar="D", default="", help="only runs of devices with this in the name"
    )


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup diff``."""
    parser.description = "Compare the cases, capabilities and speed of two runs, if both runs contain them."
    parser.epilog = (
        "Exit codes: 0 no new failure, 1 a new failure (a case, or a benchmark with wrong results), "
        "2 wrong usage or input. What is compared: docs/history.md."
    )
    parser.add_argument(
        "old", metavar="A", nargs="?", default="latest~1", help=f"{_NAMED} (default: latest~1)"
    )
    parser.add_argument("new", metavar="B", nargs="?", default="latest", help="the same (default: latest)")
    add_db(parser, "that contains the runs")
    _add_choice(parser)
    _add_times(parser)
    add_table(parser, (("--limit", "N", _limit, f"lines of each list (default: {SHOWN}; 0: all)", SHOWN),))
    add_json(parser)


def _limit(text: str) -> int:
    """Return a number of lines; raise ArgumentTypeError unless it has one to nine digits."""
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a nonnegative integer of at most nine digits")
    return natural(text)


def _add_times(parser: argparse.ArgumentParser) -> None:
    add_threshold(parser, "change of a time in per cent, beyond the intervals, from which it is reported")


def add_report(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``vkgroup report``."""
    parser.description = (
        "Show runs in one HTML file that needs no network: capabilities, a map of conformance, each failure"
        " by lane, findings of checks, charts of benchmarks, and the changes since the first run."
    )
    parser.epilog = (
        "RUN is the folder of a run (`vkgroup conform --out`), its results.jsonl (.xz too), what"
        " `vkgroup probe --json`, `vkgroup check --json` or `vkgroup bench --json` wrote, or a run in a"
        " database: its id or the beginning of it, latest, latest~1, …. Charts of benchmarks need"
        " pip install 'vkgroup[report]'. Contents of the report: docs/report.md."
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="runs to show; two or more are compared")
    add_db(parser, "that contains the runs that are not paths")
    _add_choice(parser)
    _add_times(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="F",
        type=Path,
        default=Path("report.html"),
        help="the file to write (default: report.html)",
    )
