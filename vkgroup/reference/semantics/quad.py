"""Quad functions: GL_KHR_shader_subgroup_quad, and the votes of GL_EXT_shader_quad_control.

A quad is a cluster of four lanes that starts at a multiple of four; in a fragment shader its lanes 0, 1, 2, 3
are the pixels (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1) (KHR_shader_subgroup, section 3.8).
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.groups import OPERATORS, clustered
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
