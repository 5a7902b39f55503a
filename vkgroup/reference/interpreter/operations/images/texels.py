"""Reading and writing whole texels."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.images.conversions import decode, encode
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Offsets
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    marked,
    reduce_cause,
    single,
)
from vkgroup.spirv import ScalarType, Type, VectorType


def load_texels(
    frame: Frame, site: Site, image: ImageMemory, offset: Offsets, extend: str | None = None
) -> tuple[Data, Causes | None]:
    """Read texels as red, green, blue and alpha.

    Parameters
    ----------
    offset : the first byte of each texel, (n,).
    extend : ``"int"`` or ``"uint"`` where integers are read as such in any format.

    Returns
    -------
    (4, n) numbers as `decode` returns them, and their causes.
    """
    elements, cause = image.load(frame, site, _element_offsets(image, offset), image.format.dtype)
    data = decode(image.format, elements)
    if extend is not None and data.dtype.kind != extend[0]:
        bits = elements.view(f"{extend[0]}{elements.dtype.itemsize}")
        data[: elements.shape[0]] = bits.astype(f"{extend[0]}{data.dtype.itemsize}").view(data.dtype)
    if cause is None or image.format.packed:
        return data, cause
    missing = np.zeros((4 - cause.shape[0], *cause.shape[1:]), np.uint16)
    return data, np.concatenate([cause, missing])


def store_texels(
    frame: Frame, site: Site, image: ImageMemory, offset: Offsets, values: Data, cause: Causes | None
) -> None:
    """Write texels.

    Parameters
    ----------
    offset : the first byte of each texel, (n,) or (1,).
    values : rows of channels, at least one, (channels, n) or (channels, 1).
    cause : their causes, which broadcast with them.
    """
    format = image.format
    if cause is not None:
        cause = np.broadcast_to(cause, np.broadcast_shapes(cause.shape, values.shape))
    lacking = format.channels - values.shape[0]
    if lacking > 0:
        number = site.cause("conversion", "the value written has fewer components than the image's format")
        present = np.zeros(values.shape, np.uint16) if cause is None else cause
        cause = np.concatenate([present, np.full((lacking, present.shape[1]), number, np.uint16)])
        values = np.concatenate([values, np.zeros((lacking, values.shape[1]), values.dtype)])
    elements, undefined = encode(format, values)
    if cause is not None:
        cause = cause[: format.channels]
        cause = cause.max(axis=0, keepdims=True) if format.packed else cause
    if undefined is not None:
        number = site.cause("conversion", "the value written cannot be represented in the image's format")
        cause = combine(cause, marked(undefined, number))
    image.store(frame, site, _element_offsets(image, offset), elements, cause)


def _element_offsets(image: ImageMemory, offset: Offsets) -> Offsets:
    format = image.format
    if format.components == 1:
        return offset[None]
    return offset + np.arange(format.components)[:, None] * format.dtype.itemsize


def texel_result(kind: Type | None, data: Data, cause: Causes | None) -> Value:
    """Return texels (4, n) in the shape and the number type of an instruction's result."""
    if isinstance(kind, VectorType):
        rows = data[: kind.count].astype(kind.component.dtype, copy=False)
        return single(rows, None if cause is None else np.broadcast_to(cause, data.shape)[: kind.count])
    assert isinstance(kind, ScalarType)
    return single(
        data[0].astype(kind.dtype, copy=False),
        None if cause is None else np.broadcast_to(cause, data.shape)[0],
    )


def rows(value: Value) -> tuple[Data, Causes | None]:
    """Return a scalar or vector as rows of components, (components, n), and one cause for all of them."""
    if value.data.ndim == 1:
        return value.data[None], value.cause
    return value.data, reduce_cause(value.cause)
