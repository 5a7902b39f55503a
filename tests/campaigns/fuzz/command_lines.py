"""Command lines as processes: random combinations of commands, options and values.

``python tests/campaigns/fuzz/command_lines.py --runs 1000 --seed 0 --json bench/results/fuzz.json``

Each runs in a copy of a folder with valid and damaged files, as an ordinary user where this process is root,
and some are interrupted. A traceback, another exit code than the documented ones, an error without a message,
a run that does not end, a process that is left, and a file outside of the folder are findings.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import fuzz_record
from command_words import FILES, line, prepare

from vkgroup import drivers
from vkgroup.base import processes
from vkgroup.base.phases import WRITING_SECONDS
from vkgroup.cli.parser import parse
from vkgroup.cli.supervisor import time_limit_of

LIMIT = 120.0
"""Seconds that a command without a time limit of its own may take on a busy machine."""

AFTER_DEADLINE = 2.0
"""Seconds that a command with a time limit may take after it; `check` has more to write its findings."""

LIMIT_AFTER_SIGNAL = 30.0
"""Seconds that a command may take after the first signal; workers that a driver blocks end within 30."""

USER = 50_000 + os.getpid() % 10_000
"""The user of the commands if this process is root; another campaign has another one."""

_WRITABLE = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/lock")
"""Folders in which every user may write; in others the commands' user may not."""

_MARK = "VKGROUP_FUZZ_MARK"
"""The environment variable by which the processes of a command are recognized."""

_CAPABILITY = "-all,+dac_read_search"
"""The commands may read root's folder, which may have the clone or Python; writing stays forbidden."""


@dataclass
class Run:
    """One command line and its end."""

    words: list[str]
    #: Exit code as in a shell; None if the command did not end.
    code: int | None = None
    seconds: float = 0.0
    deadline: float | None = None  # the time limit of the command in seconds; None without one
    signal: int = 0  # the signal that was sent; 0 if none
    findings: list[str] = field(default_factory=list)
    output: str = ""


class Place:
    """The folder of a campaign: a template of its files, and a copy for the current command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template, self.work = folder / "template", folder / "work"
        self.others = [folder / name for name in ("home", "tmp", "cache")]
        for path in (self.template, *self.others):
            path.mkdir()
        if drivers.drivers_folder().is_dir():
            (folder / "cache" / "drivers").symlink_to(drivers.drivers_folder().resolve())
        if os.getuid() == 0:
            folder.chmod(0o755)
            for path in (self.template, *self.others):
                os.chown(path, USER, USER)
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        # Another campaign of this process had the same user.
        self.earlier = frozenset(self._owned())

    def environment(self) -> dict[str, str]:
        """Return the environment of the commands: everything that they write belongs into the folder."""
        kept = {key: value for key, value in processes.environment().items() if not key.startswith("VK")}
        home, temporary, cache = map(str, self.others)
        own = {"HOME": home, "TMPDIR": temporary, "VKGROUP_CACHE": cache, _MARK: self.mark}
        # Nothing is downloaded.
        return {**kept, **own, "XDG_CACHE_HOME": cache, "http_proxy": "http://127.0.0.1:9", "COLUMNS": "120"}

    def renew(self) -> None:
        """Make the working folder anew from the template."""
        if self.work.exists():
            shutil.rmtree(self.work)
        subprocess.run(["cp", "-a", str(self.template), str(self.work)], check=True)

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs vkgroup, as another user if this process is root."""
        own = processes.command("vkgroup") if words[:1] != ["!"] else []
        command = [*own, *(words if own else words[1:])]
        if os.getuid():
            return command
        user = ["--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
        return [
            "setpriv",
            *user,
            f"--inh-caps={_CAPABILITY}",
            f"--ambient-caps={_CAPABILITY}",
            "--",
            *command,
        ]

    def make(self, words: list[str]) -> None:
        """Run a command that must succeed, in the template."""
        done = subprocess.run(
            self.command(words), cwd=self.template, env=self.environment(), capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stderr[-2000:]}")

    def processes(self) -> list[int]:
        """Return the processes of commands that are running."""
        mark, found = f"{_MARK}={self.mark}".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def outside(self) -> list[str]:
        """Return files of the commands outside of their folders, where every user may write.

        They are found by their user, so that the result is empty if the commands have no user of their own.
        """
        return [path for path in self._owned() if path not in self.earlier]

    def _owned(self) -> list[str]:
        if os.getuid():
            return []
        places = [path for path in _WRITABLE if Path(path).is_dir()]
        find = ["find", *places, "-path", str(self.folder), "-prune", "-o", "-user", str(USER), "-print"]
        return subprocess.run(find, capture_output=True, text=True, check=False).stdout.splitlines()


def deadline_of(words: Sequence[str], folder: Path) -> float | None:
    """Return the time limit in seconds of a command line in a folder; None if it has none, or is refused."""
    try:
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()), chdir(folder):
            limit = time_limit_of(parse(words))
    except (SystemExit, OSError, ValueError):
        return None
    return None if limit == math.inf else limit


def execute(place: Place, words: list[str], interrupt: tuple[float, int] | None = None) -> Run:
    """Run a command line in a new copy of the files, and judge its end.

    `interrupt`: seconds after which a signal is sent, and the signal.
    """
    place.renew()
    run = Run(words, deadline=deadline_of(words, place.work))
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            place.command(words),
            cwd=place.work,
            env=place.environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _wait(process, run, interrupt)
            run.seconds = time.monotonic() - start
        finally:
            _judge_processes(place, process, run)
        output.seek(0)
        text = output.read().decode(errors="replace")
    code = process.returncode
    run.code = code if code >= 0 else 128 - code
    _judge(run, text, signaled=code < 0)
    left = sorted(path.name for path in place.others[1].iterdir())
    if left:
        run.findings.append(f"files left in the temporary folder: {left[:5]}")
        for path in place.others[1].iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if run.findings:
        run.output = text[-1500:]
    return run


