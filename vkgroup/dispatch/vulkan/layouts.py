"""What all pipelines of Vulkan share: layouts of descriptor sets and push constants, and their stages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.base_pipeline import BasePipeline, Shader
from vkgroup.dispatch.slots import DESCRIPTOR_TYPES, Slot
from vkgroup.spec.stages import STAGE_BITS

# VkPipelineShaderStageCreateFlagBits.
_VARYING_SIZE, _FULL_SUBGROUPS = 0x1, 0x2


class VulkanLayouts(BasePipeline):
    """A VkPipeline and its layouts.

    Attributes
    ----------
    handle, layout : Vulkan's objects; None when closed.
    set_layouts : one for each descriptor set.
    stages : VkShaderStageFlags of everything that is bound.
    bind_point : VkPipelineBindPoint.
    """

    device: LogicalDevice
    handle: Any = None
    layout: Any = None
    stages: int
    bind_point: int

    @property
    def closed(self) -> bool:
        """Whether the pipeline was closed."""
        return self.handle is None

    def _create(self) -> None:
        self.set_layouts: list[Any] = []
        self._create_layout()
        self._create_pipeline()

    def stage_flags(self, shader: Shader) -> int:
        """Return the VkPipelineShaderStageCreateFlags of a stage."""
        full = self.full_subgroups and shader.entry_point.local_size is not None
        return _VARYING_SIZE * self.varying_subgroup_size | _FULL_SUBGROUPS * full

    def one_of_several(self, shader: Shader) -> AbstractContextManager[Any]:
        """Give a stage as `stage_info` does; sizes are asked of those with subgroup operations."""
        flags = self.stage_flags(shader) if shader.uses_subgroups else 0
        return stage_info(self.device, shader, subgroup_size=self.required_size(shader), flags=flags)

    @abstractmethod
    def _create_pipeline(self) -> None:
        """Make the VkPipeline."""

    def _create_layout(self) -> None:
        device, functions = self.device, self.device.functions
        for number in range(max((slot.set + 1 for slot in self.slots), default=0)):
            bindings = [self._layout_binding(slot) for slot in self.slots if slot.set == number]
            info = vk.new("VkDescriptorSetLayoutCreateInfo", bindingCount=len(bindings), pBindings=bindings)
            layout = vk.ffi.new("VkDescriptorSetLayout *")
            code = functions.vkCreateDescriptorSetLayout(device.handle, info, vk.NULL, layout)
            device.check(code, "creating a descriptor set layout")
            self.set_layouts.append(layout[0])
        ranges = []
        if self.push_constants is not None:
            size = -(-self.push_constants.size // 4) * 4
            ranges = [vk.new("VkPushConstantRange", stageFlags=self.stages, offset=0, size=size)]
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

    def _layout_binding(self, slot: Slot) -> Any:
        # VUID-VkDescriptorSetLayoutBinding-descriptorType-01510
        fragment = slot.kind == "input_attachment"
        return vk.new(
            "VkDescriptorSetLayoutBinding",
            binding=slot.binding,
            descriptorType=getattr(vk, DESCRIPTOR_TYPES[slot.kind]),
            descriptorCount=slot.count,
            stageFlags=stage_bit("fragment") if fragment else self.stages,
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


@contextmanager
def stage_info(
    device: LogicalDevice, shader: Shader, *, subgroup_size: int | None = None, flags: int = 0
) -> Iterator[Any]:
    """Give the VkPipelineShaderStageCreateInfo of a stage, for as long as a pipeline is being made.

    Parameters
    ----------
    subgroup_size : the required size; None requires none.
    flags : VkPipelineShaderStageCreateFlags.
    """
    functions = device.functions
    words = shader.module.to_bytes()
    # An array of words is aligned as Vulkan wants the code to be; bytes alone need not be.
    code_words = vk.ffi.new("uint32_t[]", len(words) // 4)
    vk.ffi.memmove(code_words, words, len(words))
    info = vk.new("VkShaderModuleCreateInfo", codeSize=len(words), pCode=code_words)
    handle = vk.ffi.new("VkShaderModule *")
    code = functions.vkCreateShaderModule(device.handle, info, vk.NULL, handle)
    device.check(code, "creating a shader module")
    try:
        yield vk.new(
            "VkPipelineShaderStageCreateInfo",
            pNext=_required_size(subgroup_size),
            flags=flags,
            stage=stage_bit(shader.entry_point.stage),
            module=handle[0],
            pName=shader.entry_point.name,
            pSpecializationInfo=_specialization_info(shader.packed),
        )
    finally:
        functions.vkDestroyShaderModule(device.handle, handle[0], vk.NULL)


def stage_bit(stage: str) -> int:
    """Return the VkShaderStageFlagBits of a stage by its name."""
    return STAGE_BITS[stage]


def _required_size(size: int | None) -> Any:
    if size is None:
        return vk.NULL
    return vk.new("VkPipelineShaderStageRequiredSubgroupSizeCreateInfo", requiredSubgroupSize=size)


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
