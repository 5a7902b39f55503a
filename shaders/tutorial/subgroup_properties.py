"""How to query for subgroup support, and what all Vulkan 1.1 devices promise."""

from __future__ import annotations

import host

import vkgroup


def run(device: vkgroup.Device) -> str:
    """Check the three guarantees: a size of at least 1, compute shaders, basic operations."""
    subgroup = device.capabilities.subgroup
    host.check("subgroupSize at least 1", subgroup.size >= 1, True)
    host.check("supportedStages has compute", "compute" in subgroup.supported_stages, True)
    host.check("supportedOperations has basic", "basic" in subgroup.supported_operations, True)
    return (
        f"subgroups of {subgroup.size} in {len(subgroup.supported_stages)} stages,"
        f" {len(subgroup.supported_operations)} categories of operations"
    )
