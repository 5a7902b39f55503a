"""Basic subgroup functions: GL_KHR_shader_subgroup_basic.

The order of stores and loads of different invocations is outside a model of values, so the functions of
barriers return no components. They exist so that every row of the table has a function.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.definitions import defines
from vkgroup.reference.semantics.lanes import Flags, Lanes, everywhere, first_active, lane_index


def _nothing(active: Flags) -> Lanes:
    """Return the result of a void function: no component in any lane."""
    return everywhere(np.empty((*active.shape, 0), dtype=np.uint32), active)


@defines("subgroupBarrier")
def subgroup_barrier(active: Flags) -> Lanes:
    """“The function subgroupBarrier() enforces that all active invocations within a subgroup must execute
    this function before any are allowed to continue their execution, and the results of any memory stores
    performed using coherent variables performed prior to the call will be visible to any future coherent
    access to the same memory performed by any other shader invocation within the same subgroup.”

    KHR_shader_subgroup, revision 6, section 8.18. Returns zero components.
    """
    return _nothing(active)


@defines("subgroupMemoryBarrier")
def subgroup_memory_barrier(active: Flags) -> Lanes:
    """“The function subgroupMemoryBarrier() enforces the ordering of all memory transactions issued within a
    single shader invocation, as viewed by other invocations in the same subgroup.”

    KHR_shader_subgroup, revision 6, section 8.18. Returns zero components.
    """
    return _nothing(active)


@defines("subgroupMemoryBarrierBuffer")
def subgroup_memory_barrier_buffer(active: Flags) -> Lanes:
    """“The function subgroupMemoryBarrierBuffer() enforces the ordering of all memory transactions to buffer
    variables issued within a single shader invocation, as viewed by other invocations in the same subgroup.”

    KHR_shader_subgroup, revision 6, section 8.18. Returns zero components.
    """
    return _nothing(active)


@defines("subgroupMemoryBarrierShared")
def subgroup_memory_barrier_shared(active: Flags) -> Lanes:
    """“The function subgroupMemoryBarrierShared() enforces the ordering of all memory transactions to shared
    variables issued within a single shader invocation, as viewed by other invocations in the same subgroup.
    Only available in compute shaders.”

    KHR_shader_subgroup, revision 6, section 8.18. Returns zero components.
    """
    return _nothing(active)


@defines("subgroupMemoryBarrierImage")
def subgroup_memory_barrier_image(active: Flags) -> Lanes:
    """“The function subgroupMemoryBarrierImage() enforces the ordering of all memory transactions to images
    issued within a single shader invocation, as viewed by other invocations in the same subgroup.”

    KHR_shader_subgroup, revision 6, section 8.18. Returns zero components.
    """
    return _nothing(active)


@defines("subgroupElect")
def subgroup_elect(active: Flags) -> Lanes:
    """“The function subgroupElect() returns true for exactly one invocation out of the set of active
    invocations that execute a dynamic instance of this instruction. All other active invocations will return
    false. The invocation chosen is the active invocation with the lowest <gl_SubgroupInvocationID>.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    elected = lane_index(active.shape[1]) == first_active(active)[:, None]
    return everywhere(elected[:, :, None], active)
