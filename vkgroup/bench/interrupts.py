"""Processors that serve the GPU's interrupts: what a program measures there depends on them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from vkgroup.dispatch import Device

_INTERRUPTS = Path("/proc/interrupts")
_CALLS = 100


@contextmanager
def away_from_interrupts(device: Device) -> Iterator[str]:
    """Keep the thread off the processors that serve the device's interrupts; yields a note about it, or "".

    NVIDIA's GPUs raise interrupts when submissions end. A submission that is waited for takes 46 µs on the
    processor that serves them, and 16 on another one (H200). Threads that this thread starts stay away, too.
    Nothing changes if there is no /proc/interrupts (Linux), or no other processor.
    """
    allowed = set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set[int]()
    with device.buffer(np.zeros(1, np.uint32)) as word:
        serving = _serving(word.read) & allowed
    if not serving or serving == allowed:
        yield ""
        return
    os.sched_setaffinity(0, allowed - serving)
    try:
        numbers = ", ".join(map(str, sorted(serving)))
        yield f"measured away from processor {numbers}, which serves the device's interrupts"
    finally:
        os.sched_setaffinity(0, allowed)


def _serving(call: Callable[[], object]) -> set[int]:
    """Return the processors that serve an interrupt of hardware in at least half of the calls."""
    before = _served()
    for _ in range(_CALLS):
        call()
    return {cpu for cpu, count in (_served() - before).items() if count >= _CALLS // 2}


def _served() -> Counter[int]:
    """Return how many interrupts of hardware each processor has served; nothing if the system does not tell.

    Such interrupts have numbers; the system's own, such as those of its clock, have names.
    """
    served = Counter[int]()
    try:
        head, *lines = _INTERRUPTS.read_text().splitlines()
        processors = [int(name.removeprefix("CPU")) for name in head.split()]
        for line in lines:
            number, *counts = line.split()
            if number.rstrip(":").isdigit():
                served.update(dict(zip(processors, map(int, counts), strict=False)))
    except (OSError, ValueError):
        return Counter()
    return served
