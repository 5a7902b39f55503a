"""Check shaders of ggml and ncnn with real parameters, compare them with NumPy, and find planted errors.

python bench/real_shaders.py --ggml DIR --ncnn DIR [--only NAME] [--device D] [--numpy-on D] [--mutants]
    [--barriers] [--jobs N] [--out FILE]

The folders are ggml's ``vulkan-shaders`` and ncnn's ``src``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from real_shaders.model import Shader
from real_shaders.running import barriers_of, compare, compiled, errors_on, findings, judge, places, tree_of
from real_shaders.table import SHADERS

from vkgroup.base.errors import VkgroupError
from vkgroup.workers.opening import select


def examine(
    shader: Shader,
    root: Path,
    mutants: bool,
    barriers: bool,
    choices: Sequence[str],
    compared: Sequence[str] = (),
) -> dict[str, Any]:
    """Check one shader, also on devices, and its mutants and its barriers on the reference device."""
    start = time.monotonic()
    devices = [select(choice) for choice in choices]
    module, _ = compiled(shader, root)
    found, missing = findings(shader, module, devices=devices)
    row: dict[str, Any] = {
        "name": shader.name,
        "corpus": shader.corpus,
        "file": shader.file,
        "sizes": list(shader.sizes),
        "devices": [device.name for device in devices if device.subgroup_size in shader.sizes],
        "findings": [f"{entry.kind} {places(entry)}: {entry.message}" for entry in found],
        "known": shader.known,
        "not covered": missing,
        "error / tolerance": round(compare(shader, module), 4),
        "derivation": shader.derivation,
        "seconds": round(time.monotonic() - start, 1),
    }
    if compared:
        row["error / tolerance on"] = {choice: errors_on(choice, shader, module) for choice in compared}
    if mutants:
        row["mutants"] = [judge(shader, root, mutant, found) for mutant in shader.mutants]
        tree = tree_of(shader, root)
        row["tree"] = judge(shader, root, tree, found) if tree is not None else None
    if barriers:
        start = time.monotonic()
        row["barriers"] = barriers_of(shader, module)
        row["seconds of barriers"] = round(time.monotonic() - start, 1)
    return row


def show(row: dict[str, Any]) -> None:
    """Print one row."""
    state = f"{len(row['findings'])} findings" if row["findings"] else "clean"
    print(f"{row['name']}: {state}, error {row['error / tolerance']} of the tolerance ({row['seconds']} s)")
    for text in row["findings"] + row["not covered"]:
        print(f"    {text}")
    for mutant in row.get("mutants", ()):
        print(f"    {mutant['kind']} at line {mutant['line']}: {mutant['result']} ({mutant['seconds']} s)")
        if mutant["result"] != "line":
            print(f"        {mutant['pattern']!r} -> {mutant['replacement']!r} {mutant['findings']}")
    for text in row.get("barriers", ()):
        print(f"    {text}")
    sys.stdout.flush()


def main() -> int:
    """Run; the exit code is 1 if a correct shader has a finding or a wrong result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ggml", type=Path, help="ggml's folder vulkan-shaders")
    parser.add_argument("--ncnn", type=Path, help="ncnn's folder src")
    parser.add_argument("--only", default="", help="names, with commas between them (default: all)")
    parser.add_argument("--device", action="append", default=[], help="also run on this device")
    parser.add_argument("--numpy-on", action="append", default=[], help="compare this device with NumPy")
    parser.add_argument("--mutants", action="store_true", help="also check five mutants of each shader")
    parser.add_argument("--barriers", action="store_true", help="also say which barriers are needed")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--out", type=Path, help="JSON file; rows of other shaders in it are kept")
    arguments = parser.parse_args()
    roots = {"ggml": arguments.ggml, "ncnn": arguments.ncnn}
    only = set(filter(None, arguments.only.split(",")))
    rows: dict[str, dict[str, Any]] = {}
    if arguments.out and arguments.out.exists():
        rows = {row["name"]: row for row in json.loads(arguments.out.read_text())}
    good = True
    chosen = [shader for shader in SHADERS if roots[shader.corpus] and (not only or shader.name in only)]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        started = {
            shader.name: pool.submit(
                examine_named, shader.name, roots[shader.corpus], arguments.mutants, arguments.barriers,
                arguments.device, arguments.numpy_on,
            )
            for shader in chosen
        }  # fmt: skip
        for shader in chosen:
            try:
                row = started[shader.name].result()
            except (VkgroupError, ValueError) as error:
                print(f"{shader.name}: {error}")
                good = False
                continue
            good &= bool(row["findings"]) == bool(row["known"]) and row["error / tolerance"] <= 1
            compared = row.get("error / tolerance on", {})
            good &= all(error <= 1 for errors in compared.values() for error in errors.values())
            rows[shader.name] = row
            show(row)
            if arguments.out:
                arguments.out.write_text(json.dumps(list(rows.values()), indent=1) + "\n")
    return 0 if good else 1


def examine_named(
    name: str, root: Path, mutants: bool, barriers: bool, choices: Sequence[str], compared: Sequence[str]
) -> dict[str, Any]:
    """Examine the shader of a name, in a worker process."""
    shader = next(shader for shader in SHADERS if shader.name == name)
    return examine(shader, root, mutants, barriers, choices, compared)


if __name__ == "__main__":
    sys.exit(main())
