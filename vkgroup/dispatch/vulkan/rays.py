"""Ray-tracing pipelines of Vulkan, and their shader binding tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.ray_checks import Group
from vkgroup.dispatch.ray_stages import RayStages
from vkgroup.dispatch.vulkan.stage_info import stage_info

_UNUSED = 0xFFFFFFFF  # VK_SHADER_UNUSED_KHR


def create_ray_pipeline(device: LogicalDevice, stages: RayStages, layout: Any) -> Any:
    """Create a VkPipeline for rays; the caller destroys it."""
    with ExitStack() as stack:
        infos = [stack.enter_context(stage_info(device, stages, shader)) for shader in stages.shaders]
        groups = [_group_info(group) for group in stages.groups]
        info = vk.new(
            "VkRayTracingPipelineCreateInfoKHR",
            stageCount=len(infos),
            pStages=infos,
            groupCount=len(groups),
            pGroups=groups,
            maxPipelineRayRecursionDepth=stages.max_recursion,
            layout=layout,
        )
        handle = vk.ffi.new("VkPipeline *")
        code = device.functions.vkCreateRayTracingPipelinesKHR(
            device.handle, vk.NULL, vk.NULL, 1, info, vk.NULL, handle
        )
        device.check(code, "creating a ray-tracing pipeline")
        return handle[0]


class BindingTable:
    """The shader binding table of a ray-tracing pipeline: the handles of its groups in a buffer, by kind.

    A kind without groups has one record of zeros, which runs no shader.

    Parameters
    ----------
    pipeline : the VkPipeline.

    Attributes
    ----------
    regions : the ray-generation, miss, hit and callable records (VkStridedDeviceAddressRegionKHR).
    """

    def __init__(self, device: LogicalDevice, stages: RayStages, pipeline: Any) -> None:
        limits = device.capabilities.limits
        size = int(limits["shaderGroupHandleSize"])
        stride, base = (
            -(-size // step) * step
            for step in (int(limits["shaderGroupHandleAlignment"]), int(limits["shaderGroupBaseAlignment"]))
        )
        handles = _handles(device, pipeline, len(stages.groups), size)
        kinds: Sequence[Sequence[Group]] = (
            (stages.raygen,),
            stages.miss,
            stages.hit_groups,
            stages.callables,
        )
        offsets, end = [], 0
        for kind in kinds:
            offsets.append(end)
            end += -(-max(1, len(kind)) * stride // base) * base
        self._buffer = DeviceBuffer(
            device, end + base, addressable=True, usage=vk.VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR
        )
        start = -self._buffer.address % base
        table = np.zeros(end + base, np.uint8)
        self.regions = []
        written = 0
        for kind, offset in zip(kinds, offsets, strict=True):
            first = start + offset
            for number in range(len(kind)):
                table[first + number * stride :][:size] = handles[written + number]
            written += len(kind)
            self.regions.append(_region(self._buffer.address + first, stride, max(1, len(kind))))
        self._buffer.write(table)

    def close(self) -> None:
        """Free the table."""
        self._buffer.close()


def _handles(device: LogicalDevice, pipeline: Any, count: int, size: int) -> Any:
    """Return the handles of a pipeline's groups, shape (groups, size)."""
    data = vk.ffi.new("uint8_t[]", count * size)
    code = device.functions.vkGetRayTracingShaderGroupHandlesKHR(
        device.handle, pipeline, 0, count, count * size, data
    )
    device.check(code, "reading the handles of shader groups")
    return np.frombuffer(vk.ffi.buffer(data), np.uint8).reshape(count, size).copy()


def _region(address: int, stride: int, count: int) -> Any:
    return vk.new(
        "VkStridedDeviceAddressRegionKHR", deviceAddress=address, stride=stride, size=stride * count
    )


def _group_info(group: Group) -> Any:
    if group.general is not None:
        kind = vk.VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR
    elif group.intersection is not None:
        kind = vk.VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR
    else:
        kind = vk.VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR
    return vk.new(
        "VkRayTracingShaderGroupCreateInfoKHR",
        type=kind,
        generalShader=_or_unused(group.general),
        closestHitShader=_or_unused(group.closest_hit),
        anyHitShader=_or_unused(group.any_hit),
        intersectionShader=_or_unused(group.intersection),
    )


def _or_unused(index: int | None) -> int:
    return _UNUSED if index is None else index
