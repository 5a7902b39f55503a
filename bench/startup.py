"""How long vkgroup takes to answer before it does anything: help, version, completion, each a fresh process.

    python bench/startup.py --json FILE

Beside each stands a Python that does nothing, timed in the same rounds: what no command can undercut.
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

from vkgroup.cli.main import COMMANDS

LIMIT = 0.15
"""Seconds within which ``vkgroup --help`` is to answer."""

NOTHING = "python -c pass"


def commands() -> dict[str, list[str]]:
    """Return what is timed: words for people, and the command."""
    vkgroup = [sys.executable, "-m", "vkgroup"]
    asked = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["completion", "bash"]]
    return {NOTHING: [sys.executable, "-c", "pass"]} | {
        f"vkgroup {' '.join(words)}": [*vkgroup, *words] for words in asked
    }


def seconds(command: list[str]) -> float:
    """Run a command once; return wall-clock seconds."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> int:
    """Measure in turns and print; write JSON where asked. 1 where help takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    asked = commands()
    for command in asked.values():
        seconds(command)  # files are in the cache, and bytecode is written, from here on
    found: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(arguments.rounds):
        for name, command in asked.items():
            found[name].append(seconds(command))
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, times in found.items():
        print(f"{name:28} {1e3 * medians[name]:6.1f} ms  ({1e3 * min(times):.1f} to {1e3 * max(times):.1f})")
    if arguments.json is not None:
        record = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "rounds": arguments.rounds,
            "limit_of_help_ms": 1e3 * LIMIT,
            "milliseconds": {
                name: {
                    "median": round(1e3 * medians[name], 1),
                    "least": round(1e3 * min(times), 1),
                    "most": round(1e3 * max(times), 1),
                }
                for name, times in found.items()
            },
        }
        arguments.json.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return 1 if medians["vkgroup --help"] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
