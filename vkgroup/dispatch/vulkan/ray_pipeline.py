"""Ray-tracing pipelines of Vulkan, with their shader binding tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from vkgroup.device import vk
from vkgroup.device.memory import DeviceBuffer, barrier
from vkgroup.dispatch.ray_checks import Group, Size
from vkgroup.dispatch.ray_pipeline import RayPipeline, Traces
from vkgroup.dispatch.vulkan.bindings import VulkanBindings
from vkgroup.dispatch.vulkan.layouts import VulkanLayouts, stage_bit

_UNUSED = 0xFFFFFFFF  # VK_SHADER_UNUSED_KHR


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


class VulkanTraces(VulkanBindings, Traces):
    """Descriptor sets, and commands that are recorded only where the size or push constants change."""

    pipeline: VulkanRayPipeline
    _recorded: tuple[Size, bytes] | None = None

    def _create(self) -> None:
        Traces._create(self)
        super()._create()

    def _trace(self, size: Size, push: bytes, timeout: float | None) -> None:
        if self._recorded != (size, push):
            self._recorded = None
            with self._commands.record() as commands:
                self.record_state(commands, push)
                self._record(commands, size)
                barrier(self.device.functions, commands)
            self._recorded = (size, push)
        self._commands.run(timeout)

    def _timed(self, size: Size, push: bytes, timeout: float | None, repeat: int) -> float | None:
        return self._measure(
            (size, push), push, lambda commands: self._record(commands, size), timeout, repeat
        )

    def _record(self, commands: Any, size: Size) -> None:
        self.device.functions.vkCmdTraceRaysKHR(commands, *self.pipeline.regions, *size)


class VulkanRayPipeline(VulkanLayouts, RayPipeline):
    """A VkPipeline for rays, its layouts, and its shader binding table.

    Attributes
    ----------
    regions : where the ray-generation, miss, hit and callable shaders are in the table
        (VkStridedDeviceAddressRegionKHR).
    """

    _kind_of_traces = VulkanTraces

    bind_point = vk.VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR
    _table: DeviceBuffer | None = None

    def _create(self) -> None:
        self.stages = sum({stage_bit(shader.entry_point.stage) for shader in self.shaders})
        super()._create()
        self._make_table()

    def _create_pipeline(self) -> None:
        device = self.device
        with ExitStack() as stack:
            stages = [stack.enter_context(self.one_of_several(shader)) for shader in self.shaders]
            groups = [_group_info(group) for group in self.groups]
            info = vk.new(
                "VkRayTracingPipelineCreateInfoKHR",
                stageCount=len(stages),
                pStages=stages,
                groupCount=len(groups),
                pGroups=groups,
                maxPipelineRayRecursionDepth=self.max_recursion,
                layout=self.layout,
            )
            handle = vk.ffi.new("VkPipeline *")
            code = device.functions.vkCreateRayTracingPipelinesKHR(
                device.handle, vk.NULL, vk.NULL, 1, info, vk.NULL, handle
            )
            device.check(code, "creating a ray-tracing pipeline")
            self.handle = handle[0]

    def _make_table(self) -> None:
        """Write the groups' handles into a buffer, those of a kind side by side.

        A kind without groups has one record of zeros, which runs no shader.
        """
        device, limits = self.device, self.device.capabilities.limits
        size = int(limits["shaderGroupHandleSize"])
        stride, base = (
            -(-size // step) * step
            for step in (int(limits["shaderGroupHandleAlignment"]), int(limits["shaderGroupBaseAlignment"]))
        )
        handles = self._handles(size)
        kinds: Sequence[Sequence[Group]] = ((self.raygen,), self.miss, self.hit_groups, self.callables)
        places, end = [], 0
        for kind in kinds:
            places.append(end)
            end += -(-max(1, len(kind)) * stride // base) * base
        self._table = DeviceBuffer(
            device, end + base, addressable=True, usage=vk.VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR
        )
        start = -self._table.address % base
        table = np.zeros(end + base, np.uint8)
        self.regions = []
        taken = 0
        for kind, place in zip(kinds, places, strict=True):
            first = start + place
            for number in range(len(kind)):
                table[first + number * stride :][:size] = handles[taken + number]
            taken += len(kind)
            self.regions.append(_region(self._table.address + first, stride, max(1, len(kind))))
        self._table.write(table)

    def _handles(self, size: int) -> Any:
        """Return the groups' handles, shape (groups, size)."""
        device, count = self.device, len(self.groups)
        data = vk.ffi.new("uint8_t[]", count * size)
        code = device.functions.vkGetRayTracingShaderGroupHandlesKHR(
            device.handle, self.handle, 0, count, count * size, data
        )
        device.check(code, "reading the handles of shader groups")
        return np.frombuffer(vk.ffi.buffer(data), np.uint8).reshape(count, size).copy()

    def close(self) -> None:
        """Free the pipeline, its layouts and its table."""
        if self._table is not None:
            self._table.close()
        super().close()
