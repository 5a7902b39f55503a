"""Vertex buffers, render pass and framebuffer of a draw, and recording it."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.device.memory import DeviceBuffer
from vkgroup.dispatch.buffer import as_bytes
from vkgroup.dispatch.draw_images import DrawData, DrawImages
from vkgroup.dispatch.draw_state import DrawState
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.vertices import MeshGroups
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.dispatch.vulkan.render_pass import Target, clear_values, create_framebuffer, create_render_pass


class VulkanDraw:
    """The objects of one draw besides its pipeline and descriptor sets.

    Construction makes nothing; `create` does, so that `close` frees everything when it fails halfway.
    """

    def __init__(self, device: LogicalDevice, data: DrawData, state: DrawState) -> None:
        self._device, self._data, self._state = device, data, state
        self._attributes: list[DeviceBuffer] = []
        self._indices: DeviceBuffer | None = None
        self._targets: list[Target] = []
        self._render_pass: Any = None
        self._framebuffer: Any = None

    def create(self, drawn: DrawImages, inputs: list[tuple[int, Image]]) -> None:
        """Make vertex buffers, render pass and framebuffer.

        Parameters
        ----------
        drawn : the images that the draw writes to.
        inputs : the images bound as input attachments, each with its index, in the order of these.
        """
        vertices = self._data.vertices
        for _, array in sorted(vertices.arrays.items()):
            self._attributes.append(self._buffer(array))
        if vertices.indices is not None and len(vertices.indices):
            self._indices = self._buffer(vertices.indices)
        self._make_framebuffer(drawn, inputs)

    def _buffer(self, array: npt.NDArray[Any]) -> DeviceBuffer:
        buffer = self._device.take_buffer(array.nbytes)
        buffer.write(as_bytes(array))
        return buffer

    def _make_framebuffer(self, drawn: DrawImages, inputs: list[tuple[int, Image]]) -> None:
        """Make the render pass, which knows what to clear, and its framebuffer."""
        samples, targets, views = self._state.samples, self._targets, []
        for attachment in self._data.attachments:
            clear = drawn.clears(attachment)
            targets.append(Target(attachment.format, samples, attachment.location, clear))
            views.append(_view(drawn.images[attachment]))
        for attachment, image in drawn.resolved.items():
            targets.append(Target(attachment.format, 1, attachment.location, resolves=True))
            views.append(_view(image))
        for index, image in inputs:
            targets.append(Target(image.format, image.samples, None, False, input=index))
            views.append(_view(image))
        self._render_pass = create_render_pass(self._device, targets)
        self._framebuffer = create_framebuffer(self._device, self._render_pass, views, self._data.size)

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
        info = vk.new(
            "VkRenderPassBeginInfo",
            renderPass=self._render_pass,
            framebuffer=self._framebuffer,
            renderArea=self._area(),
            clearValueCount=len(self._targets),
            pClearValues=clear_values(self._targets, farthest=self._state.farthest_depth),
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
        if device.usable:
            if framebuffer is not None:
                device.functions.vkDestroyFramebuffer(device.handle, framebuffer, vk.NULL)
            if render_pass is not None:
                device.functions.vkDestroyRenderPass(device.handle, render_pass, vk.NULL)
        for buffer in self._attributes:
            device.give_buffer(buffer)
        if self._indices is not None:
            device.give_buffer(self._indices)
        self._attributes, self._indices = [], None


def _view(image: Image) -> Any:
    assert isinstance(image, VulkanImage)
    return image.first_view
