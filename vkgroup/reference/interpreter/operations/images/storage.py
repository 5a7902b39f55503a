"""Image instructions that do not sample: reads, writes, pointers to texels, queries, and sampled images.

Coordinates are integers, in texels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.images.memory import (
    ImageMemory,
    load_texels,
    rows,
    store_texels,
    texel_result,
)
from vkgroup.reference.interpreter.operations.images.operands import (
    ImageOperands,
    extension,
    gather,
    on_each,
    optional_operands,
)
from vkgroup.reference.interpreter.operations.memory import Offsets
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    marked,
    overall_cause,
    select,
    single,
)
from vkgroup.spirv import ScalarType, VectorType


def read(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageRead or OpImageFetch: a texel, converted (Vulkan 1.4, "Image Reads")."""
    optional = optional_operands(site, 2)
    extend = extension(site)

    def on_image(frame: Frame, image: ImageMemory, _: Sampler | None, operands: tuple[Value, ...]) -> Value:
        offset, cause = _find(frame, site, image, operands[1], gather(optional, operands))
        frame.report_undefined(site, cause, "the coordinates of an image read are undefined")
        data, undefined = load_texels(frame, site, image, offset, extend)
        return texel_result(site.type, data, combine(undefined, cause))

    return lambda frame, *operands: on_each(frame, operands, on_image)


def write(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageWrite: a texel, converted to the format (Vulkan 1.4, "Image Writes")."""
    optional = optional_operands(site, 3)

    def on_image(frame: Frame, image: ImageMemory, _: Sampler | None, operands: tuple[Value, ...]) -> None:
        offset, cause = _find(frame, site, image, operands[1], gather(optional, operands))
        frame.report_undefined(site, cause, "the coordinates of an image write are undefined")
        texel = operands[2]
        values = np.atleast_2d(texel.data)
        undefined = combine(texel.cause, cause, overall_cause(operands[0]), frame.control)
        store_texels(frame, site, image, offset, values, undefined)

    def run(frame: Frame, *operands: Value) -> None:
        helpers = frame.helpers
        if helpers is not None:
            # Helper invocations write nothing (Vulkan 1.4, "Helper Invocations").
            if helpers.all():
                return
            frame, operands = frame.subset(~helpers), tuple(select(operand, ~helpers) for operand in operands)
        on_each(frame, operands, on_image)

    return run


def texel_offset(frame: Frame, site: Site, image: Value, coordinate: Value, sample: Value) -> Offsets:
    """Return the first bytes of the texels that OpImageTexelPointer points to, (n,) or (1,).

    It is the end of the image if the texel does not exist.
    """

    def on_image(part: Frame, memory: ImageMemory, _: Sampler | None, operands: tuple[Value, ...]) -> Value:
        offset, _cause = _find(part, site, memory, operands[1], ImageOperands(sample=operands[2]))
        return single(offset)

    found = on_each(frame, (image, coordinate, sample), on_image)
    assert found is not None
    return found.data


def _find(
    frame: Frame, site: Site, image: ImageMemory, coordinate: Value, given: ImageOperands
) -> tuple[Offsets, Causes | None]:
    """Return the offsets of texels by integer coordinates; a layer or face comes after x, y and z."""
    components, cause = rows(coordinate)
    position, layer = components[: image.axes].astype(np.int64), np.zeros(1, np.int64)
    if components.shape[0] > image.axes:
        layer = components[image.axes].astype(np.int64)
    level = sample = np.zeros(1, np.int64)
    for operand in (given.offset, given.lod, given.sample):
        if operand is not None:
            cause = combine(cause, rows(operand)[1])
    if given.offset is not None:
        position = position + rows(given.offset)[0].astype(np.int64)
    if given.lod is not None:
        level = given.lod.data.astype(np.int64)
    if given.sample is not None:
        sample = given.sample.data.astype(np.int64)
    return image.locate(frame, site, position, layer, level, sample), cause


def size(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageQuerySize or OpImageQuerySizeLod: width, height, depth, layers."""
    bad_level = site.cause("bounds", "the size of a level that the image does not have is asked for")

    def on_image(frame: Frame, image: ImageMemory, _: Sampler | None, operands: tuple[Value, ...]) -> Value:
        level = operands[1].data.astype(np.int64) if len(operands) > 1 else np.zeros(1, np.int64)
        known = (level >= 0) & (level < image.levels)
        sizes = image.extents[np.where(known, level, 0), : image.axes].T
        if image.arrayed:
            sizes = np.concatenate([sizes, np.full((1, sizes.shape[1]), image.cubes)])
        cause = None if known.all() else marked(~known, bad_level)
        if len(operands) > 1:
            cause = combine(cause, operands[1].cause)
        if isinstance(site.type, VectorType):
            return single(_converted(site, sizes), cause)
        return single(_converted(site, sizes)[0], cause)

    return lambda frame, *operands: on_each(frame, operands, on_image)


def number(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageQueryLevels or OpImageQuerySamples."""
    attribute = {"OpImageQueryLevels": "levels", "OpImageQuerySamples": "samples"}[site.name]

    def on_image(frame: Frame, image: ImageMemory, _: Sampler | None, operands: tuple[Value, ...]) -> Value:
        return single(_converted(site, np.array([getattr(image, attribute)])))

    return lambda frame, *operands: on_each(frame, operands, on_image)


def _converted(site: Site, data: Data) -> Data:
    kind = site.type.component if isinstance(site.type, VectorType) else site.type
    assert isinstance(kind, ScalarType)
    return data.astype(kind.dtype)


def sampled_image(site: Site) -> Callable[..., Value]:
    """Return the function of OpSampledImage, which combines an image and a sampler in one value."""

    def run(frame: Frame, image: Value, sampler: Value) -> Value:
        pair = np.broadcast_arrays(image.data, sampler.data)
        return single(np.stack(pair), combine(image.cause, sampler.cause))

    return run


def image_of_sampled(site: Site) -> Callable[..., Value]:
    """Return the function of OpImage: the image of a sampled image."""

    def run(frame: Frame, sampled: Value) -> Value:
        return single(sampled.data[0], None if sampled.cause is None else sampled.cause[0])

    return run
