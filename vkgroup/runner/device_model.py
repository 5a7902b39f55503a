"""Device models: devices whose results are interchangeable, so that they may share a run."""

from __future__ import annotations

from hashlib import sha256

from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.opening import open_device


def model_of(capabilities: Capabilities) -> str:
    """Return a name that two devices share if one may stand for the other in a run.

    It depends on the device's name and kind, its driver, and everything by which cases are chosen and judged.
    Properties that differ between boards of a model (UUID, memory) are left out.
    """
    shared = (
        capabilities.name,
        capabilities.type,
        capabilities.driver_name,
        capabilities.driver_info,
        capabilities.api_version,
        capabilities.subgroup,
        capabilities.size_control,
        sorted(capabilities.features),
        sorted(capabilities.extensions.items()),
        sorted((name, str(value)) for name, value in capabilities.limits.items()),
        capabilities.cooperative_matrices,
    )
    return sha256(repr(shared).encode()).hexdigest()[:12]


def read_capabilities(device: DeviceInfo) -> Capabilities:
    """Open a device, read its capabilities, and close it, because workers open it themselves."""
    with open_device(device) as opened:
        return opened.capabilities
