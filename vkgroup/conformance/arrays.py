"""Array types of the suite, and poison: the initial contents of outputs, which reveal missing results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Words = NDArray[np.uint32]

POISON = 0xA5A5A5A5
"""A word that is no valid result: as a number it is larger than all lanes, sizes and counts."""


def poisoned(*shape: int) -> Words:
    """Return an array of this shape that is filled with poison."""
    return np.full(shape, POISON, np.uint32)
