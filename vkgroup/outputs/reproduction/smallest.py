"""Search for the smallest case that fails like a cause: simpler in every axis, with the fewest invocations.

The search starts from a failing case. It replaces one axis after another by a simpler value as long as the
case still fails in the same way, and then executes a part of the stage: one workgroup, a few invocations, a
small image or a few vertices. It never executes a case that is known to hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vkgroup.base.errors import NoDevice
from vkgroup.conformance.families import family_of, select
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.intrinsics import EXAMPLE
from vkgroup.conformance.parts import parts_of
from vkgroup.conformance.plan import risk
from vkgroup.conformance.rules import rule_of
from vkgroup.conformance.run import Setup
from vkgroup.conformance.stages.base import BatchStage
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.conformance.subgroup.family import subgroup_size
from vkgroup.device import Capabilities
from vkgroup.outputs.reproduction.jobs import CaseTrial, Smallest, Tried, answer
from vkgroup.record.causes import Cause, find_causes
from vkgroup.record.causes.description import axes_of, complexity
from vkgroup.record.causes.findings import explanations, findings_for
from vkgroup.record.causes.grouping import kind_of
from vkgroup.record.record import Result, Status
from vkgroup.workers.messages import Failure
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

SECONDS = 20.0
"""Seconds that the search for one cause may take."""

RUNS = 64
"""Cases and parts that the search for one cause may execute."""

Alike = Callable[[Result], bool]
"""Returns whether a result is a failure of the cause."""


def alike(cause: Cause, first: Result) -> Alike:
    """Return a test for failures like those of a cause.

    The same hypothesis explains them; if none explains the cause, they are of the same kind as its simplest
    failure, `first`.
    """
    explanation = cause.explanation
    if explanation is not None:
        key = explanation.name, explanation.variant
        return lambda result: result.status is Status.FAIL and key in explanations(result)
    return lambda result: result.status is first.status and kind_of(result) == kind_of(first)


def smallest_like(setup: Setup, case: AnyCase, capabilities: Capabilities) -> tuple[Smallest, Cause] | None:
    """Return the smallest case that fails like a case, and the cause of its failure.

    None if the case does not fail, or may hang the device: it is then not executed again.
    """
    with Trials(setup) as trials:
        first = None if may_hang(case, capabilities) else trials.run(CaseTrial(case))
        if first is None:
            return None
        cause = cause_of(first.result, case, capabilities)
        if cause is None:
            return None
        search = SmallestCaseSearch(trials, capabilities, (), alike(cause, first.result))
        return search.smallest(case), cause


def cause_of(result: Result, case: AnyCase, capabilities: Capabilities) -> Cause | None:
    """Return the cause of a case's failure; None if it does not fail."""
    described = replace(result, detail=f"{case.sentence}\n{result.detail}")
    driver, rules = capabilities.driver_name, partial(rule_of, capabilities=capabilities)
    found = find_causes([described], driver, capabilities.driver_info, capabilities.name, rule_of=rules)
    return next(iter(found), None)


