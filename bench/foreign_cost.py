"""Static cost of thirty shaders of other projects on all GPUs that a driver compiles for without hardware.

    vkgroup drivers fetch radv nvk turnip honeykrisp
    python bench/foreign_cost.py --ggml DIR --ncnn DIR --prefix-sums DIR --samples DIR [--device GLOBS]
    python tests/documentation/included.py   # puts `section` into docs/results/real-shaders.md

The folders are those of the projects: ggml, ncnn, GPUPrefixSums and Vulkan-Samples. Nothing is executed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ggml_variants import commands, configuration
from ncnn_options import needed, option_sets
from ncnn_shaders import local_size
from real_shaders.ncnn_source import DEVICE_MACROS, source_of

from vkgroup.compiler import TargetEnvironment, compile_file, compile_source
from vkgroup.cost import CompileJob, CompileStatus, Cost, costs_of_jobs, job_of
from vkgroup.device.fetched import gpu_of
from vkgroup.spirv import Module
from vkgroup.workers.multi_device import choose

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bench" / "results" / "compile-only" / "foreign_cost.json"

REVISIONS = {
    "ggml": "d99724f2 (2026-08-21)",
    "ncnn": "a4d2ea1d (2026-07-22)",
    "GPUPrefixSums": "98d93a44 (2024-12-10)",
    "Vulkan-Samples": "e2e4cf23 (2026-08-18)",
}
"""Revisions that the recorded costs are of."""


@dataclass(frozen=True)
class Foreign:
    """A shader of another project.

    Attributes
    ----------
    project : a key of `REVISIONS`.
    name : of ggml the variant, else the file without its folder.
    entry_point : for HLSL.
    specialization : specialization constants by name; others have their defaults.
    """

    project: str
    name: str
    entry_point: str = "main"
    specialization: Mapping[int | str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name in tables."""
        name = self.name.rpartition("/")[2]
        return name if self.entry_point == "main" else self.entry_point


_FLASH_ATTENTION: dict[int | str, Any] = {
    "Br": 8,
    "HSK": 128,
    "HSV": 128,
    "D_split": 8,
    "row_split": 4,
    "FaTypeK": 1,
    "FaTypeV": 1,
}
"""Heads of 128 numbers of 16 bits; the defaults are of quantized types, whose blocks have no size."""

SHADERS = (
    Foreign("ggml", "mul_mat_vec_q4_k_f32_f32_subgroup"),
    Foreign("ggml", "mul_mat_vec_q4_0_q8_1_f32_subgroup_no_shmem"),
    Foreign("ggml", "matmul_q4_0_f32"),
    Foreign("ggml", "matmul_f32_f32"),
    Foreign("ggml", "conv2d_f32"),
    Foreign("ggml", "flash_attn_f32_f16", specialization=_FLASH_ATTENTION),
    Foreign("ggml", "soft_max_f32"),
    Foreign("ggml", "topk_moe_f32"),
    Foreign("ggml", "argsort_f32"),
    Foreign("ggml", "cumsum_f32"),
    Foreign("ggml", "ssm_scan_subgroup_f32"),
    Foreign("ggml", "gated_delta_net_f32"),
    Foreign("ncnn", "gemm_sg"),
    Foreign("ncnn", "sdpa_fa"),
    Foreign("ncnn", "multiheadattention_qk_cross_pack4"),
    Foreign("ncnn", "convolution_packed_gemm"),
    Foreign("ncnn", "convolution_pack4_3x3s1d1_winograd_gemm"),
    Foreign("ncnn", "innerproduct_gemm_wp4"),
    Foreign("ncnn", "groupnorm_reduce_sum4_fp32_pack4"),
    Foreign("ncnn", "softmax_reduce_max"),
    Foreign("GPUPrefixSums", "ReduceThenScan.hlsl", "Reduce"),
    Foreign("GPUPrefixSums", "ReduceThenScan.hlsl", "PropagateInclusive"),
    Foreign("GPUPrefixSums", "ChainedScanDecoupledLookback.hlsl", "ChainedScanDecoupledLookbackInclusive"),
    Foreign(
        "GPUPrefixSums",
        "ChainedScanDecoupledLookbackDecoupledFallback.hlsl",
        "ChainedScanDecoupledLookbackDecoupledFallbackExclusive",
    ),
    Foreign("Vulkan-Samples", "compute_nbody/glsl/particle_calculate.comp"),
    Foreign("Vulkan-Samples", "multi_draw_indirect/cull.comp"),
    Foreign("Vulkan-Samples", "async_compute/blur_down.comp"),
    Foreign("Vulkan-Samples", "timeline_semaphore/glsl/game_of_life_update.comp"),
    Foreign("Vulkan-Samples", "deferred/lighting.frag"),
    Foreign("Vulkan-Samples", "base.frag"),
)


