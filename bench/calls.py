"""Times of API calls as users make them, beside the GPU's time and other libraries, in the same rounds.

    python bench/calls.py [--device D] [--sizes 1000,2^20] [--transfers 4096,2^20] [--rounds 9]
                          [--json FILE]

Calls take and return buffers of the device; allocation of results is included. "waited" synchronises after
each call, "in flight" after many calls. "GPU" is the time between timestamps around the recorded kernel.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import vkgroup
from vkgroup import kernels
from vkgroup.bench.definition import Data
from vkgroup.bench.interrupts import away_from_interrupts
from vkgroup.bench.overhead import CallWork
from vkgroup.dispatch import Device, Dispatch, PendingRun
from vkgroup.kernels.sort import plan_sort

sys.path.append(str(Path(__file__).parent))
from transfers import interval, measured

sys.path.append(str(Path(__file__).parent / "peers"))
PEERS = [importlib.import_module(name).PEER for name in ("hephaistos_peer", "wgpu_peer")]

ADD = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[gl_GlobalInvocationID.x] += 1u; }
"""

RECORDED = "recorded dispatch"
"""The call that others are compared with; every table has it, since devices change their clocks."""

_SHORT, _LEAST_SECONDS = 1 << 16, 0.02

Call = Callable[[], object]
Row = dict[str, Call]


def timed(call: Call, finish: Call, calls: int, each: bool) -> float:
    """Return the seconds of one of `calls` calls; `finish` waits, after each of them or after the last."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
        if each:
            finish()
    finish()
    return (time.perf_counter() - start) / calls


def kernel_rows(device: Device, size: int, torch: Any, cupy: Any) -> dict[str, Row]:
    """Return the calls on arrays of a size: title → contender → call."""
    values = np.random.default_rng(0).random(size, np.float32)
    bins = np.random.default_rng(1).integers(0, 256, size).astype(np.uint32)
    columns = min(size, 1024)
    x, b = device.buffer(values), device.buffer(bins)
    rows = x.view(shape=(size // columns, columns))
    calls: dict[str, Row] = {
        "sum": {"vkgroup": lambda: kernels.sum(x)},
        "cumsum": {"vkgroup": lambda: kernels.cumsum(x)},
        "sort": {"vkgroup": lambda: kernels.sort(x)},
        "compact": {"vkgroup": lambda: kernels.compact(x, "<", 0.5)},
        "softmax": {"vkgroup": lambda: kernels.softmax(rows)},
        "histogram": {"vkgroup": lambda: kernels.histogram(x, 256, (0, 1))},
        "bincount": {"vkgroup": lambda: kernels.bincount(b, 256)},
    }
    if torch is not None:
        t, i = torch.from_numpy(values).cuda(), torch.from_numpy(bins.astype(np.int64)).cuda()
        r = t[: size // columns * columns].view(-1, columns)
        calls["sum"]["torch"] = lambda: t.sum()
        calls["cumsum"]["torch"] = lambda: t.cumsum(0)
        calls["sort"]["torch"] = lambda: t.sort()
        calls["compact"]["torch"] = lambda: t[t < 0.5]
        calls["softmax"]["torch"] = lambda: r.softmax(1)
        calls["histogram"]["torch"] = lambda: t.histc(256, 0, 1)
        calls["bincount"]["torch"] = lambda: i.bincount(minlength=256)
    if cupy is not None:
        c, n = cupy.asarray(values), cupy.asarray(bins)
        calls["sum"]["cupy"] = lambda: c.sum()
        calls["cumsum"]["cupy"] = lambda: c.cumsum()
        calls["sort"]["cupy"] = lambda: cupy.sort(c)
        calls["compact"]["cupy"] = lambda: c[c < 0.5]
        calls["histogram"]["cupy"] = lambda: cupy.histogram(c, 256, (0, 1))
        calls["bincount"]["cupy"] = lambda: cupy.bincount(n, minlength=256)
    if size <= _SHORT:
        calls["sum of a NumPy array"] = {
            "vkgroup": lambda: kernels.sum(values, device=device),
            "numpy": values.sum,
        }
        if torch is not None:
            calls["sum of a NumPy array"]["torch"] = lambda: torch.from_numpy(values).cuda().sum().item()
    return calls


def gpu_seconds_of_dispatch(device: Device) -> float | None:
    """Return the GPU's time of the recorded dispatch."""
    work = device.pipeline(device.compile(ADD)).bind({0: device.buffer(np.zeros(1024, np.uint32))})
    sequence = device.sequence([Dispatch(work, 16)])
    times = [sequence.timed(repeat=20) for _ in range(5)]
    return None if times[0] is None else statistics.median(t for t in times if t)


