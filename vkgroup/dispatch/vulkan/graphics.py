"""Graphics pipelines of Vulkan."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from vkgroup.choices import COMPARISONS
from vkgroup.device import vk
from vkgroup.dispatch.drawing import FRONT_FACES, TOPOLOGIES
from vkgroup.dispatch.graphics_pipeline import GraphicsPipeline
from vkgroup.dispatch.vulkan.draws import VulkanDraws
from vkgroup.dispatch.vulkan.layouts import VulkanLayouts, stage_bit
from vkgroup.dispatch.vulkan.render_pass import Target, create_render_pass, sample_counts

_ALL_CHANNELS = 0xF


class VulkanGraphicsPipeline(VulkanLayouts, GraphicsPipeline):
    """A VkPipeline for draws, its layouts, and a render pass that its draws' are compatible with."""

    _kind_of_draws = VulkanDraws

    bind_point = vk.VK_PIPELINE_BIND_POINT_GRAPHICS
    _render_pass: Any = None

    def _create(self) -> None:
        self.stages = sum(stage_bit(shader.entry_point.stage) for shader in self.shaders)
        super()._create()

    def targets(self) -> list[Target]:
        """Return the attachments that the pipeline is made for, colors first."""
        state = self.state
        found = [Target(format_, state.samples, location) for location, format_ in state.colors]
        if state.depth is not None:
            found.append(Target(state.depth, state.samples, None))
        found += [Target(item.format, item.samples, None, False, input=item.index) for item in state.inputs]
        return found

    def _lacking(self) -> list[str]:
        lacking, limits = super()._lacking(), self.device.capabilities.limits
        samples = self.state.samples
        for target in self.targets():
            if not sample_counts(self.device, target.format) & samples:
                lacking.append(f"attachments of {target.format.vulkan} with {samples} samples")
        if not self.targets() and not limits["framebufferNoAttachmentsSampleCounts"] & samples:
            lacking.append(f"framebufferNoAttachmentsSampleCounts with {samples}")
        return lacking

    def _create_pipeline(self) -> None:
        device = self.device
        self._render_pass = create_render_pass(device, self.targets())
        with ExitStack() as stack:
            stages = [stack.enter_context(self.one_of_several(shader)) for shader in self.shaders]
            info = vk.new(
                "VkGraphicsPipelineCreateInfo",
                stageCount=len(stages),
                pStages=stages,
                layout=self.layout,
                renderPass=self._render_pass,
                pViewportState=vk.new("VkPipelineViewportStateCreateInfo", viewportCount=1, scissorCount=1),
                pDynamicState=_dynamic_state(),
                **self._fixed_functions(),
            )
            handle = vk.ffi.new("VkPipeline *")
            code = device.functions.vkCreateGraphicsPipelines(
                device.handle, vk.NULL, 1, info, vk.NULL, handle
            )
            device.check(code, "creating a graphics pipeline")
            self.handle = handle[0]

    def _fixed_functions(self) -> dict[str, Any]:
        state = self.state
        blends = [
            vk.new("VkPipelineColorBlendAttachmentState", colorWriteMask=_ALL_CHANNELS)
            for _ in range(1 + max((location for location, _ in state.colors), default=-1))
        ]
        return {
            "pVertexInputState": self._vertex_input(),
            "pInputAssemblyState": vk.new(
                "VkPipelineInputAssemblyStateCreateInfo", topology=getattr(vk, TOPOLOGIES[state.topology])
            ),
            "pTessellationState": vk.new(
                "VkPipelineTessellationStateCreateInfo", patchControlPoints=state.patch_vertices
            )
            if state.topology == "patches"
            else vk.NULL,
            "pRasterizationState": vk.new(
                "VkPipelineRasterizationStateCreateInfo",
                cullMode=vk.VK_CULL_MODE_NONE,
                frontFace=FRONT_FACES.index(state.front_face),
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
                depthTestEnable=state.depth is not None,
                depthWriteEnable=state.depth_write,
                depthCompareOp=COMPARISONS.index(state.depth_compare),
            ),
            "pColorBlendState": vk.new(
                "VkPipelineColorBlendStateCreateInfo", attachmentCount=len(blends), pAttachments=blends
            ),
        }

    def _vertex_input(self) -> Any:
        """Describe the attributes, each of which has a buffer to itself."""
        attributes = self.state.attributes
        buffers = [
            vk.new("VkVertexInputBindingDescription", binding=number, stride=4 * attribute.components)
            for number, attribute in enumerate(attributes)
        ]
        places = [
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
            vertexAttributeDescriptionCount=len(places),
            pVertexAttributeDescriptions=places,
        )

    def close(self) -> None:
        """Free the pipeline, its layouts and its render pass."""
        device = self.device
        if self._render_pass is not None and device.usable:
            device.functions.vkDestroyRenderPass(device.handle, self._render_pass, vk.NULL)
        self._render_pass = None
        super().close()


def _dynamic_state() -> Any:
    states = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR]
    return vk.new("VkPipelineDynamicStateCreateInfo", dynamicStateCount=len(states), pDynamicStates=states)
