"""A smaller program that fails likewise: what is left of a case whose program can be shrunk."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import cases_by_name, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.reconvergence.case import ConstructCase, RandomCase, ShrunkCase
from vkgroup.conformance.reconvergence.nodes import Program
from vkgroup.conformance.reconvergence.running import run
from vkgroup.conformance.reconvergence.shrinking import digest, replay, shrink, statements
from vkgroup.conformance.setup import Setup
from vkgroup.errors import VkgroupError
from vkgroup.opening import open_device
from vkgroup.results.record import Result, Status
from vkgroup.results.reproduction.values import Json
from vkgroup.runner.messages import Failure
from vkgroup.runner.worker_process import WorkerDied, WorkerProcess

SECONDS = 60.0
"""Seconds that the search may take."""

_ERROR = re.compile(r"^([A-Z]\w+): ", re.MULTILINE)
"""What a line of the detail begins with where a shader or pipeline was refused."""

_DEATH = re.compile(r"the process was (?:killed by signal|ended with exit code) \d+")
"""What the detail of a crash has where the process died of it."""

_REFERENCE_SECONDS = 20.0
"""For a dispatch on the reference device, whatever the driver is given."""


@dataclass(frozen=True)
class Found:
    """A smaller program.

    Attributes
    ----------
    case : judges it as the whole one is judged.
    path : of the shrinking, for the record.
    statements, of : how many it has, and how many the whole one has.
    done : whether nothing more can be left out; False where `SECONDS` were over, or the device was gone.
    """

    case: ShrunkCase
    path: tuple[int, ...]
    statements: int
    of: int
    done: bool


def shrinkable(case: Any, result: Result) -> bool:
    """Return whether there may be a smaller program that fails as a case does.

    Hangs and lost devices are not looked for again and again: each may cost the device.
    """
    return isinstance(case, RandomCase | ConstructCase) and _kind(result) is not None


def smaller(
    setup: Setup, case: RandomCase | ConstructCase, result: Result, subgroup_size: int
) -> Found | None:
    """Look for a smaller program that fails on a device as a case does, and not on the reference device.

    Parameters
    ----------
    setup : of the processes that judge.
    result : the case's, which `shrinkable` allows.
    subgroup_size : the device's.

    Returns
    -------
    None where nothing can be left out.
    """
    whole, kind = case.program(setup.seed), _kind(result)
    assert kind is not None
    with _Trials(setup, case, kind, subgroup_size) as trials:
        found = shrink(whole, trials.fails, seconds=SECONDS)
        done = found.done and not trials.gone
    if found.program == whole:
        return None
    left = ShrunkCase(case, found.program)
    return Found(left, found.path, statements(found.program), statements(whole), done)


def to_json(found: Found) -> Json:
    """Return what the record of its folder has, so that `case_of` finds the case again."""
    return {"of": found.case.of.name, "path": list(found.path), "program": digest(found.case.left)}


def case_of(record: Json) -> AnyCase | None:
    """Return the case that a record is of; None where this version of vkgroup has none such."""
    if "of" not in record:
        return cases_by_name().get(record["case"])
    case = cases_by_name().get(record["of"])
    if not isinstance(case, RandomCase | ConstructCase):
        return None
    try:
        left = replay(case.program(record["seed"]), record["path"])
    except ValueError:
        return None
    return ShrunkCase(case, left) if digest(left) == record["program"] else None


def family_name(case: AnyCase) -> str:
    """Return the name of the family that judges a case."""
    return family_of(case.of if isinstance(case, ShrunkCase) else case).name


def _kind(result: Result) -> tuple[Status, str] | None:
    """Return in what way a case fails, with wrong results, with an error, by a crash; or None."""
    if result.status is Status.FAIL:
        error = _ERROR.search(result.detail)
        return result.status, error[1] if error else ""
    death = _DEATH.search(result.detail) if result.status is Status.CRASH else None
    return (result.status, death[0]) if death else None


class _Trials:
    """Programs on the device, in a process that is started anew when it dies, and on the reference device.

    Attributes
    ----------
    gone : whether the device could not be opened any more; nothing fails from then on.
    """

    def __init__(
        self, setup: Setup, case: RandomCase | ConstructCase, kind: tuple[Status, str], subgroup_size: int
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

    def fails(self, program: Program) -> bool:
        """Return whether a program fails as the case does, and rightly."""
        # Full subgroups of any size fit into the case's workgroups, and not into smaller ones.
        fits = not self._case.full_subgroups or program.local_size == self._case.local_size
        return fits and not self.gone and self._judged(program) == self._kind and self._is_right(program)

    def _judged(self, program: Program) -> tuple[Status, str] | None:
        if self._worker is None:
            try:
                self._worker = WorkerProcess(self._setup)
            except Exception:  # whatever it is, there is no device to go on with
                self.gone = True
                return None
        batch = Batch(family_name(self._case), [ShrunkCase(self._case, program)])
        try:
            answer = self._worker.run(batch, max(self._until - time.monotonic(), 1.0))
        except WorkerDied as death:
            self._end_worker()
            return _kind(Result(self._case.name, Status.CRASH, detail=str(death)))
        if isinstance(answer, Failure):
            self._end_worker()
            self.gone = answer.kind == "lost"
            return None
        return _kind(answer[0])

    def _is_right(self, program: Program) -> bool:
        """Return whether the reference device passes: a second opinion on what is expected.

        Of a crash it need not say anything; of wrong results there shall be right ones.
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
