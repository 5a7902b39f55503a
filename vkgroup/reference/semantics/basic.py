"""Basic subgroup functions: GL_KHR_shader_subgroup_basic.

The barriers return nothing; what they order between the stores and loads of invocations is outside a model
of values. Their functions exist so that every row of the table has one, and return no components.
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import Flags, Lanes, everywhere, first_active, lane_index


def _nothing(active: Flags) -> Lanes:
    """Return the result of a void function: no component in any lane."""
    return everywhere(np.empty((*active.shape, 0), dtype=np.uint32), active)


def subgroup_barrier(active: Flags) -> Lanes:
    """Let no active lane go on before all have come here, with their coherent stores visible to each other.

    KHR_shader_subgroup, section 8.18, subgroupBarrier(). Returns nothing: zero components.
    """
    return _nothing(active)


def subgroup_memory_barrier(active: Flags) -> Lanes:
    """Order all memory accesses of an invocation as the others of its subgroup see them.

    KHR_shader_subgroup, section 8.18, subgroupMemoryBarrier(). Returns nothing: zero components.
    """
    return _nothing(active)


def subgroup_memory_barrier_buffer(active: Flags) -> Lanes:
    """Order an invocation's accesses to buffers as the others of its subgroup see them.

    KHR_shader_subgroup, section 8.18, subgroupMemoryBarrierBuffer(). Returns nothing: zero components.
    """
    return _nothing(active)


def subgroup_memory_barrier_shared(active: Flags) -> Lanes:
    """Order an invocation's accesses to shared variables as the others of its subgroup see them.

    KHR_shader_subgroup, section 8.18, subgroupMemoryBarrierShared(). Returns nothing: zero components.
    """
    return _nothing(active)


def subgroup_memory_barrier_image(active: Flags) -> Lanes:
    """Order an invocation's accesses to images as the others of its subgroup see them.

    KHR_shader_subgroup, section 8.18, subgroupMemoryBarrierImage(). Returns nothing: zero components.
    """
    return _nothing(active)


def subgroup_elect(active: Flags) -> Lanes:
    """Return true in the active lane with the lowest gl_SubgroupInvocationID, false in all others.

    KHR_shader_subgroup, section 8.18, subgroupElect().
    """
    elected = lane_index(active.shape[1]) == first_active(active)[:, None]
    return everywhere(elected[:, :, None], active)
