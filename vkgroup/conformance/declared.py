"""Stages and operations that a device does not declare, in the words of Vulkan."""

from __future__ import annotations

from collections.abc import Iterable

from vkgroup.device import Capabilities


def lacking_stages(stages: Iterable[str], capabilities: Capabilities) -> list[str]:
    """Return which of the stages have no subgroup operations, in their order."""
    supported = capabilities.subgroup.supported_stages
    return [
        f"subgroup operations in the {stage} stage (supportedStages)"
        for stage in stages
        if stage not in supported
    ]


def lacking_operations(categories: Iterable[str], capabilities: Capabilities) -> list[str]:
    """Return which of the categories of operations the device has not, in their order."""
    supported = capabilities.subgroup.supported_operations
    return [
        f"VK_SUBGROUP_FEATURE_{category.upper()}_BIT" for category in categories if category not in supported
    ]
