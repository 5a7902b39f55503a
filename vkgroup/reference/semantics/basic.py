"""Basic and vote functions: GL_KHR_shader_subgroup_basic and GL_KHR_shader_subgroup_vote.

This model has values only, no order of stores and loads. Barriers have a function so that every row of the
table has one.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import (
    SHARED,
    Flags,
    Lanes,
    Values,
    defines,
    everywhere,
    first_active,
    lane_index,
    uniform,
)
from vkgroup.spec.operations import OPERATIONS


def barrier(active: Flags) -> Lanes:
    """Return zero components: a barrier is a void function.

    “The function subgroupBarrier() enforces that all active invocations within a subgroup must execute this
    function before any are allowed to continue their execution”; the functions of memory barriers enforce
    “the ordering of all memory transactions issued within a single shader invocation, as viewed by other
    invocations in the same subgroup.” (KHR_shader_subgroup, revision 6, section 8.18.)
    """
    return everywhere(np.empty((*active.shape, 0), dtype=np.uint32), active)


SHARED.update({name: barrier for name, row in OPERATIONS.items() if row.memory_semantics is not None})


@defines("subgroupElect")
def subgroup_elect(active: Flags) -> Lanes:
    """“The function subgroupElect() returns true for exactly one invocation out of the set of active
    invocations that execute a dynamic instance of this instruction. All other active invocations will return
    false. The invocation chosen is the active invocation with the lowest <gl_SubgroupInvocationID>.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    elected = lane_index(active.shape[1]) == first_active(active)[:, None]
    return everywhere(elected[:, :, None], active)


@defines("subgroupAll")
def subgroup_all(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupAll() returns true if for all active invocations <value> evaluates to true.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return uniform(np.all(value | ~active[:, :, None], axis=1), active)


@defines("subgroupAny")
def subgroup_any(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupAny() returns true if for any active invocation its <value> evaluates to true.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return uniform(np.any(value & active[:, :, None], axis=1), active)


@defines("subgroupAllEqual")
def subgroup_all_equal(value: Values, active: Flags) -> Lanes:
    """“The function subgroupAllEqual() returns true if <value> for all active invocations is equal across the
    subgroup.”

    KHR_shader_subgroup, revision 6, section 8.18. Floats are compared as ordered-and-equal (SPIR-V,
    OpGroupNonUniformAllEqual): -0.0 equals +0.0, and a NaN in any of several lanes makes the result false.
    Neither text says whether a lane is compared with itself, so the result is undefined for a NaN in the only
    active lane.
    """
    first = value[np.arange(len(value)), first_active(active)]
    inactive = ~active[:, :, None]
    equal = ((value == first[:, None, :]) | inactive).all(axis=(1, 2))
    result = uniform(equal[:, None], active)
    if value.dtype.kind != "f":
        return result
    itself = ((value == value) | inactive).all(axis=(1, 2)) | (active.sum(axis=1) > 1)
    return Lanes(result.value, result.defined & itself[:, None, None])


SHARED.update(
    {
        "anyInvocationARB": subgroup_any,
        "allInvocationsARB": subgroup_all,
        "allInvocationsEqualARB": subgroup_all_equal,
    }
)
