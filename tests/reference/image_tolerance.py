"""Tolerances for images: bounds on the difference between devices where the specification leaves a choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.formats import TexelFormat
from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory, decode

_ARITHMETIC = 1e-5
"""Operations outside of shaders are accurate to about one part in 10^5 (Vulkan 1.4, "Floating-Point
Computation")."""


def filtered_tolerance(
    image: ImageMemory, sampler: Sampler, limits: Mapping[str, Any], reach: float = 1.0
) -> npt.NDArray[np.float64]:
    """Return a bound on the difference of two devices that sample the same point of an image.

    A weight keeps at least `subTexelPrecisionBits` bits, so each is off by less than one unit of the last of
    them, and the coordinate before it by the rounding of a product of floats. The result of a filter
    is continuous in each coordinate, and between two texels it changes by no more than they differ. So the
    error along an axis is at most that of the coordinate times the range of the image; errors of axes add
    up. Between levels the same holds with `mipmapPrecisionBits`. Where the nearest texel is taken, values
    differ by arithmetic alone, or by a whole texel where the coordinate lies on an edge between two.

    Parameters
    ----------
    limits : of the device: those two numbers of bits.
    reach : the largest coordinate sampled, in images.

    Returns
    -------
    For red, green, blue and alpha, (4,); infinite where texels are.
    """
    texels = [
        decode(image.format, image.texels(level).reshape(-1, image.format.components).T)
        for level in range(image.levels)
    ]
    values = np.concatenate(texels, axis=1).astype(np.float64)
    if sampler.uses_border:
        values = np.concatenate([values, [[0, 1], [0, 1], [0, 1], [0, 1]]], axis=1)
    if sampler.compare is not None:
        values = np.array([[0.0, 1.0]] * 4)
    spread, size = np.ptp(values, axis=1), np.abs(values).max(axis=1)
    bound = _ARITHMETIC * size
    if "linear" in sampler.filters:
        extent = float(image.extents[0].max())
        coordinate = 2.0 ** -limits["subTexelPrecisionBits"] + max(reach, 1.0) * extent * 2.0**-23
        bound = bound + image.axes * coordinate * spread
    if sampler.mipmap == "linear":
        bound = bound + 2.0 ** -limits["mipmapPrecisionBits"] * spread
    return np.asarray(bound)


def stored_tolerance(format: TexelFormat, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a bound on the difference of the images of two devices that wrote the same numbers.

    Fixed-point numbers are rounded to one of the two neighbours, and so are floats, whose rounding mode is
    not defined (Vulkan 1.4, "Floating-Point Format Conversions").

    Parameters
    ----------
    values : decoded texels, (4, n).

    Returns
    -------
    (4, n): the distance of neighbouring numbers of the format; zero for integers and 32-bit floats.
    """
    bound = np.zeros(values.shape)
    widths = format.packed or (format.dtype.itemsize * 8,) * format.components
    for channel, bits in enumerate(widths):
        if format.numeric in ("unorm", "snorm"):
            bound[channel] = 1 / ((1 << (bits - (format.numeric == "snorm"))) - 1)
        elif format.numeric == "float" and bits < 32:
            mantissa = 10 if bits == 16 else bits - 5
            exponent = np.frexp(np.abs(values[channel].astype(np.float64)))[1] - 1
            bound[channel] = np.ldexp(1.0, np.maximum(exponent, -14) - mantissa)
    return bound
