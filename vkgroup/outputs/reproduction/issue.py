"""``issue.md`` of a reproduction folder: the failure for a bug tracker, in at most `LINES` lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from vkgroup.base.files import printable, writing
from vkgroup.conformance.caselist import listed_names_of
from vkgroup.outputs.reproduction.folder import ISSUE, PROGRAM, SHRUNK, read
from vkgroup.outputs.reproduction.readme import evidence_table
from vkgroup.outputs.reproduction.shaders import read_source
from vkgroup.outputs.reproduction.values import Json
from vkgroup.record.causes.description import axes_of, subject_of

LINES = 60
"""Most lines of the report."""

_LAYOUTS = ((8, 0), (8, 60), (8, 80), (8, 100), (8, 120), (4, 120), (1, 120), (0, 120))
"""Most lanes (0: one, without masks), and most columns of joined lines of the shader; the first that fits."""


def write_issue(folder: Path, record: Json) -> Path:
    """Write the report on a failing case into its folder, and return its path.

    If the folder has a smaller program that fails, the report is on this one.
    """
    path, within = folder / ISSUE, SHRUNK if record.get("shrunk") else ""
    smallest = {"cause": record.get("cause"), "shrunk": record.get("shrunk"), **read(folder / within)}
    with writing(path):
        path.write_text(printable("\n".join(_lines(folder, within, smallest))) + "\n", encoding="utf-8")
    return path


def _lines(folder: Path, within: str, record: Json) -> list[str]:
    """Return the lines of the report: with the whole shader if there is room, else with an excerpt."""
    head, result = _head(folder, within, record), record["result"]
    lanes = record["lanes"] or record.get("masks") or {"layout": {"stage": ""}}
    entries = [entry for entry in record["shaders"] if "source" in entry]
    entry = next((one for one in entries if one["stage"].startswith(lanes["layout"]["stage"])), None)
    if entry is None:
        return [*head, *_found(result, _LAYOUTS[0][0])]
    source = read_source(folder / within, entry["source"]).splitlines()
    code = [line.rstrip() for line in source if line.strip() and not line.strip().startswith("//")]
    told = (result.get("evidence") or {}).get("code", "").partition("\n")[0]
    operation = told or axes_of(record["case"]).get("operation", "void main(")
    name = f"`{Path(within, entry['source'])}`"
    fence = f"```{entry.get('dialect', 'glsl').replace('vulkan', 'glsl')}"
    for most, columns in _LAYOUTS:
        lines = [*head, *_found(result, most), f"## Shader: {name}", fence]
        lines += [*_joined(code, operation, columns), "```"]
        if len(lines) <= LINES:
            return lines
    lines = [*head, *_found(result, _LAYOUTS[0][0])]
    at = next((n for n, line in enumerate(source) if operation in line and "//" not in line), 0)
    room = LINES - len(lines) - 3
    shown = source[max(min(at - room // 3, len(source) - room), 0) :][:room]
    title = f"## {len(shown)} of {len(source)} lines of {name}, which is attached"
    return [*lines, title, fence, *filter(str.strip, shown), "```"]


def _head(folder: Path, within: str, record: Json) -> list[str]:
    """Return the lines before the expected and received values."""
    device, result, cause = record["device"], record["result"], record["cause"] or {}
    case = record.get("of", record["case"])
    names = listed_names_of(case)
    same = f", Khronos' `{names[0]}`" if names else ""
    part = f" Only a part of it runs: {record['part']}." if "part" in record else ""
    if within:
        sizes = record["shrunk"]
        part = f" The program here has {sizes['statements']} of its {sizes['of']} statements: `{within}`."
    rule = cause.get("rule")
    choice = quote(device.get("choice") or device["name"])
    seed = f" --seed {record['seed']}" if record["seed"] else ""
    return [
        f"# {cause.get('title') or subject_of(case) + ': ' + result['status'].lower()}",
        f"**{result['status']}** on {device['name']} ({device['driver']}), subgroups of"
        f" {device['subgroup_size']}.",
        f"Case of vkgroup {record['vkgroup']}: `{case}`{same}.{part}",
        *([f"Rule: {rule['document']}: “{' '.join(rule['quote'].split())}”"] if rule else []),
        "```",
        f"vkgroup run {quote(str(Path(folder.name, within)))} --device {choice}    # the attached folder",
        f"vkgroup conform --device {choice}{seed} --filter {quote(case)}{'  # whole program' * bool(within)}",
        *([f"cc {PROGRAM} -lvulkan && ./a.out    # in the folder"] if "no_program" not in record else []),
        "```",
    ]


def _found(result: Json, most: int) -> list[str]:
    """Return the lines on lanes, or on an error."""
    if "size" in (evidence := result.get("evidence") or {}):
        rows = {name: row for name, row in evidence["rows"].items() if name != "hypothesis"}
        shown = evidence | {"rows": rows} | ({} if most else {"masks": []})
        return ["## Expected and got", *evidence_table(shown, max(most, 1))[:-1]]
    return ["## Error", "```", *result["detail"].splitlines()[:6], "```"]


def _joined(lines: Sequence[str], operation: str, columns: int) -> list[str]:
    """Return a shader with successive statements in one line, except those with the operation.

    In the longest lines, successive closing braces are joined, too.
    """
    kept = ("#", "//", "if (", "for (", operation)
    joined = [""]
    for line in lines:
        text, last = line.lstrip(), joined[-1]
        same = len(last) - len(last.lstrip()) == len(line) - len(text) and len(last) + len(text) < columns
        is_plain = all(one.endswith(";") and not any(word in one for word in kept) for one in (last, line))
        is_end = columns == _LAYOUTS[-1][1] and text == "}" and last != "" and not last.strip(" }")
        joined[-1:] = [f"{last} {text}"] if is_end or (same and is_plain) else [last, line]
    return joined[1:]
