"""Compute pipelines of Vulkan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot
from vkgroup.dispatch.vulkan.bound import VulkanBound

_FULL_SUBGROUPS = 0x2  # VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT


class VulkanPipeline(Pipeline):
    """A VkPipeline and its layouts.

    Attributes
    ----------
    handle, layout : Vulkan's objects; None when closed.
    set_layouts : one for each descriptor set.
    """

    _kind_of_bound = VulkanBound

    device: LogicalDevice
    handle: Any = None
    layout: Any = None

    @property
    def closed(self) -> bool:
        """Whether the pipeline was closed."""
        return self.handle is None

    def _create(self, specialization: Mapping[int, bytes]) -> None:
        self.set_layouts: list[Any] = []
        self._create_layout()
        self._create_pipeline(specialization)

    def _create_layout(self) -> None:
        device, functions = self.device, self.device.functions
        for number in range(max((slot.set + 1 for slot in self.slots), default=0)):
            slots = [slot for slot in self.slots if slot.set == number]
            bindings = [_layout_binding(slot) for slot in slots]
            info = vk.new("VkDescriptorSetLayoutCreateInfo", bindingCount=len(bindings), pBindings=bindings)
            layout = vk.ffi.new("VkDescriptorSetLayout *")
            code = functions.vkCreateDescriptorSetLayout(device.handle, info, vk.NULL, layout)
            device.check(code, "creating a descriptor set layout")
            self.set_layouts.append(layout[0])
        push = self.module.reflection.push_constants
        ranges = []
        if push is not None:
            size = -(-push.size // 4) * 4
            stage = vk.VK_SHADER_STAGE_COMPUTE_BIT
            ranges = [vk.new("VkPushConstantRange", stageFlags=stage, offset=0, size=size)]
        info = vk.new(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=len(self.set_layouts),
            pSetLayouts=self.set_layouts,
            pushConstantRangeCount=len(ranges),
            pPushConstantRanges=ranges,
        )
        layout = vk.ffi.new("VkPipelineLayout *")
        code = functions.vkCreatePipelineLayout(device.handle, info, vk.NULL, layout)
        device.check(code, "creating a pipeline layout")
        self.layout = layout[0]

    def _create_pipeline(self, specialization: Mapping[int, bytes]) -> None:
        device, functions = self.device, self.device.functions
        words = self.module.to_bytes()
        # An array of words is aligned as Vulkan wants the code to be; bytes alone need not be.
        code_words = vk.ffi.new("uint32_t[]", len(words) // 4)
        vk.ffi.memmove(code_words, words, len(words))
        info = vk.new("VkShaderModuleCreateInfo", codeSize=len(words), pCode=code_words)
        shader = vk.ffi.new("VkShaderModule *")
        code = functions.vkCreateShaderModule(device.handle, info, vk.NULL, shader)
        device.check(code, "creating a shader module")
        try:
            stage = vk.new(
                "VkPipelineShaderStageCreateInfo",
                pNext=self._required_size(),
                flags=_FULL_SUBGROUPS if self.full_subgroups else 0,
                stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
                module=shader[0],
                pName=self.entry_point.name,
                pSpecializationInfo=_specialization_info(specialization),
            )
            pipeline_info = vk.new("VkComputePipelineCreateInfo", stage=stage, layout=self.layout)
            handle = vk.ffi.new("VkPipeline *")
            code = functions.vkCreateComputePipelines(
                device.handle, vk.NULL, 1, pipeline_info, vk.NULL, handle
            )
            device.check(code, "creating a compute pipeline")
            self.handle = handle[0]
        finally:
            functions.vkDestroyShaderModule(device.handle, shader[0], vk.NULL)

    def _required_size(self) -> Any:
        if self.subgroup_size is None:
            return vk.NULL
        return vk.new(
            "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo", requiredSubgroupSize=self.subgroup_size
        )

    def close(self) -> None:
        """Free the pipeline and its layouts."""
        device = self.device
        device.forget(self)
        if device.usable:
            functions = device.functions
            if self.handle is not None:
                functions.vkDestroyPipeline(device.handle, self.handle, vk.NULL)
            if self.layout is not None:
                functions.vkDestroyPipelineLayout(device.handle, self.layout, vk.NULL)
            for layout in self.set_layouts:
                functions.vkDestroyDescriptorSetLayout(device.handle, layout, vk.NULL)
        self.handle = self.layout = None
        self.set_layouts = []
        self._holding = False


def _layout_binding(slot: Slot) -> Any:
    return vk.new(
        "VkDescriptorSetLayoutBinding",
        binding=slot.binding,
        descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
        descriptorCount=slot.count,
        stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
    )


def _specialization_info(values: Mapping[int, bytes]) -> Any:
    if not values:
        return vk.NULL
    entries, data = [], b""
    for number, item in values.items():
        entries.append(
            vk.new("VkSpecializationMapEntry", constantID=number, offset=len(data), size=len(item))
        )
        data += item
    return vk.new(
        "VkSpecializationInfo",
        mapEntryCount=len(entries),
        pMapEntries=entries,
        dataSize=len(data),
        pData=vk.ffi.new("char[]", data),
    )
