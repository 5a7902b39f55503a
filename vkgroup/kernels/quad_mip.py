"""Mip level computed while an image is drawn, by quads of the fragment shader."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup import resources
from vkgroup.dispatch import Device, RunResult
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.kernels.arguments import as_array, check_device, default_device
from vkgroup.kernels.image import image_extent

VERSIONS = ("subgroup", "fetch")
"""Quad operations, or one fragment of each quad that fetches all four texels."""


def quad_mip(
    picture: npt.ArrayLike, *, device: Device | None = None, implementation: str = "auto"
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Draw an image and compute the image of half its size in the same pass.

    Sizes and texels are those of the first level of `mip_chain`.

    Parameters
    ----------
    picture : float32 array of shape (height, width, 4), not empty.
    device : None selects the best one.
    implementation : ``"subgroup"``, ``"fetch"`` or ``"auto"``.

    Returns
    -------
    The drawn image, of the same shape as `picture`, and the smaller image.

    Raises
    ------
    InvalidDispatch
        The array is not such an image, or the version does not exist.
    Unsupported
        The device has no quad operations in fragment shaders (``"subgroup"``), or cannot draw.
    """
    check_device(device)
    result = draw_quad_mip(device or default_device(), as_array(picture, "picture"), implementation)
    return result["color"], result["smaller"]


def draw_quad_mip(
    device: Device, picture: npt.NDArray[Any], implementation: str = "auto", *, repeat: int = 1
) -> RunResult:
    """Draw as `quad_mip`, and return the complete result with its time.

    Parameters
    ----------
    repeat : the number of draws.

    Returns
    -------
    Arrays ``"color"`` and ``"smaller"``.
    """
    extent = image_extent(picture.dtype, picture.shape)
    if extent.components != 4 or 0 in picture.shape:
        raise InvalidDispatch(
            f"picture must have the shape (height, width, 4), without zeros; {picture.shape} was given."
        )
    smaller = np.zeros((max(1, extent.height // 2), max(1, extent.width // 2), 4), np.float32)
    return device.draw(
        resources.kernel(f"quad_mip/{_version(device, implementation)}.frag"),
        (extent.width, extent.height),
        {"picture": (picture, device.sampler()), "smaller": smaller},
        repeat=repeat,
    )


def _version(device: Device, implementation: str) -> str:
    if implementation not in ("auto", *VERSIONS):
        names = ", ".join(repr(name) for name in ("auto", *VERSIONS))
        raise InvalidDispatch(f"implementation must be one of {names}; {implementation!r} was given.")
    subgroup = device.capabilities.subgroup
    has_quads = "fragment" in subgroup.supported_stages and "quad" in subgroup.supported_operations
    if implementation == "subgroup" and not has_quads:
        raise Unsupported(
            f"{device.name} has no operations on quads in fragment shaders; use implementation='fetch'.",
            ["quad"],
        )
    if implementation != "auto":
        return implementation
    return "subgroup" if has_quads else "fetch"
