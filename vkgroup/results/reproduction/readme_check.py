"""The README of a check's folder: what is wrong with the shader, in words."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from vkgroup.results.reproduction.folder import DEVICE, README
from vkgroup.results.reproduction.values import Json

_KINDS = {
    "differs": "The same shader with the same inputs gives something else at other subgroup sizes, with its "
    "invocations in other lanes, or on another device. Vulkan lets a device choose its subgroup size and "
    "which invocations share a subgroup, so that all of these must be right for the shader to be.",
    "undefined": "A value that the specification leaves undefined decides a result.",
    "race": "Invocations access the same memory without anything that orders them, and one of them writes: "
    'by Vulkan\'s memory model ("Data Races") the whole dispatch is undefined.',
    "barrier": "Some invocations of a workgroup or subgroup come to a barrier and others do not, which the "
    "specification forbids (SPIR-V, OpControlBarrier).",
    "hang": "Invocations wait for each other for ever, or a loop does not end.",
    "bounds": "An access lies outside of its buffer, image or array.",
    "assumes": "The shader takes a subgroup size for granted that a device need not have.",
}


def write(folder: Path, record: Json) -> None:
    """Write the README."""
    kinds = dict.fromkeys(finding["kind"] for finding in record["report"]["findings"])
    sizes = ", ".join(map(str, record["sizes"]))
    lines = [
        f"# {record['shader']}: {record['findings']}",
        "",
        f"`vkgroup check` ran the shader on the reference device, the specification in NumPy, at the "
        f"subgroup sizes {sizes}, with lanes in order and shuffled"
        + "".join(f", and on {name}" for name in record["report"]["covered"]["devices"])
        + ".",
        "",
        "## What is wrong" if kinds else "## What was found",
        "",
        "```",
        *record["text"],
        "```",
        "",
    ]
    if kinds:
        lines += ["## What the specification says", ""]
        lines += [f"- **{kind}**: {_KINDS[kind]}" for kind in kinds]
        lines.append("")
    source = record["shaders"][0].get("source")
    name = quote(folder.name)
    lines += [
        "## How to repeat it",
        "",
        "With this folder alone, on any device (exit code 0: nothing is found any more; 1: something is):",
        "",
        "```",
        f"vkgroup run {name} --device reference",
        f"vkgroup run {name} --device D",
        "```",
        "",
    ]
    if source:
        lines += [f"Mend `{source}`, and the same command checks the mended shader.", ""]
    lines += [*_files(record), f"Made by vkgroup {record['vkgroup']}, seed {record['seed']}."]
    (folder / README).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _files(record: Json) -> list[str]:
    shader = record["shaders"][0]
    names = ", ".join(f"`{shader[key]}`" for key in ("source", "spirv", "text") if key in shader)
    lines = ["## What is in this folder", "", f"- {names}: the shader"]
    lines += [f"- `{file}`: bound to {place} (set, binding)" for place, file in record["bindings"].items()]
    for run in record["runs"]:
        what = "what is expected" if run["right"] else "what the shader leaves"
        size = f"with subgroups of {run['size']}"
        lines.append(
            f"- `{run['file']}`, `{run['defined']}`: {what} in `{run['name']}`, {size} "
            "on the reference device; and which numbers of it are defined, whatever the order of atomics"
        )
    if record["report"]["findings"] and not any(run["right"] for run in record["runs"]):
        lines.append("- There are no expected values: something is wrong at every size.")
    return [
        *lines,
        f"- `{DEVICE}`: what the device declares (`vkgroup probe --json`): {record['device']['name']}",
        "- `repro.json`: all of it for `vkgroup run`",
        "",
    ]
