"""Graphics pipelines of Vulkan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy.typing as npt

from vkgroup.choices import COMPARISONS
from vkgroup.device import vk
from vkgroup.device.memory import DeviceBuffer, barrier
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.drawing import FRONT_FACES, TOPOLOGIES
from vkgroup.dispatch.graphics_pipeline import Draws, GraphicsPipeline
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.vertices import MeshGroups
from vkgroup.dispatch.vulkan.bindings import VulkanBindings
from vkgroup.dispatch.vulkan.image import VulkanImage, read_together
from vkgroup.dispatch.vulkan.layouts import VulkanLayouts, stage_bit
from vkgroup.dispatch.vulkan.render_pass import (
    Target,
    clear_values,
    create_framebuffer,
    create_render_pass,
    sample_counts,
)
from vkgroup.dispatch.vulkan.targets import give_target, take_target
from vkgroup.errors import Unsupported
from vkgroup.formats import Format

_ALL_CHANNELS = 0xF


def _dynamic_state() -> Any:
    states = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR]
    return vk.new("VkPipelineDynamicStateCreateInfo", dynamicStateCount=len(states), pDynamicStates=states)


class VulkanDraws(VulkanBindings, Draws):
    """Descriptor sets, vertices and a framebuffer; commands are recorded where push constants change."""

    pipeline: VulkanGraphicsPipeline
    _recorded: bytes | None = None
    _framebuffer: Any = None
    _render_pass: Any = None
    _attributes: list[DeviceBuffer]
    _passed: list[Target]
    _indices: DeviceBuffer | None = None

    def _create(self) -> None:
        super()._create()
        self._attributes = []
        self._check_size()
        self._make_attachments()
        for _, array in sorted(self.vertices.arrays.items()):
            self._attributes.append(self._buffer(array))
        if self.vertices.indices is not None and len(self.vertices.indices):
            self._indices = self._buffer(self.vertices.indices)
        self._make_framebuffer()

    def _check_size(self) -> None:
        limits, name = self.device.capabilities.limits, self.device.capabilities.name
        most = (limits["maxFramebufferWidth"], limits["maxFramebufferHeight"])
        if self.size[0] > most[0] or self.size[1] > most[1]:
            lacking = f"maxFramebufferWidth and maxFramebufferHeight of {self.size} (they are {most})"
            raise Unsupported(f"{name} lacks: {lacking}.", [lacking])

    def _buffer(self, array: npt.NDArray[Any]) -> DeviceBuffer:
        buffer = self.device.take_buffer(array.nbytes)
        buffer.write(as_bytes(array))
        return buffer

    def _make_framebuffer(self) -> None:
        """Make the render pass, which knows what to clear, and its framebuffer."""
        state, targets, views = self.pipeline.state, [], []
        for attachment in self.attachments:
            clear = attachment.image is None and attachment.before is None
            # Samples that are resolved into a caller's image begin cleared: nothing could have filled them.
            clear = clear or (self.images[attachment] is not attachment.image and state.samples > 1)
            targets.append(Target(attachment.format, state.samples, attachment.location, clear))
            views.append(_view(self.images[attachment]))
        for attachment, image in self.resolved.items():
            targets.append(Target(attachment.format, 1, attachment.location, resolves=True))
            views.append(_view(image))
        for index, image in self.inputs():
            targets.append(Target(image.format, image.samples, None, False, input=index))
            views.append(_view(image))
        self._passed = targets
        self._render_pass = create_render_pass(self.device, targets)
        self._framebuffer = create_framebuffer(self.device, self._render_pass, views, self.size)

    def _take_image(self, shape: tuple[int, ...], format_: Format, samples: int) -> Image:
        return take_target(self.device, shape, format_, samples)

    def _give_image(self, image: Image) -> None:
        assert isinstance(image, VulkanImage)
        give_target(image)

    def _read_images(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        return read_together([image for image in images if isinstance(image, VulkanImage)])

    def _draw(self, push: bytes, timeout: float | None) -> None:
        if self._recorded != push:
            self._recorded = None
            with self._commands.record() as commands:
                barrier(self.device.functions, commands)
                self.record_state(commands, push)
                self._record_draw(commands)
                barrier(self.device.functions, commands)
            self._recorded = push
        self._commands.run(timeout)

    def _timed(self, push: bytes, timeout: float | None, repeat: int) -> float | None:
        return self._measure(push, push, self._record_draw, timeout, repeat)

    def record_state(self, commands: Any, push: bytes) -> None:
        """Record what a draw needs set: also vertices, viewport and scissor."""
        super().record_state(commands, push)
        functions, (width, height) = self.device.functions, self.size
        if self._attributes:
            handles = vk.ffi.new("VkBuffer[]", [buffer.handle for buffer in self._attributes])
            offsets = vk.ffi.new("VkDeviceSize[]", len(self._attributes))
            functions.vkCmdBindVertexBuffers(commands, 0, len(self._attributes), handles, offsets)
        if self._indices is not None:
            functions.vkCmdBindIndexBuffer(commands, self._indices.handle, 0, vk.VK_INDEX_TYPE_UINT32)
        viewport = vk.new("VkViewport", width=float(width), height=float(height), maxDepth=1.0)
        functions.vkCmdSetViewport(commands, 0, 1, viewport)
        functions.vkCmdSetScissor(commands, 0, 1, self._area())

    def _area(self) -> Any:
        return vk.new("VkRect2D", extent=vk.new("VkExtent2D", width=self.size[0], height=self.size[1]))

    def _record_draw(self, commands: Any) -> None:
        functions, vertices = self.device.functions, self.vertices
        farther = self.pipeline.state.depth_compare in ("greater", "greater_or_equal")
        values = clear_values(self._passed, farthest=0.0 if farther else 1.0)
        info = vk.new(
            "VkRenderPassBeginInfo",
            renderPass=self._render_pass,
            framebuffer=self._framebuffer,
            renderArea=self._area(),
            clearValueCount=len(self._passed),
            pClearValues=values,
        )
        functions.vkCmdBeginRenderPass(commands, info, vk.VK_SUBPASS_CONTENTS_INLINE)
        if isinstance(vertices, MeshGroups):
            functions.vkCmdDrawMeshTasksEXT(commands, *vertices.counts)
        elif self._indices is not None:
            functions.vkCmdDrawIndexed(commands, vertices.count, vertices.instances, 0, 0, 0)
        else:
            functions.vkCmdDraw(commands, vertices.count, vertices.instances, 0, 0)
        functions.vkCmdEndRenderPass(commands)

    def close(self) -> None:
        """Free everything that was made for the draws; the caller's buffers and images stay."""
        device = self.device
        if device.usable:
            if self._framebuffer is not None:
                device.functions.vkDestroyFramebuffer(device.handle, self._framebuffer, vk.NULL)
            if self._render_pass is not None:
                device.functions.vkDestroyRenderPass(device.handle, self._render_pass, vk.NULL)
        self._framebuffer = self._render_pass = self._recorded = None
        for buffer in getattr(self, "_attributes", []):
            device.give_buffer(buffer)
        if self._indices is not None:
            device.give_buffer(self._indices)
        self._attributes, self._indices = [], None
        super().close()


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


def _view(image: Image) -> Any:
    assert isinstance(image, VulkanImage)
    return image.first_view
