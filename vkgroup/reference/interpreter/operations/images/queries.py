"""Image queries: sizes, levels, samples; and combining and splitting sampled images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.images.resources import on_each
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, combine, marked, single
from vkgroup.sampler import Sampler
from vkgroup.spirv import ScalarType, VectorType

Make = Callable[[Site], Callable[..., Value | None]]


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


def levels(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageQueryLevels."""
    return _number(site, lambda image: image.levels)


def samples(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageQuerySamples."""
    return _number(site, lambda image: image.samples)


def _number(site: Site, number: Callable[[ImageMemory], int]) -> Callable[..., Value | None]:
    def on_image(frame: Frame, image: ImageMemory, _: Sampler | None, operands: tuple[Value, ...]) -> Value:
        return single(_converted(site, np.array([number(image)])))

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
