"""Judging mutants: the honest run first, then each wrong module on the same inputs."""

from __future__ import annotations

import time

import numpy as np

from vkgroup.compiler import validate
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.instances import Instances
from vkgroup.conformance.mutants.meaning import equivalence
from vkgroup.conformance.mutants.mutant import Group, Mutant
from vkgroup.conformance.mutants.operators import OPERATORS
from vkgroup.conformance.mutants.site import Site
from vkgroup.conformance.program import Entry, Program
from vkgroup.conformance.results import Result, Status
from vkgroup.conformance.subgroup import SubgroupFamily, observed
from vkgroup.conformance.verdict import expected_of, judge
from vkgroup.errors import DeviceLost, DispatchTimeout, InvalidModule, VkgroupError
from vkgroup.spirv import Module

UNEXPLAINED = "unexplained"
"""What is said of a mutant that passes for no reason that is known."""


def plant(module: Module, mutant: Mutant, lanes: list[int], size: int) -> Module:
    """Return the mutant's module.

    Parameters
    ----------
    module : the honest module of the program of the mutant's case alone.
    lanes : the lanes whose results are judged somewhere, ascending; none where the case tests a barrier.
    size : the subgroup size.
    """
    site = Site(module, mutant.case, lanes, size)
    OPERATORS[mutant.operator](site, mutant.choice)
    return site.module()


def judge_group(executor: Executor, group: Group) -> list[Result]:
    """Judge the mutants of a case, in their order.

    Returns
    -------
    For each mutant `FAIL` where it was caught; `PASS` where it was missed, with the reason; `NOT_SUPPORTED`
    where it is no mutant: its module is not valid or not a new one, or the honest one does not pass.

    Raises
    ------
    DeviceLost, DispatchTimeout
        The device is unusable; none of the mutants has a result.
    """
    case = group.cases[0].case
    program = SubgroupFamily().program(executor, [case])
    (entry,) = program.entries
    module = executor.compile(program.source, stage=program.stage.name)
    try:
        outputs, instances = observed(executor, program, module)
    except (DeviceLost, DispatchTimeout):
        raise
    except VkgroupError as error:
        return _none(group, f"the honest module is refused: {type(error).__name__}: {error}")
    verdict = judge(entry, program, instances, outputs)
    if verdict.status is not Status.PASS:
        return _none(group, f"the honest module does not pass: {verdict.status.value} {verdict.detail}")
    lanes = _judged_lanes(entry, instances)
    seen = {module.to_bytes()}
    return [_judged(executor, mutant, program, module, lanes, seen) for mutant in group.cases]


def _none(group: Group, reason: str) -> list[Result]:
    return [Result(mutant.name, Status.NOT_SUPPORTED, detail=reason) for mutant in group.cases]


def _judged_lanes(entry: Entry, instances: Instances) -> list[int]:
    """Return the lanes whose results are defined in some subgroup."""
    if entry.case.operation in BARRIERS:
        return []
    nothing = np.zeros((*instances.active.shape, 1), np.uint32)
    defined = np.all(expected_of(entry, instances, nothing).defined, axis=-1) & instances.recorded
    found: list[int] = np.flatnonzero(defined.any(axis=0)).tolist()
    return found


def _judged(
    executor: Executor,
    mutant: Mutant,
    program: Program,
    module: Module,
    lanes: list[int],
    seen: set[bytes],
) -> Result:
    """Judge a mutant whose module is none of those that were seen."""
    start = time.perf_counter()
    (entry,) = program.entries
    try:
        wrong = plant(module, mutant, lanes, program.subgroup_size)
        validate(wrong, executor.target)
        if wrong.to_bytes() in seen:
            raise InvalidModule("its module is the honest one, or another mutant's")
        seen.add(wrong.to_bytes())
    except InvalidModule as error:
        return Result(mutant.name, Status.NOT_SUPPORTED, detail=f"no mutant: {error}")
    try:
        outputs, instances = observed(executor, program, wrong)
    except (DeviceLost, DispatchTimeout):
        raise
    except VkgroupError as error:
        return Result(mutant.name, Status.NOT_SUPPORTED, detail=f"refused: {type(error).__name__}: {error}")
    verdict = judge(entry, program, instances, outputs)
    seconds = time.perf_counter() - start
    if verdict.status is Status.FAIL:
        return Result(mutant.name, Status.FAIL, seconds, verdict.defined, verdict.undefined, verdict.detail)
    reason = equivalence(mutant, entry, instances) or UNEXPLAINED
    return Result(mutant.name, Status.PASS, seconds, verdict.defined, verdict.undefined, reason)
