"""Shuffle functions: GL_KHR_shader_subgroup_shuffle."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, lane_index, read


def subgroup_shuffle(value: Values, active: Flags, id: Words) -> Lanes:
    """Return `value` of the lane `id`, which each lane chooses for itself.

    KHR_shader_subgroup, section 8.18, subgroupShuffle(). Undefined if that lane is inactive or `id` is at
    least gl_SubgroupSize.
    """
    return read(value, id.astype(np.int64), active)


def subgroup_shuffle_xor(value: Values, active: Flags, mask: Words) -> Lanes:
    """Return `value` of the lane whose index is this lane's exclusive-or `mask`.

    KHR_shader_subgroup, section 8.18, subgroupShuffleXor(). Undefined if that lane is inactive or its index
    is at least gl_SubgroupSize. Any `mask` has a meaning: revision 7 of the extension removed the demand for
    a constant power of two, and SPIR-V never made it (OpGroupNonUniformShuffleXor).
    """
    return read(value, lane_index(active.shape[1]) ^ mask.astype(np.int64), active)
