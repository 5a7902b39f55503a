"""Tuning tables of kernels by algorithm and kind of device, and checks of tuning values.

The entries were measured with ``vkgroup bench --sweep``. A vendor without an entry uses ``"any"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.types import is_whole

Values = Mapping[str, Any]

Allowed = range | tuple[Any, ...] | type[bool]
"""Valid values of a tuning parameter."""

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

    Values of the table ``"reduce.subgroup"`` override those of ``"reduce"``. The caller's values (`given`)
    override all others; None means the default.
    """
    values: dict[str, Any] = {}
    for name in (algorithm, f"{algorithm}.{implementation}"):
        table = TABLES.get(name, {})
        for kind in reversed(kinds(device)):
            values |= table.get(kind, {})
    # Convert NumPy scalars to Python numbers, since arithmetic on narrow scalars could overflow.
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    return values | {name: value for name, value in plain.items() if value is not None}


def whole(name: str, least: int = 1) -> range:
    """Return the range of a tuning value that is an integer."""
    return range(least, _MOST.get(name, _MOST_OF_OTHERS) + 1)


def checked_values(
    device: Device,
    algorithm: str,
    implementation: str,
    given: Mapping[str, Any],
    allowed: Mapping[str, Allowed] | None = None,
) -> dict[str, Any]:
    """Return an algorithm's tuning values on a device as `tuned`, after checking the caller's values.

    Parameters
    ----------
    given : the caller's values, by names that the tables have under ``"any"``; None means the default.
    allowed : for each name a range, a tuple of values, or `bool`. Other values are positive integers.
    """
    known = _names(algorithm, implementation)
    for name, value in given.items():
        if name not in known:
            raise InvalidDispatch(f"{algorithm} has no tuning value {name!r}; it has {', '.join(known)}.")
        if value is not None:
            _check(name, value, (allowed or {}).get(name) or whole(name))
    return tuned(device, algorithm, implementation, **given)


def _names(algorithm: str, implementation: str) -> list[str]:
    tables = (TABLES.get(name, {}) for name in (algorithm, f"{algorithm}.{implementation}"))
    return [name for table in tables for name in table.get("any", {})]


def _check(name: str, value: Any, allowed: Allowed) -> None:
    if isinstance(allowed, range):
        if not is_whole(value) or not allowed.start <= value < allowed.stop:
            raise InvalidDispatch(
                f"{name} is a whole number, at least {allowed.start} and at most {allowed.stop - 1};"
                f" {value!r} was given."
            )
    elif isinstance(allowed, tuple):
        if value not in allowed:
            raise InvalidDispatch(f"{name} must be one of {allowed}; {value!r} was given.")
    elif not isinstance(value, bool | np.bool_):
        raise InvalidDispatch(f"{name} is True or False; {value!r} was given.")


def of_version(algorithm: str, implementation: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the tuning values that a version of an algorithm has."""
    known = _names(algorithm, implementation)
    return {name: value for name, value in values.items() if name in known}


def require_power(**values: int) -> None:
    """Raise `InvalidDispatch` if a value is not a power of two."""
    for name, value in values.items():
        if value < 1 or value & (value - 1):
            raise InvalidDispatch(f"{name} must be a power of two; it is {value}.")


def require_multiple(name: str, value: int, factor: int) -> None:
    """Raise `InvalidDispatch` if a value is not a positive multiple of a factor."""
    if value < 1 or value % factor:
        raise InvalidDispatch(f"{name} must be a positive multiple of {factor}; it is {value}.")
