"""Submission overhead: time of submitting small work and waiting for it, in a loop of calls."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from vkgroup.base.lifetime import Closeable
from vkgroup.bench.definition import Arrays, Data
from vkgroup.device import vk
from vkgroup.dispatch import Device, Dispatch

COUNT = 64
"""Number of integers that one dispatch increments in one workgroup: a minimal amount of work."""

_GROUPS = (1, 1, 1)

GLSL = f"""#version 450
layout(local_size_x = {COUNT}) in;
layout(binding = 0) buffer Numbers {{ uint number[]; }} numbers;
void main() {{ numbers.number[gl_GlobalInvocationID.x] += 1u; }}
"""

WGSL = f"""
@group(0) @binding(0) var<storage, read_write> numbers: array<u32>;
@compute @workgroup_size({COUNT})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ numbers[id.x] += 1u; }}
"""


@dataclass(frozen=True)
class CallWork:
    """The work of a candidate in one call."""

    dispatches: int  # number of dispatches of one submission; each sees the writes of the previous one
    calls: int  # number of calls over which a time is averaged; each call waits until its work is done
    recorded: bool  # whether the commands are recorded once in advance; otherwise each call records them

    @property
    def expected(self) -> Arrays:
        """Expected integers after one time; `seconds_of` makes one untimed call."""
        return {"numbers": np.full(COUNT, self.dispatches * (self.calls + 1), np.uint32)}


def seconds_of(call: Callable[[], None], work: CallWork) -> float:
    """Return the average seconds per call of `work.calls` calls, by the host's clock.

    The first call is not timed: if other contexts of this process have just used the GPU, the first
    submission waits for the context switch.
    """
    call()
    start = time.perf_counter()
    for _ in range(work.calls):
        call()
    return (time.perf_counter() - start) / work.calls


@contextmanager
def only_driver(device: Device) -> Iterator[None]:
    """Restrict other packages to this Vulkan loader and the device's driver while they look for devices."""
    names = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, device.info.manifest))
    # They load libvulkan by its soname, which resolves to a loader that is already loaded.
    ctypes.CDLL(vk.load(), ctypes.RTLD_GLOBAL)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class SubmissionCandidate:
    """Calls of separate dispatches, or of a sequence of dispatches that is recorded once."""

    clock = "wall clock"

    def __init__(self, device: Device, work: CallWork) -> None:
        self._device, self._work = device, work

    def prepare(self, data: Data) -> PreparedSubmission:
        """Create the pipeline and the buffer, and record the commands if `recorded` is set."""
        return PreparedSubmission(self._device, self._work)


class PreparedSubmission(Closeable):
    """See `vkgroup.bench.definition.PreparedCandidate`."""

    def __init__(self, device: Device, work: CallWork) -> None:
        self._work = work
        self._numbers = device.buffer(np.zeros(COUNT, np.uint32))
        self._pipeline = device.pipeline(device.compile(GLSL))
        self._bound = self._pipeline.bind({"numbers": self._numbers})
        self._sequence = device.sequence([Dispatch(self._bound, _GROUPS)] * work.dispatches)
        self._call: Callable[[], None] = self._run if work.recorded else self._dispatch

    def _run(self) -> None:
        self._sequence.run()

    def _dispatch(self) -> None:
        bound = self._bound
        for _ in range(self._work.dispatches):
            bound.dispatch(_GROUPS)

    def overwrite_outputs(self) -> None:
        """Set the integers to 0."""
        self._numbers.write(np.zeros(COUNT, np.uint32))

    def time(self) -> float:
        """Return the average seconds of one call."""
        return seconds_of(self._call, self._work)

    def outputs(self) -> Arrays:
        """Return the integers."""
        return {"numbers": self._numbers.read()}

    def close(self) -> None:
        """Free everything."""
        for item in (self._sequence, self._bound, self._pipeline, self._numbers):
            item.close()
