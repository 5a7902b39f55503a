"""Sample locations in a pixel: Vulkan 1.4, "Multisampling", the standard sample locations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.errors import Unsupported

_SIXTEENTHS = {
    1: ((8, 8),),
    2: ((12, 12), (4, 4)),
    4: ((6, 2), (14, 6), (2, 10), (10, 14)),
    8: ((9, 5), (7, 11), (13, 9), (5, 3), (3, 13), (1, 7), (11, 15), (15, 1)),
}

COUNTS = tuple(_SIXTEENTHS)
"""Numbers of samples that the reference device has."""


def sample_locations(samples: int) -> npt.NDArray[np.float64]:
    """Return x and y of each sample from the pixel's upper left corner, in pixels: (samples, 2).

    Raises
    ------
    Unsupported
        for another number than 1, 2, 4 and 8.
    """
    if samples not in _SIXTEENTHS:
        raise Unsupported(
            f"The reference device draws with 1, 2, 4 or 8 samples; {samples} were asked for.",
            [f"framebufferColorSampleCounts with {samples}"],
        )
    return np.array(_SIXTEENTHS[samples], np.float64) / 16