def modules(roots: Mapping[str, Path]) -> Iterator[tuple[Foreign, Module]]:
    """Yield each shader with its module, as its project compiles it."""
    folder = roots["ggml"] / "src" / "ggml-vulkan" / "vulkan-shaders"
    variants = commands(folder)
    for shader in SHADERS:
        root = roots[shader.project]
        if shader.project == "ggml":
            entry = configuration(shader.name, variants[shader.name])
            target = next(target for target in TargetEnvironment if entry["target"] == _version(target))
            yield shader, compile_file(folder / entry["shader"], defines=entry["defines"], target=target)
        elif shader.project == "ncnn":
            yield shader, _ncnn(root / "src", shader.name)
        elif shader.project == "GPUPrefixSums":
            file = root / "GPUPrefixSumsD3D12" / "Shaders" / shader.name
            module = compile_file(
                file,
                entry_point=shader.entry_point,
                compiler="dxc",
                # HLSL counts constant buffers, buffers that are read, and others apart from each other.
                register_shifts={"t": 8, "u": 16},
                target=TargetEnvironment.VULKAN_1_2,
            )
            yield shader, module
        else:
            file = root / "shaders" / shader.name
            includes = [root / "shaders" / "includes" / "glsl"]
            yield shader, compile_file(file, include_paths=includes, target=TargetEnvironment.VULKAN_1_2)


def _version(target: TargetEnvironment) -> str:
    return ".".join(map(str, target.vulkan_version))


def _ncnn(root: Path, name: str) -> Module:
    """Return a module of ncnn with 32-bit floats and subgroup operations."""
    sets = {title: (options, support) for title, options, support in option_sets()}
    options, support = sets["fp32, subgroup ops, device: all"]
    used = needed(name, options)
    if used is None:
        raise ValueError(f"ncnn does not use {name} with these options")
    folder = root / "layer" / "vulkan" / "shader"
    file = folder / f"{name}.comp"
    size = local_size(source_of(file, root / "gpu.cpp", used, support))
    text = source_of(file, root / "gpu.cpp", used, support, DEVICE_MACROS, size)
    return compile_source(text, stage="compute", include_paths=[folder], target=TargetEnvironment.VULKAN_1_1)


def measure(roots: Mapping[str, Path], choice: str) -> None:
    """Compile the shaders for each device, and write the costs after each."""
    jobs: list[tuple[Foreign, CompileJob]] = [
        (shader, job_of(module, specialization=shader.specialization)) for shader, module in modules(roots)
    ]
    devices = choose(choice, compile_only=True)
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    start = time.monotonic()
    for device in devices:
        for (shader, _), costs in zip(
            jobs, costs_of_jobs(device, [job for _, job in jobs], timeout=120), strict=True
        ):
            gpu = gpu_of(device).choice
            sizes = {str(cost.subgroup_size): _recorded(gpu, cost) for cost in costs}
            found.setdefault(gpu, {}).setdefault(shader.project, {})[shader.title] = sizes
        print(f"{device.choice}: {time.monotonic() - start:.0f} s", flush=True)
        drivers = sorted({other.icd for other in devices})
        head = {"date": time.strftime("%Y-%m-%d"), "drivers": drivers, "revisions": REVISIONS}
        _write({**head, "costs": found})


_DETAIL_LINES = 4
"""Lines of an error that are recorded; a backtrace follows them."""


def _recorded(device: str, cost: Cost) -> dict[str, Any]:
    """Return what the page shows: the error, or the quantities other than 0."""
    if cost.status != CompileStatus.COMPILED:
        detail = "\n".join(cost.detail.splitlines()[:_DETAIL_LINES])
        return {"status": cost.status.value, "detail": detail}
    names = _QUANTITIES if (device, cost.subgroup_size) in _EXAMPLES else ("spills",)
    return {name: cost.quantities[name] for name in names if cost.quantities.get(name)}


def _write(data: dict[str, Any]) -> None:
    """Write the data with one line for each device."""
    head = json.dumps({name: value for name, value in data.items() if name != "costs"})[:-1]
    lines = ",\n".join(f"{json.dumps(device)}: {json.dumps(its)}" for device, its in data["costs"].items())
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_text(f'{head}, "costs": {{\n{lines}\n}}}}\n')


