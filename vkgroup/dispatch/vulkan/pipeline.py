"""Compute pipelines of Vulkan."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk
from vkgroup.device.memory import DeviceBuffer, barrier
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.pipeline import Bound, Groups, Pipeline
from vkgroup.dispatch.sources import Condition, Indirect
from vkgroup.dispatch.vulkan.bindings import VulkanBindings
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.layouts import VulkanLayouts, stage_info
from vkgroup.dispatch.vulkan.statistics import statistics_of

_Recorded = tuple[Groups | None, bytes, Indirect | None, Condition | None]


class VulkanBound(VulkanBindings, Bound):
    """Descriptor sets, and commands that are recorded only where groups or push constants change."""

    pipeline: VulkanPipeline
    _recorded: _Recorded | None = None

    def _dispatch(
        self,
        counts: Groups,
        push: bytes,
        timeout: float | None,
        indirect: Indirect | None = None,
        condition: Condition | None = None,
    ) -> None:
        wanted = (counts if indirect is None else None, push, indirect, condition)
        if self._recorded != wanted:
            self._record(wanted)
        self._commands.run(timeout)

    def _timed(self, counts: Groups, push: bytes, timeout: float | None, repeat: int) -> float | None:
        def record(commands: Any) -> None:
            self.device.functions.vkCmdDispatch(commands, *counts)

        return self._measure((counts, push), push, record, timeout, repeat)

    def _record(self, wanted: _Recorded) -> None:
        counts, push, indirect, condition = wanted
        functions = self.device.functions
        self._recorded = None
        read = [source.buffer for source in (indirect, condition) if source is not None]
        self._commands.share([*self.memories(), *map(_memory, read)])
        with self._commands.record() as commands:
            self.record_state(commands, push)
            if condition is not None:
                functions.vkCmdBeginConditionalRenderingEXT(commands, _begin(condition))
            if indirect is not None:
                functions.vkCmdDispatchIndirect(
                    commands, _handle(indirect.buffer), indirect.buffer.offset + indirect.offset
                )
            elif counts is not None:
                functions.vkCmdDispatch(commands, *counts)
            if condition is not None:
                functions.vkCmdEndConditionalRenderingEXT(commands)
            barrier(functions, commands)
        self._recorded = wanted


class VulkanPipeline(VulkanLayouts, Pipeline):
    """A VkPipeline for dispatches, and its layouts."""

    _kind_of_bound = VulkanBound

    stages = vk.VK_SHADER_STAGE_COMPUTE_BIT
    bind_point = vk.VK_PIPELINE_BIND_POINT_COMPUTE

    def _create_pipeline(self) -> None:
        self.handle = self.make()

    def make(self, create_flags: int = 0) -> Any:
        """Make a VkPipeline with these VkPipelineCreateFlags; the caller destroys it."""
        device, flags = self.device, self.stage_flags(self.shader)
        with stage_info(device, self.shader, subgroup_size=self.subgroup_size, flags=flags) as stage:
            info = vk.new("VkComputePipelineCreateInfo", flags=create_flags, stage=stage, layout=self.layout)
            handle = vk.ffi.new("VkPipeline *")
            code = device.functions.vkCreateComputePipelines(device.handle, vk.NULL, 1, info, vk.NULL, handle)
            device.check(code, "creating a compute pipeline")
            return handle[0]

    def _statistics(self) -> dict[str, float | int | bool]:
        return statistics_of(self.device, self.make)


def _begin(condition: Condition) -> Any:
    return vk.new(
        "VkConditionalRenderingBeginInfoEXT",
        buffer=_handle(condition.buffer),
        offset=condition.buffer.offset + condition.offset,
        flags=vk.VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT if condition.inverted else 0,
    )


def _memory(buffer: Buffer) -> DeviceBuffer:
    assert isinstance(buffer, VulkanBuffer)
    return buffer.memory


def _handle(buffer: Buffer) -> Any:
    return _memory(buffer).handle
