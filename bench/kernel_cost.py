"""Static cost of both versions of each kernel pair on every generation of GPUs that a driver compiles for.

    vkgroup drivers fetch radv nvk turnip honeykrisp
    python bench/kernel_cost.py          # writes bench/results/kernel_cost.json and docs/kernels-cost.md
    python bench/kernel_cost.py --page   # writes the page from the recorded costs

Nothing is executed. The kernels are compiled with the defaults of their files.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vkgroup.base import resources
from vkgroup.compiler import compile_file
from vkgroup.compiler.request import Target
from vkgroup.cost import Job, Status, costs_of_jobs
from vkgroup.device.fetched import gpu_of, representatives
from vkgroup.workers.opening import select

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "results" / "kernel_cost.json"
PAGE = ROOT / "docs" / "kernels-cost.md"

ESTIMATES = ("inverse_throughput", "latency", "instructions")
"""Quantities that a version is compared by: the first that the driver reports."""

FAMILIES = {
    "radv": ("AMD (RADV)", "inverse throughput, in busy cycles for one subgroup"),
    "nvk": ("NVIDIA (NVK)", "latency, in cycles of instructions with fixed latency"),
    "turnip": ("Qualcomm (Turnip)", "latency, in estimated stall cycles"),
    "honeykrisp": ("Apple (Honeykrisp)", "inverse throughput, in estimated ALU cycles"),
}
"""Heading of each driver's table, and the estimate that it shows."""


Estimates = dict[str, dict[str, float]]
"""The estimates of a kernel by device and subgroup size (``"radv:navi31, 64"``), and by version."""


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
        (name, version, Job(compile_file(path, target=Target.VULKAN_1_2).to_bytes()))
        for name, *paths in pairs()
        for version, path in zip(("subgroup", "shared"), paths, strict=True)
    ]
    estimates: dict[str, Estimates] = {name: {} for name, _, _ in pairs()}
    failed = []
    for device in devices:
        choice = gpu_of(device).choice
        found = costs_of_jobs(device, [job for _, _, job in versions])
        for (name, version, _), costs in zip(versions, found, strict=True):
            for cost in costs:
                column = estimates[name].setdefault(f"{choice}, {cost.subgroup_size}", {})
                estimate = next(
                    (cost.quantities[kind] for kind in ESTIMATES if kind in cost.quantities), None
                )
                if cost.status == Status.COMPILED and estimate is not None:
                    column[version] = estimate
                elif cost.status not in (Status.COMPILED, Status.NOT_SUPPORTED):
                    failed.append(f"{name} ({version}) on {choice}: {cost.status}")
        print(device.choice, flush=True)
    drivers = sorted({device.icd for device in devices})
    date = time.strftime("%Y-%m-%d")
    return {"date": date, "drivers": drivers, "failed": sorted(set(failed)), "estimates": estimates}


def page(data: dict[str, Any]) -> str:
    """Return the page of recorded costs."""
    kernels: dict[str, Estimates] = data["estimates"]
    both = [its for kernel in kernels.values() for its in kernel.values() if len(its) == 2]
    better = [its for its in both if its["shared"] < its["subgroup"]]
    parts = [
        "# Static cost of the kernels",
        "Both versions of each kernel, compiled for GPUs without the hardware ([cost](cost.md)), "
        f"{data['date']}: {', '.join(data['drivers'])}. Nothing was executed, and the kernels have the "
        "defaults of their files. `python bench/kernel_cost.py` repeats it.",
        "Each cell has the estimate of the version with subgroup operations, a slash, and that of the "
        f"version with shared memory; the smaller is better. In **bold** cells, {len(better)} of "
        f"{len(both)}, the shared-memory version looks better. The estimates do not count how "
        "often a loop runs and how long memory takes, so measure before you choose "
        "([bench](bench.md)).",
        _sentence_of_failures(data["failed"]),
        *(_table(family, kernels) for family in FAMILIES),
    ]
    return "\n\n".join(parts) + "\n"


def _sentence_of_failures(failed: Sequence[str]) -> str:
    if not failed:
        return "Every driver compiles every kernel that its device supports."
    return "Rejected or crashed: " + "; ".join(failed) + "."


def _table(family: str, kernels: Mapping[str, Estimates]) -> str:
    title, estimate = FAMILIES[family]
    every = dict.fromkeys(column for kernel in kernels.values() for column in kernel)
    columns = [column for column in every if column.startswith(f"{family}:")]
    heads = [column.partition(":")[2] for column in columns]
    lines = [f"## {title}", "", f"The estimate is the {estimate}. Columns: GPU and subgroup size.", ""]
    lines += ["| kernel | " + " | ".join(heads) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, kernel in kernels.items():
        cells = [_cell(kernel.get(column, {})) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
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


def main() -> None:
    """Write the data and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from the recorded costs")
    if not parser.parse_args().page:
        _write(measure())
    PAGE.write_text(page(json.loads(DATA.read_text())))


if __name__ == "__main__":
    main()
