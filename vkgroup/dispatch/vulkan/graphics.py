"""Draws with Vulkan: render passes, graphics pipelines, vertex buffers and recording."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from vkgroup.base.choices import COMPARISONS
from vkgroup.base.formats import TexelFormat
from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.attachments import DrawData, DrawImages
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.draw_state import FRONT_FACES, TOPOLOGIES, Attribute, DrawState
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.vertices import MeshGroups
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.stage_info import stage_info

_ALL_CHANNELS = 0xF


@dataclass(frozen=True)
class RenderTarget:
    """One attachment of a render pass; one without location is a depth or an input attachment."""

    format: TexelFormat
    samples: int
    location: int | None
    clear: bool = True  # whether it is cleared before the draw; otherwise its contents stay
    resolves: bool = False  # whether it takes the resolved samples of the color at its location
    input: int | None = None  # the index of an input attachment; None of others

    @property
    def is_depth(self) -> bool:
        """Whether it is the depth attachment."""
        return self.location is None and self.input is None


def create_render_pass(device: LogicalDevice, targets: Sequence[RenderTarget]) -> Any:
    """Make a VkRenderPass; the caller destroys it.

    Passes that differ in what they clear and resolve only are compatible (Vulkan 1.4, 8.2).
    """
    unused = 0xFFFFFFFF
    descriptions = [_description(target) for target in targets]
    colors = [number for number, target in enumerate(targets) if target.location is not None]
    length = 1 + max((targets[number].location or 0 for number in colors), default=-1)
    references = [[unused] * length, [unused] * length]
    for number in colors:
        references[targets[number].resolves][targets[number].location or 0] = number
    fields: dict[str, Any] = {"colorAttachmentCount": length, "pColorAttachments": _references(references[0])}
    if any(target.resolves for target in targets):
        fields["pResolveAttachments"] = _references(references[1])
    if depth := [number for number, target in enumerate(targets) if target.is_depth]:
        fields["pDepthStencilAttachment"] = _references(depth)[0]
    read = {target.input: number for number, target in enumerate(targets) if target.input is not None}
    if read:
        numbers = [read.get(index, unused) for index in range(max(read) + 1)]
        fields["inputAttachmentCount"] = len(numbers)
        fields["pInputAttachments"] = _references(numbers)
    subpass = vk.new("VkSubpassDescription", pipelineBindPoint=vk.VK_PIPELINE_BIND_POINT_GRAPHICS, **fields)
    info = vk.new(
        "VkRenderPassCreateInfo",
        attachmentCount=len(descriptions),
        pAttachments=descriptions,
        subpassCount=1,
        pSubpasses=[subpass],
    )
    return device.create("RenderPass", info, "a render pass")


def _references(numbers: Sequence[int]) -> list[Any]:
    general = vk.VK_IMAGE_LAYOUT_GENERAL
    return [vk.new("VkAttachmentReference", attachment=number, layout=general) for number in numbers]


def _description(target: RenderTarget) -> Any:
    general = vk.VK_IMAGE_LAYOUT_GENERAL
    load = vk.VK_ATTACHMENT_LOAD_OP_CLEAR if target.clear else vk.VK_ATTACHMENT_LOAD_OP_LOAD
    return vk.new(
        "VkAttachmentDescription",
        format=getattr(vk, target.format.vulkan),
        samples=target.samples,
        loadOp=vk.VK_ATTACHMENT_LOAD_OP_DONT_CARE if target.resolves else load,
        storeOp=vk.VK_ATTACHMENT_STORE_OP_STORE,
        stencilLoadOp=vk.VK_ATTACHMENT_LOAD_OP_DONT_CARE,
        stencilStoreOp=vk.VK_ATTACHMENT_STORE_OP_DONT_CARE,
        initialLayout=general,
        finalLayout=general,
    )


def sample_counts(device: LogicalDevice, format_: TexelFormat) -> int:
    """Return the VkSampleCountFlags of attachments of a format; 0 where it has no attachments."""
    depth, color = vk.VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT
    properties = vk.ffi.new("VkImageFormatProperties *")
    code = device.instance.functions.vkGetPhysicalDeviceImageFormatProperties(
        device.physical,
        getattr(vk, format_.vulkan),
        vk.VK_IMAGE_TYPE_2D,
        vk.VK_IMAGE_TILING_OPTIMAL,
        depth if format_.depth else color,
        0,
        properties,
    )
    return int(properties.sampleCounts) if code == vk.VK_SUCCESS else 0


def targets_of(stages: GraphicsStages) -> list[RenderTarget]:
    """Return the attachments that a pipeline is made for, colors first."""
    formats, samples = stages.formats, stages.state.samples
    targets = [RenderTarget(format_, samples, location) for location, format_ in formats.colors]
    if formats.depth is not None:
        targets.append(RenderTarget(formats.depth, samples, None))
    targets += [
        RenderTarget(item.format, item.samples, None, False, input=item.index) for item in formats.inputs
    ]
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
    device: LogicalDevice, stages: GraphicsStages, layout: Any, render_pass: Any, flags: int = 0
) -> Any:
    """Create a VkPipeline for draws with VkPipelineCreateFlags; the caller destroys it."""
    dynamic = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR]
    with ExitStack() as stack:
        infos = [stack.enter_context(stage_info(device, stages, shader)) for shader in stages.shaders]
        info = vk.new(
            "VkGraphicsPipelineCreateInfo",
            flags=flags,
            stageCount=len(infos),
            pStages=infos,
            layout=layout,
            renderPass=render_pass,
            pViewportState=vk.new("VkPipelineViewportStateCreateInfo", viewportCount=1, scissorCount=1),
            pDynamicState=vk.new(
                "VkPipelineDynamicStateCreateInfo", dynamicStateCount=len(dynamic), pDynamicStates=dynamic
            ),
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


class VulkanDraw:
    """The objects of one draw besides its pipeline and descriptor sets.

    Construction makes nothing; `create` does, so that `close` frees everything when it fails halfway.
    """

    def __init__(self, device: LogicalDevice, data: DrawData, state: DrawState) -> None:
        self._device, self._data, self._state = device, data, state
        self._attributes: list[DeviceBuffer] = []
        self._indices: DeviceBuffer | None = None
        self._targets: list[RenderTarget] = []
        self._render_pass: Any = None
        self._framebuffer: Any = None

    def create(self, drawn: DrawImages, inputs: list[tuple[int, Image]]) -> None:
        """Make vertex buffers, render pass and framebuffer for images to draw to and input attachments."""
        vertices = self._data.vertices
        for _, array in sorted(vertices.arrays.items()):
            self._attributes.append(self._buffer(array))
        if vertices.indices is not None and len(vertices.indices):
            self._indices = self._buffer(vertices.indices)
        samples, targets, views = self._state.samples, self._targets, []
        for attachment in self._data.attachments:
            clear = drawn.clears(attachment)
            targets.append(RenderTarget(attachment.format, samples, attachment.location, clear))
            views.append(_view(drawn.images[attachment]))
        for attachment, image in drawn.resolved.items():
            targets.append(RenderTarget(attachment.format, 1, attachment.location, resolves=True))
            views.append(_view(image))
        for index, image in inputs:
            targets.append(RenderTarget(image.format, image.samples, None, False, input=index))
            views.append(_view(image))
        self._render_pass = create_render_pass(self._device, targets)
        info = vk.new(
            "VkFramebufferCreateInfo",
            renderPass=self._render_pass,
            attachmentCount=len(views),
            pAttachments=views,
            width=self._data.size[0],
            height=self._data.size[1],
            layers=1,
        )
        self._framebuffer = self._device.create("Framebuffer", info, "a framebuffer")

    def _buffer(self, array: npt.NDArray[Any]) -> DeviceBuffer:
        buffer = self._device.take_buffer(array.nbytes)
        buffer.write(as_bytes(array))
        return buffer

    def record_state(self, commands: Any) -> None:
        """Record the binding of vertices and indices, the viewport and the scissor."""
        functions, (width, height) = self._device.functions, self._data.size
        if self._attributes:
            handles = vk.ffi.new("VkBuffer[]", [buffer.handle for buffer in self._attributes])
            offsets = vk.ffi.new("VkDeviceSize[]", len(self._attributes))
            functions.vkCmdBindVertexBuffers(commands, 0, len(self._attributes), handles, offsets)
        if self._indices is not None:
            functions.vkCmdBindIndexBuffer(commands, self._indices.handle, 0, vk.VK_INDEX_TYPE_UINT32)
        viewport = vk.new("VkViewport", width=float(width), height=float(height), maxDepth=1.0)
        functions.vkCmdSetViewport(commands, 0, 1, viewport)
        functions.vkCmdSetScissor(commands, 0, 1, self._area())

    def record(self, commands: Any) -> None:
        """Record the render pass with the draw in it."""
        functions, vertices = self._device.functions, self._data.vertices
        # Colors are cleared to zero.
        values = vk.ffi.new("VkClearValue[]", max(1, len(self._targets)))
        for number, target in enumerate(self._targets):
            if target.is_depth:
                values[number].depthStencil.depth = self._state.farthest_depth
        info = vk.new(
            "VkRenderPassBeginInfo",
            renderPass=self._render_pass,
            framebuffer=self._framebuffer,
            renderArea=self._area(),
            clearValueCount=len(self._targets),
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

    def _area(self) -> Any:
        width, height = self._data.size
        return vk.new("VkRect2D", extent=vk.new("VkExtent2D", width=width, height=height))

    def close(self) -> None:
        """Free the render pass and its framebuffer, and give the buffers back."""
        device = self._device
        framebuffer, self._framebuffer = self._framebuffer, None
        render_pass, self._render_pass = self._render_pass, None
        device.destroy("Framebuffer", framebuffer)
        device.destroy("RenderPass", render_pass)
        for buffer in self._attributes:
            device.give_buffer(buffer)
        if self._indices is not None:
            device.give_buffer(self._indices)
        self._attributes, self._indices = [], None


def _view(image: Image) -> Any:
    assert isinstance(image, VulkanImage)
    return image.first_view
