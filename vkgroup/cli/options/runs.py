"""The options of commands that make, show or compare runs: ``conform``, ``history``, ``diff``, ``report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput
from vkgroup.cli.options.table import (
    BISECT,
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

# Types only: commands that do not need these packages start without them.
if TYPE_CHECKING:
    from vkgroup.conformance.plan import Shard

SHOWN = 20
"""Default number of lines of each list of ``vkgroup diff``."""

_NAMED = "a run's id or the beginning of it, latest, latest~1, …; or a folder or file with a run"


def _shard(text: str) -> Shard:
    from vkgroup.conformance.plan import parse_shard  # help and completion do without

    try:
        return parse_shard(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _limit(text: str) -> int:
    """Return a number of lines; raise ArgumentTypeError unless it has one to nine digits."""
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a nonnegative integer of at most nine digits")
    return natural(text)


OVERWRITE = flag("--overwrite", "replace an earlier run in --out")


def _files(names: str, purpose: str) -> Option:
    """Return an option that takes several files, and may be repeated."""
    return Option(names, "F", purpose, Path, list, "extend", "+")


# fmt: off
_CONFORM = Command(
    (
        *grouped(
            "cases",
            repeated("--filter", "filter", "GLOB",
                     "run the cases whose names match, also names of Khronos' suite (dEQP-VK.…), or of a"
                     " category (vote); may be repeated"),
            Option("--caselist", "F", "file with names of cases, also of Khronos' suite; or failures.csv",
                   Path),
            _files("--skips", "files of regular expressions: cases to leave out"),
            Option("--compiler",
                   help="compile all shaders with this compiler, and run only cases in its languages"
                        " (default: glslang)",
                   default="", choices=choices.COMPILERS),
            Option("--shard", "I/N", "run only the I-th of N parts of the cases", _shard),
            Option("--shuffle", "N", "run in a random order with this seed (default: that of --seed)", int,
                   nargs="?", const=True),
            flag("--allow-hangs",
                 "also run cases that are known to hang the device, and go on with cases like one that hung"),
        ),
        *grouped(
            "instead of a run",
            flag("--list", "list the cases; needs no device"),
            Option("--suite", "F.toml", "make the runs of a file: each [[run]] has options like these", Path),
            Option("--show", "CASE",
                   "print what a case tests: requirements, rule, expected results, inputs, shaders; no"
                   " device"),
            Option("--repro", ("CASE", "DIR"),
                   "run one case, and write a folder that repeats it on any machine", nargs=2),
            flag("--shrink",
                 "with --repro: take the smallest case that fails likewise; write issue.md"),
            flag("--amber",
                 "with --repro: also write the case as an Amber script, where that can express it"),
            flag("--vkrunner", "with --repro: the same as a script of VkRunner (.shader_test)"),
            flag("--offload", "with --repro: the same as YAML of LLVM's offload-test-suite"),
        ),
        *grouped(
            "execution",
            device("test"),
            flag("--each",
                 "with --device all, or A,B: every device runs all cases, even if some are the same model"),
            Option("--cluster", "ADDRESS",
                   "run on the workers of a Dask cluster: the address or file (.json) of its scheduler, or"
                   " local"),
            Option("--jobs", "N", "worker processes (default: one per core)", positive),
            Option("--seed", "N", "seed of all data (default: 0)", natural, 0),
            Option("--timeout", "S", "time limit of a dispatch in seconds (default: 20)", seconds, 20.0),
            Option("--time-limit", "S",
                   "time limit of the run in seconds; cases not reached are missing, and --resume continues",
                   seconds),
            Option("--maxfail", "N", "end after this number of unexpected results", positive),
            flag("--compile-only", "only compile for an absent GPU, also where it is emulated"),
            flag("--statistics",
                 "on a compile-only device: compile each case alone, and record registers, code size and"
                 " others for vkgroup diff"),
        ),
        *grouped(
            "results",
            Option("--out", "DIR", "folder for the results", Path),
            flag("--resume", "continue the run in --out"),
            OVERWRITE,
            database("in which to record each result"),
            Option("--report", "F",
                   "also write the HTML report (default: report.html in the results' folder)", Path,
                   nargs="?", const=Path()),
            Option("--junit", "F", "also write JUnit XML", Path),
            flag("--no-repro", "make no folder that repeats the smallest case of a new cause"),
        ),
        *grouped(
            "expected results",
            flag("--known",
                 "exit with 0 if all failures have known causes; end with a summary of this driver's errors"),
            BISECT,
            flag("--allow-empty", "exit with 0, and not with 3, if the device supports none of the cases"),
            _files("--baseline",
                   "files of expected failures, one NAME,STATUS per line (format of deqp-runner)"),
            _files("--flakes", "files of regular expressions: flaky cases"),
            Option("--save-baseline", "F", "write the failures to F, or update F", Path),
            Option("--annotations", "|".join(choices.ANNOTATIONS),
                   "report unexpected results for GitHub (printed) or GitLab (a file in the results' folder)",
                   choices=choices.ANNOTATIONS),
        ),
    ),
    usage="%(prog)s [--device D] [--filter GLOB] [--out DIR] [OPTION …]",
)

_CHOICE = (
    Option("--kind", help="only runs of this command", choices=choices.RUN_KINDS),
    Option("--device", "D", "only runs of devices with this in the name", default=""),
)
"""The options that select runs."""

_FILE = Option("file", "F", "database", Path)

_HISTORY = Command(
    (database("to list"), *_CHOICE, json("write the list as JSON")),
    "List the runs in a database, the latest first, or add, export or remove runs.",
    actions={
        "add": Command(
            (
                Option("file", "F", "database; created if it does not exist", Path),
                Option("runs", "RUN",
                       "folder with runs, at any depth, or a file: results.jsonl, or JSON of probe or bench",
                       Path, nargs="+"),
            ),
            purpose="add recorded runs; runs that are already present are not changed",
        ),
        "export": Command(
            (
                _FILE,
                Option("run", "RUN", "id, the beginning of one, latest, latest~1, …"),
                Option("--out", "DIR", "folder for the files", Path, required=True),
                OVERWRITE,
            ),
            purpose="write a run as the files that its command writes",
        ),
        "remove": Command(
            (_FILE, Option("runs", "RUN", "id, or the beginning of one", nargs="+")), purpose="remove runs"
        ),
    },
    needs_action=False,
)

_TIMES = threshold("change of a time in per cent, beyond the intervals, from which it is reported")

_DIFF = Command(
    (
        Option("old", "A", f"{_NAMED} (default: latest~1)", default="latest~1", nargs="?"),
        Option("new", "B", "the same (default: latest)", default="latest", nargs="?"),
        database("that contains the runs"),
        *_CHOICE,
        _TIMES,
        Option("--limit", "N", f"lines of each list (default: {SHOWN}; 0: all)", _limit, SHOWN),
        json(),
    ),
    "Compare the cases, capabilities and speed of two runs, if both runs contain them.",
    "Exit codes: 0 no new failure, 1 a new failure (a case, or a benchmark with wrong results), "
    "2 wrong usage or input. What is compared: docs/conformance/records.md.",
)

_REPORT = Command(
    (
        Option("runs", "RUN", "runs to show; two or more are compared", nargs="+"),
        database("that contains the runs that are not paths"),
        *_CHOICE,
        _TIMES,
        Option("-o --out", "F", "the file to write (default: report.html)", Path, Path("report.html")),
    ),
    "Show runs in one HTML file that needs no network: capabilities, a map of conformance, each failure"
    " by lane, findings of checks, charts of benchmarks, and the changes since the first run.",
    "RUN is the folder of a run (`vkgroup conform --out`), its results.jsonl (.xz too), what"
    " `vkgroup probe --json`, `vkgroup check --json` or `vkgroup bench --json` wrote, or a run in a"
    " database: its id or the beginning of it, latest, latest~1, …. Contents of the report:"
    " docs/conformance/records.md.",
)

COMMANDS = {"conform": _CONFORM, "history": _HISTORY, "diff": _DIFF, "report": _REPORT}
# fmt: on
