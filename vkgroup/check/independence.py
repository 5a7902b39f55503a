"""Shaders in which nothing depends on subgroups: three runs stand for those of all sizes and assignments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vkgroup.check.influence import influence_of
from vkgroup.check.runs import CheckedRun
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.program.site import sort_operands

ENOUGH = 3
"""Runs made in any case: as a rule size 32 with lanes in order and shuffled, then the smallest size."""

_BY_SUBGROUP = (
    *("OpGroup", "OpSubgroup", "OpCooperative", "OpDPd", "OpFwidth", "OpReadClock", "OpAtomicF"),
    *("OpAtomicExchange", "OpAtomicCompareExchange", "OpAtomicStore"),
    *("OpControlBarrierArrive", "OpControlBarrierWait", "OpImageSampleImplicit", "OpImageQueryLod"),
)
"""Beginnings of the names of instructions whose result may depend on subgroups, or on an order."""

_SUBGROUP_SCOPE = 3
_OF_WORKGROUPS = frozenset(
    {
        *("NumWorkgroups", "WorkgroupSize", "WorkgroupId", "LocalInvocationId", "LocalInvocationIndex"),
        *("GlobalInvocationId", "DeviceIndex", "ViewIndex"),
    }
)


def is_independent(program: ExecutableShader) -> bool:
    """Whether nothing in a compute shader depends on subgroups, or on the order of invocations without races.

    It has no operation, scope or built-in variable of subgroups, no clock, no loop that waits for another
    subgroup, and only one kind of atomic, whose results are not used and which gives the same in any order.
    """
    by_model = program.module.reflection.memory_model[1] == "Vulkan"  # its accesses have scopes, too
    if by_model or program.stage != "compute" or program.needs_quads or program.derivative_group:
        return False
    if not program.built_ins.keys() <= _OF_WORKGROUPS or program.waiting_loops("subgroup"):
        return False
    body, constants = influence_of(program.module).body, program.declared.constants
    of_atomics = [entry for entry in body if entry.name.startswith("OpAtomic")]
    if len({entry.name for entry in of_atomics}) > 1:  # an addition and a maximum, for example
        return False
    atomics = {entry.result_id for entry in of_atomics} - {0}
    for entry in body:
        scopes = (constants.get(scope) for scope in sort_operands(entry).scopes)
        if (
            entry.name.startswith(_BY_SUBGROUP)
            or not atomics.isdisjoint(entry.operands)
            or any(scope is None or scope.evaluate() == _SUBGROUP_SCOPE for scope in scopes)
        ):
            return False
    return True


def are_alike(runs: Sequence[CheckedRun]) -> bool:
    """Whether runs have no events, and the same outputs in each byte."""
    first, *others = runs
    return not any(run.events or run.reached or run.needed for run in runs) and all(
        np.array_equal(first.outputs[place], run.outputs[place])
        and np.array_equal(first.causes[place], run.causes[place])
        for run in others
        for place in first.outputs
    )