class Trials:
    """Executes cases on a device, in a process that is restarted when it dies.

    `gone`: why the device cannot be used any more, after a hang, a lost device or a failed start; else empty.
    `only_compiles`: whether the device compiles whole cases and no parts of them.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._worker: WorkerProcess | None = None
        self.gone, self.only_compiles = "", setup.device.is_compile_only

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_worker()

    def run(self, trial: CaseTrial, seconds: float = SECONDS) -> Tried | None:
        """Execute a case; None after a hang, a lost device or an error of vkgroup.

        `seconds`: time limit, to which that of a dispatch is added.
        """
        if self.gone:
            return None
        try:
            if self._worker is None:
                self._worker = WorkerProcess(replace(self._setup, job_function=answer))
            found = self._worker.ask(trial, seconds + self._setup.timeout)
        except WorkerDied as death:
            self._end_worker()
            crash = Result(trial.case.name, Status.CRASH, detail=str(death))
            return None if death.is_internal else Tried(crash)
        except NoDevice as error:
            self.gone = str(error)
            return None
        if isinstance(found, Failure):
            self._end_worker()
            if found.kind == "idle":
                self.gone = "the device accepts work, but no longer executes it"
            elif found.kind != "internal":
                self.gone = found.message
            return None
        tried: Tried = found[0]
        return tried

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class SmallestCaseSearch:
    """The search for one cause.

    Parameters
    ----------
    trials : executes cases.
    capabilities : of the device.
    executed : names of the cases that the run executed; they failed for another cause, or passed.
    fails : whether a result is a failure of the cause.
    """

    def __init__(
        self, trials: Trials, capabilities: Capabilities, executed: Collection[str], fails: Alike
    ) -> None:
        self._trials, self._capabilities = trials, capabilities
        self._tried = set(executed)
        self._fails = fails
        self._left = RUNS
        self._until = time.monotonic() + SECONDS
        self._done = True

    def smallest(self, case: AnyCase) -> Smallest:
        """Return the smallest case that fails, beginning with a failing case."""
        first = self._run(CaseTrial(case))
        if first is None or not self._fails(first.result):
            return Smallest(case, fails=False)
        if not isinstance(case, Case):
            return Smallest(case)
        simple, tried = self._simplified(case, first)
        stage = self._part(simple, tried)
        return Smallest(simple, stage, done=self._done)

    def _run(self, trial: CaseTrial) -> Tried | None:
        """Execute a case or a part, if the search may still do so."""
        if self._left <= 0 or time.monotonic() > self._until:
            self._done = False
            return None
        self._left -= 1
        return self._trials.run(trial)

    def _simplified(self, case: Case, tried: Tried) -> tuple[Case, Tried]:
        """Return the simplest case that fails, with its results."""
        suite = _same_operation(case)
        while True:
            for candidate in simpler(case, suite):
                if candidate.name in self._tried or not self._allowed(candidate):
                    continue
                self._tried.add(candidate.name)
                found = self._run(CaseTrial(candidate))
                if found is not None and self._fails(found.result):
                    case, tried = candidate, found
                    break
            else:
                return case, tried

    def _allowed(self, case: Case) -> bool:
        """Return whether the device supports a case, and it is not known to hang."""
        if family_of(case).missing(case, self._capabilities):
            return False
        return not may_hang(case, self._capabilities)

    def _part(self, case: Case, tried: Tried) -> BatchStage | None:
        """Return the part of the stage with the fewest invocations that fails; None if none does."""
        if family_of(case).program is None or case.operation == EXAMPLE or self._trials.only_compiles:
            return None
        wrong = tried.wrong or [(0, 0)]  # crashes and wrong masks have no wrong lanes
        for stage in parts_of(case, subgroup_size(case, self._capabilities), wrong):
            found = self._run(CaseTrial(case, stage))
            if found is not None and self._fails(found.result):
                return stage
        return None


def may_hang(case: AnyCase, capabilities: Capabilities) -> bool:
    """Return whether a case is known to hang a driver, or is of a kind that hangs GPUs."""
    if capabilities.is_gpu and risk(case):
        return True
    known = findings_for(capabilities.driver_name, capabilities.driver_info, capabilities.name)
    return any(finding.hangs and finding.covers(case.name) for finding in known)


def _same_operation(case: Case) -> Sequence[Any]:
    return select((f"{case.category}.*.{case.operation}.*",))


def simpler(case: Case, suite: Sequence[Any]) -> Iterator[Case]:
    """Yield the cases that are simpler in one axis and equal in all others, the simplest first."""
    axes, limit = axes_of(case.name), complexity(case.name)
    candidates = []
    for other in suite:
        its = axes_of(other.name)
        if sum(axes.get(axis) != its.get(axis) for axis in {*axes, *its}) == 1:
            key = complexity(other.name)
            if key < limit:
                candidates.append((key, other))
    yield from (other for _, other in sorted(candidates, key=lambda pair: pair[0]))


def folder_of(root: Path, cause: Cause) -> Path:
    """Return the folder of a cause's reproducer in a run's folder."""
    return root / "reproducers" / cause.id
