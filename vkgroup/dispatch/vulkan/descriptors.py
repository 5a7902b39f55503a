"""Descriptor sets: the resources of a pipeline's slots as Vulkan sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.base.sampler import Sampler
from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.bindings import ArrayBuffer, Resource
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.checks import texel_format
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot
from vkgroup.dispatch.vulkan.acceleration import VulkanAccelerationStructure
from vkgroup.dispatch.vulkan.buffer import VulkanBuffer
from vkgroup.dispatch.vulkan.image import VulkanImage, format_features


def create_sampler(device: LogicalDevice, state: Sampler) -> Any:
    """Make a VkSampler; the caller destroys it."""
    magnify, minify = state.filters
    u, v, w = (getattr(vk, f"VK_SAMPLER_ADDRESS_MODE_{mode.upper()}") for mode in state.addresses)
    info = vk.new(
        "VkSamplerCreateInfo",
        magFilter=getattr(vk, f"VK_FILTER_{magnify.upper()}"),
        minFilter=getattr(vk, f"VK_FILTER_{minify.upper()}"),
        mipmapMode=getattr(vk, f"VK_SAMPLER_MIPMAP_MODE_{state.mipmap.upper()}"),
        addressModeU=u,
        addressModeV=v,
        addressModeW=w,
        mipLodBias=state.lod_bias,
        compareEnable=state.compare is not None,
        compareOp=getattr(vk, f"VK_COMPARE_OP_{(state.compare or 'never').upper()}"),
        minLod=0.0 if state.unnormalized else state.min_lod,
        maxLod=0.0 if state.unnormalized else state.max_lod,
        borderColor=getattr(vk, f"VK_BORDER_COLOR_{state.border_color.upper()}"),
        unnormalizedCoordinates=state.unnormalized,
    )
    return device.create("Sampler", info, "a sampler")


class PooledBuffer(ArrayBuffer):
    """A buffer of the device's pool."""

    def __init__(self, device: LogicalDevice, array: npt.NDArray[Any]) -> None:
        super().__init__(array)
        self._device = device
        self.memory: DeviceBuffer = device.take_buffer(array.nbytes)
        self.memory.write(as_bytes(array))

    def read(self) -> npt.NDArray[Any]:
        """Copy the bytes back into a new array."""
        array = np.empty(self.shape, self.dtype)
        self.memory.read(array.reshape(-1).view(np.uint8))
        return array

    @property
    def closed(self) -> bool:
        """Whether the memory was freed."""
        return self.memory.handle is None

    def close(self) -> None:
        """Give the buffer back to the pool."""
        self._device.give_buffer(self.memory)


