"""4x4 max pooling by clusters of 16, in workgroups of exactly one subgroup."""

from __future__ import annotations

import host
import numpy as np

import vkgroup
from vkgroup.base.errors import Unsupported


def run(device: vkgroup.Device) -> str:
    """Pool half floats; the workgroup's size is a specialization constant, set to the subgroup's."""
    size = device.capabilities.subgroup.size
    if size < 16:
        need = f"a subgroup size of at least 16 (it is {size}; larger clusters are undefined)"
        raise Unsupported(f"{device.name} lacks: {need}.", [need])
    # The text reads layer 1 and writes layer 0 in each step; here both are the workgroup's.
    width, height, depth = 3 * size // 16, 2, 2
    image = host.rng().normal(size=(depth, 4 * height, 4 * width)).astype(np.float16)
    bindings = {"inImage": image, "outImage": np.zeros((depth, height, width), np.float16)}
    found = device.run(
        host.FOLDER / "max_pooling.comp", (3, height, depth), bindings, specialization={0: size}
    )
    wanted = image.reshape(depth, height, 4, width, 4).max(axis=(2, 4))
    host.check("outImage", found["outImage"], wanted)
    return f"{4 * width} × {4 * height} × {depth} texels to {width} × {height} × {depth}"
