"""Instructions on images, texel buffers and samplers."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.reference.interpreter.operations.images import sampling, storage
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory, image_of
from vkgroup.reference.interpreter.operations.images.storage import texel_offset
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value

__all__ = ["IMAGES", "Factory", "ImageMemory", "image_of", "texel_offset"]

Factory = Callable[[Site], Callable[..., Value | None]]

IMAGES: dict[str, Factory] = {
    "OpImageRead": storage.read,
    "OpImageFetch": storage.read,
    "OpImageWrite": storage.write,
    **{
        f"OpImageSample{projected}{compared}{detail}Lod": sampling.sample
        for projected in ("", "Proj")
        for compared in ("", "Dref")
        for detail in ("Implicit", "Explicit")
    },
    "OpImageGather": sampling.gather_texels,
    "OpImageDrefGather": sampling.gather_texels,
    "OpImageQueryLod": sampling.query_lod,
    "OpImageQuerySize": storage.size,
    "OpImageQuerySizeLod": storage.size,
    "OpImageQueryLevels": storage.number,
    "OpImageQuerySamples": storage.number,
    "OpSampledImage": storage.sampled_image,
    "OpImage": storage.image_of_sampled,
}
"""By name: the factory of an instruction's function, which takes a `Frame` before its operands."""
