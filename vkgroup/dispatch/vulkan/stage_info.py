"""Shader stages and compute pipelines of Vulkan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.stages import ComputeStages, Shader, Stages
from vkgroup.spec.stages import STAGE_BITS

# VkPipelineShaderStageCreateFlagBits.
_VARYING_SIZE, _FULL_SUBGROUPS = 0x1, 0x2


@contextmanager
def stage_info(device: LogicalDevice, stages: Stages, shader: Shader) -> Iterator[Any]:
    """Give the VkPipelineShaderStageCreateInfo of one of the stages while a pipeline is being made."""
    words = shader.module.to_bytes()
    # An array of words is aligned as Vulkan wants the code to be; bytes alone need not be.
    code_words = vk.ffi.new("uint32_t[]", len(words) // 4)
    vk.ffi.memmove(code_words, words, len(words))
    info = vk.new("VkShaderModuleCreateInfo", codeSize=len(words), pCode=code_words)
    flags, size, required_size = 0, stages.required_size(shader), vk.NULL
    if stages.controls_size(shader):
        full = stages.full_subgroups and shader.entry_point.local_size is not None
        flags = _VARYING_SIZE * stages.varying_subgroup_size | _FULL_SUBGROUPS * full
    if size is not None:
        struct = "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo"
        required_size = vk.new(struct, requiredSubgroupSize=size)
    module = device.create("ShaderModule", info, "a shader module")
    try:
        yield vk.new(
            "VkPipelineShaderStageCreateInfo",
            pNext=required_size,
            flags=flags,
            stage=STAGE_BITS[shader.entry_point.stage],
            module=module,
            pName=shader.entry_point.name,
            pSpecializationInfo=_specialization_info(shader.packed),
        )
    finally:
        device.destroy("ShaderModule", module)


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


def create_compute_pipeline(device: LogicalDevice, stages: ComputeStages, layout: Any, flags: int = 0) -> Any:
    """Create a VkPipeline for dispatches with VkPipelineCreateFlags; the caller destroys it."""
    with stage_info(device, stages, stages.shader) as stage:
        info = vk.new("VkComputePipelineCreateInfo", flags=flags, stage=stage, layout=layout)
        handle = vk.ffi.new("VkPipeline *")
        code = device.functions.vkCreateComputePipelines(device.handle, vk.NULL, 1, info, vk.NULL, handle)
        device.check(code, "creating a compute pipeline")
        return handle[0]
