"""Compile all ncnn shaders with every set of options that ncnn's hosts can choose.

python bench/ncnn_options.py --ncnn DIR [--out FILE]

DIR holds ncnn's ``src`` folder (``gpu.cpp`` and ``layer/vulkan/shader``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from real_shaders.ncnn_source import COOPERATIVE_MATRIX, DEVICE_MACROS, source_of

from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_source

Flags = dict[str, bool]


def flags(text: str) -> Flags:
    """Return ``{"use_…": True}`` for words."""
    return {f"use_{word}": True for word in text.split()}


FLOATS = {
    "fp32": "",
    "fp16 packed": "fp16_packed",
    "fp16 packed, arithmetic": "fp16_packed fp16_arithmetic",
    "fp16 packed, arithmetic, uniform": "fp16_packed fp16_arithmetic fp16_uniform",
    "fp16 storage": "fp16_packed fp16_storage",
    "fp16 storage, arithmetic": "fp16_packed fp16_storage fp16_arithmetic",
    "fp16 storage, arithmetic, uniform": "fp16_packed fp16_storage fp16_arithmetic fp16_uniform",
    "bf16 packed": "bf16_packed",
    "bf16 packed, fp16 default": "bf16_packed fp16_packed fp16_storage fp16_arithmetic fp16_uniform",
    "bf16 storage": "bf16_packed bf16_storage",
    "bf16 storage, fp16 default": "bf16_storage fp16_packed fp16_storage fp16_arithmetic fp16_uniform",
}
"""Options of floats. ncnn's ``Net`` permits fp16 arithmetic only with packing or storage."""

INTEGERS = {
    "": "",
    "int8 packed": "int8_packed int16_packed",
    "int8 storage": "int8_packed int8_storage int16_packed int16_storage",
    "int8 arithmetic": "int8_packed int8_storage int8_arithmetic int8_uniform int16_packed int16_storage",
}

DEVICES = {
    "no 16-bit": {"support_int64": True},
    "all": {
        f"support_{name}": True
        for name in ("int64", "int16", "fp16_storage", "fp16_uniform", "int16_arithmetic")
    },
}


def needed(shader: str, options: Flags) -> Flags | None:
    """Return the options with which ncnn's layers compile a shader, None if they do not.

    The rules are those of ``layer/vulkan/*.cpp``: matrices need 16-bit floats or int8 arithmetic,
    int8 layers have no fp16 arithmetic, ``gemm_sg`` needs subgroup operations.
    """
    float16 = options.get("use_fp16_storage") or options.get("use_fp16_packed")
    int8 = "_int8" in shader
    if int8 and not options.get("use_int8_packed"):
        return None
    if shader.endswith("_int8_cm") and not options.get("use_int8_arithmetic"):
        return None
    if shader.endswith("_cm") and not int8 and not (float16 or options.get("use_bf16_storage")):
        return None
    if shader.endswith(("_cm", "_sg")) and not options.get("use_subgroup_ops"):
        return None
    return {**options, "use_fp16_arithmetic": False, "use_fp16_uniform": False} if int8 else options


def option_sets() -> Iterator[tuple[str, Flags, Flags]]:
    """Yield name, options and device support."""
    for (fp, floats), (integer, integers), subgroups, memory, (device, support) in product(
        FLOATS.items(), INTEGERS.items(), (True, False), (True, False), DEVICES.items()
    ):
        extra = " ".join(
            word for word, on in (("subgroup_ops", subgroups), ("shader_local_memory", memory)) if on
        )
        if device == "no 16-bit" and not set(floats.split()) <= {"fp16_packed", "bf16_packed"}:
            continue  # these floats need the device's support
        if device == "no 16-bit" and "int16_storage" in integers:
            continue
        name = ", ".join(filter(None, (fp, integer, extra.replace("_", " "), f"device: {device}")))
        options = flags(f"{floats} {integers} {extra}")
        yield name, {**options, "use_cooperative_matrix": subgroups and device == "all"}, support


def main() -> int:
    """Compile; print each failure once with its option sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ncnn", type=Path, required=True, help="ncnn's folder src")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    arguments = parser.parse_args()
    shaders = sorted(
        path
        for path in (arguments.ncnn / "layer/vulkan/shader").glob("*.comp")
        if path.stem != "vulkan_activation"  # a header
    )
    seen: dict[tuple[str, TargetEnvironment], str] = {}
    failures: dict[tuple[str, str], list[str]] = {}
    counts = {"sets": 0, "combinations": 0, "not compiled by ncnn": 0, "failed": 0}
    for name, options, support in option_sets():
        counts["sets"] += 1
        device = DEVICE_MACROS | (COOPERATIVE_MATRIX if options["use_cooperative_matrix"] else {})
        target = (
            TargetEnvironment.VULKAN_1_1 if options.get("use_subgroup_ops") else TargetEnvironment.VULKAN_1_0
        )
        for shader in shaders:
            used = needed(shader.stem, options)
            if used is None or (shader.stem.endswith("_cm") and not options["use_cooperative_matrix"]):
                counts["not compiled by ncnn"] += 1
                continue
            counts["combinations"] += 1
            text = source_of(shader, arguments.ncnn / "gpu.cpp", used, support, device)
            if (text, target) not in seen:
                seen[text, target] = compiled(shader, text, target)
            if seen[text, target]:
                counts["failed"] += 1
                failures.setdefault((shader.stem, seen[text, target]), []).append(name)
    counts["different texts"] = len(seen)
    counts["different texts that failed"] = sum(map(bool, seen.values()))
    print(counts)
    for (shader_name, reason), where in failures.items():
        print(f"{shader_name}: {reason}\n    {len(where)} sets, first: {where[0]}")
    if arguments.out:
        rows = [
            {"shader": shader, "error": reason, "sets": len(where), "first": where[0]}
            for (shader, reason), where in failures.items()
        ]
        arguments.out.write_text(json.dumps({"counts": counts, "failures": rows}, indent=1) + "\n")
    return 1 if failures else 0


def compiled(shader: Path, text: str, target: TargetEnvironment) -> str:
    """Compile and validate; return the first error, empty if there is none."""
    try:
        compile_source(text, stage="comp", name=str(shader), target=target, cache=False)
    except CompileError as error:
        return str(error.diagnostics[0] if error.diagnostics else error).removeprefix(f"{shader.parent}/")
    return ""


if __name__ == "__main__":
    sys.exit(main())
