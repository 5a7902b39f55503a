"""Shuffle functions: GL_KHR_shader_subgroup_shuffle."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.definitions import defines
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index, read


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
