"""Poison: the contents of outputs before they are written, so that a missing result shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POISON = 0xA5A5A5A5
"""No result is this word by its nature: as a number it is over all lanes, sizes and counts."""


def poisoned(*shape: int) -> NDArray[np.uint32]:
    """Return an output's contents before a dispatch or a draw, uint32 of a shape."""
    return np.full(shape, POISON, np.uint32)
