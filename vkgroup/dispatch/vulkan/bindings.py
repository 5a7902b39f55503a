"""Bindings of Vulkan: descriptor sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.commands import Commands
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.bindings import ArrayBuffer, Bindings, Resource
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.foreign import Borrowed
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot
from vkgroup.dispatch.textures import texel_format
from vkgroup.dispatch.vulkan.acceleration import VulkanAccelerationStructure, structures_write
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.cuda_arrays import BorrowedArray
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.layouts import VulkanLayouts
from vkgroup.dispatch.vulkan.sampler import create_buffer_view, create_sampler, require_filter
from vkgroup.dispatch.vulkan.timer import Timer
from vkgroup.sampler import Sampler


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


class VulkanBindings(Bindings):
    """Descriptor sets, and the commands that use them."""

    _images, _structures = VulkanImage, VulkanAccelerationStructure

    device: LogicalDevice
    pipeline: VulkanLayouts
    _pool: Any = None
    _sets: Any = None
    _timer: Timer | None = None
    _samplers: dict[Sampler, Any]
    _views: list[Any]
    _commands: Commands

    @property
    def closed(self) -> bool:
        """Whether the descriptors were freed."""
        return self._commands.handle is None

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return PooledBuffer(self.device, array)

    def _borrow(self, slot: Slot, value: Any) -> Borrowed:
        return BorrowedArray(self.device, slot, value)

    def memories(self) -> list[DeviceBuffer]:
        """Return the buffers that are bound."""
        bound = [entry for entries in self.resources.values() for entry in entries]
        return [entry.memory for entry in bound if isinstance(entry, VulkanBuffer | PooledBuffer)]

    def _create(self) -> None:
        self._samplers, self._views = {}, []
        self._create_sets()
        self._commands = Commands(self.device)
        self._commands.share(self.memories())

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
        images: Any = vk.NULL
        buffers: Any = vk.NULL
        views: Any = vk.NULL
        following: Any = vk.NULL
        if slot.kind == "acceleration_structure":
            following = structures_write([_structure(resource) for resource in self.resources[slot]])
        elif slot.texels is None and slot.kind != "sampler":
            buffers = [_buffer_info(resource) for resource in self.resources[slot]]
        elif slot.image is None and slot.kind != "sampler":
            views = vk.ffi.new("VkBufferView[]", [self._view(slot, entry) for entry in self.resources[slot]])
        else:
            images = self._image_infos(slot)
        return vk.new(
            "VkWriteDescriptorSet",
            pNext=following,
            dstSet=self._sets[slot.set],
            dstBinding=slot.binding,
            descriptorCount=slot.count,
            descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
            pImageInfo=images,
            pBufferInfo=buffers,
            pTexelBufferView=views,
        )

    def _image_infos(self, slot: Slot) -> list[Any]:
        infos = []
        images: Sequence[Resource | None] = self.resources[slot] or [None] * slot.count
        samplers: Sequence[Sampler | None] = self.samplers[slot] or [None] * slot.count
        for image, state in zip(images, samplers, strict=True):
            fields: dict[str, Any] = {}
            if isinstance(image, VulkanImage):
                fields["imageView"] = image.first_view if slot.kind == "storage_image" else image.view
                fields["imageLayout"] = vk.VK_IMAGE_LAYOUT_GENERAL
                if state is not None:
                    require_filter(self.device, image.format, state)
            if state is not None:
                if state not in self._samplers:
                    self._samplers[state] = create_sampler(self.device, state)
                fields["sampler"] = self._samplers[state]
            infos.append(vk.new("VkDescriptorImageInfo", **fields))
        return infos

    def _view(self, slot: Slot, resource: Resource) -> Any:
        assert isinstance(resource, VulkanBuffer | PooledBuffer)
        storage = slot.kind == "storage_texel_buffer"
        format_ = texel_format(slot, resource)
        buffer = resource.memory.handle
        offset, size = _offset(resource), resource.nbytes
        view = create_buffer_view(self.device, buffer, format_, offset, size, storage=storage)
        self._views.append(view)
        return view

    def record_state(self, commands: Any, push: bytes) -> None:
        """Record what work needs set: pipeline, descriptors, push constants."""
        functions, point, layout = self.device.functions, self.pipeline.bind_point, self.pipeline.layout
        functions.vkCmdBindPipeline(commands, point, self.pipeline.handle)
        if self._sets is not None:
            functions.vkCmdBindDescriptorSets(
                commands, point, layout, 0, len(self._sets), self._sets, 0, vk.NULL
            )
        if push:
            stages, data = self.pipeline.stages, vk.ffi.from_buffer(push)
            functions.vkCmdPushConstants(commands, layout, stages, 0, len(push), data)

    def _measure(
        self, key: Hashable, push: bytes, work: Callable[[Any], None], timeout: float | None, repeat: int
    ) -> float | None:
        """Run work `repeat` times; gives seconds of one, None where they cannot be measured.

        Parameters
        ----------
        key : the same where the same was recorded last time.
        work : records it.
        """
        if self._timer is None:
            self._timer = Timer(self.device, self.memories())

        def record(commands: Any) -> None:
            self.record_state(commands, push)

        return self._timer.run(key, record, work, timeout, repeat)

    def close(self) -> None:
        """Free the descriptors and what was made for arrays; the caller's buffers stay."""
        commands: Commands | None = getattr(self, "_commands", None)
        if commands is not None:
            commands.close()
        if self._timer is not None:
            self._timer.close()
        device = self.device
        # Forgotten before they are destroyed: Ctrl-C may come between, and what is closed twice crashes.
        pool, self._pool = self._pool, None
        if pool is not None and device.usable:
            samplers, self._samplers = self._samplers, {}
            views, self._views = self._views, []
            device.functions.vkDestroyDescriptorPool(device.handle, pool, vk.NULL)
            for sampler in samplers.values():
                device.functions.vkDestroySampler(device.handle, sampler, vk.NULL)
            for view in views:
                device.functions.vkDestroyBufferView(device.handle, view, vk.NULL)
        super().close()


def _buffer_info(resource: Resource) -> Any:
    assert isinstance(resource, VulkanBuffer | PooledBuffer)
    return vk.new(
        "VkDescriptorBufferInfo",
        buffer=resource.memory.handle,
        offset=_offset(resource),
        range=resource.nbytes,
    )


def _structure(resource: Resource) -> Any:
    assert isinstance(resource, VulkanAccelerationStructure)
    return resource.handle


def _offset(resource: Resource) -> int:
    return resource.offset if isinstance(resource, VulkanBuffer) else 0
