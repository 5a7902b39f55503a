"""Plans that are kept for the next call with the same types, shapes and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.kernels.plan import Plan

MOST_PLANS = 256
"""Maximum number of plans that a device keeps; the one used longest ago is removed first."""


def planned(function: Callable[..., Plan], device: Device, *arguments: Any, **options: Any) -> Plan:
    """Return the plan that `function` makes of a device and arguments, or made of them before."""
    # With the types, because 1, 1.0 and True are equal.
    values = (*arguments, *options.values())
    key = (function, *options, values, *map(type, values))
    try:
        plan: Plan | None = device.plans.find(key)
    except TypeError:  # an argument that has no hash is wrong, or rare
        return function(device, *arguments, **options)
    if plan is None:
        plan = function(device, *arguments, **options)
        device.plans.add(key, plan, MOST_PLANS)
    return plan