def gpu_seconds(device: Device, size: int) -> dict[str, float | None]:
    """Return the GPU's time of each kernel, by title."""
    f, columns = np.float32, min(size, 1024)
    plans = {
        "sum": kernels.plan_reduce(device, size, f, "add"),
        "cumsum": kernels.plan_scan(device, "add", f, size),
        "sort": plan_sort(device, (size,), np.dtype(f), {}),
        "compact": kernels.plan_compact(device, f, size, "<", 0.5),
        "softmax": kernels.plan_softmax(device, (size // columns, columns), f),
        "histogram": kernels.plan_histogram(device, size, f, 256, (0, 1)),
        "bincount": kernels.plan_bincount(device, size, np.uint32, 256),
    }
    seconds: dict[str, float | None] = {}
    values = np.random.default_rng(0).random(size, np.float32)
    bins = np.random.default_rng(1).integers(0, 256, size).astype(np.uint32)
    for title, plan in plans.items():
        with plan.record() as work:
            name = next(iter(plan.inputs))
            count = math.prod(plan.inputs[name].shape)
            work.buffers[name].write((bins if title == "bincount" else values)[:count])
            repeat = 20 if size <= _SHORT else 3
            times = [work.timed(repeat=repeat, timeout=None) for _ in range(5)]
            seconds[title] = None if times[0] is None else statistics.median(t for t in times if t)
        plan.close()
        device.trim()
    return seconds


def dispatch_rows(device: Device) -> dict[str, Row]:
    """Return calls of one dispatch, which is recorded once or at each call."""
    buffer = device.buffer(np.zeros(1024, np.uint32))
    work = device.pipeline(device.compile(ADD)).bind({0: buffer})
    sequence = device.sequence([Dispatch(work, 16)])
    return {
        RECORDED: {"vkgroup": lambda: sequence.run(wait=False)},
        "bound dispatch": {"vkgroup": lambda: work.dispatch(16, wait=False)},
    }


def peer_rows(device: Device, finish: dict[str, Call]) -> dict[str, Row]:
    """Return dispatches beside other packages. Their calls wait each, and their objects stay."""
    rows = dispatch_rows(device)
    for title, row in rows.items():
        for peer in PEERS:
            if peer.available(device) is None and not (title == RECORDED and peer.name == "wgpu"):
                prepared: Any = peer.prepare(device, CallWork(1, 1, title == RECORDED), Data({}, {}))
                row[peer.name] = prepared._call
                finish[peer.name] = lambda: None
    return rows


def other_rows(device: Device, torch: Any, finish: dict[str, Call]) -> dict[str, Row]:
    """Return calls without kernels: dispatches, `Device.run`, buffers."""
    module = device.compile(ADD)
    data = np.zeros(1024, np.uint32)
    pending: list[PendingRun] = []

    def collect() -> None:
        for run in pending:
            run.result()
        pending.clear()

    finish["vkgroup, submit"] = collect
    rows: dict[str, Row] = dispatch_rows(device) | {
        "Device.run of 1024 uint32": {
            "vkgroup": lambda: device.run(module, 16, {0: data}),
            "vkgroup, submit": lambda: pending.append(device.submit(module, 16, {0: data})),
        },
        "buffer of 4 KiB and close": {"vkgroup": lambda: device.buffer(4096).close()},
    }
    if torch is not None:
        signed = data.view(np.int32)
        rows["Device.run of 1024 uint32"]["torch"] = lambda: (torch.from_numpy(signed).cuda() + 1).cpu()
        rows["buffer of 4 KiB and close"]["torch"] = lambda: torch.empty(4096, device="cuda")
    return rows


def number_of(text: str) -> int:
    """Return a number that is written as itself or as a power, such as 2^20."""
    base, _, power = text.partition("^")
    return int(base) ** int(power or 1)


def measure(rows: dict[str, Row], rounds: int, finish: dict[str, Call]) -> dict[str, Any]:
    """Time all calls in turns: title → contender → ``waited`` and ``in flight``, each an `interval`."""
    times: dict[str, dict[str, dict[str, list[float]]]] = {}
    for number in range(rounds + 1):
        for title, row in rows.items():
            for name, call in row.items():
                timed(call, finish[name], 3, each=True)
                once = timed(call, finish[name], 3, each=True)
                calls = max(3, min(1000, int(_LEAST_SECONDS / once)))
                waited = timed(call, finish[name], calls, each=True)
                flying = timed(call, finish[name], calls, each=False)
                if number:  # the first round warms up
                    entry = times.setdefault(title, {}).setdefault(name, {"waited": [], "in flight": []})
                    entry["waited"].append(waited)
                    entry["in flight"].append(flying)
    return {
        title: {name: {kind: interval(v) for kind, v in kinds.items()} for name, kinds in row.items()}
        for title, row in times.items()
    }


def library(name: str) -> Any:
    """Import a library that needs a GPU; None without it."""
    try:
        module = __import__(name)
        if name == "torch":
            return module if module.cuda.is_available() else None
        module.zeros(1)
    except Exception:
        return None
    return module


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device")
    parser.add_argument("--sizes", default="1000,2^12,2^16,2^20,2^24,2^28", help="numbers of elements")
    parser.add_argument(
        "--transfers",
        default=",".join(f"2^{power}" for power in range(12, 31, 2)),
        help="sizes of arrays that are transferred, in bytes",
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sizes = [number_of(text) for text in arguments.sizes.split(",")]
    with vkgroup.open(arguments.device) as device, away_from_interrupts(device) as away:
        gpu = device.capabilities.type == "discrete_gpu"
        torch, cupy = (library(name) if gpu else None for name in ("torch", "cupy"))
        finish: dict[str, Call] = {"vkgroup": device.synchronize, "numpy": lambda: None}
        if torch is not None:
            finish["torch"] = torch.cuda.synchronize
        if cupy is not None:
            finish["cupy"] = cupy.cuda.get_current_stream().synchronize
        found: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(),
            "device": device.name,
            "driver": device.capabilities.driver_info,
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "rounds": arguments.rounds,
            "note": away,
        }
        found["calls"] = measure(other_rows(device, torch, finish), arguments.rounds, finish)
        found["GPU of calls"] = {RECORDED: gpu_seconds_of_dispatch(device)}
        for size in sizes:
            rows = {RECORDED: dispatch_rows(device)[RECORDED]} | kernel_rows(device, size, torch, cupy)
            rounds = arguments.rounds if size <= _SHORT else max(3, arguments.rounds // 3)
            found[f"kernels of {size}"] = measure(rows, rounds, finish)
            del rows
            device.trim()
            if torch is not None:
                torch.cuda.empty_cache()
            found[f"GPU of {size}"] = gpu_seconds(device, size)
        found["transfers"] = measured(
            device,
            torch,
            cupy,
            [number_of(text) for text in arguments.transfers.split(",")],
            arguments.rounds,
        )
        found["memory"] = str(device.memory())
        found["dispatches beside peers"] = measure(peer_rows(device, finish), arguments.rounds, finish)
    show(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def show(found: dict[str, Any]) -> None:
    """Print the times in microseconds and the rates in GB/s."""
    for part, rows in found.items():
        if part not in ("calls", "dispatches beside peers") and not part.startswith("kernels of "):
            continue
        recorded = rows[RECORDED]["vkgroup"]["waited"][0]
        gpu = found.get(part.replace("kernels", "GPU"), {}) if "kernels" in part else found["GPU of calls"]
        print(f"\n{part:28} {'GPU':>9}  contender: waited, in flight; µs; (waited / recorded dispatch)")
        for title, row in rows.items():
            seconds = gpu.get(title)
            line = "" if seconds is None else f"{1e6 * seconds:.1f}"
            print(f"  {title:26} {line:>9}", end="")
            for name, kinds in row.items():
                waited, flying = kinds["waited"][0], kinds["in flight"][0]
                print(f"  {name}: {1e6 * waited:.1f}, {1e6 * flying:.1f} ({waited / recorded:.2f})", end="")
            print()
    print("\nGB/s")
    for nbytes, rows in found["transfers"].items():
        for title, row in rows.items():
            rates = (f"{name}: {rate[0] / 1e9:.2f}" for name, rate in row.items())
            print(f"  {int(nbytes):>13,} {title:18}", *rates)
    print(found["memory"])


if __name__ == "__main__":
    main()
