"""Data words of a program: one pseudo-random word for each invocation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.programs.nodes import Program

Words = NDArray[np.uint32]


def random_words(program: Program) -> Words:
    """Return one word for each invocation, (workgroups, invocations of one).

    A hash instead of NumPy's generators: these may change between versions of NumPy.
    """
    index = np.arange(program.invocations, dtype=np.uint64) + np.uint64(program.seed * 0x9E3779B1 % 2**32)
    mixed = index * np.uint64(0xD6E8FEB86659FD93)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return (mixed >> np.uint64(32)).astype(np.uint32).reshape(program.groups, program.local_invocations)
