"""Speed of a conformance run on two devices of one model compared with one of them.

One session consists of rounds: one device, then both; both, then the other device; and so on. Every run has
new worker processes and cold caches, runs the same cases and should have the same verdicts. Each round gives
a ratio. The script prints the median ratio with its bootstrap interval, and writes the file after each round.

The driver's compiler takes much of a run's time, so a single device is faster if it can use all CPU cores of
the host. With ``--halves`` a single device uses half of the cores, as if the other half were reserved for the
other device.

    python bench/two_gpus.py --out FILE --cases 'arithmetic.compute.*' --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance_speed import cold_cache

from vkgroup.bench.row import ratio_interval
from vkgroup.conformance import AnyCase, Result, Run, Status, run, select
from vkgroup.device import DeviceInfo
from vkgroup.record.run import versions
from vkgroup.workers import multi_device
from vkgroup.workers.pool import MOST_JOBS
from vkgroup.workers.scheduler import LocalScheduler, model_of, read_capabilities

CONTROL = "one device with the workers of both"

LEAVE_SECONDS = 30.0
"""Timeout in seconds for workers to exit before the next run begins."""


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes
    ----------
    round, who : the round, and the devices of the run.
    seconds : wall-clock seconds from the start of the run to its last result.
    first : seconds until the first verdict, for planning and starting; a second device does not reduce them.
    processors : number of CPU cores that the workers can use.
    own_cpu, workers_cpu, workers_kernel : CPU seconds of the measuring process, of all workers, and of the
        workers in the kernel.
    """

    round: int
    who: str
    devices: int
    workers: int
    seconds: float
    cases_per_second: float
    first: float
    processors: int
    own_cpu: float
    workers_cpu: float
    workers_kernel: float
    statuses: dict[str, int]


def pair(choice: str) -> tuple[DeviceInfo, DeviceInfo]:
    """Return the first two selected devices of the same model; a device may be named twice."""
    groups: dict[str, list[DeviceInfo]] = {}
    for device in multi_device.choose(choice):
        group = groups.setdefault(model_of(read_capabilities(device)), [])
        group.append(device)
        if len(group) == 2:
            return group[0], group[1]
    raise SystemExit(
        f"--device {choice}: there are no two devices of the same model; name one device twice (A,A)"
    )


