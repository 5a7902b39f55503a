"""Transfers while the device computes: through the main queue, and through a queue of their own.

    python bench/transfer_queue.py [--device D] [--mebibytes 256] [--rounds 9] [--json FILE]

Each round starts work that takes about twice as long as the transfer, then transfers, then waits for both.
"in order" is a device whose transfers use the main queue, "beside" has a transfer queue; both take turns.
A second table has the time until a small result can be read while later work runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import vkgroup
from vkgroup.device import logical
from vkgroup.dispatch import Device
from vkgroup.dispatch.pipeline import Work

MIX = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Numbers { uint numbers[]; };
layout(push_constant) uniform Push { uint times; };
void main() {
    uint number = numbers[gl_GlobalInvocationID.x];
    for (uint n = 0; n < times; n++)
        number = number * 1664525u + 1013904223u;
    numbers[gl_GlobalInvocationID.x] = number;
}
"""
GROUPS = 1 << 12


class Side:
    """A device, its work and its transfers."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device = device
        pipeline = device.pipeline(device.compile(MIX))
        self.mixed = device.buffer(np.zeros(GROUPS * 64, np.uint32))
        self.work: Work = pipeline.bind({"Numbers": self.mixed})
        self.small = device.buffer(np.arange(256, dtype=np.uint32))
        self.buffer = device.buffer(nbytes)
        self.plain = np.ones(nbytes, np.uint8)
        self.pinned = device.host_array(nbytes, np.uint8)
        self.pinned[:] = 1

    def start(self, times: int) -> None:
        """Start work that is not waited for."""
        self.work.dispatch(GROUPS, push={"times": times}, timeout=None, wait=False)

    def seconds(self, times: int, transfer: Callable[[], object]) -> tuple[float, float]:
        """Return the seconds of a transfer that begins just after work, and of both."""
        self.device.synchronize()
        begin = time.perf_counter()
        if times:
            self.start(times)
        transfer()
        done = time.perf_counter()
        self.device.synchronize()
        return done - begin, time.perf_counter() - begin

    def transfers(self) -> dict[str, Callable[[], object]]:
        """Return the transfers by name."""
        return {
            "upload": lambda: self.buffer.write(self.plain),
            "upload, pinned": lambda: self.buffer.write(self.pinned),
            "download": lambda: self.buffer.read(out=self.plain),
            "download, pinned": lambda: self.buffer.read(out=self.pinned),
        }


def times_for(side: Side, seconds: float) -> int:
    """Return the iterations of work of about this many seconds."""
    times = 1 << 10
    while True:
        side.device.synchronize()
        begin = time.perf_counter()
        side.start(times)
        side.device.synchronize()
        taken = time.perf_counter() - begin
        if taken > seconds / 4:
            return max(1, round(times * seconds / taken))
        times *= 2


def measured(sides: dict[str, Side], rounds: int) -> dict[str, Any]:
    """Return medians of milliseconds by transfer and side."""
    table: dict[str, Any] = {}
    for name in next(iter(sides.values())).transfers():
        alone: dict[str, list[float]] = {key: [] for key in sides}
        both: dict[str, list[float]] = {key: [] for key in sides}
        work = []
        for _ in range(3):
            taken = statistics.median(side.seconds(0, side.transfers()[name])[1] for side in sides.values())
        times = times_for(sides["beside"], 2 * taken)
        for _ in range(rounds):
            for key, side in sides.items():
                alone[key].append(side.seconds(0, side.transfers()[name])[1])
                both[key].append(side.seconds(times, side.transfers()[name])[1])
            work.append(sides["beside"].seconds(times, lambda: None)[1])
        table[name] = {
            "work": 1e3 * statistics.median(work),
            **{f"alone, {key}": 1e3 * statistics.median(values) for key, values in alone.items()},
            **{f"with work, {key}": 1e3 * statistics.median(values) for key, values in both.items()},
        }
    times = times_for(sides["beside"], 0.02)
    table["read of 1 KiB while 20 ms of later work run"] = {
        key: 1e3 * statistics.median(side.seconds(times, side.small.read)[0] for _ in range(rounds))
        for key, side in sides.items()
    }
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="the device, as for vkgroup")
    parser.add_argument("--mebibytes", type=int, default=256, help="size of a transfer")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per row")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    beside: Any
    in_order: Any
    with vkgroup.open(arguments.device) as beside:
        if beside.logical.transfer_family is None:
            raise SystemExit(f"{beside.capabilities.name} has no queue family that can only copy.")
        with (
            patch.object(logical, "transfer_family", return_value=None),
            vkgroup.open(arguments.device) as in_order,
        ):
            assert in_order.logical.transfer_family is None
            nbytes = arguments.mebibytes << 20
            sides = {"in order": Side(in_order, nbytes), "beside": Side(beside, nbytes)}
            result = {
                "device": beside.capabilities.name,
                "mebibytes": arguments.mebibytes,
                "rounds": arguments.rounds,
                "milliseconds": measured(sides, arguments.rounds),
            }
    for name, row in result["milliseconds"].items():
        print(f"{name}: " + ", ".join(f"{key} {value:.3f} ms" for key, value in row.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
