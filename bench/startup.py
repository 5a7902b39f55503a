"""Start-up time of vkgroup: help, version and completion, each in a new process.

    python bench/startup.py --json FILE

Each command is compared with a Python process that does nothing, timed in the same rounds, which is a lower
bound. CPU time shows the cost of a command on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

from vkgroup.cli.parser import COMMANDS

LIMIT = 0.15
"""Time limit of ``vkgroup --help`` in seconds."""

NOTHING = "python -c pass"


def commands() -> dict[str, list[str]]:
    """Return the timed commands by title."""
    vkgroup = [sys.executable, "-m", "vkgroup"]
    asked = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["completion", "bash"]]
    return {NOTHING: [sys.executable, "-c", "pass"]} | {
        f"vkgroup {' '.join(words)}": [*vkgroup, *words] for words in asked
    }


def seconds(command: list[str]) -> tuple[float, float]:
    """Run a command once, and return wall-clock seconds and CPU seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return elapsed, used.ru_utime + used.ru_stime


def _row(times: list[tuple[float, float]]) -> dict[str, float]:
    """Return a command's milliseconds: median, minimum and maximum wall-clock time, and median CPU time."""
    elapsed, used = ([1e3 * time for time in column] for column in zip(*times, strict=True))
    numbers = (statistics.median(elapsed), min(elapsed), max(elapsed), statistics.median(used))
    return dict(
        zip(
            ("median", "least", "most", "processor"),
            (round(milliseconds, 1) for milliseconds in numbers),
            strict=True,
        )
    )


def main() -> int:
    """Measure in alternation, print, and write JSON if requested; return 1 if help exceeds its time limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    asked = commands()
    for command in asked.values():
        seconds(command)  # After this first run, files are in the cache and bytecode is written.
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(arguments.rounds):
        for name, command in asked.items():
            found[name].append(seconds(command))
    rows = {name: _row(times) for name, times in found.items()}
    print(f"{'milliseconds':28} {'median':>8} {'least':>8} {'most':>8} {'processor':>10}")
    for name, row in rows.items():
        print(
            f"{name:28} {row['median']:8.1f} {row['least']:8.1f} {row['most']:8.1f} {row['processor']:10.1f}"
        )
    if arguments.json is not None:
        record = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "load_average": os.getloadavg()[0],
            "rounds": arguments.rounds,
            "limit_of_help_ms": 1e3 * LIMIT,
            "milliseconds": rows,
        }
        arguments.json.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return 1 if rows["vkgroup --help"]["median"] > 1e3 * LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
