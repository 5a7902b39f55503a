"""Rates of transfers between the host and the GPU beside torch and CuPy, in the same rounds.

    python bench/transfers.py [--device D] [--most 2^30] [--rounds 9] [--json FILE]

An upload is waited for. A download fills an existing array. Pinned arrays are those of each library.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import vkgroup
from vkgroup.dispatch import Device

sys.path.append(str(Path(__file__).parent))
from calls import interval, library

Call = Callable[[], object]

_LEAST_SECONDS = 0.01
"""Seconds of one measurement, at least; shorter transfers are repeated."""


def own_calls(device: Device, nbytes: int) -> dict[str, Call]:
    """Return the transfers of vkgroup by title."""
    array, pinned = np.ones(nbytes // 4, np.float32), device.host_array(nbytes // 4)
    out, buffer = np.ones_like(array), device.empty(nbytes // 4)
    pinned[:] = array

    def upload(source: Any) -> None:
        buffer.write(source)
        device.synchronize()

    return {
        "upload": lambda: upload(array),
        "upload, pinned": lambda: upload(pinned),
        "download": lambda: buffer.read(out=out),
        "download, pinned": lambda: buffer.read(out=pinned),
    }


def torch_calls(torch: Any, nbytes: int) -> dict[str, Call]:
    """Return the transfers of torch by title."""
    there, count = torch.ones(nbytes // 4, device="cuda"), nbytes // 4
    host, pinned, out = torch.ones(count), torch.ones(count).pin_memory(), torch.ones(count)
    wait = torch.cuda.synchronize
    return {
        "upload": lambda: (there.copy_(host), wait()),
        "upload, pinned": lambda: (there.copy_(pinned, non_blocking=True), wait()),
        "download": lambda: out.copy_(there),
        "download, pinned": lambda: (pinned.copy_(there, non_blocking=True), wait()),
    }


def cupy_calls(cupy: Any, nbytes: int) -> dict[str, Call]:
    """Return the transfers of CuPy by title."""
    array, there = np.ones(nbytes // 4, np.float32), cupy.ones(nbytes // 4, np.float32)
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(nbytes), np.float32, nbytes // 4)
    out, wait = np.ones_like(array), cupy.cuda.get_current_stream().synchronize
    pinned[:] = 1
    return {
        "upload": lambda: (there.set(array), wait()),
        "upload, pinned": lambda: (there.set(pinned), wait()),
        "download": lambda: there.get(out=out),
        "download, pinned": lambda: there.get(out=pinned),
    }


def rates(rows: dict[str, dict[str, Call]], nbytes: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return bytes a second by title and contender, each an `interval`; the first round warms up."""
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds + 1):
        for contender, calls in rows.items():
            for title, call in calls.items():
                call()
                start = time.perf_counter()
                call()
                repeat = max(1, int(_LEAST_SECONDS / (time.perf_counter() - start)))
                start = time.perf_counter()
                for _ in range(repeat):
                    call()
                rate = nbytes * repeat / (time.perf_counter() - start)
                if number:
                    found.setdefault(title, {}).setdefault(contender, []).append(rate)
    return {title: {name: interval(r) for name, r in row.items()} for title, row in found.items()}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device")
    parser.add_argument("--most", default="2^30", help="largest number of bytes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    base, _, power = arguments.most.partition("^")
    most = int(base) ** int(power or 1)
    with vkgroup.open(arguments.device) as device:
        gpu = device.capabilities.type == "discrete_gpu"
        torch, cupy = (library(name) if gpu else None for name in ("torch", "cupy"))
        found: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(),
            "device": device.name,
            "driver": device.capabilities.driver_info,
            "rounds": arguments.rounds,
            "rates": {},
        }
        print("GB/s")
        for nbytes in (4 << 2 * step for step in range(5, 15)):
            if nbytes > most:
                break
            rows = {"vkgroup": own_calls(device, nbytes)}
            if torch is not None:
                rows["torch"] = torch_calls(torch, nbytes)
            if cupy is not None:
                rows["cupy"] = cupy_calls(cupy, nbytes)
            row = found["rates"][str(nbytes)] = rates(rows, nbytes, arguments.rounds)
            for title, contenders in row.items():
                texts = (f"{name} {rate[0] / 1e9:.2f}" for name, rate in contenders.items())
                print(f"{nbytes:>12,} {title:18}", *texts, flush=True)
            del rows
            device.trim()
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
