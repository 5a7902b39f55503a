"""Memories of bound resources, under the names that the shader has for them."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkgroup.dispatch.bindings import ArrayBuffer, Resource
from vkgroup.dispatch.checks import texel_format
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.slots import Slot
from vkgroup.reference.device import memory
from vkgroup.reference.device.buffer import CopiedArray, ReferenceBuffer
from vkgroup.reference.device.image import ReferenceImage
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory


def _name_of(slot: Slot) -> str:
    return slot.names[0] if slot.names else f"set {slot.set}, binding {slot.binding}"


def memory_of(slot: Slot, resource: Resource) -> Memory:
    """Return a resource's memory, renamed to the name that the shader has for it."""
    assert isinstance(resource, ReferenceBuffer | ReferenceImage | CopiedArray)
    assert resource.memory is not None
    if not isinstance(resource, ReferenceImage):
        if slot.texels is not None:
            resource.memory = _as_texels(slot, resource, resource.memory)
        resource.memory.kind = "buffer" if slot.texels is None else "image"
    resource.memory.name = _name_of(slot)
    return resource.memory


def _as_texels(slot: Slot, resource: ReferenceBuffer | CopiedArray, memory: Memory) -> ImageMemory:
    """Return the memory of a buffer as that of a texel buffer, over the same bytes."""
    format_ = texel_format(slot, resource)
    extent = (memory.nbytes // format_.nbytes, 1, 1)
    texels = ImageMemory(memory.data, memory.name, format_, dimension="Buffer", extent=extent)
    texels.refine(memory.granule)
    memory.refine(texels.granule)
    texels.causes, texels.address = memory.causes, memory.address
    return texels


def defined_texels(entry: ArrayBuffer | Image, ordered: bool) -> npt.NDArray[Any]:
    """Tell which elements of what is bound are defined, in the shape of its array."""
    assert isinstance(entry, CopiedArray | ReferenceImage)
    assert entry.memory is not None
    return memory.defined(entry.memory, entry.dtype, entry.shape, ordered=ordered)


def image_memory(image: Image) -> ImageMemory:
    """Return the memory of an image that is open."""
    assert isinstance(image, ReferenceImage)
    assert image.memory is not None
    return image.memory
