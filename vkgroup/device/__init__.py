"""Devices: discovery, capabilities and opening; all contact with Vulkan's loader and drivers."""

from __future__ import annotations

from vkgroup.device import requirements
from vkgroup.device.capabilities import (
    Capabilities,
    CooperativeMatrix,
    DeviceInfo,
    SizeControl,
    SmBuiltins,
    Subgroup,
    Timestamps,
)
from vkgroup.device.discovery import Discovery, IcdReport, discover, select
from vkgroup.device.logical import LogicalDevice, open_device

__all__ = [
    "Capabilities",
    "CooperativeMatrix",
    "DeviceInfo",
    "Discovery",
    "IcdReport",
    "LogicalDevice",
    "SizeControl",
    "SmBuiltins",
    "Subgroup",
    "Timestamps",
    "discover",
    "open_device",
    "requirements",
    "select",
]
