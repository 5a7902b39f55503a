"""Basic subgroup functions: GL_KHR_shader_subgroup_basic.

The order of stores and loads of different invocations is outside a model of values. Barriers have a function
so that every row of the table has one.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import (
    SHARED,
    Flags,
    Lanes,
    defines,
    everywhere,
    first_active,
    lane_index,
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
