"""Static cost of both versions of each kernel pair on every generation of GPUs that a driver compiles for.

    vkgroup drivers fetch radv nvk turnip honeykrisp
    python bench/kernel_cost.py                  # writes bench/results/kernel_cost.json
    python tests/documentation/included.py       # puts `table` into docs/results/benchmarks.md

Nothing is executed. The kernels are compiled with the defaults of their files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vkgroup.base import resources
from vkgroup.compiler import compile_file
from vkgroup.compiler.request import TargetEnvironment
from vkgroup.cost import CompileJob, CompileStatus, Cost, costs_of_jobs
from vkgroup.device.fetched import gpu_of, representatives
from vkgroup.workers.opening import select

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "results" / "kernel_cost.json"

ESTIMATES = ("inverse_throughput", "latency", "instructions")
"""Quantities that a version is compared by: the first that the driver reports."""

COLUMNS = {
    ("radv:navi31", 32): "AMD navi31, 32",
    ("radv:navi31", 64): "AMD navi31, 64",
    ("nvk:ga100", 32): "NVIDIA ga100, 32",
    ("turnip:730", 64): "Adreno 730, 64",
    ("honeykrisp:m1", 32): "Apple m1, 32",
}
"""Columns of the table, by device and subgroup size."""


def pairs() -> Iterator[tuple[str, Path, Path]]:
    """Yield the name of each kernel pair, and the files with and without subgroup operations."""
    folder = resources.kernels()
    for subgroup in sorted(folder.rglob("*subgroup*.comp")):
        shared = subgroup.with_name(subgroup.name.replace("subgroup", "shared"))
        if shared.is_file():
            name = subgroup.relative_to(folder).as_posix().removesuffix(".comp")
            yield (
                name.replace("/subgroup", "").replace("_subgroup", "").replace("subgroup_", ""),
                subgroup,
                shared,
            )


def measure() -> dict[str, Any]:
    """Return the costs of all pairs, and when and with which drivers they were made."""
    devices = [select(choice) for choice in representatives()]
    versions = [
        (name, version, CompileJob(compile_file(path, target=TargetEnvironment.VULKAN_1_2).to_bytes()))
        for name, *paths in pairs()
        for version, path in zip(("subgroup", "shared"), paths, strict=True)
    ]
    rows: list[dict[str, Any]] = []
    for device in devices:
        found = costs_of_jobs(device, [job for _, _, job in versions])
        for (name, version, _), costs in zip(versions, found, strict=True):
            rows += [_row(name, version, gpu_of(device).choice, cost) for cost in costs]
        print(device.choice, flush=True)
    drivers = sorted({device.icd for device in devices})
    return {"date": time.strftime("%Y-%m-%d"), "drivers": drivers, "costs": rows}


def _row(kernel: str, version: str, device: str, cost: Cost) -> dict[str, Any]:
    return {
        "kernel": kernel,
        "version": version,
        "device": device,
        "subgroup_size": cost.subgroup_size,
        "status": cost.status.value,
        "detail": cost.detail,
        "quantities": cost.quantities,
    }


def table(data: dict[str, Any]) -> str:
    """Return a summary of the recorded costs, and the table of some GPUs."""
    rows = data["costs"]
    estimates = estimates_of(rows)
    devices = {row["device"] for row in rows}
    smaller = sum(shared < subgroup for subgroup, shared in estimates.values())
    lines = [
        f"{data['date']}, {', '.join(data['drivers'])}. In {smaller} of {len(estimates)} estimates for"
        f" {len(devices)} GPUs the shared-memory version is smaller (**bold** below).",
        "",
        f"| kernel | {' | '.join(COLUMNS.values())} |",
        "|---" * (1 + len(COLUMNS)) + "|",
    ]
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        cells = [_cell(estimates.get((kernel, *column))) for column in COLUMNS]
        lines.append(f"| {kernel} | {' | '.join(cells)} |")
    return "\n".join(lines)


def estimates_of(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[float, float]]:
    """Return the estimates of both versions by kernel, device and subgroup size."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        value = next((row["quantities"][name] for name in ESTIMATES if name in row["quantities"]), None)
        if row["status"] == CompileStatus.COMPILED and value is not None:
            key = (row["kernel"], row["device"], row["subgroup_size"])
            found.setdefault(key, {})[row["version"]] = value
    return {key: (both["subgroup"], both["shared"]) for key, both in found.items() if len(both) == 2}


def _cell(both: tuple[float, float] | None) -> str:
    if both is None:
        return "–"
    text = f"{both[0]:g}/{both[1]:g}"
    return f"**{text}**" if both[1] < both[0] else text


def _write(data: dict[str, Any]) -> None:
    """Write the data with one line for each cost."""
    head = json.dumps({name: value for name, value in data.items() if name != "costs"})[:-1]
    rows = ",\n".join(map(json.dumps, data["costs"]))
    DATA.write_text(f'{head}, "costs": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    _write(measure())
