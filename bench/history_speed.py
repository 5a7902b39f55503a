"""Speed of a history of a million results: writing, listing, comparing, reporting, exporting and reading.

The script creates a database of synthetic runs. They have the names of the suite's cases, a typical
distribution of statuses on a GPU, and texts of realistic length; one result in 200 changes between runs. Then
it times the commands on this database, each in a separate process, including the start of Python.

    python bench/history_speed.py --json bench/results/history.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vkgroup.conformance import Result, Status, select
from vkgroup.outputs import history
from vkgroup.outputs.history import RunInfo, RunKind
from vkgroup.record.run import versions

BATCH = 64
"""Results per transaction, as in a real run."""

_SHARES = {Status.PASS: 633, Status.FAIL: 10, Status.UNDEFINED: 26, Status.NOT_SUPPORTED: 331}
_CHANGED = 200
_REASONS = [f"needs a subgroup size of {1 << n} and feature number {k}" for n in range(8) for k in range(40)]


def result(case: str, generator: random.Random) -> Result:
    """Return a synthetic result of a case."""
    (status,) = generator.choices(list(_SHARES), list(_SHARES.values()))
    if status == Status.NOT_SUPPORTED:
        return Result(case, status, detail=generator.choice(_REASONS))
    detail = ""
    if status == Status.FAIL:
        lanes = [
            f"workgroup 0 subgroup {n} lane {generator.randrange(32)} got {generator.random()}"
            for n in range(5)
        ]
        detail = "\n".join([f"{case} is wrong", *lanes, f"repeat: vkgroup conform --filter {case}"])
    return Result(case, status, generator.random() / 100, 512, generator.randrange(100), detail)


def fill(path: Path, runs: int, results: int, seed: int = 0) -> None:
    """Create a database with a number of runs and a total number of results.

    Parameters
    ----------
    runs : number of runs; each has results / runs results, at most the number of cases of the suite.
    """
    generator = random.Random(seed)
    names = [case.name for case in select(())][: results // runs]
    current = [result(name, generator) for name in names]
    with history.open(path, write=True) as database:
        for number in range(runs):
            started = f"2026-01-01T{number:02}:00:00+00:00"
            writer = database.begin(
                RunInfo("", RunKind.CONFORM, "Synthetic", f"{number}", "0", started, seed=0)
            )
            for start in range(0, len(current), BATCH):
                writer.add(current[start : start + BATCH])
            writer.finish(300.0, dict(Counter(entry.status.value for entry in current)))
            for index in generator.sample(range(len(current)), len(current) // _CHANGED):
                current[index] = result(names[index], generator)


@dataclass
class Timing:
    """Wall-clock and CPU seconds; CPU seconds are more reliable on a busy machine."""

    seconds: float
    processor_seconds: float


def timed(work: Callable[[], object], who: int) -> Timing:
    """Time the work of this process (``RUSAGE_SELF``) or of its children (``RUSAGE_CHILDREN``)."""
    before, start = resource.getrusage(who), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - start, resource.getrusage(who)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timing(round(seconds, 2), round(used, 2))


def command(*words: str) -> Timing:
    """Time a vkgroup command."""

    def run() -> None:
        done = subprocess.run([sys.executable, "-m", "vkgroup", *words], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)

    return timed(run, resource.RUSAGE_CHILDREN)


def measure(folder: Path, runs: int, results: int) -> dict[str, Any]:
    """Fill a database and time the commands that use it."""
    path = folder / "runs.db"
    written = timed(lambda: fill(path, runs, results), resource.RUSAGE_SELF)
    with history.open(path) as database:
        count = sum(sum(info.counts.values()) for info in database.runs())
        size = path.stat().st_size

        def read() -> None:
            for info in database.runs():
                assert sum(1 for _ in database.results(info)) == sum(info.counts.values())

        timings = {
            "write": written,
            "list": command("history", "--db", str(path)),
            "diff": command("diff", "--db", str(path)),
            "diff, as JSON": command("diff", "--db", str(path), "--json", str(folder / "diff.json")),
            "report of a run": command("report", "latest", "--db", str(path), "-o", str(folder / "one.html")),
            "report of two runs": command(
                "report", "latest~1", "latest", "--db", str(path), "-o", str(folder / "two.html")
            ),
            "export of a run": command(
                "history", "export", str(path), "latest", "--out", str(folder / "out")
            ),
            "diff with an exported run": command("diff", str(folder / "out"), "latest~1", "--db", str(path)),
            "read of every result": timed(read, resource.RUSAGE_SELF),
        }
    return {
        "results": count,
        "runs": runs,
        "cases": count // runs,
        "results_a_transaction": BATCH,
        "bytes": size,
        "bytes_a_result": round(size / count, 1),
        "timings": {name: vars(replace(timing)) for name, timing in timings.items()},
    }


def main() -> int:
    """Measure, print and write the results; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", metavar="N", type=int, default=1_000_000)
    parser.add_argument("--runs", metavar="N", type=int, default=2)
    parser.add_argument("--json", metavar="F", type=Path, help="write the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), arguments.runs, arguments.results)
    found |= {
        "versions": versions() | {"sqlite": sqlite3.sqlite_version},
        "machine": {"processors": os.cpu_count(), "architecture": platform.machine()},
        "load": [round(load, 1) for load in os.getloadavg()],
        "note": "starts of Python included; a load above the processors' number stretches the wall clock",
    }
    text = json.dumps(found, indent=2) + "\n"
    if arguments.json is not None:
        arguments.json.write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
