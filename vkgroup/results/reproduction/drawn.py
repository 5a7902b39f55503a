"""The evidence of a failure as tables in Markdown: one subgroup, lane by lane, and the masks that it got."""

from __future__ import annotations

from vkgroup.results.reproduction.values import Json

_LAST = ("input", "operand", "expected", "got")


def table(evidence: Json) -> list[str]:
    """Return the lines of a README that show what `vkgroup.conformance.evidence` has."""
    unit, names = evidence.get("unit", "lane"), evidence.get("names")
    size, active, wrong = evidence["size"], evidence["active"], set(evidence["wrong"])
    rows = evidence["rows"]
    columns = [name for name in rows if name not in _LAST] + [name for name in _LAST if name in rows]
    heads = [unit, *(["active"] if active is not None else []), *columns, ""]
    lines = [*_where(evidence), f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for lane in range(size):
        cells = [names[lane] if names else str(lane)]
        if active is not None:
            cells.append("yes" if int(active, 16) >> lane & 1 else "no")
        cells += [_cell(rows, name, lane) for name in columns]
        lines.append(f"| {' | '.join([*cells, '**wrong**' if lane in wrong else ''])} |")
    return [*lines, "", *_masks(evidence)]


def _where(evidence: Json) -> list[str]:
    place = f"place {evidence['slot']} in the shader" if evidence["slot"] else ""
    mask = f"active mask `{evidence['active']}`" if evidence["active"] is not None else ""
    words = ", ".join(filter(None, (evidence["where"], place, mask)))
    return [f"{words[0].upper()}{words[1:]}.", ""] if words else []


def _cell(rows: Json, name: str, lane: int) -> str:
    """Return one value; where nothing is expected of one that is there, any is legal."""
    text = rows[name][lane]
    if text is None:
        return "any" if name == "expected" and rows.get("got", {lane: None})[lane] is not None else ""
    return str(text).replace("|", "\\|")


def _masks(evidence: Json) -> list[str]:
    """Draw sets of lanes, a letter for each lane; X marks who is wrongly in one, or missing."""
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