def rows_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each device, shader and subgroup size."""
    return [
        {
            "project": project,
            "shader": shader,
            "device": device,
            "subgroup_size": int(size),
            "status": cost.get("status", CompileStatus.COMPILED.value),
            "detail": cost.get("detail", ""),
            "quantities": {name: cost[name] for name in _QUANTITIES if name in cost},
        }
        for device, projects in data["costs"].items()
        for project, shaders in projects.items()
        for shader, sizes in shaders.items()
        for size, cost in sizes.items()
    ]


_QUANTITIES = ("vector_registers", "instructions", "spills")
"""Quantities in the table of examples; of the other devices only spills are recorded."""

_EXAMPLES = {
    ("radv:navi31", 32): "AMD navi31, 32",
    ("radv:navi31", 64): "AMD navi31, 64",
    ("nvk:ga104", 32): "NVIDIA ga104, 32",
    ("turnip:740", 64): "Adreno 740, 64",
    ("honeykrisp:m1", 32): "Apple m1, 32",
}
"""Columns of the table of examples, by device and subgroup size."""

_FAILED = (CompileStatus.REJECTED, CompileStatus.CRASH, CompileStatus.TIMEOUT)


def section(data: dict[str, Any]) -> str:
    """Return the results of the recorded costs in Markdown."""
    rows = rows_of(data)
    devices = list(dict.fromkeys(row["device"] for row in rows))
    compiled = sum(row["status"] == CompileStatus.COMPILED for row in rows)
    projects = ", ".join(f"{name} {revision}" for name, revision in data["revisions"].items())
    parts = [
        f"Of {len(rows):,} compilations of {len(SHADERS)} shaders for {len(devices)} GPUs at each subgroup "
        f"size, {compiled:,} succeeded ({data['date']}: {', '.join(data['drivers'])}).",
        f"The shaders are those of {projects}.",
        _table(rows),
        "Reasons:",
        _reasons(rows),
    ]
    return "\n\n".join(parts)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of shaders: on how many GPUs they compile, fail and spill, and some quantities."""
    found = {(row["project"], row["shader"], row["device"], row["subgroup_size"]): row for row in rows}
    lines = [
        f"| project | shader | compile | fail | spill | {' | '.join(_EXAMPLES.values())} |",
        "|---" * (5 + len(_EXAMPLES)) + "|",
    ]
    for shader in SHADERS:
        by_device: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            if (row["project"], row["shader"]) == (shader.project, shader.title):
                by_device[row["device"]].append(row)
        counts = Counter[str]()
        for its in by_device.values():
            statuses = {row["status"] for row in its}
            counts["failed"] += bool(statuses & set(_FAILED))
            counts["compiled"] += statuses == {CompileStatus.COMPILED}
            counts["spilled"] += any(row["quantities"].get("spills") for row in its)
        numbers = (str(counts[name] or "") for name in ("compiled", "failed", "spilled"))
        cells = [_cell(found.get((shader.project, shader.title, *column))) for column in _EXAMPLES]
        lines.append(f"| {' | '.join((shader.project, shader.title, *numbers, *cells))} |")
    return "\n".join(lines)


def _reasons(rows: Sequence[dict[str, Any]]) -> str:
    """Return a list of the reasons why shaders do not compile, with the shaders and GPUs."""
    reasons: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["status"] != CompileStatus.COMPILED and row["device"] != "turnip:702":
            lines = row["detail"].splitlines()
            # The last words of NVK's compiler follow the name of a thread.
            words = " ".join(line for line in lines[:3] if not line.startswith("thread "))
            reasons[row["status"], words].append(row)
    lines = []
    for (status, words), its in sorted(
        reasons.items(), key=lambda item: (item[0][0] not in _FAILED, item[0])
    ):
        devices = ", ".join(dict.fromkeys(row["device"] for row in its))
        shaders = ", ".join(dict.fromkeys(row["shader"] for row in its))
        what = "lacks" if status == CompileStatus.NOT_SUPPORTED else f"{status}:"
        lines.append(f"- {what} {words}: {shaders} for {devices}.")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if row["status"] != CompileStatus.COMPILED:
        return "lacks a feature" if row["status"] == CompileStatus.NOT_SUPPORTED else str(row["status"])
    quantities = row["quantities"]
    spills = quantities.get("spills", 0)
    text = f"{quantities['vector_registers']:g}, {quantities['instructions']:,.0f}"
    return f"{text} ({spills:,.0f})" if spills else text


def main() -> None:
    """Write the data."""
    parser = argparse.ArgumentParser(description=__doc__)
    for project in ("ggml", "ncnn", "prefix-sums", "samples"):
        parser.add_argument(f"--{project}", type=Path, metavar="DIR", required=True)
    parser.add_argument("--device", default="radv:*,nvk:*,turnip:*,honeykrisp:*", metavar="GLOBS")
    options = parser.parse_args()
    folders = (options.ggml, options.ncnn, options.prefix_sums, options.samples)
    measure(dict(zip(REVISIONS, folders, strict=True)), options.device)


if __name__ == "__main__":
    main()
