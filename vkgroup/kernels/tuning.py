"""Tuning of kernels: workgroup sizes and items for each invocation, by algorithm and kind of device.

An entry was measured with ``vkgroup bench --sweep``; a device that has none takes the entry of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch

Values = Mapping[str, Any]

TABLES: dict[str, dict[str, Values]] = {}
"""Algorithm, or algorithm and version (``"reduce.subgroup"``), to kind of device to values.

Kinds, the first that fits counts: a vendor (``"nvidia"``, ``"amd"``, ``"intel"``), ``"cpu"`` for software
drivers and the reference device, ``"any"``.
"""

_MOST = {
    "items": 32,
    "histogram_items": 32,
    "look": 64,
    "depth": 256,
    "group": 1024,
    "radix": 64,
    "rows": 64,
    "quads": 16,
    "blocks": 256,
    "tile": 64,
    "down": 16,
    "along": 16,
}
"""The greatest values of what kernels unroll or have arrays of: compilers take hours over far greater."""

_MOST_OF_OTHERS = 2**31

_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel", 0x13B5: "arm", 0x5143: "qualcomm"}


def kinds(device: Device) -> tuple[str, ...]:
    """Return the kinds that a device is of, the most special first."""
    capabilities = device.capabilities
    if capabilities.type == "cpu":
        return ("cpu", "any")
    vendor = _VENDORS.get(capabilities.vendor_id)
    return (vendor, "any") if vendor else ("any",)


def tuned(device: Device, algorithm: str, implementation: str = "", **given: Any) -> dict[str, Any]:
    """Return the values of an algorithm's tuning parameters on a device.

    Parameters
    ----------
    algorithm, implementation : ``"reduce"`` and ``"subgroup"``: an entry ``"reduce.subgroup"`` goes before
        one of ``"reduce"``.
    **given : by the caller, which go before all; None counts as not given.
    """
    found: dict[str, Any] = {}
    for name in (algorithm, f"{algorithm}.{implementation}"):
        table = TABLES.get(name, {})
        for kind in reversed(kinds(device)):
            found |= table.get(kind, {})
    # NumPy's numbers would compute in their own few bits.
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    return found | {name: value for name, value in plain.items() if value is not None}


def check_whole(name: str, value: Any, least: int = 1, most: int | None = None) -> None:
    """Raise `InvalidDispatch` where a tuning value is no whole number, or none that makes sense.

    Parameters
    ----------
    least, most : that it may be; None for the most that values of that name may be.
    """
    most = _MOST.get(name, _MOST_OF_OTHERS) if most is None else most
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InvalidDispatch(
            f"{name} is a whole number, at least {least} and at most {most}; {value!r} was given."
        )
