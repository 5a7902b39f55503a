"""Plans that are kept for the next call with the same types, shapes and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.dispatch import Device
from vkgroup.kernels.plan import Plan

MOST_PLANS = 256
"""Maximum number of plans that a device keeps; the one used longest ago is removed first."""


def planned(function: Callable[..., Plan], device: Device, *arguments: Any, **options: Any) -> Plan:
    """Return the plan that `function` makes of a device and arguments, or made of them before."""
    try:
        key = (function, *map(_key, arguments), *((name, _key(value)) for name, value in options.items()))
        plan: Plan | None = device.plans.find(key)
    except TypeError:  # an argument that has no hash is wrong, or rare
        return function(device, *arguments, **options)
    if plan is None:
        plan = function(device, *arguments, **options)
        device.plans.add(key, plan, MOST_PLANS)
    return plan


def _key(value: Any) -> Any:
    """Return a key that is the same for equal values of one type only: 1, 1.0, True, 0.0 and -0.0 differ."""
    kind = type(value)
    if kind is tuple:
        return tuple(map(_key, value))
    return (kind, repr(value)) if issubclass(kind, float | complex | np.generic) else (kind, value)
