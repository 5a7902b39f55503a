"""The tests of this folder are about Vulkan: their devices are Vulkan's alone."""

from __future__ import annotations

import pytest

from vkgroup.dispatch.vulkan import VulkanDevice


@pytest.fixture
def device(vulkan_device: VulkanDevice) -> VulkanDevice:
    """An open device of each software driver."""
    return vulkan_device
