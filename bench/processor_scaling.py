"""Scaling of CPU work with twice as many processes, which limits the gain from a second GPU.

A conformance run mostly executes the driver's compiler on the CPU. If 32 processes do less than twice the
work of 16, a second GPU cannot double the speed of a run. The script measures three kinds of work, each with
several processes that start together:

- arithmetic: hashes of 8 KiB, which stay in the L1 cache;
- front: compilation of the suite's shaders from GLSL to SPIR-V by glslang, in the process;
- pipelines: compilation of the same shaders by the driver, on one device or on all devices of the same model.

    python bench/processor_scaling.py --out FILE --processes 16 32 --seconds 8
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conformance_speed import cold_cache

from vkgroup import compiler
from vkgroup.conformance import family_of, plan, select
from vkgroup.conformance.case import Case
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.program import Program
from vkgroup.conformance.subgroup import SubgroupFamily
from vkgroup.device import DeviceInfo
from vkgroup.record.run import versions
from vkgroup.workers import multi_device
from vkgroup.workers.opening import open_device

CASES = "arithmetic.compute.*.exact"
"""Pattern of the cases whose shaders are compiled."""

MOST_A_SECOND = 60
"""Maximum number of pipelines that a process creates per second."""

READY_SECONDS = 240.0
"""Timeout in seconds for all processes to open their devices and prepare their shaders."""

Unit = Callable[[], bool]
"""Function that does one unit of work; returns False if none is left."""


@dataclass(frozen=True)
class Work:
    """Parameters of a measurement: kind of work, devices, number of processes, and seconds."""

    kind: str
    devices: tuple[DeviceInfo, ...]
    processes: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    """One measurement.

    Attributes
    ----------
    units_per_second : rate of all processes together.
    cpu_per_unit : CPU seconds per unit.
    """

    kind: str
    devices: int
    processes: int
    units_per_second: float
    cpu_per_unit: float


def arithmetic(work: Work, number: int) -> Iterator[Unit]:
    """Yield the arithmetic work, whose unit is 64 hashes of 8 KiB."""
    block = bytes(8192)

    def unit() -> bool:
        for _ in range(64):
            hashlib.blake2b(block)
        return True

    yield unit


def front(work: Work, number: int) -> Iterator[Unit]:
    """Yield the glslang work, whose unit is one shader of the process; no shader is repeated."""
    with open_device(work.devices[0]) as device:
        executor = Executor(device, seed=0)
        sources = [program.source for program in _programs(executor, work, number)]
    made = itertools.count()

    def unit() -> bool:
        count = next(made)
        source = f"{sources[count % len(sources)]}\n// {count}\n"
        compiler.compile_source(source, stage="compute", name="<scaling>", target=executor.target)
        return True

    yield unit


def pipelines(work: Work, number: int) -> Iterator[Unit]:
    """Yield the driver work, whose unit is one pipeline of the process; no module is repeated."""
    with open_device(work.devices[number % len(work.devices)], robust=False) as device:
        executor = Executor(device, seed=0)
        programs = _programs(executor, work, number)
        modules = iter([executor.compile(program.source, stage="compute") for program in programs])

        def unit() -> bool:
            module = next(modules, None)
            if module is None:
                return False
            device.pipeline(module).close()
            return True

        yield unit
        executor.close()


KINDS: dict[str, Callable[[Work, int], Iterator[Unit]]] = {
    "arithmetic": arithmetic,
    "front": front,
    "pipelines": pipelines,
}


def _programs(executor: Executor, work: Work, number: int) -> list[Program]:
    """Return enough programs for a process, which no other process gets; process 0 always gets the same."""
    capabilities = executor.capabilities
    cases = [case for case in select((CASES,)) if not family_of(case).missing(case, capabilities)]
    batches = list(plan.batches(cases, capabilities))[number :: os.cpu_count() or 1]
    most = max(1, round(work.seconds * MOST_A_SECOND))
    family = SubgroupFamily()
    own = (
        [case for case in batch.cases if isinstance(case, Case)]
        for batch in batches[:most]
        if batch.family == family.name
    )
    return [family.program(executor, cases) for cases in own]


def _process(work: Work, number: int, ready: Any, answers: Any) -> None:
    """Run one worker process: prepare, wait for the others, work, and report the amount of work."""
    for unit in KINDS[work.kind](work, number):
        ready.wait(READY_SECONDS)
        start, cpu, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - start < work.seconds and unit():
            done += 1
        answers.put((done, time.perf_counter() - start, time.process_time() - cpu))


def measure(work: Work) -> Measured:
    """Run several processes concurrently, with cold caches."""
    spawn = multiprocessing.get_context("spawn")
    ready, answers = spawn.Barrier(work.processes), spawn.Queue()
    processes = [
        spawn.Process(target=_process, args=(work, number, ready, answers))
        for number in range(work.processes)
    ]
    with cold_cache():
        for process in processes:
            process.start()
        found = [answers.get(timeout=READY_SECONDS + 2 * work.seconds) for _ in processes]
        for process in processes:
            process.join()
    done = sum(count for count, _, _ in found)
    rate = sum(count / seconds for count, seconds, _ in found)
    cpu = sum(seconds for _, _, seconds in found) / max(1, done)
    measured = Measured(work.kind, len(work.devices), work.processes, round(rate, 2), round(cpu, 6))
    print(measured, file=sys.stderr, flush=True)
    return measured


def scaling(runs: list[Measured]) -> dict[str, float]:
    """Return, for each kind, the rate of the last run divided by that of the first."""
    kinds = dict.fromkeys(run.kind for run in runs)
    rates = {kind: [run.units_per_second for run in runs if run.kind == kind] for kind in kinds}
    return {kind: round(its[-1] / its[0], 3) for kind, its in rates.items()}


def main() -> int:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cores = os.cpu_count() or 2
    parser.add_argument("--out", type=Path, required=True, help="JSON file, written after each measurement")
    parser.add_argument(
        "--device", default=multi_device.ALL, help="all (default), or two with a comma between"
    )
    parser.add_argument("--processes", type=int, nargs=2, default=[max(1, cores // 2), cores])
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement (default: 8)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    arguments = parser.parse_args()
    os.environ["__GL_SHADER_DISK_CACHE"] = "0"
    devices = tuple(multi_device.choose(arguments.device))
    fewer, more = arguments.processes
    runs: list[Measured] = []
    for kind in arguments.kinds:
        # The last run of a kind uses both devices; a previous one uses one device with all processes.
        plans = [(devices[:1], fewer), (devices[:1], more), (devices, more)]
        for its, processes in plans if kind == "pipelines" else [plans[0], plans[2]]:
            runs.append(measure(Work(kind, its, processes, arguments.seconds)))
            found = {
                "devices": [device.name for device in devices],
                "versions": versions(),
                "processors": cores,
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "scaling": scaling(runs),
                "runs": [asdict(run) for run in runs],
            }
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found["scaling"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
