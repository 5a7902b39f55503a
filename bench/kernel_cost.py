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


def page(data: dict[str, Any]) -> str:
    """Return the page of recorded costs."""
    rows = data["costs"]
    failed = [
        row for row in rows if row["status"] not in (CompileStatus.COMPILED, CompileStatus.NOT_SUPPORTED)
    ]
    better = [key for key, (subgroup, shared) in _estimates(rows).items() if shared < subgroup]
    parts = [
        "# Static cost of the kernels",
        "Both versions of each kernel, compiled for GPUs without the hardware ([cost](cost.md)), "
        f"{data['date']}: {', '.join(data['drivers'])}. Nothing was executed, and the kernels have the "
        "defaults of their files. `python bench/kernel_cost.py` repeats it.",
        "Each cell has the estimate of the version with subgroup operations, a slash, and that of the "
        f"version with shared memory; the smaller is better. In **bold** cells, {len(better)} of "
        f"{len(_estimates(rows))}, the shared-memory version looks better. The estimates do not count how "
        "often a loop runs and how long memory takes, so measure before you choose "
        "([bench](bench.md)).",
        _sentence_of_failures(failed),
        *(_table(family, rows) for family in FAMILIES),
    ]
    return "\n\n".join(parts) + "\n"


def _sentence_of_failures(failed: Sequence[dict[str, Any]]) -> str:
    if not failed:
        return "Every driver compiles every kernel that its device supports."
    words = {f"{row['kernel']} ({row['version']}) on {row['device']}: {row['status']}" for row in failed}
    return "Rejected or crashed: " + "; ".join(sorted(words)) + "."


def _estimates(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[float, float]]:
    """Return the estimates of both versions by kernel, device and subgroup size."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        value = next((row["quantities"][name] for name in ESTIMATES if name in row["quantities"]), None)
        if row["status"] == CompileStatus.COMPILED and value is not None:
            key = (row["kernel"], row["device"], row["subgroup_size"])
            found.setdefault(key, {})[row["version"]] = value
    return {key: (both["subgroup"], both["shared"]) for key, both in found.items() if len(both) == 2}


def _table(family: str, rows: Sequence[dict[str, Any]]) -> str:
    title, estimate = FAMILIES[family]
    estimates = _estimates(rows)
    columns = list(
        dict.fromkeys(
            (row["device"], row["subgroup_size"]) for row in rows if row["device"].startswith(f"{family}:")
        )
    )
    heads = [f"{device.partition(':')[2]}, {size}" for device, size in columns]
    lines = [f"## {title}", "", f"The estimate is the {estimate}. Columns: GPU and subgroup size.", ""]
    lines += ["| kernel | " + " | ".join(heads) + " |", "|---" * (len(columns) + 1) + "|"]
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        cells = [_cell(estimates.get((kernel, *column))) for column in columns]
        lines.append(f"| {kernel} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


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


def main() -> None:
    """Write the data and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from the recorded costs")
    if not parser.parse_args().page:
        _write(measure())
    PAGE.write_text(page(json.loads(DATA.read_text())))


if __name__ == "__main__":
    main()
