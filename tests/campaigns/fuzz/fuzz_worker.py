"""The process that tries inputs on targets: ``python tests/fuzz/fuzz_worker.py FOLDER [TARGET]``.

It does the jobs of ``jobs.json`` in the folder, says on standard output what it found, and notes in the file
``current`` which input it is at, so that who watches it knows what killed or hung it. With a target it tries
the one input of the file ``input``.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzz_planted import PLANTED
from fuzz_target import Target

_MEMORY = 12 << 30
"""Limit of a worker's writable memory in bytes; an input that needs more fails."""

_LEAST_SECONDS = 10.0
"""Seconds for making a finding smaller."""

_TRIES = 2000
"""Number of attempts to shrink an input."""

EXCEPTION = 4
"""Exit code of a process that tried one input, which ended in an exception that is not allowed."""


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
    """Outcome of one target: inputs tried and accepted, seconds in total and of the slowest input."""

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

    def count(self, other: Report) -> None:
        """Add the numbers of another report."""
        self.inputs += other.inputs
        self.accepted += other.accepted
        self.seconds += other.seconds
        self.slowest = max(self.slowest, other.slowest)


@dataclass(frozen=True)
class Job:
    """Inputs of one seed for one target; the same job makes the same inputs everywhere."""

    target: str
    seed: int
    count: int


def target_named(name: str) -> Target:
    """Return a target of the table, or one of those that fail on purpose."""
    if name in PLANTED:
        return PLANTED[name]
    # Imported late: it loads all of vkgroup.
    from fuzz_targets import TARGETS

    return TARGETS[name]


def draw(job: Job) -> Iterator[bytes]:
    """Return the inputs of a job."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[bytes] = []

    @seeded(job.seed)
    @settings(
        max_examples=job.count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(target_named(job.target).inputs())
    def collect(data: bytes) -> None:
        found.append(data)

    collect()
    return iter(found[: job.count])


def attempt(target: str, data: bytes, folder: Path) -> tuple[str, str, str] | None:
    """Give an input to a target; returns kind, what and message of an end that is not allowed.

    Raises
    ------
    VkgroupError, or what else the target allows
        The input was refused.
    """
    chosen = target_named(target)
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
    try:
        return attempt(target, data, folder)
    except target_named(target).allowed:
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


def work(jobs: Sequence[Job], folder: Path) -> None:
    """Do jobs; says one JSON line for each finding and each job, and in a file which input it is at."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    current = os.open(folder / "current", os.O_RDWR | os.O_CREAT)
    (folder / "files").mkdir(exist_ok=True)

    def say(**message: Any) -> None:
        print(json.dumps(message), file=answers, flush=True)

    for job in jobs:
        report, found = Report(), set()
        for data in draw(job):
            _note(current, report.inputs + 1, data)
            start = time.perf_counter()
            failure = None
            try:
                failure = attempt(job.target, data, folder / "files")
                report.accepted += failure is None
            except target_named(job.target).allowed:
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
                data = _least(job.target, data, failure[1], folder / "files")
                failure = fails(job.target, data, folder / "files") or failure
            finding = Finding(job.target, *failure[:2], job.seed, base64.b64encode(data).decode(), failure[2])
            say(finding=asdict(finding))
        _note(current, 0, b"")
        say(done=asdict(report))


def _least(target: str, data: bytes, what: str, folder: Path) -> bytes:
    """Return an exception's input made smaller, within some seconds."""
    until = time.monotonic() + _LEAST_SECONDS

    def still(shorter: bytes) -> bool:
        failure = fails(target, shorter, folder) if time.monotonic() < until else None
        return failure is not None and failure[1] == what

    return smaller(data, still, _TRIES)


def _note(file: int, number: int, data: bytes) -> None:
    """Write which input the worker is at: its number in the batch (0: none), its length, the input."""
    os.pwrite(file, number.to_bytes(8, "little") + len(data).to_bytes(8, "little") + data, 0)


def main() -> int:
    """Do the jobs of a folder, or try its one input."""
    folder = Path(sys.argv[1])
    if len(sys.argv) > 2:
        data = (folder / "input").read_bytes()
        return EXCEPTION if fails(sys.argv[2], data, folder / "files") else 0
    work([Job(**job) for job in json.loads((folder / "jobs.json").read_text())], folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
