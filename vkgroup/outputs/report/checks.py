"""Findings of ``vkgroup check`` as data for the page; invalid parts of a finding are left out."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from vkgroup.conformance.languages import LANGUAGES
from vkgroup.outputs.highlight import encoded, highlighted
from vkgroup.outputs.history import CheckFindings


def to_json(check: CheckFindings) -> dict[str, Any]:
    """Return a check's findings, and the sizes and devices that it covered."""
    covered = check.data.get("covered")
    covered = covered if isinstance(covered, dict) else {}
    return {
        "place": str(check.path),
        "shader": str(check.data["shader"]),
        "findings": [_finding(data) for data in _list(check.data["findings"]) if isinstance(data, dict)],
        "covered": {"sizes": _texts(covered.get("sizes")), "devices": _texts(covered.get("devices"))},
    }


def _finding(data: dict[str, Any]) -> dict[str, Any]:
    invocation = data.get("invocation")
    return {
        **{name: str(data.get(name) or "") for name in ("kind", "message", "element", "command")},
        "place": _place(data.get("place")),
        "notes": [
            {"message": str(note.get("message") or ""), "place": _place(note.get("place"))}
            for note in _list(data.get("notes"))
            if isinstance(note, dict)
        ],
        "example": _example(invocation) if isinstance(invocation, dict) else "",
        "values": [
            [_where(value[0]), str(value[1])]
            for value in _list(data.get("values"))
            if isinstance(value, list) and len(value) == 2 and isinstance(value[0], dict)
        ],
        "sizes": _texts(data.get("sizes")),
        "devices": _texts(data.get("devices")),
    }


def _place(data: Any) -> dict[str, Any] | None:
    if not isinstance(data, dict):
        return None
    file, line, text = str(data.get("file") or ""), data.get("line"), str(data.get("text") or "")
    suffix = PurePath(file).suffix[1:]
    language = suffix if suffix in LANGUAGES else "glsl" if file else "spirv"
    lines = highlighted(text, language)
    return {
        "file": file,
        "line": line if isinstance(line, int) else 0,
        "text": text,
        "colours": encoded(lines[0])[1] if len(lines) == 1 else "",
    }


def _example(invocation: dict[str, Any]) -> str:
    local, workgroup = (", ".join(_texts(invocation.get(name))) for name in ("local", "workgroup"))
    lane, subgroup = invocation.get("lane"), invocation.get("subgroup")
    return f"for example invocation ({local}) of workgroup ({workgroup}): lane {lane} of subgroup {subgroup}"


def _where(configuration: dict[str, Any]) -> str:
    shuffled = ", lanes shuffled" if configuration.get("shuffled") else ""
    return str(configuration.get("device") or f"size {configuration.get('subgroup_size')}{shuffled}")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [str(item) for item in _list(value)]
