"""Verdicts on mutants: the original module first, then each wrong module on the same inputs."""

from __future__ import annotations

import time

import numpy as np

from mutants.meaning import equivalence
from mutants.mutant import Group, Mutant
from mutants.operators import OPERATORS
from mutants.site import Site
from vkgroup.base.errors import DeviceLost, DispatchTimeout, InvalidModule, VkgroupError
from vkgroup.compiler import validate
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.instances import Instances
from vkgroup.conformance.subgroup.expectation import expected_of, verdict_on
from vkgroup.conformance.subgroup.family import compiled, observed, program_of
from vkgroup.conformance.subgroup.shader import BatchEntry, BatchProgram
from vkgroup.record.record import Result, Status
from vkgroup.spirv import Module

UNEXPLAINED = "unexplained"
"""Detail of a mutant that passes without a known reason."""


def plant(module: Module, mutant: Mutant, lanes: list[int], size: int) -> Module:
    """Return the mutant's module.

    Parameters
    ----------
    module : original module of a program with the mutant's case only.
    lanes : lanes whose results are compared in some subgroup, ascending; none for barriers.
    size : the subgroup size.
    """
    site = Site(module, mutant.case, lanes, size)
    OPERATORS[mutant.operator](site, mutant.choice)
    return site.module()


def judge_group(executor: Executor, group: Group) -> list[Result]:
    """Judge the mutants of a case, in their order.

    Returns
    -------
    For each mutant `FAIL` if it was caught; `PASS` if it was missed, with the reason; `NOT_SUPPORTED` if it
    is not a mutant: its module is invalid or equals another, or the original module does not pass.

    Raises
    ------
    DeviceLost, DispatchTimeout
        The device is unusable; none of the mutants has a result.
    """
    case = group.cases[0].case
    program = program_of(executor, [case])
    (entry,) = program.entries
    module = compiled(executor, program)
    try:
        outputs, instances = observed(executor, program, module)
    except (DeviceLost, DispatchTimeout):
        raise
    except VkgroupError as error:
        return _none(group, f"the honest module is refused: {type(error).__name__}: {error}")
    verdict = verdict_on(entry, program, instances, outputs)
    if verdict.status is not Status.PASS:
        return _none(group, f"the honest module does not pass: {verdict.status.value} {verdict.detail}")
    lanes = judged_lanes(entry, instances)
    seen = {module.to_bytes()}
    return [_judged(executor, mutant, program, module, lanes, seen) for mutant in group.cases]


def _none(group: Group, reason: str) -> list[Result]:
    return [Result(mutant.name, Status.NOT_SUPPORTED, detail=reason) for mutant in group.cases]


def judged_lanes(entry: BatchEntry, instances: Instances) -> list[int]:
    """Return the lanes whose results are defined in some subgroup."""
    if entry.case.operation in BARRIERS:
        return []
    nothing = np.zeros((*instances.active.shape, 1), np.uint32)
    defined = np.all(expected_of(entry, instances, nothing).defined, axis=-1) & instances.recorded
    lanes: list[int] = np.flatnonzero(defined.any(axis=0)).tolist()
    return lanes


def _judged(
    executor: Executor,
    mutant: Mutant,
    program: BatchProgram,
    module: Module,
    lanes: list[int],
    seen: set[bytes],
) -> Result:
    """Judge a mutant; `seen` contains the modules that were judged before."""
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
    verdict = verdict_on(entry, program, instances, outputs)
    seconds = time.perf_counter() - start
    if verdict.status is Status.FAIL:
        return Result(mutant.name, Status.FAIL, seconds, verdict.defined, verdict.undefined, verdict.detail)
    reason = equivalence(mutant, entry, instances) or UNEXPLAINED
    return Result(mutant.name, Status.PASS, seconds, verdict.defined, verdict.undefined, reason)
