"""``issue.md`` of a reproduction folder: the failure for a bug tracker, in at most `LINES` lines."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from vkgroup.base.files import printable, writing
from vkgroup.conformance.caselist import listed_names_of
from vkgroup.outputs.reproduction.folder import ISSUE, PROGRAM, SHRUNK, read
from vkgroup.outputs.reproduction.readme import evidence_table
from vkgroup.outputs.reproduction.shaders import read_source
from vkgroup.outputs.reproduction.values import Json

LINES = 60
"""Most lines of the report."""

_SHOWN = 6
"""Most wrong lanes, or lines of an error, in the report."""


def write_issue(folder: Path, record: Json) -> Path:
    """Write the report on a failing case into its folder, and return its path.

    If the folder has a smaller program that fails, the report is on this one.
    """
    path, within = folder / ISSUE, folder / SHRUNK if record.get("shrunk") else folder
    smallest = read(within)
    lines = _lines(folder, smallest)
    lines += _shader(within, smallest, LINES - len(lines))
    with writing(path):
        path.write_text(printable("\n".join(lines)) + "\n", encoding="utf-8")
    return path


def _lines(folder: Path, record: Json) -> list[str]:
    """Return the lines before the shader."""
    device, result, cause = record["device"], record["result"], record.get("cause") or {}
    case = record.get("of", record["case"])
    part = f" Only a part of it runs: {record['part']}." if "part" in record else ""
    names = listed_names_of(case)
    same = f", Khronos' `{names[0]}`" if names else ""
    rule = cause.get("rule")
    choice = quote(device.get("choice") or device["name"])
    seed = f" --seed {record['seed']}" if record["seed"] else ""
    return [
        f"# {cause.get('title') or record['sentence'].rstrip('.')}",
        "",
        f"**{result['status']}** on {device['name']} ({device['driver']}), subgroups of"
        f" {device['subgroup_size']}.",
        f"Case of vkgroup {record['vkgroup']}: `{case}`{same}.{part}",
        *([f"Rule: {rule['document']}: “{' '.join(rule['quote'].split())}”"] if rule else []),
        "",
        "```",
        f"vkgroup conform --device {choice}{seed} --filter {quote(case)}",
        f"vkgroup run {quote(folder.name)} --device {choice}    # with the attached folder",
        *([f"cc {PROGRAM} -lvulkan && ./a.out    # in the folder"] if "no_program" not in record else []),
        "```",
        "",
        "## Expected and got",
        "",
        *_found(result),
    ]


def _found(result: Json) -> list[str]:
    """Return the lines on wrong lanes, or on an error."""
    if "size" in (evidence := result.get("evidence") or {}):
        rows = {name: row for name, row in evidence["rows"].items() if name != "hypothesis"}
        more = ["…", ""] if len(evidence["wrong"]) > _SHOWN else []
        return [*evidence_table(evidence | {"rows": rows}, _SHOWN), *more]
    return ["```", *result["detail"].splitlines()[:_SHOWN], "```", ""]


def _shader(folder: Path, record: Json, room: int) -> list[str]:
    """Return at most `room` lines with the tested shader, or its ``main``, without comments."""
    lanes = record["lanes"] or record.get("masks") or {"layout": {"stage": ""}}
    entries = [entry for entry in record["shaders"] if "source" in entry]
    entry = next((one for one in entries if one["stage"].startswith(lanes["layout"]["stage"])), None)
    if entry is None:
        return []
    source = read_source(folder, entry["source"]).splitlines()
    lines = [line for line in source if line.strip() and not line.strip().startswith("//")]
    room -= 4
    if len(lines) > room:
        main = next((number for number, line in enumerate(lines) if line.startswith("void main()")), 0)
        first = min(main, len(lines) - (room - 2))
        shown = lines[first : first + room - 2]
        lines = ["// …", *shown, *(["// …"] if first + len(shown) < len(lines) else [])]
    dialect = entry.get("dialect", "glsl").replace("vulkan", "glsl")
    return [f"## Shader: `{entry['source']}`", "", f"```{dialect}", *lines, "```"]
