"""Time of opening and of calls of an isolated device, beside an ordinary one.

``python bench/isolated_calls.py --device swiftshader``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import vkgroup
from vkgroup.device import DeviceInfo
from vkgroup.workers.opening import select

ADD = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { float data[]; };
void main() { if (gl_GlobalInvocationID.x == 0u) data[0] += 1.0; }
"""
SIZES = (64, 1 << 14, 1 << 18, 1 << 22)
"""Elements of float32: 256 bytes to 16 MiB."""


def best(function: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of calls during some seconds, three at least."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(device: DeviceInfo, isolated: bool, seconds: float) -> list[float]:
    """Return the seconds of opening and closing, and of a call for each size."""

    def opened() -> None:
        vkgroup.open(device, isolated=isolated).close()

    times = [best(opened, seconds)]
    with vkgroup.open(device, isolated=isolated) as open_device:
        for size in SIZES:
            array = np.zeros(size, np.float32)
            times.append(best(lambda array=array: open_device.run(ADD, 1, {"Data": array}), seconds))
    return times


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Measure the overhead of isolated devices.")
    parser.add_argument("--device", default="swiftshader")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each number")
    arguments = parser.parse_args()
    device = select(arguments.device)
    rows = ["open and close", *(f"run on {4 * size:,} bytes" for size in SIZES)]
    plain, isolated = (measure(device, kind, arguments.seconds) for kind in (False, True))
    for row, one, other in zip(rows, plain, isolated, strict=True):
        print(f"{row}: {1e3 * one:.3f} ms, isolated {1e3 * other:.3f} ms")


if __name__ == "__main__":
    main()
