"""Rates of transfers between the host and the GPU beside torch and CuPy, in the same rounds.

`bench/calls.py` measures them. An upload is waited for. A download fills an existing array. Pinned arrays are
those of each library.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.dispatch import Device

Call = Callable[[], object]

_LEAST_SECONDS = 0.01
"""Seconds of one measurement, at least; shorter transfers are repeated."""


def interval(values: list[float]) -> list[float]:
    """Return the median, and the values at 2.5 and 97.5 percent."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return [statistics.median(values), ordered[round(0.025 * last)], ordered[round(0.975 * last)]]


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


def measured(
    device: Device, torch: Any, cupy: Any, sizes: list[int], rounds: int
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return bytes a second by size in bytes, title and contender, each an `interval`."""
    found = {}
    for nbytes in sizes:
        rows = {"vkgroup": own_calls(device, nbytes)}
        if torch is not None:
            rows["torch"] = torch_calls(torch, nbytes)
        if cupy is not None:
            rows["cupy"] = cupy_calls(cupy, nbytes)
        found[str(nbytes)] = rates(rows, nbytes, rounds)
        del rows
        device.trim()
    return found
