"""Cost of small work: submission and waiting, in a loop of calls."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from vkgroup.bench.definition import Arrays, Data
from vkgroup.closing import Closing
from vkgroup.device import vk
from vkgroup.dispatch import Device, Dispatch

COUNT = 64
"""Numbers that one dispatch adds 1 to, in one workgroup: as little work as a dispatch can have."""

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
class Work:
    """What a contender does in one call.

    Attributes
    ----------
    dispatches : one after the other in one submission, each seeing what the one before wrote.
    calls : over which a time is averaged; each waits until its work is done.
    recorded : whether what can be recorded is recorded before; else it is put together in each call.
    """

    dispatches: int
    calls: int
    recorded: bool

    @property
    def expected(self) -> Arrays:
        """What the numbers are after one time: `seconds_of` calls once more than it times."""
        return {"numbers": np.full(COUNT, self.dispatches * (self.calls + 1), np.uint32)}


def seconds_of(call: Callable[[], None], work: Work) -> float:
    """Return the seconds of one call of a loop of `work.calls`, by the host's clock.

    A call before that is not timed: on a GPU that others of this process have just worked on, the first
    submission waits for the switch from their contexts to this one.
    """
    call()
    start = time.perf_counter()
    for _ in range(work.calls):
        call()
    return (time.perf_counter() - start) / work.calls


@contextmanager
def only_driver(device: Device) -> Iterator[None]:
    """Let other packages see our Vulkan loader and the device's driver alone, while they look for devices."""
    names = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, device.info.manifest))
    # They ask for libvulkan by its soname, which a loader that was loaded before answers to.
    ctypes.CDLL(vk.load(), ctypes.RTLD_GLOBAL)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Submitting:
    """A contender: a dispatch each call, or a sequence of them that was recorded once.

    Parameters
    ----------
    device : an open device.
    work : what is done in a call; without `recorded` it is one `Work.dispatch` for each dispatch.
    """

    clock = "wall clock"

    def __init__(self, device: Device, work: Work) -> None:
        self._device, self._work = device, work

    def prepare(self, data: Data) -> PreparedSubmitting:
        """Make pipeline and buffer, and record what is to be recorded."""
        return PreparedSubmitting(self._device, self._work)


class PreparedSubmitting(Closing):
    """See `vkgroup.bench.definition.Prepared`."""

    def __init__(self, device: Device, work: Work) -> None:
        self._work = work
        self._numbers = device.buffer(np.zeros(COUNT, np.uint32))
        self._pipeline = device.pipeline(device.compile(GLSL))
        self._bound = self._pipeline.bind({"numbers": self._numbers})
        self._sequence = device.sequence([Dispatch(self._bound, _GROUPS)] * work.dispatches)
        self._call: Callable[[], None] = self._sequence.run if work.recorded else self._dispatch

    def _dispatch(self) -> None:
        bound = self._bound
        for _ in range(self._work.dispatches):
            bound.dispatch(_GROUPS)

    def poison(self) -> None:
        """Begin to count anew."""
        self._numbers.write(np.zeros(COUNT, np.uint32))

    def time(self) -> float:
        """Return the seconds of one call."""
        return seconds_of(self._call, self._work)

    def outputs(self) -> Arrays:
        """Return the numbers."""
        return {"numbers": self._numbers.read()}

    def close(self) -> None:
        """Free everything."""
        for item in (self._sequence, self._bound, self._pipeline, self._numbers):
            item.close()
