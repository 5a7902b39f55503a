"""A conformance run: select cases, execute them in batches on workers' devices, record every result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from sys import intern
from typing import Any

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    InternalError,
    InvalidInput,
    NoDevice,
    VkgroupError,
)
from vkgroup.conformance import plan
from vkgroup.conformance.case_results import diagnosed_result, result_of_error
from vkgroup.conformance.execute import Executor, Transform
from vkgroup.conformance.families import case_named, family_named, family_of, select
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.plan import ALLOW, Batch, HangGuard
from vkgroup.conformance.rules import rule_of
from vkgroup.conformance.statistics import case_statistics
from vkgroup.device import DeviceInfo
from vkgroup.dispatch import Device
from vkgroup.dispatch.statistics import Executable
from vkgroup.dispatch.vulkan import VulkanDevice
from vkgroup.record.causes.text import rule_text
from vkgroup.record.journal import Journal
from vkgroup.record.record import AGAINST_THE_DEVICE, NoVerdict, Result, Status, TakeResults
from vkgroup.record.run import CasesWithoutVerdict, Run
from vkgroup.workers.driver_output import position, printed_since
from vkgroup.workers.opening import open_device
from vkgroup.workers.pool import default_jobs
from vkgroup.workers.scheduler import BatchScheduler, InProcess, LocalScheduler, pass_on, read_capabilities

JobFunction = Callable[[Executor, Any], Any]
"""Performs a job, such as executing a batch; must be a module-level function, because it is pickled."""

TOGETHER = 1000
"""Most results recorded together of cases that need no dispatch; a run can have half a million of them."""

MANY_CASES = 20_000
"""With at least this many cases, workers start before the batches are planned, because planning is slow."""


def execute_batch(executor: Executor, batch: Batch) -> list[Result | NoVerdict]:
    """Execute the cases of a batch and return their results in order; a batch that fails as a whole is split.

    After DeviceLost or DispatchTimeout the device is unusable, and none of the cases has a result.
    """
    start = time.perf_counter()
    try:
        verdicts = family_named(batch.family).verdicts_on(executor, batch.cases)
        share = (time.perf_counter() - start) / len(batch)
        return [
            diagnosed_result(case, verdict, share, executor)
            for case, verdict in zip(batch.cases, verdicts, strict=True)
        ]
    except (DeviceLost, DispatchTimeout):
        raise
    except Exception as error:
        if len(batch) > 1:
            return [result for part in batch.parts() for result in execute_batch(executor, part)]
        return [result_of_error(batch.cases[0].name, error, time.perf_counter() - start)]


def compile_batch(executor: Executor, batch: Batch) -> list[Result | NoVerdict]:
    """Let a compile-only driver compile the shaders of a batch; see `execute_batch` for the rest.

    The cases run as on other devices, but the results that they read are meaningless.
    """
    start, before, printed = time.perf_counter(), _submitted(executor), position()
    try:
        family_named(batch.family).verdicts_on(executor, batch.cases)
    except (DeviceLost, DispatchTimeout):
        raise
    except Exception as error:
        if len(batch) > 1:
            return [result for part in batch.parts() for result in compile_batch(executor, part)]
        if not _is_of_comparison(error) or _submitted(executor) == before:
            result = result_of_error(batch.cases[0].name, error, time.perf_counter() - start)
            if isinstance(result, Result) and result.status is Status.FAIL:
                detail = "\n".join(filter(None, (result.detail, printed_since(printed))))
                return [replace(result, status=Status.REJECTED, detail=detail)]
            return [result]
    share = (time.perf_counter() - start) / len(batch)
    return [Result(case.name, Status.COMPILED, share) for case in batch.cases]


def compile_with_statistics(executor: Executor, batch: Batch) -> list[Result | NoVerdict]:
    """Compile each case alone, and record the compiler's statistics; see `compile_batch` for the rest.

    Batches stay large: after a crash they are split, so that a case crashes alone in a new process before it
    gets this verdict. The shim of RADV crashes when its memory is used up, whatever the case is.
    """
    device = executor.device
    if not isinstance(device, VulkanDevice):
        return compile_batch(executor, batch)
    results: list[Result | NoVerdict] = []
    for case in batch.cases:
        captured: list[Executable] = []
        device.logical.captured = captured
        try:
            compiled = compile_batch(executor, replace(batch, cases=[case]))
        finally:
            device.logical.captured = None
        if captured and isinstance(compiled[0], Result) and compiled[0].status is Status.COMPILED:
            statistics = case_statistics(case.name, captured, device.capabilities.driver_name)
            compiled = [replace(compiled[0], statistics=statistics)]
        results += compiled
    return results


def _submitted(executor: Executor) -> int:
    """Return the number of submissions to the device so far; each follows the creation of its pipeline."""
    logical = getattr(executor.device, "logical", None)
    return 0 if logical is None else int(logical.timeline.submitted)


def _is_of_comparison(error: Exception) -> bool:
    """Return whether an error can come from judging results that nothing wrote, which have any value."""
    return isinstance(error, ArithmeticError | LookupError | ValueError) and not isinstance(
        error, VkgroupError
    )


@dataclass(frozen=True)
class Setup:
    """The first message to a worker that executes batches; see `vkgroup.workers.messages.WorkerSetup`."""

    device: DeviceInfo
    seed: int  # seed of all data
    timeout: float  # seconds that one dispatch may take
    transform: Transform | None = None  # see `vkgroup.conformance.execute.Transform`; must be picklable
    job_function: JobFunction = execute_batch  # performs the jobs
    compiler: str = ""  # compiles the shaders whose language it supports; empty for the default

    def on(self, device: DeviceInfo) -> Setup:
        """Return the same setup for another device."""
        return replace(self, device=device)

    def open(self) -> ExecutorSession:
        """Open the device, and an executor on it; raise VkgroupError if that fails."""
        device = open_device(self.device, robust=False)
        executor = Executor(
            device, seed=self.seed, timeout=self.timeout, transform=self.transform, compiler=self.compiler
        )
        return ExecutorSession(device, executor, self.job_function)


@dataclass(frozen=True)
class ExecutorSession:
    """An open device with an executor, and the function that performs jobs on it."""

    device: Device
    executor: Executor
    job_function: JobFunction

    def perform(self, job: Any) -> Any:
        """Perform a job and return its answer; see `vkgroup.workers.messages.WorkerSession`."""
        return self.job_function(self.executor, job)

    def close(self) -> None:
        """Close the executor and the device."""
        self.executor.close()
        self.device.close()


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
    is_enough: Callable[[list[Result]], bool] | None = None,
    scheduler: BatchScheduler | None = None,
    allow_hangs: bool = False,
    compiler: str = "",
    statistics: bool = False,
) -> Run:
    """Execute cases of the suite on a device and return the run.

    Parameters
    ----------
    device : the device, as `vkgroup.workers.opening.select` gives it.
    filters : globs over case names; all cases if empty. Ignored if `cases` is given.
    cases : the cases to execute, instead of `filters`.
    jobs : worker processes; one per processor by default.
    seed : seed of all data: the same seed gives the same inputs.
    out : folder for ``results.jsonl``; without it, nothing is written.
    resume : continue the run in `out`, with the same cases or more.
    timeout : seconds that one dispatch may take.
    time_limit : seconds after which no case is started; cases that are not reached are in `Run.missing` and
        have no result, so that `resume` continues with them.
    shuffle : seed of a random order of the cases, which also changes the cases that share a batch.
    isolate : execute in worker processes, so that a crash of the driver affects one case. Otherwise a crash
        ends this process.
    transform : see `vkgroup.conformance.execute.Transform`; must be picklable with `isolate`.
    on_start : called once, before the first results, with the run that will contain them.
    on_results : called with each batch's results as they arrive.
    is_enough : called with each batch's results, also with failures that may be judged again because a worker
        died near them; true ends the run, and what is left is in `Run.missing`.
    scheduler : used instead of workers of this process: for several devices (`vkgroup.workers.scheduler`),
        among them `device`, or for a cluster. `jobs` and `isolate` are then ignored.
    allow_hangs : also run cases that are known to hang the device, and go on after a hang with cases that may
        hang in the same way. Otherwise these cases are in `Run.not_run`.
    compiler : the compiler of all shaders whose language it supports, one of
        `vkgroup.base.choices.COMPILERS`; empty for the default. A shader that it does not compile gives
        `Status.NOT_SUPPORTED`.
    statistics : record the compiler's statistics of each case, which is then compiled alone. Only for
        compile-only devices.

    Raises
    ------
    NoDevice, DriverError
        The device cannot be opened, or no worker process starts any more; `Run.problem` is this error.
    InvalidInput
        `out` contains a different run or results of other cases; the device of `statistics` executes.
    CasesWithoutVerdict
        vkgroup or its host failed in some cases, which have no result. Its attribute `run` has all others.
    """
    if statistics and not device.is_compile_only:
        raise InvalidInput(f"{device.name} executes: only compile-only devices record statistics of cases.")
    chosen = tuple(cases) if cases is not None else select(tuple(filters))
    if scheduler is None:
        own, count = read_capabilities(device), jobs or default_jobs()
        kind = LocalScheduler if isolate else InProcess
        scheduler = kind([device], count, own)
    capabilities = scheduler.capabilities
    started = datetime.now(UTC).isoformat(timespec="seconds")
    job_function = compile_batch if device.is_compile_only else execute_batch
    if statistics:
        job_function = compile_with_statistics
    rules = partial(rule_of, capabilities=capabilities)
    result = Run(capabilities, seed, scheduler.jobs, started, rule_of=rules)
    result.compiler = compiler
    result.devices = tuple(scheduler.devices) if len(scheduler.devices) > 1 else ()
    identity = {
        "device": capabilities.name,
        "driver": f"{capabilities.driver_name} {capabilities.driver_info}",
        "seed": seed,
        "vkgroup": version("vkgroup"),
        **({"compiler": compiler} if compiler else {}),
        **({"statistics": True} if statistics else {}),
    }
    journal = None if out is None else Journal(out, identity, resume=resume)
    start = time.perf_counter()
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    with journal or nullcontext():
        if journal is not None and journal.done:
            journal.require_selected({case.name for case in chosen})
        if on_start is not None:
            on_start(result)
        driver = capabilities.driver_name, capabilities.driver_info
        guard = HangGuard(*driver, capabilities.name, allow=allow_hangs)
        session = _Session(result, device.choice, journal, on_results, guard)
        pending: list[AnyCase] = []

        def planned() -> Iterator[plan.Batch]:
            pending.extend(session.sort_out(chosen))
            yield from plan.batches(pending, capabilities, shuffle=shuffle)

        early = len(chosen) - (len(journal.done) if journal is not None else 0) >= MANY_CASES
        stream = scheduler.run(
            Setup(device, seed, timeout, transform, job_function, compiler),
            planned() if early else list(planned()),
            deadline=deadline,
            start_early=early,
            reduce=guard.reduced,
            is_enough=is_enough,
        )
        try:
            pass_on(stream, scheduler.drain, session.take)
        except (NoDevice, InternalError) as problem:
            result.problem = problem
    ended = {judged.case for judged in result.results}
    executed = {judged.case for judged in result.results if judged.status is not Status.NOT_EMULATED}
    result.executed = sum(case.name in executed for case in pending)
    result.without_verdict = {entry.case: entry.detail for entry in scheduler.without_verdict}
    result.not_run = list(guard.not_run.values())
    ended |= result.without_verdict.keys()
    ended |= {name for reason in result.not_run for name in reason.cases}
    result.missing = [case.name for case in chosen if case.name not in ended]
    result.seconds = time.perf_counter() - start
    result.worker_memory = scheduler.peak_memory
    if result.problem is not None:
        raise result.problem
    if result.without_verdict:
        raise CasesWithoutVerdict(result)
    return result


@dataclass(frozen=True)
class _Session:
    """Passes results, as they arrive, to the run, the journal and the caller."""

    run: Run
    device: str
    journal: Journal | None
    on_results: TakeResults | None
    guard: HangGuard

    def sort_out(self, cases: Iterable[AnyCase]) -> list[AnyCase]:
        """Record the cases that need no dispatch, or that may hang the device; return the others."""
        done = self.journal.done if self.journal is not None else {}
        self._add([done[case.name] for case in cases if case.name in done])
        unsupported: list[Result] = []
        pending = []
        for case in (case for case in cases if case.name not in done):
            if needs := family_of(case).missing(case, self.run.capabilities):
                detail = intern(f"needs {', '.join(needs)}")
                unsupported.append(Result(case.name, Status.NOT_SUPPORTED, detail=detail))
                if len(unsupported) == TOGETHER:
                    self.take(unsupported)
                    unsupported = []
            elif self.guard.may_run(case.name):
                pending.append(case)
        self.take(unsupported)
        return pending

    def take(self, results: list[Result]) -> None:
        """Record the results of a batch."""
        results = [self._with_command(result) for result in results]
        if self.journal is not None:
            self.journal.append(results)
        self._add(results)

    def _add(self, results: list[Result]) -> None:
        """Add results that are in the journal already."""
        self.guard.add_results(results)
        self.run.results.extend(results)
        if self.on_results is not None and results:
            self.on_results(results)

    def _with_command(self, result: Result) -> Result:
        """Return a failure with the case's description, its rule and the command that repeats it."""
        if result.status not in AGAINST_THE_DEVICE:
            return result
        case = case_named(result.case)
        judged_by = f"judged by: {result.device}\n" if result.device else ""
        rule = rule_of(result, self.run.capabilities)
        required = f"{rule_text(rule)}\n" if rule else ""
        device = quote(result.device or self.device)
        options = f"--device {device} --seed {self.run.seed} --filter {quote(result.case)}"
        if self.guard.finding(result.case) is not None:
            options += f" {ALLOW}"
        lines = f"{case.sentence if case else ''}\n{result.detail}\n{required}{judged_by}"
        return replace(result, detail=f"{lines}repeat: vkgroup conform {options}".strip())
