"""Graphics pipelines of Vulkan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from vkgroup.choices import COMPARISONS
from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.draw_state import FRONT_FACES, TOPOLOGIES, Attribute
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.vulkan.render_pass import Target, sample_counts
from vkgroup.dispatch.vulkan.stage_info import stage_info

_ALL_CHANNELS = 0xF


def targets_of(stages: GraphicsStages) -> list[Target]:
    """Return the attachments that a pipeline is made for, colors first."""
    formats, samples = stages.formats, stages.state.samples
    targets = [Target(format_, samples, location) for location, format_ in formats.colors]
    if formats.depth is not None:
        targets.append(Target(formats.depth, samples, None))
    targets += [Target(item.format, item.samples, None, False, input=item.index) for item in formats.inputs]
    return targets


def lacking_targets(device: LogicalDevice, stages: GraphicsStages) -> list[str]:
    """List the attachments of a pipeline that a device does not have with as many samples."""
    lacking, limits = [], device.capabilities.limits
    samples, targets = stages.state.samples, targets_of(stages)
    for target in targets:
        if not sample_counts(device, target.format) & samples:
            lacking.append(f"attachments of {target.format.vulkan} with {samples} samples")
    if not targets and not limits["framebufferNoAttachmentsSampleCounts"] & samples:
        lacking.append(f"framebufferNoAttachmentsSampleCounts with {samples}")
    return lacking


def create_graphics_pipeline(
    device: LogicalDevice, stages: GraphicsStages, layout: Any, render_pass: Any
) -> Any:
    """Create a VkPipeline for draws; the caller destroys it."""
    with ExitStack() as stack:
        infos = [stack.enter_context(stage_info(device, stages, shader)) for shader in stages.shaders]
        info = vk.new(
            "VkGraphicsPipelineCreateInfo",
            stageCount=len(infos),
            pStages=infos,
            layout=layout,
            renderPass=render_pass,
            pViewportState=vk.new("VkPipelineViewportStateCreateInfo", viewportCount=1, scissorCount=1),
            pDynamicState=_dynamic_state(),
            **_fixed_functions(stages),
        )
        handle = vk.ffi.new("VkPipeline *")
        code = device.functions.vkCreateGraphicsPipelines(device.handle, vk.NULL, 1, info, vk.NULL, handle)
        device.check(code, "creating a graphics pipeline")
        return handle[0]


def _fixed_functions(stages: GraphicsStages) -> dict[str, Any]:
    state, formats = stages.state, stages.formats
    blends = [
        vk.new("VkPipelineColorBlendAttachmentState", colorWriteMask=_ALL_CHANNELS)
        for _ in range(1 + max((location for location, _ in formats.colors), default=-1))
    ]
    return {
        "pVertexInputState": _vertex_input(formats.attributes),
        "pInputAssemblyState": vk.new(
            "VkPipelineInputAssemblyStateCreateInfo", topology=getattr(vk, TOPOLOGIES[stages.topology])
        ),
        "pTessellationState": vk.new(
            "VkPipelineTessellationStateCreateInfo", patchControlPoints=state.patch_vertices
        )
        if stages.topology == "patches"
        else vk.NULL,
        "pRasterizationState": vk.new(
            "VkPipelineRasterizationStateCreateInfo",
            cullMode=vk.VK_CULL_MODE_NONE,
            frontFace=FRONT_FACES.index(stages.front_face),
            lineWidth=1.0,
        ),
        "pMultisampleState": vk.new(
            "VkPipelineMultisampleStateCreateInfo",
            rasterizationSamples=state.samples,
            sampleShadingEnable=state.sample_shading,
            minSampleShading=1.0,
        ),
        "pDepthStencilState": vk.new(
            "VkPipelineDepthStencilStateCreateInfo",
            depthTestEnable=formats.depth is not None,
            depthWriteEnable=state.depth_write,
            depthCompareOp=COMPARISONS.index(state.depth_compare),
        ),
        "pColorBlendState": vk.new(
            "VkPipelineColorBlendStateCreateInfo", attachmentCount=len(blends), pAttachments=blends
        ),
    }


def _vertex_input(attributes: Sequence[Attribute]) -> Any:
    """Describe the attributes, each of which has its own buffer."""
    buffers = [
        vk.new("VkVertexInputBindingDescription", binding=number, stride=4 * attribute.components)
        for number, attribute in enumerate(attributes)
    ]
    descriptions = [
        vk.new(
            "VkVertexInputAttributeDescription",
            location=attribute.location,
            binding=number,
            format=getattr(vk, attribute.vulkan),
        )
        for number, attribute in enumerate(attributes)
    ]
    return vk.new(
        "VkPipelineVertexInputStateCreateInfo",
        vertexBindingDescriptionCount=len(buffers),
        pVertexBindingDescriptions=buffers,
        vertexAttributeDescriptionCount=len(descriptions),
        pVertexAttributeDescriptions=descriptions,
    )


def _dynamic_state() -> Any:
    states = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR]
    return vk.new("VkPipelineDynamicStateCreateInfo", dynamicStateCount=len(states), pDynamicStates=states)
