"""Bytes in and out of the interpreter's memory, and which of them are defined."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import OutOfMemory
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.value import HARD

Bytes = npt.NDArray[np.uint8]


def allocate(nbytes: int) -> Bytes:
    """Return that many bytes, all zero; `OutOfMemory` where there are not as many."""
    try:
        return np.zeros(nbytes, np.uint8)
    except MemoryError:
        raise OutOfMemory(
            f"There is no memory for {nbytes} bytes. Work in parts.", "VK_ERROR_OUT_OF_HOST_MEMORY"
        ) from None


def write(memory: Memory, data: Bytes, offset: int = 0) -> None:
    """Write bytes from outside of shaders: they are defined."""
    end = offset + data.size
    memory.data[offset:end] = data
    if memory.causes is None:
        return
    # A granule of which only a part is written would be neither defined nor undefined.
    edges = offset | (end if end < memory.nbytes else 0)
    if edges % memory.granule:
        memory.refine(edges & -edges)
    memory.causes[offset // memory.granule : -(-end // memory.granule)] = 0


def defined(
    memory: Memory, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int = 0, *, ordered: bool = False
) -> npt.NDArray[np.bool_]:
    """Tell which elements are defined.

    Parameters
    ----------
    dtype, shape : of the elements.
    offset : byte at which they begin.
    ordered : whether elements that depend on the order of atomics count as not defined.

    Returns
    -------
    bool, of that shape: whether all bytes of the element are.
    """
    if memory.causes is None:
        return np.ones(shape, np.bool_)
    known = memory.causes == 0 if ordered else memory.causes < HARD
    each = np.repeat(known, memory.granule)[offset : offset + math.prod(shape) * dtype.itemsize]
    return np.asarray(each.reshape(*shape, dtype.itemsize).all(axis=-1))