class DescriptorSets:
    """The descriptor sets of bound work, with the samplers and buffer views in them.

    Construction makes nothing; `create` does, so that `close` frees everything when it fails halfway. `sets`
    has the VkDescriptorSets; None where the pipeline has no slots.
    """

    def __init__(
        self,
        device: LogicalDevice,
        slots: Sequence[Slot],
        resources: Mapping[Slot, Sequence[Resource]],
        samplers: Mapping[Slot, Sequence[Sampler]],
    ) -> None:
        self._device, self._slots = device, slots
        self._resources, self._given_samplers = resources, samplers
        self.sets: Any = None
        self._pool: Any = None
        self._samplers: dict[Sampler, Any] = {}
        self._views: list[Any] = []

    def create(self, layouts: Sequence[Any]) -> None:
        """Allocate a set for each VkDescriptorSetLayout, and write the resources into them."""
        device, functions = self._device, self._device.functions
        if not layouts:
            return
        totals: dict[str, int] = {}
        for slot in self._slots:
            totals[slot.kind] = totals.get(slot.kind, 0) + slot.count
        sizes = [
            vk.new("VkDescriptorPoolSize", type=getattr(vk, DESCRIPTOR_TYPES[kind]), descriptorCount=count)
            for kind, count in totals.items()
        ]
        info = vk.new(
            "VkDescriptorPoolCreateInfo", maxSets=len(layouts), poolSizeCount=len(sizes), pPoolSizes=sizes
        )
        self._pool = device.create("DescriptorPool", info, "a descriptor pool")
        info = vk.new(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=self._pool,
            descriptorSetCount=len(layouts),
            pSetLayouts=layouts,
        )
        self.sets = vk.ffi.new("VkDescriptorSet[]", len(layouts))
        code = functions.vkAllocateDescriptorSets(device.handle, info, self.sets)
        device.check(code, "allocating descriptor sets")
        writes = vk.array("VkWriteDescriptorSet", [self._write(slot) for slot in self._slots])
        functions.vkUpdateDescriptorSets(device.handle, len(writes), writes, 0, vk.NULL)

    def _write(self, slot: Slot) -> Any:
        """Describe the resources of a slot to Vulkan."""
        images: Any = vk.NULL
        buffers: Any = vk.NULL
        views: Any = vk.NULL
        following: Any = vk.NULL
        if slot.kind == "acceleration_structure":
            structures = [
                entry for entry in self._resources[slot] if isinstance(entry, VulkanAccelerationStructure)
            ]
            following = vk.new(
                "VkWriteDescriptorSetAccelerationStructureKHR",
                accelerationStructureCount=len(structures),
                pAccelerationStructures=[structure.handle for structure in structures],
            )
        elif slot.texels is None and slot.kind != "sampler":
            buffers = [
                vk.new(
                    "VkDescriptorBufferInfo",
                    buffer=entry.memory.handle,
                    offset=_offset(entry),
                    range=entry.nbytes,
                )
                for entry in self._resources[slot]
                if isinstance(entry, VulkanBuffer | PooledBuffer)
            ]
        elif slot.image is None and slot.kind != "sampler":
            views = vk.ffi.new("VkBufferView[]", [self._view(slot, entry) for entry in self._resources[slot]])
        else:
            images = self._image_infos(slot)
        return vk.new(
            "VkWriteDescriptorSet",
            pNext=following,
            dstSet=self.sets[slot.set],
            dstBinding=slot.binding,
            descriptorCount=slot.count,
            descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
            pImageInfo=images,
            pBufferInfo=buffers,
            pTexelBufferView=views,
        )

    def _image_infos(self, slot: Slot) -> list[Any]:
        infos = []
        images: Sequence[Resource | None] = self._resources[slot] or [None] * slot.count
        samplers: Sequence[Sampler | None] = self._given_samplers[slot] or [None] * slot.count
        for image, state in zip(images, samplers, strict=True):
            fields: dict[str, Any] = {}
            if isinstance(image, VulkanImage):
                fields["imageView"] = image.first_view if slot.kind == "storage_image" else image.view
                fields["imageLayout"] = vk.VK_IMAGE_LAYOUT_GENERAL
                flag = vk.VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT
                linear = state is not None and "linear" in (*state.filters, state.mipmap)
                if linear and not format_features(self._device, image.format).optimalTilingFeatures & flag:
                    name, format_ = self._device.capabilities.name, image.format.vulkan
                    raise Unsupported(
                        f"{name} has no linear filter for images of {format_}.",
                        [f"linear filtering of {format_}"],
                    )
            if state is not None:
                if state not in self._samplers:
                    self._samplers[state] = create_sampler(self._device, state)
                fields["sampler"] = self._samplers[state]
            infos.append(vk.new("VkDescriptorImageInfo", **fields))
        return infos

    def _view(self, slot: Slot, resource: Resource) -> Any:
        assert isinstance(resource, VulkanBuffer | PooledBuffer)
        device, format_ = self._device, texel_format(slot, resource)
        flag = getattr(vk, f"VK_FORMAT_FEATURE_{slot.kind.upper()}_BIT")
        if not format_features(device, format_).bufferFeatures & flag:
            raise Unsupported(
                f"{device.capabilities.name} has no {slot.kind.replace('_', ' ')}s of {format_.vulkan}.",
                [format_.vulkan],
            )
        info = vk.new(
            "VkBufferViewCreateInfo",
            buffer=resource.memory.handle,
            format=getattr(vk, format_.vulkan),
            offset=_offset(resource),
            range=resource.nbytes,
        )
        view = device.create("BufferView", info, "a view of a texel buffer")
        self._views.append(view)
        return view

    def record(self, commands: Any, bind_point: int, layout: Any) -> None:
        """Record the binding of the sets."""
        if self.sets is not None:
            self._device.functions.vkCmdBindDescriptorSets(
                commands, bind_point, layout, 0, len(self.sets), self.sets, 0, vk.NULL
            )

    def close(self) -> None:
        """Free the sets, samplers and buffer views."""
        device = self._device
        # Forgotten before they are destroyed: Ctrl-C may come between, and closing twice crashes.
        pool, self._pool = self._pool, None
        samplers, self._samplers = self._samplers, {}
        views, self._views = self._views, []
        device.destroy("DescriptorPool", pool)
        for sampler in samplers.values():
            device.destroy("Sampler", sampler)
        for view in views:
            device.destroy("BufferView", view)


def _offset(resource: Resource) -> int:
    return resource.offset if isinstance(resource, VulkanBuffer) else 0
