"""Shuffle, relative shuffle, rotate and quad functions, and quad votes."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.groups import OPERATORS, clustered, divides
from vkgroup.reference.semantics.lanes import (
    Flags,
    Lanes,
    Values,
    Words,
    defines,
    lane_index,
    read,
    same_in_all,
)
from vkgroup.spec.limits import QUAD_SIZE


@defines("subgroupShuffle")
def subgroup_shuffle(value: Values, active: Flags, id: Words) -> Lanes:
    """“The function subgroupShuffle() returns the <value> whose <gl_SubgroupInvocationID> is equal to <id>.
    If the <id> is an inactive invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value
    is returned.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return read(value, id.astype(np.int64), active)


@defines("subgroupShuffleXor")
def subgroup_shuffle_xor(value: Values, active: Flags, mask: Words) -> Lanes:
    """“The function subgroupShuffleXor() returns the <value> whose <gl_SubgroupInvocationID> is equal to the
    current invocation's <gl_SubgroupInvocationID> xored with <mask>. If the calculated index is an inactive
    invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value is returned.”

    KHR_shader_subgroup, revision 6, section 8.18. Any `mask` is allowed: revision 7 removed the requirement
    of a constant power of two, and SPIR-V never had it (OpGroupNonUniformShuffleXor).
    """
    return read(value, lane_index(active.shape[1]) ^ mask.astype(np.int64), active)


@defines("subgroupShuffleUp")
def subgroup_shuffle_up(value: Values, active: Flags, delta: Words) -> Lanes:
    """“The function subgroupShuffleUp() returns the <value> whose <gl_SubgroupInvocationID> is equal to this
    invocation's <gl_SubgroupInvocationID> minus <delta>. If <gl_SubgroupInvocationID> minus <delta> is an
    inactive invocation or is less than zero, an undefined value is returned.”

    KHR_shader_subgroup, revision 6, section 8.18. The index does not wrap around.
    """
    return read(value, lane_index(active.shape[1]) - delta.astype(np.int64), active)


@defines("subgroupShuffleDown")
def subgroup_shuffle_down(value: Values, active: Flags, delta: Words) -> Lanes:
    """“The function subgroupShuffleDown() returns the <value> whose <gl_SubgroupInvocationID> is equal to
    this invocation's <gl_SubgroupInvocationID> plus <delta>. If <gl_SubgroupInvocationID> plus <delta> is an
    inactive invocation or is greater than or equal to <gl_SubgroupSize>, an undefined value is returned.”

    KHR_shader_subgroup, revision 6, section 8.18. The index does not wrap around.
    """
    return read(value, lane_index(active.shape[1]) + delta.astype(np.int64), active)


@defines("subgroupRotate")
def subgroup_rotate(value: Values, active: Flags, delta: Words) -> Lanes:
    """“The function subgroupRotate() returns the <value> whose <gl_SubgroupInvocationID> is equal to the
    remainder of the division of this invocation's <gl_SubgroupInvocationID> plus <delta> by
    <gl_SubgroupSize>. If the selected invocation is inactive, an undefined value is returned. <delta> must be
    dynamically uniform within the calling subgroub.”

    KHR_shader_subgroup_rotate, revision 1, section 8.18. The result is undefined if the active lanes do not
    agree in `delta`.
    """
    return subgroup_clustered_rotate(value, active, delta, active.shape[1])


@defines("subgroupClusteredRotate")
def subgroup_clustered_rotate(value: Values, active: Flags, delta: Words, cluster_size: int) -> Lanes:
    """“Return the Value of the invocation whose id within the group is calculated as follows: LocalId =
    SubgroupLocalInvocationId if Execution is Subgroup or LocalInvocationId if Execution is Workgroup
    RotationGroupSize = ClusterSize when ClusterSize is present, otherwise RotationGroupSize = SubgroupMaxSize
    if the Kernel capability is declared and SubgroupSize if not. Invocation ID = ( (LocalId + Delta) &
    (RotationGroupSize - 1) ) + (LocalId & ~(RotationGroupSize - 1))”

    SPV_KHR_subgroup_rotate, revision 1, section Instructions, OpGroupNonUniformRotateKHR. The GLSL extension
    lists the function without a sentence. The result is undefined as in `subgroup_rotate`, and
    everywhere if `cluster_size` is no power of two or exceeds the size of the subgroup.
    """
    if not divides(cluster_size, active.shape[1]):
        return Lanes(value, np.zeros(value.shape, dtype=np.bool_))
    lane = lane_index(active.shape[1])
    inside = cluster_size - 1
    source = ((lane + delta.astype(np.int64)) & inside) + (lane & ~inside)
    result = read(value, source, active)
    return Lanes(result.value, result.defined & same_in_all(delta, active)[:, None, None])


