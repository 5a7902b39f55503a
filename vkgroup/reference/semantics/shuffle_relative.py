"""Relative shuffle functions: GL_KHR_shader_subgroup_shuffle_relative."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.definitions import defines
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index, read


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
