"""A value that differs within quads, in GLSL and in NumPy, and its derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import Indices

Floats = NDArray[np.float32]

F = "float((x * 73u + y * 151u + x * y * 29u) % 256u)"
"""GLSL of an irregular value of `x` and `y`, whose differences are whole numbers."""

DERIVATIVES = tuple(f"{stem}{how}" for how in ("", "Fine", "Coarse") for stem in ("dFdx", "dFdy", "fwidth"))
"""GLSL's derivatives."""


def f_of(x: Indices, y: Indices) -> Floats:
    """Return the value of a pixel or an invocation."""
    return ((x * 73 + y * 151 + x * y * 29) % 256).astype(np.float32)


def derivatives_of(name: str, values: Floats, lane: Indices) -> tuple[Floats, ...]:
    """Return the legal results of a derivative at a lane of a quad, from the quad's values, (4, …).

    Vulkan 1.4, Derivative Operations: fine derivatives are the differences in the lane's row or column of the
    quad; the others may also use the other row or column.
    """

    def at(place: Any) -> Floats:
        return np.asarray(np.take_along_axis(values, place[None], axis=0)[0])

    both = []
    for axis in (1, 2):
        across = lane ^ (3 - axis)
        both.append([at(place | axis) - at(place & (3 - axis)) for place in (lane, across)])
    if name.startswith("fwidth"):
        results = [np.abs(dx) + np.abs(dy) for dx in both[0] for dy in both[1]]
    else:
        results = both[0 if name.startswith("dFdx") else 1]
    return tuple(results[:1] if name.endswith("Fine") else results)
