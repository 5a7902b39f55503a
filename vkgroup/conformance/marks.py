"""Marks: words with which a shader combines its results, other ones at every place and in every case.

The host removes them. So constants, copies of inputs, memory that nothing wrote, and the results of another
case become arbitrary words, which no comparison accepts.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from vkgroup.conformance.arrays import Array, Words

FACTOR = 2654435761
"""An odd number near 2^32 divided by the golden ratio: neighbouring places have unlike marks.

A mark is a square and not a multiple, so that the differences of neighbours are unlike as well: a clock must
not seem to run."""


def salt_of(*names: str) -> int:
    """Return the salt of a case, of 32 bits."""
    return crc32(".".join(names).encode())


def glsl(place: str, salt: int | str) -> str:
    """Return the GLSL of the mark of a place, a uint; `salt` is a number or GLSL."""
    line = f"(({place}) * {FACTOR}u + {salt if isinstance(salt, str) else f'{salt}u'})"
    return f"({line} * ({line} | 1u))"


def marks(places: Array, salt: int) -> Words:
    """Return the marks of places; must equal the shader's `glsl`."""
    with np.errstate(over="ignore"):
        line = places.astype(np.uint32) * np.uint32(FACTOR) + np.uint32(salt)
        return np.asarray(line * (line | np.uint32(1)))