def _wait(process: subprocess.Popen[bytes], run: Run, interrupt: tuple[float, int] | None) -> None:
    try:
        if interrupt is not None:
            seconds, number = interrupt
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                run.signal = number
                process.send_signal(number)
        limit = LIMIT if run.deadline is None else max(LIMIT, run.deadline + _allowed(run))
        process.wait(LIMIT_AFTER_SIGNAL if run.signal else limit)
    except subprocess.TimeoutExpired:
        run.findings.append("does not end")
        process.kill()
        process.wait()


def _allowed(run: Run) -> float:
    """Return the seconds that a command may take after its deadline."""
    return AFTER_DEADLINE + (WRITING_SECONDS if run.words[:1] == ["check"] else 0.0)


def _judge_processes(place: Place, process: subprocess.Popen[bytes], run: Run) -> None:
    """Add a finding if processes are left two seconds after the command ended, and kill them."""
    end = time.monotonic() + 2.0
    left, empty = place.processes(), 0
    # A process that replaces its program has no environment for a moment.
    while empty < 3 and time.monotonic() < end:
        time.sleep(0.05)
        left = place.processes()
        empty = 0 if left else empty + 1
    if left:
        names = [Path(f"/proc/{number}/cmdline") for number in left]
        shown = [path.read_bytes().replace(b"\0", b" ").decode()[:100] for path in names if path.exists()]
        run.findings.append(f"processes left: {shown}")
        end = time.monotonic() + 10.0
        while (left := place.processes()) and time.monotonic() < end:
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.05)


def _judge(run: Run, text: str, *, signaled: bool) -> None:
    allowed = {0, 1, 2, 3} | ({128 + run.signal} if run.signal else set())
    if run.code not in allowed and "does not end" not in run.findings:
        run.findings.append(f"exit code {run.code}" + (" by a signal" if signaled else ""))
    # A signal may arrive before Python has started, which prints a traceback of its own.
    starting = bool(run.signal) and "<frozen site>" in text
    if ("Traceback (most recent call last)" in text and not starting) or "internal error" in text.lower():
        run.findings.append("traceback or internal error")
    late = 0.0 if run.deadline is None else run.seconds - run.deadline
    if late > _allowed(run):
        run.findings.append(f"ends {late:.1f} s after its deadline")
    if run.code in (2, 3) and not text.strip():
        run.findings.append("no message")


def campaign(
    count: int, seed: int, folder: Path, *, share: float = 0.1, within: float = 6.0
) -> Iterator[dict[str, Any]]:
    """Run so many command lines; yield the record so far after every 20, and at the end.

    `share`, `within`: part of the commands that are interrupted, and the most seconds before it.
    """
    place = Place(folder)
    prepare(place.template, place.make)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(place.template)], check=True)
    generator = random.Random(seed)
    runs: list[Run] = []
    started = time.monotonic()
    for number in range(count):
        words = line(generator)
        interrupt = None
        if generator.random() < share:
            number_of_signal = generator.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            interrupt = generator.uniform(0.0, within), int(number_of_signal)
        run = execute(place, words, interrupt)
        runs.append(run)
        if run.findings:
            print(
                f"{number}: vkgroup {shlex.join(words)[:400]!a}\n  {run.findings}\n{run.output}", flush=True
            )
        if len(runs) % 20 == 0 or len(runs) == count:
            yield _record(seed, runs, time.monotonic() - started, place.outside())


def _record(seed: int, runs: list[Run], seconds: float, outside: list[str]) -> dict[str, Any]:
    late = [run.seconds - run.deadline for run in runs if run.deadline is not None]
    return {
        "what": "tests/campaigns/fuzz/command_lines.py: random command lines as processes",
        "seed": seed,
        "as": "ordinary user" if os.getuid() == 0 else "the user of the tests",
        "limit_seconds": LIMIT,
        "seconds": round(seconds, 1),
        "runs": len(runs),
        "by_command": dict(sorted(Counter(run.words[0] if run.words else "" for run in runs).items())),
        "by_exit_code": dict(sorted(Counter(str(run.code) for run in runs).items())),
        "interrupted": sum(bool(run.signal) for run in runs),
        "slowest_seconds": round(max(run.seconds for run in runs), 1),
        "with_deadline": len(late),
        "latest_seconds_after_deadline": round(max(late, default=0.0), 2),
        "written_outside": outside,
        "files": sorted(FILES),
        "findings": [asdict(run) for run in runs if run.findings],
    }


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description="Run random command lines.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--interrupt-all",
        action="store_true",
        help="interrupt each command within 1.5 s, and not a tenth within 6 s",
    )
    parser.add_argument("--json", type=Path, help="write the record into this file")
    arguments = parser.parse_args()
    # A shell ignores Ctrl-C in programs that it starts in the background, and commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="vkgroup-lines-") as folder:
        share, within = (1.0, 1.5) if arguments.interrupt_all else (0.1, 6.0)
        key = "command_lines_interrupted" if arguments.interrupt_all else "command_lines"
        for record in campaign(arguments.runs, arguments.seed, Path(folder), share=share, within=within):
            if arguments.json:
                fuzz_record.update(arguments.json, {key: record})
    print(f"{record['runs']} runs, {len(record['findings'])} with findings, {record['seconds']} s")
    return 1 if record["findings"] or record["written_outside"] else 0


if __name__ == "__main__":
    sys.exit(main())
