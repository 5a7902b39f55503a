"""Vote functions: GL_KHR_shader_subgroup_vote."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, first_active, uniform


def subgroup_all(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is true in all active lanes.

    KHR_shader_subgroup, section 8.18, subgroupAll().
    """
    return uniform(np.all(value | ~active[:, :, None], axis=1), active)


def subgroup_any(value: Flags, active: Flags) -> Lanes:
    """Return whether `value` is true in any active lane.

    KHR_shader_subgroup, section 8.18, subgroupAny().
    """
    return uniform(np.any(value & active[:, :, None], axis=1), active)


def subgroup_all_equal(value: Values, active: Flags) -> Lanes:
    """Return whether `value` is equal in all active lanes, in every component.

    KHR_shader_subgroup, section 8.18, subgroupAllEqual(). The comparison of floats is ordered-and-equal
    (SPIR-V, OpGroupNonUniformAllEqual), so -0.0 equals +0.0, and a NaN in any of several lanes makes the
    result false. Neither text says whether a lane is compared with itself: with a NaN in the only
    active lane the result is undefined.
    """
    first = value[np.arange(len(value)), first_active(active)]
    inactive = ~active[:, :, None]
    equal = ((value == first[:, None, :]) | inactive).all(axis=(1, 2))
    result = uniform(equal[:, None], active)
    if value.dtype.kind != "f":
        return result
    itself = ((value == value) | inactive).all(axis=(1, 2)) | (active.sum(axis=1) > 1)
    return Lanes(result.value, result.defined & itself[:, None, None])
