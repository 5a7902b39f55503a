"""Mip chain: all smaller levels of an image, computed in one dispatch.

Tuning values: `workgroup`, a power of four; `block`: side of the square of texels that an invocation loads, 2
or 4.
"""

from __future__ import annotations

from math import isqrt, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base import files
from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device, RunResult
from vkgroup.kernels.arguments import Given, KernelArguments, as_array, check_device, default_device
from vkgroup.kernels.pipelines import choose_full, line, parts, require_full, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.tuning import TABLES, checked_values
from vkgroup.kernels.types import ImageExtent, image_extent
from vkgroup.spec.limits import QUAD_SIZE

TABLES["mip_chain"] = {"any": {"workgroup": 256, "block": None}}
TABLES["mip_chain.shared"] = {"cpu": {"workgroup": 64}}

_ALIGNMENT = 64
"""Levels begin at multiples of this number of texels: at least 256 bytes, the largest required alignment."""


def level_shapes(shape: tuple[int, ...], levels: int | None = None) -> list[tuple[int, ...]]:
    """Return the shapes of the smaller levels of an image, from the largest to 1 × 1.

    Sizes are halved and rounded down, but at least 1 (Vulkan 1.4, "Image Miplevel Sizing"). `levels` is the
    number of levels; None: all.
    """
    most = max(shape[:2]).bit_length() - 1
    count = most if levels is None else levels
    if not isinstance(count, int | np.integer) or not 0 <= count <= most:
        raise InvalidDispatch(
            f"An image of {shape[:2]} pixels has {most} smaller levels; {levels!r} were requested."
        )
    return [
        (max(1, shape[0] >> level), max(1, shape[1] >> level), *shape[2:]) for level in range(1, count + 1)
    ]


def plan_mip_chain(
    device: Device,
    dtype: npt.DTypeLike,
    shape: tuple[int, ...],
    implementation: str = "auto",
    *,
    levels: int | None = None,
    **tuning: Any,
) -> Plan:
    """Plan the smaller levels of the input ``image``, stored in sequence in the output ``levels``.

    A texel is the mean of four texels of the previous level; see `mip_chain`. Each level begins at a multiple
    of 64 texels (see `level_places`). Elements of ``levels`` between two levels are undefined.

    Parameters
    ----------
    dtype : float32.
    shape : (height, width) or (height, width, 1 or 4), not zero and not 1 × 1.
    levels : the number of levels; None: all.
    **tuning : see the module.
    """
    extent = image_extent(dtype, shape)
    if 0 in shape:
        raise InvalidDispatch(f"A plan needs a nonempty image; the shape {tuple(shape)} was given.")
    shapes = level_shapes(shape, levels)
    if not shapes:
        raise InvalidDispatch("A plan needs at least one smaller level; an image of 1 × 1 has none.")
    implementation = _version(device, implementation)
    values = checked_values(device, "mip_chain", implementation, tuning, {"block": (2, 4)})
    # Invocations in a row of a tile, and texels in a row of an invocation.
    side, block = isqrt(values["workgroup"]), values["block"] or (4 if extent.components == 1 else 2)
    if side * side != values["workgroup"] or side < 2 or side & (side - 1):
        raise InvalidDispatch(f"workgroup must be a power of four, at least 4; it is {values['workgroup']}.")
    require_full(device, implementation, side * side)
    planner = Planner(device, "mip_chain", implementation)
    image = planner.input("image", np.float32, shape)
    size = sum(_room(level_shape) for level_shape in shapes) * extent.components
    texels = planner.output("levels", np.float32, size)
    first, later = _tiles(extent, side * block)
    counters = planner.scratch("counters", 4 * later)
    kernel = planner.kernel(
        f"mip_chain/{implementation}.comp",
        macros={
            "TEXEL": extent.texel,
            "BLOCK": block,
            "VECTOR": int(extent.components == 1 and block == 4 and extent.width % 4 == 0),
        },
        workgroup=side * side,
        specialization={"SIDE": side},
    )
    planner.fill(counters)
    planner.dispatch(
        kernel,
        line(device, first),
        {"Image": image, "Levels": texels, "Counters": counters},
        {"width": extent.width, "height": extent.height, "levels": len(shapes)},
    )
    return planner.plan()


