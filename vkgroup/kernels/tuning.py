"""How kernels are tuned: sizes of workgroups and items of an invocation, by algorithm and kind of device.

An entry was measured with ``vkgroup bench --sweep``; a device that has none takes the entry of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.dispatch import Device

Values = Mapping[str, Any]

TABLES: dict[str, dict[str, Values]] = {}
"""Algorithm, or algorithm and version (``"reduce.subgroup"``), to kind of device to values.

Kinds, the first that fits counts: a vendor (``"nvidia"``, ``"amd"``, ``"intel"``), ``"cpu"`` for software
drivers and the reference device, ``"any"``.
"""

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
    return found | {name: value for name, value in given.items() if value is not None}
