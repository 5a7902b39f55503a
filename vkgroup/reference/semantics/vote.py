"""Vote functions: GL_KHR_shader_subgroup_vote."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.semantics.lanes import SHARED, Flags, Lanes, Values, defines, first_active, uniform


@defines("subgroupAll")
def subgroup_all(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupAll() returns true if for all active invocations <value> evaluates to true.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return uniform(np.all(value | ~active[:, :, None], axis=1), active)


@defines("subgroupAny")
def subgroup_any(value: Flags, active: Flags) -> Lanes:
    """“The function subgroupAny() returns true if for any active invocation its <value> evaluates to true.”

    KHR_shader_subgroup, revision 6, section 8.18.
    """
    return uniform(np.any(value & active[:, :, None], axis=1), active)


@defines("subgroupAllEqual")
def subgroup_all_equal(value: Values, active: Flags) -> Lanes:
    """“The function subgroupAllEqual() returns true if <value> for all active invocations is equal across the
    subgroup.”

    KHR_shader_subgroup, revision 6, section 8.18. Floats are compared as ordered-and-equal (SPIR-V,
    OpGroupNonUniformAllEqual): -0.0 equals +0.0, and a NaN in any of several lanes makes the result false.
    Neither text says whether a lane is compared with itself, so the result is undefined for a NaN in the only
    active lane.
    """
    first = value[np.arange(len(value)), first_active(active)]
    inactive = ~active[:, :, None]
    equal = ((value == first[:, None, :]) | inactive).all(axis=(1, 2))
    result = uniform(equal[:, None], active)
    if value.dtype.kind != "f":
        return result
    itself = ((value == value) | inactive).all(axis=(1, 2)) | (active.sum(axis=1) > 1)
    return Lanes(result.value, result.defined & itself[:, None, None])


SHARED.update(
    {
        "anyInvocationARB": subgroup_any,
        "allInvocationsARB": subgroup_all,
        "allInvocationsEqualARB": subgroup_all_equal,
    }
)
