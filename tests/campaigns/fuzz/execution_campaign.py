"""Executing fuzzing: mutated modules on the reference device and on drivers, in supervised workers.

::

    python tests/campaigns/fuzz/execution_campaign.py --modules 100000 --seed 1 --folder OUT --json fuzz.json

The module of a seed and a number is always the same. A campaign continues in its folder where it ended. With
``--merge``, the counts of several folders are written, and nothing runs. After a correction of vkgroup,
``--again`` repeats the modules with a failure and corrects the counts. The exit code is 1 if a failure is
not that of a known error of a driver.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

import fuzz_record
from execution_counts import Counts, Store, record_of
from execution_trial import ERROR, REFERENCE, SECONDS, is_failure
from execution_worker import Task
from fuzz_campaign import HERE, environment

DRIVERS = ("swiftshader", "lavapipe-25.0.7")

LIMIT = 60.0
"""Seconds without an answer after which a worker hangs; its drivers have their own limits."""

START = 900.0
"""Seconds that a worker may take to start and to make the corpus."""

ATTEMPTS, RETRY_SECONDS = 10, 20.0
"""Further attempts to start a worker, and seconds before each: a busy machine takes long to load a driver."""

BATCH = 2000
"""Modules of one worker process."""

SAVE_SECONDS = 20.0


class NotStarted(RuntimeError):
    """A worker ended or hung before its first module; the message says how, and what it printed."""


def reports(task: Task, folder: Path, limit: float = LIMIT) -> Iterator[dict[str, Any]]:
    """Yield the report of each module of a task; a worker that dies or hangs is replaced.

    The module at which it did has a report with the outcome `ERROR`.
    """
    attempts = 0
    while task.start < task.stop:
        try:
            for report in _of_worker(task, folder, limit):
                yield report
                task = replace(task, start=report["number"] + 1)
                attempts = 0
        except NotStarted:
            attempts += 1
            if attempts > ATTEMPTS:
                raise
            time.sleep(RETRY_SECONDS)


def _of_worker(task: Task, folder: Path, limit: float) -> Iterator[dict[str, Any]]:
    """Yield the reports of one worker, and last, if it died or hung, one of the module that it was at."""
    command = [sys.executable, str(HERE / "execution_worker.py"), json.dumps(asdict(task))]
    with tempfile.TemporaryFile() as errors:
        env = environment(folder) | {"MESA_SHADER_CACHE_DISABLE": "true"}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=env
        )
        lines: queue.Queue[bytes] = queue.Queue()
        assert process.stdout is not None
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        number, how, wait = task.start, "", START
        try:
            while line := lines.get(timeout=wait):
                wait = limit
                report = json.loads(line)
                if "number" in report:
                    yield report
                    number = report["number"] + 1
            if process.wait(timeout=limit):
                how = f"the worker ended with {process.returncode}"
        except (queue.Empty, subprocess.TimeoutExpired):
            how = f"the worker did not answer in {wait:g} s"
        finally:
            process.kill()
            process.wait()
        errors.seek(0)
        how += ": " * bool(how) + errors.read().decode(errors="replace")[-3000:] * bool(how)
        if how and wait == START:
            raise NotStarted(how)
        if how and number < task.stop:
            yield {
                **{"number": number, "base": "", "kind": "unknown", "module": "", "slowest": 0.0},
                "outcomes": {REFERENCE: [ERROR, how]},
            }


def _read(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(b"")


def campaign(task: Task, store: Store, folder: Path, limit: float = LIMIT) -> None:
    """Run the modules of a task that the store does not have, and show its findings."""
    saved = begun = time.monotonic()
    before = store.counts.seconds
    try:
        for start in range(max(task.start, store.counts.next), task.stop, BATCH):
            part = replace(task, start=start, stop=min(start + BATCH, task.stop))
            for report in reports(part, folder, limit):
                for finding in store.add(report):
                    detail = finding["detail"].strip().splitlines() or [""]
                    print(
                        f"{finding['number']} {finding['base']}, {finding['kind']}: {finding['device']}:"
                        f" {finding['outcome']}: {detail[0][:150]}",
                        flush=True,
                    )
                store.counts.next = report["number"] + 1
                store.counts.seconds = before + time.monotonic() - begun
                if time.monotonic() - saved > SAVE_SECONDS:
                    store.save()
                    saved = time.monotonic()
    finally:
        store.save()


def repeat(task: Task, store: Store, folder: Path, limit: float = LIMIT) -> None:
    """Repeat the modules with a failure, each in a worker of its own, and replace their outcomes."""
    store.repeat(lambda number: next(reports(replace(task, start=number, stop=number + 1), folder, limit)))


def write_record(file: Path, campaigns: Sequence[Counts]) -> None:
    """Write the counts of campaigns into a record of fuzzing, under ``"execution"``."""
    fuzz_record.update(file, {"execution": record_of(campaigns)})


def main() -> int:
    """Run a campaign, or merge the counts of several."""
    parser = argparse.ArgumentParser(
        description="Execute mutated modules on the reference device and drivers."
    )
    parser.add_argument("--modules", type=int, default=1000, help="number (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--driver", action="append", help=f"(default: {' and '.join(DRIVERS)})")
    parser.add_argument("--folder", type=Path, help="keep the state, to continue with the same command")
    parser.add_argument("--again", action="store_true", help="repeat only the failures in the folder")
    parser.add_argument("--merge", type=Path, nargs="+", metavar="FOLDER", help="only add up their counts")
    parser.add_argument("--json", type=Path, help='write the counts under the key "execution"')
    arguments = parser.parse_args()
    # The state is saved at the end, also at that of `kill`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.merge:
        states = [json.loads((folder / "state.json").read_text()) for folder in arguments.merge]
        campaigns = [Counts(**state) for state in states]
    else:
        with tempfile.TemporaryDirectory(prefix="vkgroup-fuzz-") as temporary:
            folder = arguments.folder or Path(temporary)
            store = Store(folder, arguments.seed, SECONDS)
            drivers = tuple(arguments.driver or DRIVERS)
            corpus = str(folder / "corpus.pickle")
            task = Task(arguments.seed, 0, arguments.modules, drivers, corpus, SECONDS)
            with suppress(KeyboardInterrupt):
                repeat(task, store, Path(temporary)) if arguments.again else campaign(
                    task, store, Path(temporary)
                )
        campaigns = [store.counts]
    if arguments.json:
        write_record(arguments.json, campaigns)
    record = record_of(campaigns)
    for device, numbers in record["devices"].items():
        print(f"{device}: " + ", ".join(f"{number} {outcome}" for outcome, number in numbers.items()))
    print(f"{record['modules']} modules, {record['seconds']:.0f} s, slowest {record['slowest']:.1f} s")
    unexplained = any(
        is_failure(device, outcome) for device, numbers in record["devices"].items() for outcome in numbers
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