@defines("subgroupQuadBroadcast")
def subgroup_quad_broadcast(value: Values, active: Flags, id: Words) -> Lanes:
    """“The function subgroupQuadBroadcast() returns the <value> from the invocation within the quad whose
    <gl_SubgroupInvocationID> % 4 is equal to <id>. <id> must be an integral constant expression. If the <id>
    is an inactive invocation or is greater than or equal to 4, an undefined value is returned.”

    KHR_shader_subgroup, revision 6, section 8.18. The result is undefined as well if the active lanes do not
    agree in `id`: the text requires a constant, SPIR-V 1.5 a dynamically uniform value
    (OpGroupNonUniformQuadBroadcast).
    """
    base = lane_index(active.shape[1]) // QUAD_SIZE * QUAD_SIZE
    result = read(value, base + id.astype(np.int64), active)
    legal = (id < QUAD_SIZE) & same_in_all(id, active)[:, None]
    return Lanes(result.value, result.defined & legal[:, :, None])


@defines("subgroupQuadSwapHorizontal")
def subgroup_quad_swap_horizontal(value: Values, active: Flags) -> Lanes:
    """“The function subgroupQuadSwapHorizontal() swaps the <value>s, within the quad horizontally.”

    KHR_shader_subgroup, revision 6, section 8.18. Lanes 0 and 1 swap, and 2 and 3. The result is undefined if
    the other lane is inactive (SPIR-V, OpGroupNonUniformQuadSwap).
    """
    return read(value, lane_index(active.shape[1]) ^ 1, active)


@defines("subgroupQuadSwapVertical")
def subgroup_quad_swap_vertical(value: Values, active: Flags) -> Lanes:
    """“The function subgroupQuadSwapVertical() swaps the <value>s, within the quad vertically.”

    KHR_shader_subgroup, revision 6, section 8.18. Lanes 0 and 2 swap, and 1 and 3. The result is undefined if
    the other lane is inactive (SPIR-V, OpGroupNonUniformQuadSwap).
    """
    return read(value, lane_index(active.shape[1]) ^ 2, active)


@defines("subgroupQuadSwapDiagonal")
def subgroup_quad_swap_diagonal(value: Values, active: Flags) -> Lanes:
    """“The function subgroupQuadSwapDiagonal() swaps the <value>s, within the quad diagonally.”

    KHR_shader_subgroup, revision 6, section 8.18. Lanes 0 and 3 swap, and 1 and 2. The result is undefined if
    the other lane is inactive (SPIR-V, OpGroupNonUniformQuadSwap).
    """
    return read(value, lane_index(active.shape[1]) ^ 3, active)


@defines("subgroupQuadAll")
def subgroup_quad_all(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupQuadAll() returns true if for all active invocations in the quad <value>
    evaluates to true.”

    EXT_shader_quad_control, revision 1, section 8.18. A subgroup of fewer than four lanes is one quad, whose
    other lanes are inactive.
    """
    return clustered(OPERATORS["And"], value, active, min(QUAD_SIZE, active.shape[1]))


@defines("subgroupQuadAny")
def subgroup_quad_any(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupQuadAny() returns true if for any active invocation in the quad its <value>
    evaluates to true.”

    EXT_shader_quad_control, revision 1, section 8.18. A subgroup of fewer than four lanes is one quad, whose
    other lanes are inactive.
    """
    return clustered(OPERATORS["Or"], value, active, min(QUAD_SIZE, active.shape[1]))
