"""Vulkan devices: the implementation of `vkgroup.dispatch` with Vulkan."""

from __future__ import annotations

from vkgroup.dispatch.vulkan.device import VulkanDevice

__all__ = ["VulkanDevice"]
