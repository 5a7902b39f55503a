"""Static cost of both versions of each kernel pair on every generation of GPUs that a driver compiles for.

    vkgroup drivers fetch radv nvk turnip honeykrisp
    python bench/kernel_cost.py                  # writes bench/results/kernel_cost.json
    python tests/documentation/included.py       # puts `table` into docs/results/benchmarks.md

Nothing is executed. The kernels are compiled with the defaults of their files.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vkgroup.base import files
from vkgroup.compiler import compile_file
from vkgroup.compiler.request import TargetEnvironment
from vkgroup.cost import CompileJob, CompileStatus, costs_of_jobs
from vkgroup.device.fetched import gpu_of, representatives
from vkgroup.workers.opening import select

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "results" / "kernel_cost.json"

ESTIMATES = ("inverse_throughput", "latency", "instructions")
"""Quantities that a version is compared by: the first that the driver reports."""

COLUMNS = {
    "radv:navi31, 32": "AMD navi31, 32",
    "radv:navi31, 64": "AMD navi31, 64",
    "nvk:ga100, 32": "NVIDIA ga100, 32",
    "turnip:730, 64": "Adreno 730, 64",
    "honeykrisp:m1, 32": "Apple m1, 32",
}
"""Columns of the table, by device and subgroup size."""

Estimates = dict[str, dict[str, float]]
"""The estimates of a kernel by device and subgroup size (``"radv:navi31, 64"``), and by version."""


def pairs() -> Iterator[tuple[str, Path, Path]]:
    """Yield the name of each kernel pair, and the files with and without subgroup operations."""
    folder = files.kernels()
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
    devices = [select(choice, compile_only=True) for choice in representatives()]
    versions = [
        (name, version, CompileJob(compile_file(path, target=TargetEnvironment.VULKAN_1_2).to_bytes()))
        for name, *paths in pairs()
        for version, path in zip(("subgroup", "shared"), paths, strict=True)
    ]
    estimates: dict[str, Estimates] = {name: {} for name, _, _ in pairs()}
    for device in devices:
        choice = gpu_of(device).choice
        found = costs_of_jobs(device, [job for _, _, job in versions])
        for (name, version, _), costs in zip(versions, found, strict=True):
            for cost in costs:
                column = estimates[name].setdefault(f"{choice}, {cost.subgroup_size}", {})
                estimate = next(
                    (cost.quantities[kind] for kind in ESTIMATES if kind in cost.quantities), None
                )
                if cost.status == CompileStatus.COMPILED and estimate is not None:
                    column[version] = estimate
        print(device.choice, flush=True)
    drivers = sorted({device.icd for device in devices})
    return {"date": time.strftime("%Y-%m-%d"), "drivers": drivers, "estimates": estimates}


def table(data: dict[str, Any]) -> str:
    """Return a summary of the recorded costs, and the table of some GPUs."""
    kernels: dict[str, Estimates] = data["estimates"]
    devices = {column.partition(",")[0] for kernel in kernels.values() for column in kernel}
    both = [its for kernel in kernels.values() for its in kernel.values() if len(its) == 2]
    smaller = sum(its["shared"] < its["subgroup"] for its in both)
    lines = [
        f"{data['date']}, {', '.join(data['drivers'])}. In {smaller} of {len(both)} estimates for"
        f" {len(devices)} GPUs the shared-memory version is smaller (**bold** below).",
        "",
        f"| kernel | {' | '.join(COLUMNS.values())} |",
        "|---" * (1 + len(COLUMNS)) + "|",
    ]
    for name, kernel in kernels.items():
        cells = [_cell(kernel.get(column, {})) for column in COLUMNS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(estimates: Mapping[str, float]) -> str:
    if len(estimates) < 2:
        return "–"
    subgroup, shared = estimates["subgroup"], estimates["shared"]
    text = f"{subgroup:g}/{shared:g}"
    return f"**{text}**" if shared < subgroup else text


def _write(data: dict[str, Any]) -> None:
    """Write the data with one line for each kernel."""
    head = json.dumps({name: value for name, value in data.items() if name != "estimates"})[:-1]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(its)}" for name, its in data["estimates"].items())
    DATA.write_text(f'{head}, "estimates": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    _write(measure())
