"""Search for a smaller program that fails like the program of a reconvergence case."""

from __future__ import annotations

import re
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from vkgroup.base.errors import VkgroupError
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import case_named
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.reconvergence.family import ReconvergenceCase, run
from vkgroup.conformance.run import Setup
from vkgroup.dispatch import Device
from vkgroup.outputs.reproduction.jobs import CaseTrial
from vkgroup.outputs.reproduction.smallest import Trials
from vkgroup.outputs.reproduction.values import Json
from vkgroup.programs.nodes import RandomProgram
from vkgroup.programs.rules import observation_faults
from vkgroup.programs.shrinker import digest, replay, shrink
from vkgroup.programs.traversal import count_statements
from vkgroup.record.record import Result, Status
from vkgroup.workers.opening import open_device

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
    with Trials(setup) as trials, open_device("reference", subgroup_size=subgroup_size) as reference:
        with closing(_Comparison(trials, setup, case, kind, reference)) as comparison:
            shrunk = shrink(whole, comparison.fails, _allowed, seconds=SECONDS)
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


Failing = tuple[Status, str]
"""A kind of failure: the status, with the class of an error or the end of a process."""


def _kind(result: Result) -> Failing | None:
    """Return the kind of failure: wrong results, an error, or a crash; None if there is none."""
    if result.status is Status.FAIL:
        error = _ERROR.search(result.detail)
        return result.status, error[1] if error else ""
    death = _DEATH.search(result.detail) if result.status is Status.CRASH else None
    return (result.status, death[0]) if death else None


class _Comparison:
    """Runs programs on the device and on the reference device.

    `trials`: executes cases on the device; when it is gone, no program counts as failing.
    """

    def __init__(
        self, trials: Trials, setup: Setup, case: ReconvergenceCase, kind: Failing, reference: Device
    ) -> None:
        self._trials, self._case, self._kind = trials, case, kind
        self._until = time.monotonic() + SECONDS
        self._reference = Executor(reference, seed=setup.seed, timeout=_REFERENCE_SECONDS)

    def fails(self, program: RandomProgram) -> bool:
        """Return whether a program fails like the case, and passes on the reference device."""
        # Smaller workgroups may be too small for full subgroups.
        if self._case.full_subgroups and program.local_size != self._case.local_size:
            return False
        seconds = max(self._until - time.monotonic(), 1.0)
        tried = self._trials.run(CaseTrial(self._case.shrunk(program)), seconds)
        return tried is not None and _kind(tried.result) == self._kind and self._is_right(program)

    def _is_right(self, program: RandomProgram) -> bool:
        """Return whether a program passes on the reference device, which confirms the simulator.

        For a program that crashes the device, the reference may have no defined results.
        """
        try:
            verdict = run(self._reference, program, self._case.name, full_subgroups=self._case.full_subgroups)
        except VkgroupError:
            return False
        crash = self._kind[0] is Status.CRASH
        return verdict.status is Status.PASS or (crash and verdict.status is Status.UNDEFINED)

    def close(self) -> None:
        """Free the buffers on the reference device."""
        self._reference.close()