def mip_chain(
    image: Given,
    *,
    levels: int | None = None,
    device: Device | None = None,
    implementation: str = "auto",
) -> list[Any]:
    """Compute the smaller levels of an image, each half the size of the previous one.

    Sizes are halved and rounded down, but at least 1, as in Vulkan. Texel (x, y) of a level is the mean of
    the texels (2x, 2y), (2x + 1, 2y), (2x, 2y + 1) and (2x + 1, 2y + 1) of the previous level: ``((a + b) +
    (c + d)) * 0.25`` in float32. If a size is odd and above 1, the last column or row is ignored. If a size
    is 1, it stays 1, and its single column or row is used twice.

    Parameters
    ----------
    image : float32 array or `Buffer` of shape (height, width) or (height, width, 1 or 4).
    levels : the number of smaller levels; None: all, down to 1 × 1.

    Returns
    -------
    The smaller levels, the largest first: arrays, or views of one buffer if `image` is a `Buffer`.
    ``device.image(image, levels=mip_chain(image))`` creates an image with these levels.
    """
    arguments = KernelArguments(device, image=image)
    given = arguments["image"]
    shape = given.shape
    image_extent(given.dtype, shape)
    if 0 in shape:
        raise InvalidDispatch(f"An empty image has no levels; the shape {shape} was given.")
    if not level_shapes(shape, levels):
        return []
    plan = planned(plan_mip_chain, arguments.device, given.dtype, shape, implementation, levels=levels)
    texels = arguments.run(plan, "levels")[0]
    places = level_places(shape, levels)
    if isinstance(texels, Buffer):
        return [texels.view(np.float32, level_shape, offset=4 * start) for start, level_shape in places]
    return [texels[start : start + prod(level_shape)].reshape(level_shape) for start, level_shape in places]


def level_places(shape: tuple[int, ...], levels: int | None = None) -> list[tuple[int, tuple[int, ...]]]:
    """Return, for each level, the index of its first element in ``levels``, and its shape."""
    places, start = [], 0
    components = prod(shape[2:])
    for level_shape in level_shapes(shape, levels):
        places.append((start, level_shape))
        start += _room(level_shape) * components
    return places


def _room(shape: tuple[int, ...]) -> int:
    """Return the number of texels of a level, with the padding up to the next level."""
    return parts(shape[0] * shape[1], _ALIGNMENT) * _ALIGNMENT


def _version(device: Device, implementation: str) -> str:
    version = choose_full(device, implementation, "shuffle", "quad")
    if version == "subgroup" and subgroup_size(device) < QUAD_SIZE:
        if implementation == "auto":
            return "shared"
        raise Unsupported(
            f"Subgroups of size {subgroup_size(device)} have no quads; use implementation='shared'.", ["quad"]
        )
    return version


def _tiles(extent: ImageExtent, tile: int) -> tuple[int, int]:
    """Return the number of tiles in the first stage, and in all later stages together."""
    across, down = parts(extent.width, tile), parts(extent.height, tile)
    first, later = across * down, 0
    while across * down > 1:
        across, down = parts(across, tile), parts(down, tile)
        later += across * down
    return first, later + 1


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
    implementation : ``"subgroup"``, ``"fetch"`` or ``"auto"``.

    Returns
    -------
    The drawn image, of the same shape as `picture`, and the smaller image.
    """
    check_device(device)
    result = draw_quad_mip(device or default_device(), as_array(picture, "picture"), implementation)
    return result["color"], result["smaller"]


def draw_quad_mip(
    device: Device, picture: npt.NDArray[Any], implementation: str = "auto", *, repeat: int = 1
) -> RunResult:
    """Draw as `quad_mip`, and return ``"color"`` and ``"smaller"`` with the time of a draw."""
    extent = image_extent(picture.dtype, picture.shape)
    if extent.components != 4 or 0 in picture.shape:
        raise InvalidDispatch(
            f"picture must have the shape (height, width, 4), without zeros; {picture.shape} was given."
        )
    smaller = np.zeros((max(1, extent.height // 2), max(1, extent.width // 2), 4), np.float32)
    return device.draw(
        files.kernel(f"quad_mip/{_quad_mip_version(device, implementation)}.frag"),
        (extent.width, extent.height),
        {"picture": (picture, device.sampler()), "smaller": smaller},
        repeat=repeat,
    )


def _quad_mip_version(device: Device, implementation: str) -> str:
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
