"""Bindings of Vulkan: descriptor sets, and recorded dispatches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer, barrier
from vkgroup.dispatch.bound import ArrayBuffer, Bound, Groups
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.timer import Timer

if TYPE_CHECKING:
    from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline


class PooledBuffer(ArrayBuffer):
    """A buffer of the device's pool."""

    def __init__(self, device: LogicalDevice, array: npt.NDArray[Any]) -> None:
        super().__init__(array)
        self._device = device
        self.memory: DeviceBuffer = device.take_buffer(array.nbytes)
        self.memory.write(as_bytes(array))

    def read(self) -> npt.NDArray[Any]:
        """Copy the bytes back into a new array."""
        return self.memory.read(self.nbytes).view(self.dtype).reshape(self.shape)

    @property
    def closed(self) -> bool:
        """Whether the memory was freed."""
        return self.memory.handle is None

    def close(self) -> None:
        """Give the buffer back to the pool."""
        self._device.give_buffer(self.memory)


class VulkanBound(Bound):
    """Descriptor sets, and commands that are recorded only where groups or push constants change."""

    _images = VulkanImage

    device: LogicalDevice
    pipeline: VulkanPipeline
    _pool: Any = None
    _sets: Any = None
    _recorded: tuple[Groups, bytes] | None = None
    _timer: Timer | None = None
    _commands: Commands

    @property
    def closed(self) -> bool:
        """Whether the descriptors were freed."""
        return self._commands.handle is None

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return PooledBuffer(self.device, array)

    def _create(self) -> None:
        self._create_sets()
        self._commands = Commands(self.device)

    # --- descriptors ----------------------------------------------------------------------------------

    def _create_sets(self) -> None:
        device, functions = self.device, self.device.functions
        layouts = self.pipeline.set_layouts
        if not layouts:
            return
        totals: dict[str, int] = {}
        for slot in self.pipeline.slots:
            totals[slot.kind] = totals.get(slot.kind, 0) + slot.count
        sizes = [
            vk.new("VkDescriptorPoolSize", type=getattr(vk, DESCRIPTOR_TYPES[kind]), descriptorCount=count)
            for kind, count in totals.items()
        ]
        info = vk.new(
            "VkDescriptorPoolCreateInfo", maxSets=len(layouts), poolSizeCount=len(sizes), pPoolSizes=sizes
        )
        pool = vk.ffi.new("VkDescriptorPool *")
        code = functions.vkCreateDescriptorPool(device.handle, info, vk.NULL, pool)
        device.check(code, "creating a descriptor pool")
        self._pool = pool[0]
        info = vk.new(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=self._pool,
            descriptorSetCount=len(layouts),
            pSetLayouts=layouts,
        )
        self._sets = vk.ffi.new("VkDescriptorSet[]", len(layouts))
        code = functions.vkAllocateDescriptorSets(device.handle, info, self._sets)
        device.check(code, "allocating descriptor sets")
        writes = vk.array("VkWriteDescriptorSet", [self._write(slot) for slot in self.pipeline.slots])
        functions.vkUpdateDescriptorSets(device.handle, len(writes), writes, 0, vk.NULL)

    def _write(self, slot: Slot) -> Any:
        """Describe a place's resources to Vulkan."""
        infos: list[Any] = []
        for resource in self.resources[slot]:
            if isinstance(resource, VulkanImage):
                general = vk.VK_IMAGE_LAYOUT_GENERAL
                infos.append(vk.new("VkDescriptorImageInfo", imageView=resource.view, imageLayout=general))
            elif isinstance(resource, VulkanBuffer | PooledBuffer):
                handle = resource.memory.handle
                infos.append(vk.new("VkDescriptorBufferInfo", buffer=handle, range=resource.nbytes))
        images = slot.kind == "storage_image"
        return vk.new(
            "VkWriteDescriptorSet",
            dstSet=self._sets[slot.set],
            dstBinding=slot.binding,
            descriptorCount=slot.count,
            descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
            pImageInfo=infos if images else vk.NULL,
            pBufferInfo=vk.NULL if images else infos,
        )

    # --- dispatches -----------------------------------------------------------------------------------

    def _dispatch(self, counts: Groups, push: bytes, timeout: float | None) -> None:
        if self._recorded != (counts, push):
            self._record(counts, push)
        self._commands.run(timeout)

    def _timed(self, counts: Groups, push: bytes, timeout: float | None, repeat: int) -> float | None:
        if self._timer is None:
            self._timer = Timer(self)
        return self._timer.run(counts, push, timeout, repeat)

    def _record(self, counts: Groups, push: bytes) -> None:
        self._recorded = None
        with self._commands.record() as commands:
            barrier(self.device.functions, commands)
            self.record_state(commands, push)
            self.device.functions.vkCmdDispatch(commands, *counts)
            barrier(self.device.functions, commands)
        self._recorded = (counts, push)

    def record_state(self, commands: Any, push: bytes) -> None:
        """Record what a dispatch needs set: pipeline, descriptors, push constants."""
        functions, compute = self.device.functions, vk.VK_PIPELINE_BIND_POINT_COMPUTE
        layout = self.pipeline.layout
        functions.vkCmdBindPipeline(commands, compute, self.pipeline.handle)
        if self._sets is not None:
            functions.vkCmdBindDescriptorSets(
                commands, compute, layout, 0, len(self._sets), self._sets, 0, vk.NULL
            )
        if push:
            stage = vk.VK_SHADER_STAGE_COMPUTE_BIT
            functions.vkCmdPushConstants(commands, layout, stage, 0, len(push), vk.ffi.from_buffer(push))

    def close(self) -> None:
        """Free the descriptors and what was made for arrays; the caller's buffers stay."""
        commands: Commands | None = getattr(self, "_commands", None)
        if commands is not None:
            commands.close()
        if self._timer is not None:
            self._timer.close()
        device = self.device
        if self._pool is not None and device.usable:
            device.functions.vkDestroyDescriptorPool(device.handle, self._pool, vk.NULL)
        self._pool = self._recorded = None
        super().close()
