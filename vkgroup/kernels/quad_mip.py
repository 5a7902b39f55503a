"""Half a picture while it is drawn: the fragment shader's quads make the next level."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup import resources
from vkgroup.dispatch import Device, RunResult
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.kernels.arguments import as_array, check_device, default_device
from vkgroup.kernels.image import picture_of

VERSIONS = ("subgroup", "fetch")
"""With operations of quads, and with each quad's texels fetched by one of its fragments."""


def quad_mip(
    picture: npt.ArrayLike, *, device: Device | None = None, implementation: str = "auto"
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Draw a picture, and make the one of half its size in the same pass.

    Sizes and texels are those of the first level of `mip_chain`.

    Parameters
    ----------
    picture : float32 array of shape (height, width, 4), not empty.
    device : where; None takes the best one.
    implementation : ``"subgroup"``, ``"fetch"`` or ``"auto"``.

    Returns
    -------
    What was drawn, of the picture's shape, and the smaller picture.

    Raises
    ------
    InvalidDispatch
        The array is no such picture, or there is no such version.
    Unsupported
        The device has no operations of quads in fragment shaders (``"subgroup"``), or cannot draw.
    """
    check_device(device)
    found = draw_quad_mip(device or default_device(), as_array(picture, "picture"), implementation)
    return found["color"], found["smaller"]


def draw_quad_mip(
    device: Device, picture: npt.NDArray[Any], implementation: str = "auto", *, repeat: int = 1
) -> RunResult:
    """Draw as `quad_mip` does, and return all of the result, with its time.

    Parameters
    ----------
    repeat : how often to draw.

    Returns
    -------
    Arrays ``"color"`` and ``"smaller"``.
    """
    kind = picture_of(picture.dtype, picture.shape)
    if kind.components != 4 or 0 in picture.shape:
        raise InvalidDispatch(f"A picture of shape (height, width, 4) is drawn; {picture.shape} was given.")
    smaller = np.zeros((max(1, kind.height // 2), max(1, kind.width // 2), 4), np.float32)
    return device.draw(
        resources.kernel(f"quad_mip/{_version(device, implementation)}.frag"),
        (kind.width, kind.height),
        {"picture": (picture, device.sampler()), "smaller": smaller},
        repeat=repeat,
    )


def _version(device: Device, implementation: str) -> str:
    if implementation not in ("auto", *VERSIONS):
        names = ", ".join(repr(name) for name in ("auto", *VERSIONS))
        raise InvalidDispatch(f"implementation is one of {names}; {implementation!r} was given.")
    subgroup = device.capabilities.subgroup
    has_quads = "fragment" in subgroup.supported_stages and "quad" in subgroup.supported_operations
    if implementation == "subgroup" and not has_quads:
        raise Unsupported(
            f"{device.name} has no operations of quads in fragment shaders; use implementation='fetch'.",
            ["quad"],
        )
    if implementation != "auto":
        return implementation
    return "subgroup" if has_quads else "fetch"
