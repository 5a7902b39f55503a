"""Render passes and framebuffers of Vulkan: one subpass, everything in the general layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vkgroup.device import vk
from vkgroup.device.logical import LogicalDevice
from vkgroup.formats import Format


@dataclass(frozen=True)
class Target:
    """One attachment of a render pass.

    Attributes
    ----------
    format, samples : of its image.
    location : of a color output; None of the depth.
    clear : whether it is cleared before the draw; otherwise what is there stays.
    resolves : whether it takes the resolved samples of the color at its location.
    input : the index of an input attachment, which has no location; None of others.
    """

    format: Format
    samples: int
    location: int | None
    clear: bool = True
    resolves: bool = False
    input: int | None = None

    @property
    def is_depth(self) -> bool:
        """Whether it is the depth attachment."""
        return self.location is None and self.input is None


def create_render_pass(device: LogicalDevice, targets: Sequence[Target]) -> Any:
    """Make a VkRenderPass; the caller destroys it.

    Passes that differ in what they clear and resolve only are compatible (Vulkan 1.4, 8.2).
    """
    general, unused = vk.VK_IMAGE_LAYOUT_GENERAL, 0xFFFFFFFF
    descriptions = [_description(target) for target in targets]
    colors = [number for number, target in enumerate(targets) if target.location is not None]
    length = 1 + max((targets[number].location or 0 for number in colors), default=-1)
    references = [[unused] * length, [unused] * length]
    for number in colors:
        references[targets[number].resolves][targets[number].location or 0] = number
    color, resolved = (
        [vk.new("VkAttachmentReference", attachment=number, layout=general) for number in numbers]
        for numbers in references
    )
    depth = [number for number, target in enumerate(targets) if target.is_depth]
    depth_reference: Any = vk.NULL
    if depth:
        depth_reference = vk.new("VkAttachmentReference", attachment=depth[0], layout=general)
    fields: dict[str, Any] = {"colorAttachmentCount": length, "pColorAttachments": color}
    if any(target.resolves for target in targets):
        fields["pResolveAttachments"] = resolved
    read = {target.input: number for number, target in enumerate(targets) if target.input is not None}
    if read:
        numbers = [read.get(index, unused) for index in range(max(read) + 1)]
        fields["inputAttachmentCount"] = len(numbers)
        fields["pInputAttachments"] = [
            vk.new("VkAttachmentReference", attachment=number, layout=general) for number in numbers
        ]
    subpass = vk.new(
        "VkSubpassDescription",
        pipelineBindPoint=vk.VK_PIPELINE_BIND_POINT_GRAPHICS,
        pDepthStencilAttachment=depth_reference,
        **fields,
    )
    info = vk.new(
        "VkRenderPassCreateInfo",
        attachmentCount=len(descriptions),
        pAttachments=descriptions,
        subpassCount=1,
        pSubpasses=[subpass],
    )
    handle = vk.ffi.new("VkRenderPass *")
    code = device.functions.vkCreateRenderPass(device.handle, info, vk.NULL, handle)
    device.check(code, "creating a render pass")
    return handle[0]


def _description(target: Target) -> Any:
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


def create_framebuffer(
    device: LogicalDevice, render_pass: Any, views: Sequence[Any], size: tuple[int, int]
) -> Any:
    """Make a VkFramebuffer; the caller destroys it."""
    info = vk.new(
        "VkFramebufferCreateInfo",
        renderPass=render_pass,
        attachmentCount=len(views),
        pAttachments=list(views),
        width=size[0],
        height=size[1],
        layers=1,
    )
    handle = vk.ffi.new("VkFramebuffer *")
    code = device.functions.vkCreateFramebuffer(device.handle, info, vk.NULL, handle)
    device.check(code, "creating a framebuffer")
    return handle[0]


def clear_values(targets: Sequence[Target], *, farthest: float) -> Any:
    """Return a VkClearValue for each attachment: zero for colors, the farthest depth."""
    values = vk.ffi.new("VkClearValue[]", max(1, len(targets)))
    for number, target in enumerate(targets):
        if target.is_depth:
            values[number].depthStencil.depth = farthest
    return values


def sample_counts(device: LogicalDevice, format_: Format) -> int:
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
