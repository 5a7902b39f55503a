"""Prints what shared memory costs on the GPU: making it, using it, and calls that use it.

python tests/dispatch/interop/measure_sharing.py [MIB]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import vkgroup
from vkgroup.dispatch import Device, Dispatch

COPY = """#version 460
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Source { uvec4 source[]; };
layout(std430, binding = 1) writeonly buffer Target { uvec4 target[]; };
void main() {
    uint step = gl_NumWorkGroups.x * 256;
    for (uint i = gl_GlobalInvocationID.x; i < source.length(); i += step) target[i] = source[i];
}
"""


def seconds(work: Callable[[], object], repeat: int = 21) -> float:
    """Return the median of the times that a call takes."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def measure(device: Device, mib: int, shared: bool, mapped: bool) -> None:
    """Print a row."""
    shape = mib << 18

    def make() -> None:
        device.empty(shape, np.uint32, shared=shared).close()

    with device.pipeline(device.compile(COPY)) as pipeline:
        buffers = [device.empty(shape, np.uint32, shared=shared) for _ in range(2)]
        if mapped:
            mapping = seconds(lambda: [buffer.__cuda_array_interface__ for buffer in buffers], 1)
        with pipeline.bind({"source": buffers[0], "target": buffers[1]}) as bound:
            device.sequence([Dispatch(bound, 4096)]).timed(repeat=20)
            rate = median(device.sequence([Dispatch(bound, 4096)]).timed(repeat=10) or 0 for _ in range(9))
        few = [buffer.view(np.uint32, 64) for buffer in buffers]
        with pipeline.bind({"source": few[0], "target": few[1]}) as bound:
            small = seconds(lambda: bound.dispatch(1), 201)
    name = "shared, in CUDA" if mapped else "shared" if shared else "plain"
    speed = 2 * shape * 4 / rate / 1e9 if rate else float("nan")
    print(
        f"{name:16} make {seconds(make) * 1e6:8.0f} µs   copy {speed:7.1f} GB/s"
        f"   dispatch {small * 1e6:6.1f} µs" + (f"   map both {mapping * 1e6:.0f} µs" if mapped else "")
    )
    for buffer in buffers:
        buffer.close()


def main() -> None:
    """Measure plain buffers, shared ones, and those that CUDA has mapped."""
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with vkgroup.open("gpu") as device:
        print(f"{device.name}, buffers of {mib} MiB")
        for shared, mapped in ((False, False), (True, False), (True, True), (False, False)):
            measure(device, mib, shared, mapped)


if __name__ == "__main__":
    main()
