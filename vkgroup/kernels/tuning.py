"""Tuning tables of kernels: workgroup sizes, items and other values, by algorithm and kind of device.

The entries were measured with ``vkgroup bench --sweep``. A vendor without an entry uses ``"any"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.dispatch import Device
from vkgroup.errors import InvalidDispatch

Values = Mapping[str, Any]

TABLES: dict[str, dict[str, Values]] = {}
"""Tuning values by algorithm, or algorithm and version (``"reduce.subgroup"``), and kind of device.

Kinds, in order of priority: ``"cpu"`` for CPU drivers and the reference device, a vendor (``"nvidia"``,
``"amd"``, ``"intel"``), and ``"any"``. A kind overrides single values of ``"any"``.
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
"""Maxima of values that determine unrolled loops or arrays; compilers need hours for much greater ones."""

_MOST_OF_OTHERS = 2**31

_VENDORS = {0x10DE: "nvidia", 0x1002: "amd", 0x8086: "intel", 0x13B5: "arm", 0x5143: "qualcomm"}


def kinds(device: Device) -> tuple[str, ...]:
    """Return the kinds of a device, the most specific first."""
    capabilities = device.capabilities
    if capabilities.type == "cpu":
        return ("cpu", "any")
    vendor = _VENDORS.get(capabilities.vendor_id)
    return (vendor, "any") if vendor else ("any",)


def tuned(device: Device, algorithm: str, implementation: str = "", **given: Any) -> dict[str, Any]:
    """Return the values of an algorithm's tuning parameters on a device.

    Parameters
    ----------
    algorithm, implementation : for example ``"reduce"`` and ``"subgroup"``; values of the table
        ``"reduce.subgroup"`` override those of ``"reduce"``.
    **given : the caller's values, which override all others; None means the default.
    """
    values: dict[str, Any] = {}
    for name in (algorithm, f"{algorithm}.{implementation}"):
        table = TABLES.get(name, {})
        for kind in reversed(kinds(device)):
            values |= table.get(kind, {})
    # Convert NumPy scalars to Python numbers, since arithmetic on narrow scalars could overflow.
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    return values | {name: value for name, value in plain.items() if value is not None}


def check_whole(name: str, value: Any, least: int = 1, most: int | None = None) -> None:
    """Raise `InvalidDispatch` if a tuning value is not an integer, or is out of range.

    Parameters
    ----------
    least, most : the range; None selects the maximum for values of that name.
    """
    most = _MOST.get(name, _MOST_OF_OTHERS) if most is None else most
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InvalidDispatch(
            f"{name} is a whole number, at least {least} and at most {most}; {value!r} was given."
        )
