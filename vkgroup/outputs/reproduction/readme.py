"""The README of a reproduction folder, which describes the failure."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from vkgroup.outputs.reproduction.folder import DEVICE, PROGRAM, RECIPE, SHRUNK, write_readme
from vkgroup.outputs.reproduction.shaders import read_source
from vkgroup.outputs.reproduction.values import Json

_LAST = ("input", "operand", "expected", "got")


def evidence_table(evidence: Json, most: int | None = None) -> list[str]:
    """Return the lines of a README that show the evidence (`vkgroup.conformance.evidence`).

    `most`: so many lanes are shown, the active ones or wrong ones with all inputs; None for every lane.
    """
    unit, names = evidence.get("unit", "lane"), evidence.get("names")
    size, active, wrong = evidence["size"], evidence["active"], set(evidence["wrong"])
    rows = evidence["rows"]
    columns = [name for name in rows if name not in _LAST] + [name for name in _LAST if name in rows]
    heads = [unit, *(["active"] if active is not None else []), *columns, ""]
    lines = [*_evidence_place(evidence), f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    mask = -1 if active is None else int(active, 16)
    shown = sorted(wrong | {lane for lane in range(size) if mask >> lane & 1})
    is_cut = most is not None and len(shown) > most
    for lane in range(size) if most is None else sorted(wrong)[:most] if is_cut else shown:
        cells = [names[lane] if names else str(lane)]
        if active is not None:
            cells.append("yes" if mask >> lane & 1 else "no")
        cells += [_evidence_cell(rows, name, lane) for name in columns]
        lines.append(f"| {' | '.join([*cells, '**wrong**' if lane in wrong else ''])} |")
    if is_cut:
        inputs = (name for name in ("input", "operand") if name in rows)
        told = (f"; {name}s: {', '.join(str(rows[name][lane]) for lane in shown)}" for name in inputs)
        of_all = f"of {unit}s {', '.join(names[lane] if names else str(lane) for lane in shown)}"
        lines += ["", f"{len(wrong)} {of_all} are wrong{''.join(told)}."]
    return [*lines, "", *_masks(evidence)]


def _evidence_place(evidence: Json) -> list[str]:
    place = f"place {evidence['slot']} in the shader" if evidence["slot"] else ""
    mask = f"active mask `{evidence['active']}`" if evidence["active"] is not None else ""
    words = ", ".join(filter(None, (evidence["where"], place, mask)))
    return [f"{words[0].upper()}{words[1:]}.", ""] if words else []


def _evidence_cell(rows: Json, name: str, lane: int) -> str:
    """Return the text of one value; "any" if the lane recorded a value and nothing is expected."""
    text = rows[name][lane]
    if text is None:
        return "any" if name == "expected" and rows.get("got", {lane: None})[lane] is not None else ""
    return str(text).replace("|", "\\|")


def _masks(evidence: Json) -> list[str]:
    """Return sets of lanes as text with one letter per lane; X marks wrong or missing lanes."""
    masks = evidence.get("masks", [])
    if not masks:
        return []
    width = max(len(f"{one['name']} {one['mask']}") for one in masks)
    lines = ["Lanes from 0 on: `#` is in the mask, `.` is not, `X` is wrongly in it, and `o` is missing.", ""]
    drawn = [
        f"{one['name']} {one['mask']}".ljust(width) + "  " + _strip(one, evidence["size"]) for one in masks
    ]
    return [*lines, "```", *drawn, "```", ""]


def _strip(one: Json, size: int) -> str:
    mask, wrong = int(one["mask"], 16), int(one["wrong"], 16)
    letters = {(1, 0): "#", (1, 1): "X", (0, 0): ".", (0, 1): "o"}
    return "".join(letters[mask >> lane & 1, wrong >> lane & 1] for lane in range(size))


_OUTCOMES = {
    "Pass": "The device passed: everything that the specification defines was as it must be. The case was "
    "judged alone; in a run it may share a shader with others, and fail there for their company.",
    "Fail": "The device failed: a result that the specification defines was another one, or a valid shader "
    "was refused.",
    "Undefined": "The case ran, and the specification defines none of its results: nothing more can be said.",
    "Crash": "The process that ran the case died, or the device was lost.",
    "Timeout": "The case did not finish in its time.",
    "Compiled": "The driver compiled the shaders of the case; nothing was executed.",
    "Rejected": "The driver rejected a valid shader of the case; nothing was executed.",
}

_LANES = {
    "subgroup": "which subgroup a row is: place in the shader, group, number of the subgroup",
    "number": "the number by which the stage knows the subgroup: its first invocation, outside of compute",
    "mask": "the active mask, four words",
    "active": "whether a lane is in it",
    "recorded": "whether a lane left a record (helper invocations leave none)",
    "invocation": "which invocation a lane was",
    "input": "what a lane fed into the operation",
    "operand": "its further operand",
    "least": "the expected value",
    "greatest": "the greatest legal value; `least` is then the least (a sum in any order is)",
    "defined": "where the specification defines the value; elsewhere anything is legal",
    "got": "what the device gave",
    "wrong": "where that is wrong",
    "at": "the words of the output in which a lane's value lies",
}


def write_case(folder: Path, record: Json) -> None:
    """Write the README of a case."""
    result, device = record["result"], record["device"]
    lines = [
        f"# {record['case']}",
        "",
        f"**{result['status']}** on {device['name']} ({device['driver']}), subgroups of"
        f" {device['subgroup_size']}. {_OUTCOMES[result['status']]}",
        "",
        *_cause(record),
        *_judged(record),
        *_wrong(record),
        *_smaller(record),
        *_program(folder, record),
        *_repeating(folder, record),
        *_files(record),
    ]
    write_readme(folder, lines)


def _cause(record: Json) -> list[str]:
    """Return the lines on the cause for which the folder was made."""
    cause = record.get("cause")
    if cause is None:
        return []
    lines = ["## Cause", "", f"{cause['sentence']}.", "", f"Explanation: {cause['explained']}.", ""]
    if rule := cause["rule"]:
        quote_ = rule["quote"].replace("<", r"\<")
        lines += [f"Violated rule ({rule['strength']}): {rule['document']}: “{quote_}”", ""]
    if cause["first"] != record["case"]:
        lines += [f"The run failed in `{cause['first']}`; this case is simpler and fails likewise.", ""]
    if part := record.get("part"):
        lines += [f"The shader is a part of that of the case: {part}.", ""]
    return lines


def _judged(record: Json) -> list[str]:
    """Return the lines on the basis of the verdict, with the quotation of the specification."""
    result = record["result"]
    lines = ["## What is required", "", f"{record['sentence'].rstrip('.')}."]
    if record.get("specification"):
        # Quotations name operands as "<value>", which Markdown would interpret as a tag.
        quoted = record["specification"].replace("<", r"\<")
        lines += ["", *(f"> {line}".rstrip() for line in quoted.splitlines()), ""]
    if result["defined"] or result["undefined"]:
        lines.append(
            f"{result['defined']} results are defined and were judged; {result['undefined']} are left open "
            "by the specification, and were not."
        )
    if record["lanes"] is not None:
        exact = (
            "in every bit" if record["lanes"]["bits"] else "as numbers (any NaN, any zero is like another)"
        )
        lines += [
            "",
            "Each lane recorded its place, the active mask at the operation, and its result. What the result "
            "must be follows from the values of the lanes in that mask alone: it is in `expected/`, lane by "
            f"lane, and compared {exact}.",
        ]
        return [*lines, ""]
    lines += ["", f"Cases of this family (`{record['family']}`) are judged as a whole, by rules in vkgroup."]
    reference = record.get("reference") or {"outputs": [], "why_not": "nothing ran"}
    if reference["outputs"]:
        lines.append(
            "`expected/` has what the reference device, the specification in NumPy, leaves in each output "
            "with the same shaders and inputs and the same subgroup size, and which elements the "
            "specification defines, whatever the order of atomics. It is one legal outcome: where a "
            "device may put invocations into other lanes, or part them in divergent control flow, others "
            "are as legal."
        )
        for one in reference["outputs"]:
            if one["differing"]:
                lines.append(
                    f"\nStep {one['step']}, `{one['name']}`: {one['differing']} defined elements differ."
                )
    if reference["why_not"]:
        part = "the rest of them" if reference["outputs"] else "them"
        lines.append(f"There are no arrays of expected values for {part}: {reference['why_not']}.")
    return [*lines, ""]


def _wrong(record: Json) -> list[str]:
    """Return the lines on the failure."""
    result = record["result"]
    passed = result["status"] in ("Pass", "Undefined", "Compiled")
    lines = ["## What was found" if passed else "## What is wrong", ""]
    if result["detail"]:
        lines += ["```", result["detail"], "```", ""]
    elif passed:
        lines += ["Nothing is wrong.", ""]
    if not record["steps"]:
        lines += ["The device was not given any work before that.", ""]
    elif result["status"] in ("Crash", "Timeout"):
        last = record["steps"][-1]
        what = "finished" if last["outputs"] else "did not finish"
        lines += [f"The last step, {len(record['steps']) - 1} (a {last['call']}), {what}.", ""]
    if "size" in (result.get("evidence") or {}):  # of lanes; wrong numbers of lanes have no table
        lines += evidence_table(result["evidence"])
    return lines


def _smaller(record: Json) -> list[str]:
    """Return the lines on the folder of a smaller program."""
    found = record.get("shrunk")
    if found is None:
        return []
    end = "" if found["done"] else " The search was ended before nothing more could be left out."
    return [
        "## A smaller program",
        "",
        f"`{SHRUNK}/` is a folder like this one, of a program that fails likewise and is what is left of this"
        f" one: {found['statements']} of {found['of']} statements.{end} What it has to record was checked on"
        " the reference device.",
        "",
    ]


def _program(folder: Path, record: Json) -> list[str]:
    """Return the lines with the source of a smaller program."""
    sources = [entry["source"] for entry in record["shaders"] if "source" in entry]
    if "of" not in record or not sources:
        return []
    text = read_source(folder, sources[0])
    start = "void main()"
    return [
        "## The program",
        "",
        f"What is left of {record['of']}, from its `main` on (`{sources[0]}` has the rest):",
        "",
        "```glsl",
        start + text.partition(start)[2].rstrip(),
        "```",
        "",
    ]


def _repeating(folder: Path, record: Json) -> list[str]:
    name = quote(folder.name)
    seed = f" --seed {record['seed']}" if record["seed"] else ""
    device = f" --device {quote(record['device'].get('choice') or record['device']['name'])}"
    return [
        "## How to repeat it",
        "",
        "With this folder alone, on this or any other device (exit code 0: it agrees now; 1: it does not):",
        "",
        "```",
        f"vkgroup run {name}{device}",
        f"vkgroup run {name} --device D",
        "```",
        "",
        *_c_program(record),
        f"From the suite, {'the whole program' if 'of' in record else 'with the data made anew'}:",
        "",
        "```",
        f"vkgroup conform{device}{seed} --filter {quote(record.get('of', record['case']))}",
        "```",
        "",
    ]


def _c_program(record: Json) -> list[str]:
    """Return the lines on the C program, or on why there is none."""
    if "no_program" in record:
        return [f"There is no C program: {record['no_program']}.", ""]
    return [
        "Without vkgroup, with a C compiler and Vulkan's headers (exit code 0: it is right; 1: it is wrong; "
        "3: it cannot run):",
        "",
        "```",
        f"cc {PROGRAM} -lvulkan && ./a.out",
        "```",
        "",
    ]


def _files(record: Json) -> list[str]:
    """Return the lines that list the files of the folder."""
    lines = ["## What is in this folder", ""]
    for entry in record["shaders"]:
        names = [f"`{entry[key]}`" for key in ("source", "spirv", "text") if key in entry]
        lines.append(f"- {', '.join(names)}: the {entry['stage']} shader")
    for number, step in enumerate(record["steps"]):
        lines.append(f"- step {number}, a {step['call']}: " + _step(step))
    if record.get("left_out"):
        lines.append(f"- {record['left_out']} more steps were made, and are not written down")
    if record["lanes"] is not None:
        lines += [f"- `{file}`: {_LANES[name]}" for name, file in sorted(record["lanes"]["files"].items())]
    for one in (record.get("reference") or {}).get("outputs", ()):
        lines.append(
            f"- `{one['file']}`, `{one['defined']}`: what the reference device leaves in `{one['name']}` of "
            f"step {one['step']}, and what of it is defined"
        )
    return [
        *lines,
        f"- `{DEVICE}`: what the device declares, and what experiments found (`vkgroup probe --json`)",
        "- `repro.json`: all of it for `vkgroup run`",
        *(
            []
            if "no_program" in record
            else [f"- `{PROGRAM}`, `{RECIPE}`: a C program that repeats the case, and what it reads"]
        ),
        "",
        f"Made by vkgroup {record['vkgroup']}, seed {record['seed']}.",
    ]


def _step(step: Json) -> str:
    given = sorted(set(_arrays(step["arguments"])))
    words = f"given {', '.join(f'`{file}`' for file in given)}" if given else "given no arrays"
    left = dict.fromkeys(f"`{output['file']}`" for output in step["outputs"])
    return f"{words}; left {', '.join(left) if left else 'nothing'}"


def _arrays(value: Json) -> list[str]:
    """Return the array files in a step's arguments."""
    if isinstance(value, str):
        return [value] if value.endswith(".npy") else []
    if isinstance(value, dict):
        return [file for part in value.values() for file in _arrays(part)]
    return [file for part in value for file in _arrays(part)] if isinstance(value, list) else []
