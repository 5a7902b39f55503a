"""Detection of devices that execute nothing: a dispatch that leaves its buffer unchanged."""

from __future__ import annotations

import threading

import numpy as np

from vkgroup.base.errors import NoDevice
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.stages import ComputeStages
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline

_SOURCE = """#version 450

layout(local_size_x = 1) in;

layout(set = 0, binding = 0) writeonly buffer Word { uint word; };

void main()
{
    word = 0x600du;
}
"""

_PATTERN, _WRITTEN = 0xDEADBEEF, 0x600D

TIMEOUT = 20.0
"""Time limit in seconds for the dispatch."""

_executing: set[tuple[str, int]] = set()
"""Manifest and index of the devices that have executed a dispatch in this process."""
_lock = threading.Lock()


def require_execution(device: LogicalDevice, *, again: bool = False) -> None:
    """Raise NoDevice if a dispatch on the device changes nothing.

    Each device is tried once in a process, and each time with `again`.
    """
    key = (device.info.manifest, device.info.index)
    with _lock:
        if key in _executing and not again:
            return
    if not device.info.has_memory:
        raise NoDevice(_refusal(device, "it has no memory"))
    if not executes(device):
        reason = "it accepted a dispatch that writes one word, and the fill pattern in the buffer remained"
        raise NoDevice(_refusal(device, reason))
    with _lock:
        _executing.add(key)


def _refusal(device: LogicalDevice, reason: str) -> str:
    return (
        f"{device.capabilities.name} ({device.info.manifest}) executes nothing: {reason}. A driver without"
        " its GPU behaves like this. Choose another device of `vkgroup devices`. To compile for an absent"
        " GPU, fetch its driver (`vkgroup drivers fetch radv`)."
    )


def executes(device: LogicalDevice) -> bool:
    """Return whether a dispatch changes a buffer that was filled with a pattern."""
    target = TargetEnvironment.for_api_version(device.capabilities.api_version)
    module = compile_source(_SOURCE, stage="compute", target=target)
    # Memory of the host is read without a copy on the device, which would not be executed either.
    with (
        VulkanBuffer(device, np.array([_PATTERN], np.uint32), host=True) as word,
        VulkanPipeline(device, ComputeStages(module)) as pipeline,
        pipeline.bind({0: word}) as work,
    ):
        work.dispatch((1, 1, 1), None, TIMEOUT)
        value = int(word.read(np.uint32, 1)[0])
    device.trim()
    return value == _WRITTEN
