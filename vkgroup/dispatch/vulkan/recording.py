"""Command buffers of a launcher with their descriptor sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vkgroup.base.errors import DriverError
from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.blocks import pack_push
from vkgroup.dispatch.launcher import Pass
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot, assign
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline

_KINDS = ("storage_buffer", "uniform_buffer")

Parts = Sequence[tuple[DeviceBuffer, int, int]]
"""Memory, offset and size of each buffer of a launcher, by number."""


class RecordedPass:
    """A pass with everything that does not depend on the buffers."""

    def __init__(self, step: Pass, numbers: Mapping[str, int]) -> None:
        assert isinstance(step.pipeline, VulkanPipeline)
        self.pipeline, self.groups = step.pipeline, step.groups
        self.push = pack_push(step.pipeline.push_constants, step.push)
        self.data = vk.ffi.from_buffer(self.push) if self.push else None
        slots = assign(step.pipeline.slots, step.bindings)
        self.slots: list[tuple[Slot, int]] = [(slot, numbers[name]) for slot, name in slots.items()]

    @property
    def bindable(self) -> bool:
        """Whether all bindings are single buffers, which a `RecordedCommands` can describe."""
        return all(slot.count == 1 and slot.kind in _KINDS for slot, _ in self.slots)

    def record(self, functions: vk.Functions, commands: Any, sets: Any) -> None:
        """Record the dispatch with its descriptor sets."""
        pipeline = self.pipeline
        point = pipeline.bind_point
        functions.vkCmdBindPipeline(commands, point, pipeline.handle)
        if sets is not None:
            count = len(sets)
            functions.vkCmdBindDescriptorSets(commands, point, pipeline.layout, 0, count, sets, 0, vk.NULL)
        if self.data is not None:
            functions.vkCmdPushConstants(
                commands, pipeline.layout, pipeline.stage_bits, 0, len(self.push), self.data
            )
        functions.vkCmdDispatch(commands, *self.groups)


class RecordedCommands:
    """A command buffer with its descriptor sets, recorded again for other buffers.

    `in_use`: whether it was used since its owner looked for one that is not.
    """

    def __init__(self, device: LogicalDevice, dispatches: Sequence[RecordedPass], name: str) -> None:
        self.commands = Commands(device, name)
        self._device, self._dispatches = device, dispatches
        self._pool: Any = None
        self.in_use = False
        self.sets: list[Any] = []
        layouts = [layout for dispatch in dispatches for layout in dispatch.pipeline.set_layouts]
        try:
            self._create(layouts)
        except DriverError:
            self.close()
            raise

    @property
    def number(self) -> int:
        """The number of the last submission."""
        return self.commands.number

    def _create(self, layouts: Sequence[Any]) -> None:
        device, dispatches = self._device, self._dispatches
        kinds = [slot.kind for dispatch in dispatches for slot, _ in dispatch.slots]
        if layouts:
            sizes = [
                vk.new(
                    "VkDescriptorPoolSize", type=getattr(vk, DESCRIPTOR_TYPES[kind]), descriptorCount=count
                )
                for kind in _KINDS
                if (count := kinds.count(kind))
            ]
            info = vk.new(
                "VkDescriptorPoolCreateInfo", maxSets=len(layouts), poolSizeCount=len(sizes), pPoolSizes=sizes
            )
            self._pool = device.create("DescriptorPool", info, "a descriptor pool")
        for dispatch in dispatches:
            self.sets.append(self._allocate(dispatch.pipeline.set_layouts))
        self._infos = vk.ffi.new("VkDescriptorBufferInfo[]", max(1, len(kinds)))
        writes: list[Any] = []
        for dispatch, sets in zip(dispatches, self.sets, strict=True):
            for slot, _ in dispatch.slots:
                writes.append(
                    vk.new(
                        "VkWriteDescriptorSet",
                        dstSet=sets[slot.set],
                        dstBinding=slot.binding,
                        descriptorCount=1,
                        descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
                        pBufferInfo=self._infos + len(writes),
                    )
                )
        self._writes, self._count = vk.array("VkWriteDescriptorSet", writes), len(writes)

    def _allocate(self, layouts: Sequence[Any]) -> Any:
        if not layouts:
            return None
        info = vk.new(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=self._pool,
            descriptorSetCount=len(layouts),
            pSetLayouts=list(layouts),
        )
        sets = vk.ffi.new("VkDescriptorSet[]", len(layouts))
        code = self._device.functions.vkAllocateDescriptorSets(self._device.handle, info, sets)
        self._device.check(code, "allocating descriptor sets")
        return sets

    def update(self, parts: Parts) -> None:
        """Write the buffers into the descriptor sets; nothing of the recording is in flight."""
        infos, number = self._infos, 0
        for dispatch in self._dispatches:
            for _, name in dispatch.slots:
                memory, offset, nbytes = parts[name]
                info = infos[number]
                info.buffer, info.offset, info.range = memory.handle, offset, nbytes
                number += 1
        if number:
            functions, handle = self._device.functions, self._device.handle
            functions.vkUpdateDescriptorSets(handle, self._count, self._writes, 0, vk.NULL)

    def close(self) -> None:
        """Free the command buffer and the descriptor sets once nothing of them is in flight."""
        self.commands.close()
        pool, self._pool = self._pool, None
        self._device.destroy("DescriptorPool", pool)
