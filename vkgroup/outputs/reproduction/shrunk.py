"""Search for a smaller program that fails like the program of a reconvergence case."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from vkgroup.base.errors import VkgroupError
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import case_named, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.reconvergence.family import ReconvergenceCase, run
from vkgroup.conformance.run import Setup
from vkgroup.outputs.reproduction.values import Json
from vkgroup.programs.nodes import RandomProgram, count_statements
from vkgroup.programs.rules import observation_faults
from vkgroup.programs.shrinker import digest, replay, shrink
from vkgroup.record.record import Result, Status
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

SECONDS = 60.0
"""Seconds that the search may take."""

_ERROR = re.compile(r"^([A-Z]\w+): ", re.MULTILINE)
"""Beginning of a line of the detail if a shader or pipeline was rejected."""

_DEATH = re.compile(r"the process was (?:killed by signal|ended with exit code) \d+")
"""Part of the detail of a crash that ended the process."""

_REFERENCE_SECONDS = 20.0
"""Time limit in seconds for a dispatch on the reference device."""


@dataclass(frozen=True)
class SmallerProgram:
    """A smaller program that fails."""

    case: ReconvergenceCase  # the case that executes it
    path: tuple[int, ...]  # of `vkgroup.programs.shrinker.Shrunk`
    statements: int  # number of its statements
    of: int  # number of statements of the whole program
    done: bool  # whether no smaller program fails; False if the time was exhausted or the device was lost


def _allowed(program: RandomProgram) -> bool:
    return not observation_faults(program)


def shrinkable(case: Any, result: Result) -> bool:
    """Return whether to search for a smaller program that fails like a case.

    Hangs and lost devices are not repeated, because each may make the device unusable.
    """
    whole = isinstance(case, ReconvergenceCase) and case.of is None
    return whole and _kind(result) is not None


def smaller(
    setup: Setup, case: ReconvergenceCase, result: Result, subgroup_size: int
) -> SmallerProgram | None:
    """Return a smaller program that fails on a device like a case, and passes on the reference device."""
    whole, kind = case.program(setup.seed), _kind(result)
    assert kind is not None
    with _Trials(setup, case, kind, subgroup_size) as trials:
        shrunk = shrink(whole, trials.fails, _allowed, seconds=SECONDS)
        done = shrunk.done and not trials.gone
    if shrunk.program == whole:
        return None
    sizes = count_statements(shrunk.program), count_statements(whole)
    return SmallerProgram(case.shrunk(shrunk.program), shrunk.path, *sizes, done)


def to_json(smaller_program: SmallerProgram) -> Json:
    """Return the entries of a reproduction record from which `case_of` restores the case."""
    case = smaller_program.case
    assert case.of is not None
    assert case.left is not None
    return {"of": case.of.name, "path": list(smaller_program.path), "program": digest(case.left)}


def case_of(record: Json) -> AnyCase | None:
    """Return the case of a reproduction record; None if this version of vkgroup does not have it."""
    if "of" not in record:
        return case_named(record["case"])
    case = case_named(record["of"])
    if not isinstance(case, ReconvergenceCase):
        return None
    try:
        left = replay(case.program(record["seed"]), record["path"], _allowed)
    except ValueError:
        return None
    return case.shrunk(left) if digest(left) == record["program"] else None


def _kind(result: Result) -> tuple[Status, str] | None:
    """Return the kind of failure: wrong results, an error, or a crash; None if there is none."""
    if result.status is Status.FAIL:
        error = _ERROR.search(result.detail)
        return result.status, error[1] if error else ""
    death = _DEATH.search(result.detail) if result.status is Status.CRASH else None
    return (result.status, death[0]) if death else None


class _Trials:
    """Runs programs on the device, in a process that is restarted when it dies, and on the reference device.

    `gone`: whether the device can no longer be opened; then no program counts as failing.
    """

    def __init__(
        self, setup: Setup, case: ReconvergenceCase, kind: tuple[Status, str], subgroup_size: int
    ) -> None:
        self._setup, self._case, self._kind, self._size = setup, case, kind, subgroup_size
        self._until = time.monotonic() + SECONDS
        self._worker: WorkerProcess | None = None
        self.gone = False
        self._open = ExitStack()
        self._reference: Executor | None = None

    def __enter__(self) -> _Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_worker()
        self._open.close()

    def fails(self, program: RandomProgram) -> bool:
        """Return whether a program fails like the case, and passes on the reference device."""
        # Smaller workgroups may be too small for full subgroups.
        fits = not self._case.full_subgroups or program.local_size == self._case.local_size
        return fits and not self.gone and self._judged(program) == self._kind and self._is_right(program)

    def _judged(self, program: RandomProgram) -> tuple[Status, str] | None:
        if self._worker is None:
            try:
                self._worker = WorkerProcess(self._setup)
            except Exception:  # no worker: the device is no longer available
                self.gone = True
                return None
        batch = Batch(family_of(self._case).name, [self._case.shrunk(program)])
        try:
            answer = self._worker.ask(batch, max(self._until - time.monotonic(), 1.0))
        except WorkerDied as death:
            self._end_worker()
            if death.is_internal:
                return None
            return _kind(Result(self._case.name, Status.CRASH, detail=str(death)))
        if isinstance(answer, Failure):
            self._end_worker()
            self.gone = answer.kind == "lost"
            return None
        return _kind(answer[0]) if isinstance(answer[0], Result) else None

    def _is_right(self, program: RandomProgram) -> bool:
        """Return whether a program passes on the reference device, which confirms the simulator.

        For a program that crashes the device, the reference may have no defined results.
        """
        if self._reference is None:
            device = self._open.enter_context(open_device("reference", subgroup_size=self._size))
            self._reference = Executor(device, seed=self._setup.seed, timeout=_REFERENCE_SECONDS)
            self._open.callback(self._reference.close)
        try:
            verdict = run(self._reference, program, self._case.name, full_subgroups=self._case.full_subgroups)
        except VkgroupError:
            return False
        crash = self._kind[0] is Status.CRASH
        return verdict.status is Status.PASS or (crash and verdict.status is Status.UNDEFINED)

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
