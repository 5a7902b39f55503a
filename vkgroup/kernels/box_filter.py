"""Box filter: means over squares of an image.

Tuning values: `workgroup`; `rows`: rows of the result that an invocation computes together, at most 2 radius
+ 2; `blocks`: number of such blocks of rows per invocation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.pipelines import choose_full, line, parts, require_full, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.tuning import TABLES, checked_values
from vkgroup.kernels.types import image_extent

TABLES["box_filter"] = {
    "any": {"workgroup": 256, "rows": 16, "blocks": 2},
    "cpu": {"workgroup": 128, "rows": 4, "blocks": 4},
}

_PACKET = 4
"""Pixels of one component that an invocation loads at once."""

_MOST_RADIUS = 1 << 15


def plan_box_filter(
    device: Device,
    dtype: npt.DTypeLike,
    shape: tuple[int, ...],
    radius: int,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan the means of the input ``image`` over squares of side 2 radius + 1, into the output ``filtered``.

    Parameters
    ----------
    dtype : float32.
    shape : (height, width) or (height, width, 1 or 4), not zero.
    radius : 0 to 32767. If the radius exceeds a whole workgroup, every pixel is summed separately, which is
        slow.
    implementation : ``"subgroup"``, ``"shared"`` or ``"auto"``. ``"auto"`` selects the subgroup version if at
        least half of the lanes of a subgroup produce results.
    **tuning : see the module.
    """
    extent = image_extent(dtype, shape)
    if 0 in shape:
        raise InvalidDispatch(f"A plan needs a nonempty image; the shape {tuple(shape)} was given.")
    if not isinstance(radius, int | np.integer) or not 0 <= radius <= _MOST_RADIUS - 1:
        raise InvalidDispatch(
            f"radius must be an integer from 0 to {_MOST_RADIUS - 1}; {radius!r} was given."
        )
    radius = int(radius)
    pixels = _PACKET if extent.components == 1 else 1
    halo = parts(radius, pixels)
    version = choose_full(device, implementation, "shuffle")
    if implementation == "auto" and 4 * halo > subgroup_size(device):
        version = "shared"
    values = checked_values(device, "box_filter", version, tuning)
    workgroup, blocks = values["workgroup"], values["blocks"]
    rows = min(values["rows"], 2 * radius + 2)
    require_full(device, version, workgroup)
    planner = Planner(device, "box_filter", version)
    image = planner.input("image", np.float32, shape)
    filtered = planner.output("filtered", np.float32, shape)
    kernel = planner.kernel(
        f"box_filter/{version}.comp",
        macros={"PIXELS": pixels, "VECTOR": int(extent.width % pixels == 0)},
        workgroup=workgroup,
        specialization={"RADIUS": radius, "ROWS": rows, "BLOCKS": blocks},
    )
    team = workgroup if version == "shared" else subgroup_size(device)
    columns = team - 2 * halo if team > 2 * halo else team
    across = parts(parts(extent.width, pixels), columns)
    tiles = across * parts(extent.height, rows * blocks)
    planner.dispatch(
        kernel,
        line(device, parts(tiles, workgroup // team)),
        {"Image": image, "Filtered": filtered},
        {
            "width": extent.width,
            "height": extent.height,
            "scale": np.float32(1.0 / (2 * radius + 1) ** 2),
        },
    )
    return planner.plan()


def box_filter(
    image: Given, radius: int, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Replace each pixel by the mean of the (2 radius + 1)² pixels around it.

    Pixels outside the image have the value of the nearest edge pixel, as with a clamp-to-edge sampler or
    `scipy.ndimage.uniform_filter` with ``mode="nearest"``.

    Parameters
    ----------
    image : float32 array or `Buffer` of shape (height, width) or (height, width, 1 or 4).
    radius : 0 to 32767.

    Returns
    -------
    The same shape and dtype; a `Buffer` if the argument is one. Let n = (2 radius + 1)² and u = 2**-23. A
    mean differs from the exact one by at most (n + 1) u / (1 - (n + 1) u) times the mean of the pixels'
    magnitudes: all pixels are added in an unspecified order, and the sum is multiplied by the rounded value
    of 1 / n.
    """
    arguments = KernelArguments(device, image=image)
    given = arguments["image"]
    image_extent(given.dtype, given.shape)
    if 0 in given.shape:
        return np.empty(given.shape, np.float32)
    plan = planned(plan_box_filter, arguments.device, given.dtype, given.shape, radius, implementation)
    return arguments.run(plan, "filtered")[0]
