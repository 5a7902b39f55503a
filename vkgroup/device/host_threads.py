"""Threads that copy bytes of the host. NumPy's copies release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

MOST_THREADS = 14
"""Maximum number of threads; more of them, and larger pieces, did not help on a host with 16 processors."""

_COPYING_THREADS, LARGEST_ALONE = 4, 4 << 20
"""Threads that copy one array, and the bytes that one copies before others would have woken up."""


@cache
def thread_count() -> int:
    """Return the number of threads."""
    return min(MOST_THREADS, os.cpu_count() or 1)


@cache
def executor() -> ThreadPoolExecutor:
    """Return threads for functions that may wait for a staging buffer."""
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="vkgroup-transfer")


@cache
def copiers() -> ThreadPoolExecutor:
    """Return threads that only copy bytes: who has a staging buffer may wait for them."""
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="vkgroup-copy")


def host_copy(target: Bytes, source: Bytes) -> None:
    """Copy bytes of the host; large ones in threads."""
    parts = min(_COPYING_THREADS, thread_count(), target.size // LARGEST_ALONE)
    if parts < 2:
        target[...] = source
        return
    piece = -(-target.size // parts)

    def copy(at: int) -> None:
        target[at : at + piece] = source[at : at + piece]

    in_threads(copy, range(0, target.size, piece), copiers())


def in_threads(function: Callable[[int], None], arguments: range, threads: ThreadPoolExecutor) -> None:
    """Call a function with each argument in threads, and raise the first of its errors."""
    futures = [threads.submit(function, argument) for argument in arguments]
    try:
        for future in futures:
            future.result()
    finally:
        for future in futures:
            future.cancel()
        # Pieces that were begun would otherwise be copied after the next transfer.
        wait(futures)
