"""Quad functions: GL_KHR_shader_subgroup_quad, and the votes of GL_EXT_shader_quad_control.

A quad is the cluster of four lanes from a multiple of four on; in a fragment shader its lanes 0, 1, 2, 3
are the pixels (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1) (KHR_shader_subgroup, section 3.8).
"""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.groups import OPERATORS, clustered
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index, read, same_in_all

QUAD = 4


def subgroup_quad_broadcast(value: Values, active: Flags, id: Words) -> Lanes:
    """Return `value` of the lane of this quad whose gl_SubgroupInvocationID % 4 is `id`.

    KHR_shader_subgroup, section 8.18, subgroupQuadBroadcast(). Undefined if that lane is inactive or `id` is
    at least 4. Undefined as well if the active lanes do not agree in `id`: the text asks for a constant,
    SPIR-V 1.5 for a dynamically uniform value (OpGroupNonUniformQuadBroadcast).
    """
    base = lane_index(active.shape[1]) // QUAD * QUAD
    result = read(value, base + id.astype(np.int64), active)
    legal = (id < QUAD) & same_in_all(id, active)[:, None]
    return Lanes(result.value, result.defined & legal[:, :, None])


def subgroup_quad_swap_horizontal(value: Values, active: Flags) -> Lanes:
    """Return `value` of the quad's lane in the same row and the other column: 0 and 1, 2 and 3 swap.

    KHR_shader_subgroup, section 8.18, subgroupQuadSwapHorizontal(). Undefined if that lane is inactive
    (SPIR-V, OpGroupNonUniformQuadSwap).
    """
    return read(value, lane_index(active.shape[1]) ^ 1, active)


def subgroup_quad_swap_vertical(value: Values, active: Flags) -> Lanes:
    """Return `value` of the quad's lane in the other row and the same column: 0 and 2, 1 and 3 swap.

    KHR_shader_subgroup, section 8.18, subgroupQuadSwapVertical(). Undefined if that lane is inactive
    (SPIR-V, OpGroupNonUniformQuadSwap).
    """
    return read(value, lane_index(active.shape[1]) ^ 2, active)


def subgroup_quad_swap_diagonal(value: Values, active: Flags) -> Lanes:
    """Return `value` of the quad's lane in the other row and the other column: 0 and 3, 1 and 2 swap.

    KHR_shader_subgroup, section 8.18, subgroupQuadSwapDiagonal(). Undefined if that lane is inactive
    (SPIR-V, OpGroupNonUniformQuadSwap).
    """
    return read(value, lane_index(active.shape[1]) ^ 3, active)


def subgroup_quad_all(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is true in all active lanes of this lane's quad.

    EXT_shader_quad_control, section 8.18, subgroupQuadAll(). A subgroup of fewer than four lanes is one quad,
    of which the others are not active.
    """
    return clustered(OPERATORS["And"], value, active, min(QUAD, active.shape[1]))


def subgroup_quad_any(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is true in any active lane of this lane's quad.

    EXT_shader_quad_control, section 8.18, subgroupQuadAny(). A subgroup of fewer than four lanes is one quad,
    of which the others are not active.
    """
    return clustered(OPERATORS["Or"], value, active, min(QUAD, active.shape[1]))