def half_of_the_cores() -> set[int]:
    """Return half of the CPUs that this process may use; both threads of a core are included or excluded."""
    mine = os.sched_getaffinity(0)
    cores: dict[str, set[int]] = {}
    for processor in sorted(mine):
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        core = siblings.read_text().strip() if siblings.exists() else str(processor)
        cores.setdefault(core, set()).add(processor)
    half = list(cores.values())[: max(1, len(cores) // 2)]
    return set().union(*half)


class Measuring:
    """Runs of the same cases on one device or on two devices.

    Parameters
    ----------
    devices : the two devices.
    each : worker processes per device.
    halves : whether a single device uses half of the host's cores.
    """

    def __init__(
        self,
        devices: tuple[DeviceInfo, DeviceInfo],
        cases: Sequence[AnyCase],
        each: int,
        timeout: float,
        halves: bool = False,
    ) -> None:
        self._everything = os.sched_getaffinity(0)
        self._half = half_of_the_cores() if halves else self._everything
        self._devices = devices
        self._cases = cases
        self._each = each
        self._timeout = timeout
        self._verdicts: dict[str, str] = {}
        self.different: set[str] = set()

    def warm_up(self) -> None:
        """Load drivers and libraries once on both devices."""
        self._judge(self._devices, self._each, self._cases[: 8 * self._each])

    def one(self, number: int, which: int) -> Measured:
        """Measure a run on one device."""
        return self._measure(number, f"device {which}", self._devices[which : which + 1], self._each)

    def both(self, number: int) -> Measured:
        """Measure a run on both devices."""
        return self._measure(number, "both", self._devices, self._each)

    def control(self, number: int) -> Measured:
        """Measure the first device with the workers of both, to separate the effects of devices and
        workers."""
        return self._measure(number, CONTROL, self._devices[:1], 2 * self._each)

    def _measure(self, number: int, who: str, devices: Sequence[DeviceInfo], each: int) -> Measured:
        processors = self._half if len(devices) == 1 else self._everything
        own, workers, kernel = time.process_time(), *_children()
        threads = threading.active_count()
        os.sched_setaffinity(0, processors)
        try:
            found, first = self._judge(devices, each, self._cases)
        finally:
            os.sched_setaffinity(0, self._everything)
        _wait_for_workers(threads)
        workers_now, kernel_now = _children()
        self._compare(found)
        measured = Measured(
            number,
            who,
            len(devices),
            found.jobs,
            round(found.seconds, 3),
            round(found.executed / found.seconds, 1),
            round(first, 3),
            len(processors),
            round(time.process_time() - own, 2),
            round(workers_now - workers, 2),
            round(kernel_now - kernel, 2),
            {status.value: count for status, count in sorted(found.counts.items())},
        )
        text = f"round {number}: {who}: {measured.seconds:.1f} s, {measured.cases_per_second:.0f} cases/s"
        print(text, file=sys.stderr, flush=True)
        return measured

    def _judge(self, devices: Sequence[DeviceInfo], each: int, cases: Sequence[AnyCase]) -> tuple[Run, float]:
        """Judge cases with cold caches; also return the seconds until the first verdict of a worker."""
        scheduler = LocalScheduler.of(devices, each)
        verdicts: list[float] = []

        def note(results: list[Result]) -> None:
            if not verdicts and any(result.status is not Status.NOT_SUPPORTED for result in results):
                verdicts.append(time.perf_counter())

        with cold_cache(), tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            found = run(
                devices[0],
                cases=cases,
                scheduler=scheduler,
                out=Path(folder) / "run",
                timeout=self._timeout,
                on_results=note,
            )
        return found, verdicts[0] - start if verdicts else 0.0

    def _compare(self, found: Run) -> None:
        """Record the cases whose verdict differs from an earlier run."""
        for result in found.results:
            if self._verdicts.setdefault(result.case, result.status.value) != result.status.value:
                self.different.add(result.case)


def _wait_for_workers(threads: int) -> None:
    """Wait until at most `threads` threads remain; one thread waits for each worker that is still running."""
    end = time.monotonic() + LEAVE_SECONDS
    while threading.active_count() > threads and time.monotonic() < end:
        time.sleep(0.05)


def _children() -> tuple[float, float]:
    """Return the CPU seconds of all ended processes: total, and in the kernel."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_stime


def results(rounds: Sequence[tuple[Measured, Measured]], controls: Sequence[Measured]) -> dict[str, Any]:
    """Return the ratios and all measurements."""
    ratio = ratio_interval([one.seconds for one, _ in rounds], [both.seconds for _, both in rounds])
    return {
        "speedup": round(ratio.median, 3),
        "interval": [round(ratio.low, 3), round(ratio.high, 3)],
        "confidence": ratio.confidence,
        "rounds": len(rounds),
        "speedups": [round(one.seconds / both.seconds, 3) for one, both in rounds],
        "runs": [asdict(measured) for pair in rounds for measured in pair]
        + [asdict(one) for one in controls],
    }


def _arguments() -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file, written after each round")
    parser.add_argument("--cases", action="append", default=[], help="glob; may be repeated (default: all)")
    parser.add_argument("--every", type=int, default=1, help="take each N-th case of these (default: 1)")
    parser.add_argument(
        "--device", default=multi_device.ALL, help="all (default), or two with a comma between"
    )
    parser.add_argument("--jobs", type=int, help="workers of each (default: half the cores, at most 16)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, help="begin no round that would end later, by the last one")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds a dispatch may take")
    parser.add_argument("--control", action="store_true", help=f"measure {CONTROL} too, once")
    parser.add_argument("--halves", action="store_true", help="let one device have half of the host's cores")
    arguments = parser.parse_args()
    for name in ("rounds", "every", "jobs"):
        if getattr(arguments, name) is not None and getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return arguments


def _head(
    arguments: argparse.Namespace, devices: Sequence[DeviceInfo], each: int, cases: int
) -> dict[str, Any]:
    """Return the description of the measurement and its machine."""
    return {
        "devices": [
            {"name": d.name, "driver": f"{d.driver_name} {d.driver_info}", "uuid": d.uuid} for d in devices
        ],
        "versions": versions(),
        "processors": os.cpu_count(),
        "halves": arguments.halves,
        "workers_a_device": each,
        "filters": arguments.cases,
        "every": arguments.every,
        "cases": cases,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "note": "fresh workers and cold caches in every run; listing the cases is not in the seconds",
    }


def _rounds(measuring: Measuring, count: int, seconds: float | None) -> Iterator[tuple[Measured, Measured]]:
    """Yield rounds of one device and both, as long as the next round should end within the time limit."""
    start, longest = time.monotonic(), 0.0
    for number in range(1, count + 1):
        began = time.monotonic()
        if seconds and number > 1 and began - start + longest > seconds:
            return
        if number % 2:
            one, both = measuring.one(number, 0), measuring.both(number)
        else:
            both, one = measuring.both(number), measuring.one(number, 1)
        longest = max(longest, time.monotonic() - began)
        yield one, both


def main() -> int:
    """Measure, print and write the results."""
    arguments = _arguments()
    start = time.monotonic()
    each = arguments.jobs or max(1, min(MOST_JOBS, (os.cpu_count() or 2) // 2))
    devices = pair(arguments.device)
    cases = select(tuple(arguments.cases))[:: arguments.every]
    if not cases:
        raise SystemExit("no case matches --cases; see `vkgroup list` for names")
    os.environ["__GL_SHADER_DISK_CACHE"] = (
        "0"  # Disable NVIDIA's cache, which would reuse the pipelines of the first run.
    )
    measuring = Measuring(devices, cases, each, arguments.timeout, arguments.halves)
    head = _head(arguments, devices, each, len(cases))
    measuring.warm_up()
    controls = [measuring.control(0)] if arguments.control else []
    left = arguments.seconds and arguments.seconds - (time.monotonic() - start)
    rounds: list[tuple[Measured, Measured]] = []
    for measured in _rounds(measuring, arguments.rounds, left):
        rounds.append(measured)
        found = {**head, **results(rounds, controls), "verdicts_that_differ": sorted(measuring.different)}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(found, indent=2) + "\n")
    print(
        json.dumps({key: found[key] for key in ("speedup", "interval", "speedups", "verdicts_that_differ")})
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
