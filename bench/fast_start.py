"""Time to start a conformance run, to list cases and to write a report, against `vkgroup run` in one run.

    python bench/fast_start.py RUN --before OLD --json FILE

`RUN` is the folder of a conformance run to report on, `OLD` a source tree of an earlier version. Both
versions take turns in each round, so a busy machine slows both. CPU time includes worker processes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

CASE = "arithmetic.compute.subgroupAdd.float.all.exact"

SHADER = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x; }
"""

RUN = "run of a compute shader"


def commands(device: str, run: Path, folder: Path) -> dict[str, list[str]]:
    """Return the arguments of the timed commands, by title."""
    shader = folder / "numbers.comp"
    shader.write_text(SHADER, "utf-8")
    listing = ["conform", "--list"]
    return {
        RUN: ["run", str(shader), "--device", device, "--groups", "1", "--out", "0=uint[64]"],
        "conform of one case": ["conform", "--device", device, "--filter", CASE, "--out", "OUT"],
        "list of all cases": listing,
        "list of hlsl.*": [*listing, "--filter", "hlsl.*"],
        "list of one case": [*listing, "--filter", CASE],
        "report": ["report", str(run), "-o", str(folder / "report.html")],
    }


def seconds(words: list[str], source: Path, folder: Path) -> tuple[float, float]:
    """Run a command of the version in `source`, and return wall-clock seconds and CPU seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        words = [f"{out}/run" if word == "OUT" else word for word in words]
        paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-P", "-m", "vkgroup", *words]
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return elapsed, used.ru_utime + used.ru_stime


def measure(sources: dict[str, Path], rounds: int, device: str, run: Path) -> dict[str, dict[str, float]]:
    """Return the median and the least seconds of each command and version, by title."""
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(rounds + 1):
            for title, words in commands(device, run, folder).items():
                for version, source in sources.items():
                    taken = seconds(words, source, folder)
                    # The first round fills caches and writes bytecode.
                    if number:
                        times.setdefault(f"{title}, {version}", []).append(taken)
    rows = {}
    for title, taken in times.items():
        elapsed, used = zip(*taken, strict=True)
        rows[title] = {
            "seconds": round(statistics.median(elapsed), 3),
            "least": round(min(elapsed), 3),
            "processor": round(statistics.median(used), 3),
            "least_processor": round(min(used), 3),
        }
    return rows


def main() -> int:
    """Measure in turns, print times and their ratios to `vkgroup run`, and write JSON if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a conformance run, for the report")
    parser.add_argument("--before", type=Path, help="source tree of an earlier version")
    parser.add_argument("--device", default="swiftshader")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sources = {"now": Path(__file__).resolve().parents[1]}
    if arguments.before is not None:
        sources["before"] = arguments.before
    rows = measure(sources, arguments.rounds, arguments.device, arguments.run)
    shader = rows[f"{RUN}, now"]
    print(f"{'seconds':34} {'median':>8} {'least':>8} {'CPU':>8} {'CPU / run':>10}")
    for title, row in rows.items():
        row["ratio"] = round(row["seconds"] / shader["seconds"], 2)
        row["processor_ratio"] = round(row["least_processor"] / shader["least_processor"], 2)
        print(
            f"{title:34} {row['seconds']:8.2f} {row['least']:8.2f} {row['least_processor']:8.2f} "
            f"{row['processor_ratio']:10.2f}"
        )
    if arguments.json is not None:
        record = {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "load_average": os.getloadavg()[0],
            "device": arguments.device,
            "rounds": arguments.rounds,
            "seconds": rows,
        }
        arguments.json.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
