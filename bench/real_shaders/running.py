"""Compilation and checks of a shader and of its mutants, and comparison with NumPy."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from real_shaders.model import Array, Mutant, Shader
from real_shaders.ncnn_source import source_of
from vkgroup.base.errors import Unsupported
from vkgroup.check.checking import check
from vkgroup.check.findings import Finding
from vkgroup.check.request import Guarantees
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import DeviceInfo
from vkgroup.spirv import Module
from vkgroup.workers.opening import open_device

TREE = Mutant("missing final sum", "s > 0;", "s > 1;")
"""A tree in shared memory that stops one step early: a wrong result, equal at every subgroup size."""

NEAR = 3
"""Lines between a finding and a planted error that count as the same place."""

FOLDERS = {"ggml": "", "ncnn": "layer/vulkan/shader"}
SUPPORT = {"support_int64": True, "support_int16": True}


def mutated(text: str, mutant: Mutant) -> tuple[str, int]:
    """Return a text with one match replaced, and the line of the match."""
    matches = list(re.finditer(re.escape(mutant.pattern), text))
    if len(matches) < mutant.occurrence:
        raise ValueError(f"{mutant.pattern!r} occurs only {len(matches)} times")
    match = matches[mutant.occurrence - 1]
    line = text[: match.start()].count("\n") + 1
    return text[: match.start()] + mutant.replacement + text[match.end() :], line


_SOURCES = tempfile.TemporaryDirectory()
"""Sources of mutants, which stay until the end because findings quote them."""


def compiled(shader: Shader, root: Path, mutant: Mutant | None = None) -> tuple[Module, int]:
    """Return the module of a shader or a mutant, and the changed line."""
    folder = root / FOLDERS[shader.corpus]
    main = folder / shader.file
    temporary = Path(tempfile.mkdtemp(dir=_SOURCES.name))
    copy, line = temporary / main.name, 0
    copy.write_text(main.read_text())
    if mutant is not None:
        changed = temporary / (mutant.file or main.name)
        text, line = mutated((folder / changed.name).read_text(), mutant)
        changed.write_text(text)
    source = copy.read_text()
    if shader.corpus == "ncnn":
        source = source_of(copy, root / "gpu.cpp", shader.options, SUPPORT, local_size=shader.local_size)
    module = compile_source(
        source, stage="comp", name=str(copy), target=TargetEnvironment.VULKAN_1_2, debug=True, cache=False,
        defines=dict(shader.defines), include_paths=[folder],
    )  # fmt: skip
    return module, line


def bindings_of(shader: Shader) -> dict[int, Array]:
    """Return the inputs, and zeros for the outputs."""
    arrays = shader.inputs(np.random.default_rng(0))
    return {**{key: np.zeros(count, dtype) for key, (count, dtype) in shader.outputs.items()}, **arrays}


def findings(
    shader: Shader, module: Module, sizes: tuple[int, ...] | None = None, devices: Sequence[DeviceInfo] = ()
) -> tuple[list[Finding], list[str]]:
    """Check at the sizes that the host permits; return the findings, and what is not covered.

    A device runs the shader only if its subgroup size is among `sizes`.
    """
    result: list[Finding] = []
    missing: list[str] = []
    chosen = sizes or shader.sizes
    for part in [(size,) for size in chosen] if shader.each_size else [chosen]:
        arrays = bindings_of(shader)
        report = check(
            module, sizes=part, groups=shader.groups, inputs=arrays, push=shader.push,
            specialization=shader.specialization(part[0]), timeout=60,
            devices=[device for device in devices if device.subgroup_size in part],
            host=Guarantees(shader.full_subgroups, shader.linear_lanes), name=shader.name,
        )  # fmt: skip
        result += report.findings
        missing += [f"{what}: {why}" for what, why in report.covered.not_covered] + list(report.no_verdict)
    return result, missing


def barriers_of(shader: Shader, module: Module) -> list[str]:
    """Return a line for each barrier and atomic: its place, and whether the runs need it."""
    report = check(
        module, sizes=shader.sizes, groups=shader.groups, inputs=bindings_of(shader), push=shader.push,
        specialization=shader.specialization(shader.sizes[0]), timeout=60, barriers=True,
        host=Guarantees(shader.full_subgroups, shader.linear_lanes), name=shader.name,
    )  # fmt: skip
    return [
        f"{result.name} {Path(result.place.file).name}:{result.place.line}: {result.verdict}: {result.text}"
        for result in report.barriers
    ]


def compare(shader: Shader, module: Module) -> float:
    """Run on the reference device; return the largest error as a part of the tolerance."""
    one = 32 if 32 in shader.sizes else shader.sizes[0]
    return max(error_on("", shader, module, size) for size in (shader.sizes if shader.each_size else (one,)))


def errors_on(device: str, shader: Shader, module: Module) -> dict[int, float]:
    """Run on a device at each subgroup size that it has; return the largest errors, as `compare`, by size."""
    errors = {}
    for size in shader.sizes:
        try:
            errors[size] = round(error_on(device, shader, module, size), 4)
        except Unsupported:  # the device has no subgroups of this size
            continue
    return errors


def error_on(choice: str, shader: Shader, module: Module, size: int) -> float:
    """Run on a device, or on the reference device (""); return the largest error over its tolerance."""
    arrays = bindings_of(shader)
    push: Any = shader.push or None
    given = {} if choice else {"subgroup_size": size}
    with open_device(choice or "reference", isolated=bool(choice), **given) as device:
        # Where a device cannot require a size, as RADV on GCN, it may have this one.
        requires = "compute" in device.capabilities.size_control.required_size_stages
        results = device.run(
            module, shader.groups, arrays, push=push, specialization=shader.specialization(size), timeout=600,
            subgroup_size=size if requires or device.info.subgroup_size != size else None,
        )  # fmt: skip
    worst = 0.0
    for key, expected in shader.expected(arrays).items():
        actual = np.asarray(results[key]).ravel()[: expected.values.size].reshape(expected.values.shape)
        if expected.unordered:
            actual = np.sort(actual)
        difference = np.abs(actual.astype(np.float64) - expected.values)
        allowed = np.where(expected.tolerance > 0, expected.tolerance, 1e-300)
        worst = max(worst, float(np.max(difference / allowed, initial=0.0)))
        if not np.isfinite(difference).all():
            return float("inf")
    return worst


def places(finding: Finding) -> list[tuple[str, int]]:
    """Return file name and line of a finding and its notes."""
    all_places = [finding.place, *(note.place for note in finding.notes if note.place is not None)]
    return [(Path(place.file).name, place.line) for place in all_places]


def names_line(finding: Finding, file: str, line: int, kind: str) -> bool:
    """Return whether a finding names a line, or for a race the accesses around a removed barrier."""
    lines = [number for name, number in places(finding) if name == file]
    if any(abs(number - line) <= NEAR for number in lines):
        return True
    return (
        kind == "missing barrier"
        and finding.kind == "race"
        and len(lines) > 1
        and min(lines) < line < max(lines)
    )


def names_text(finding: Finding, text: str) -> bool:
    """Return whether the line of a finding or of a note contains a text."""
    notes = [note.place.text for note in finding.notes if note.place is not None]
    return bool(text) and any(text in line for line in [finding.place.text, *notes])


def signature(finding: Finding) -> tuple[object, ...]:
    """Return what tells whether two checks found the same."""
    return finding.kind, finding.message, *places(finding)


def tree_of(shader: Shader, root: Path) -> Mutant | None:
    """Return the mutant of the shader's first tree; None without one."""
    text = (root / FOLDERS[shader.corpus] / shader.file).read_text()
    return TREE if TREE.pattern in text and "USE_SUBGROUP_ADD" not in shader.defines else None


def judge(shader: Shader, root: Path, mutant: Mutant, known: list[Finding]) -> dict[str, Any]:
    """Check a mutant; return where it was found, and of one that was not found at its line all data.

    `known` findings are those of the shader itself.
    """
    start = time.monotonic()
    module, line = compiled(shader, root, mutant)
    file = mutant.file or Path(shader.file).name
    sizes = tuple(size for size in (8, 32, 64) if size in shader.sizes) or shader.sizes
    before = {signature(entry) for entry in known}
    found = [entry for entry in findings(shader, module, sizes)[0] if signature(entry) not in before]
    at_line = [
        entry for entry in found if names_line(entry, file, line, mutant.kind) or names_text(entry, mutant.at)
    ]
    result = "line" if at_line else "other line" if found else "missed"
    if result == "missed" and compare(shader, module) > 1:
        result = "NumPy"
    row = {"kind": mutant.kind, "line": line, "result": result}
    if result != "line":
        texts = [f"{finding.kind} {places(finding)}: {finding.message}" for finding in found[:3]]
        row |= {**asdict(mutant), "findings": texts}
    return {**row, "seconds": round(time.monotonic() - start, 1)}
