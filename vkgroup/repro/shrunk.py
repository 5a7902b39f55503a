"""A smaller program that fails likewise: what is left of a case whose program can be shrunk."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import cases_by_name, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.messages import Failure, Setup
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.pool import Worker, WorkerDied
from vkgroup.conformance.reconvergence.case import ConstructCase, RandomCase, ShrunkCase
from vkgroup.conformance.reconvergence.nodes import Program
from vkgroup.conformance.reconvergence.running import run
from vkgroup.conformance.reconvergence.shrinking import digest, replay, shrink, statements
from vkgroup.conformance.results import Result, Status
from vkgroup.errors import VkgroupError
from vkgroup.opening import open_device
from vkgroup.repro.values import Json

SECONDS = 60.0
"""Seconds that the search may take."""

_FAMILY = "reconvergence"
_SHRINKABLE = (Status.FAIL, Status.CRASH)
"""What can be looked for again and again: a hang costs its time each time, and may cost the device."""

_ERROR = re.compile(r"^([A-Z]\w+): ", re.MULTILINE)
"""How the detail of a refused shader or pipeline begins."""


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
    """Return whether there may be a smaller program that fails as a case does."""
    return isinstance(case, RandomCase | ConstructCase) and result.status in _SHRINKABLE


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
    whole = case.program(setup.seed)
    with _Trials(setup, case, _kind(result), subgroup_size) as trials:
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
    return _FAMILY if isinstance(case, ShrunkCase) else family_of(case).name


def _kind(result: Result) -> tuple[Status, str]:
    """Return in what way a case fails: with wrong results, with an error, by a crash."""
    error = _ERROR.search(result.detail) if result.status is Status.FAIL else None
    return result.status, error[1] if error else ""


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
        self._worker: Worker | None = None
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
                self._worker = Worker(self._setup)
            except (VkgroupError, WorkerDied, OSError):
                self.gone = True
                return None
        batch = Batch(_FAMILY, [ShrunkCase(self._case, program)])
        try:
            answer = self._worker.run(batch, self._setup.timeout + SECONDS)
        except WorkerDied:
            self._end_worker()
            return Status.CRASH, ""
        if isinstance(answer, Failure):
            self._end_worker()
            return (Status.CRASH, "") if answer.kind == "lost" else None
        return _kind(answer[0])

    def _is_right(self, program: Program) -> bool:
        """Return whether the reference device passes: a second opinion on what is expected.

        Of a crash it need not say anything; of wrong results there shall be right ones.
        """
        if self._reference is None:
            device = self._open.enter_context(open_device("reference", subgroup_size=self._size))
            self._reference = Executor(device, seed=self._setup.seed, timeout=self._setup.timeout)
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
