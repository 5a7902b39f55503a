"""What grows over a million calls: memory of the process, Vulkan objects, file descriptors, time per call.

    python bench/growth.py [--device D] [--calls 1000000] [--json FILE]

The calls are kernels on buffers (sum, cumsum, sort, compact), a run of a shader on an array, and a new
buffer. Created and destroyed Vulkan objects are counted. Nothing may grow after the first tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import vkgroup
from vkgroup import kernels
from vkgroup.device import vk
from vkgroup.dispatch import Device

_OBJECT = re.compile(r"vk(Create|Allocate|Destroy|Free)(\w+?)s?$")
_SHADER = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] += 1u; }
"""


def count_objects() -> Counter[str]:
    """Return the numbers of calls that create less those that destroy, by kind of object, from now on."""
    objects: Counter[str] = Counter()
    original = vk.Functions.__getattr__

    def counting(self: vk.Functions, name: str) -> Any:
        function = original(self, name)
        match = _OBJECT.match(name)
        if match is None:
            return function
        change = 1 if match[1] in ("Create", "Allocate") else -1

        def counted(*arguments: Any) -> Any:
            objects[match[2]] += change
            return function(*arguments)

        setattr(self, name, counted)
        return counted

    vk.Functions.__getattr__ = counting  # type: ignore[method-assign]
    return objects


def calls_of(device: Device) -> list[Callable[[], object]]:
    """Return the calls; their results are dropped."""
    generator = np.random.default_rng(1)
    buffer = device.buffer(generator.random(1000, np.float32))
    module, array = device.compile(_SHADER), np.zeros(1024, np.uint32)
    return [
        lambda: kernels.sum(buffer),
        lambda: kernels.cumsum(buffer),
        lambda: kernels.sort(buffer),
        lambda: kernels.compact(buffer, "<", 0.5),
        lambda: device.run(module, 16, {"B": array}),
        lambda: device.buffer(array).close(),
    ]


def state(device: Device, objects: Counter[str]) -> dict[str, Any]:
    """Return the numbers that must not grow."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    memory = device.memory()
    return {
        "resident MiB": round(resident / 2**20, 1),
        "file descriptors": len(os.listdir("/proc/self/fd")),
        "in use KiB": memory.in_use >> 10,
        "cached KiB": memory.cached >> 10,
        "allocations": memory.allocations,
        "plans": memory.plans,
        "recordings": memory.recordings,
        "objects": {kind: number for kind, number in sorted(objects.items()) if number},
    }


def main() -> None:
    """Run the calls in ten parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default=None)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    objects = count_objects()
    rows = []
    with vkgroup.open(options.device) as device:
        calls = cycle(calls_of(device))
        for part in range(10):
            start = time.perf_counter()
            for call in islice(calls, options.calls // 10):
                call()
            device.synchronize()
            seconds = time.perf_counter() - start
            row = {"calls": (part + 1) * (options.calls // 10), **state(device, objects)}
            row["µs per call"] = round(seconds / (options.calls // 10) * 1e6, 1)
            print(row, flush=True)
            rows.append(row)
        name = device.capabilities.name
    if options.json:
        options.json.write_text(json.dumps({"device": name, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
