"""Findings of ``vkgroup check`` as data for the page; invalid findings of a file are left out."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from vkgroup.results.history import Check


class _Place(msgspec.Struct):
    """A line of a shader."""

    file: str | None = ""
    line: int = 0
    text: str | None = ""


class _Note(msgspec.Struct):
    """A further place of a finding."""

    message: str | None = ""
    place: _Place | None = None


class _Invocation(msgspec.Struct):
    """The invocation that a finding gives as an example."""

    local: list[int] = []
    workgroup: list[int] = []
    lane: int | None = None
    subgroup: int | None = None


class _Configuration(msgspec.Struct):
    """A size of the reference device, or a real device."""

    device: str | None = None
    subgroup_size: int | None = None
    shuffled: bool = False

    def words(self) -> str:
        shuffled = ", lanes shuffled" if self.shuffled else ""
        return self.device or f"size {self.subgroup_size}{shuffled}"


class _Finding(msgspec.Struct):
    """A finding; see `vkgroup.check.findings`."""

    kind: str | None = ""
    message: str | None = ""
    element: str | None = ""
    command: str | None = ""
    place: _Place | None = None
    notes: list[_Note] = []
    invocation: _Invocation | None = None
    values: list[tuple[_Configuration, Any]] = []
    sizes: list[Any] = []
    devices: list[Any] = []

    def to_json(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) or "" for name in ("kind", "message", "element", "command")},
            "place": _place(self.place),
            "notes": [{"message": note.message or "", "place": _place(note.place)} for note in self.notes],
            "example": "" if self.invocation is None else _example(self.invocation),
            "values": [[configuration.words(), str(value)] for configuration, value in self.values],
            "sizes": _texts(self.sizes),
            "devices": _texts(self.devices),
        }


class _Covered(msgspec.Struct):
    """The sizes and devices of a check."""

    sizes: list[Any] = []
    devices: list[Any] = []


def to_json(check: Check) -> dict[str, Any]:
    """Return a check's findings, and the sizes and devices that it covered."""
    covered = _Covered()
    with suppress(ValueError):
        covered = msgspec.convert(check.data.get("covered"), _Covered)
    findings = []
    for finding in check.data["findings"]:
        with suppress(ValueError):
            findings.append(msgspec.convert(finding, _Finding).to_json())
    return {
        "place": str(check.path),
        "shader": str(check.data["shader"]),
        "findings": findings,
        "covered": {"sizes": _texts(covered.sizes), "devices": _texts(covered.devices)},
    }


def _place(place: _Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"file": place.file or "", "line": place.line, "text": place.text or ""}


def _example(invocation: _Invocation) -> str:
    local, workgroup = (", ".join(map(str, ids)) for ids in (invocation.local, invocation.workgroup))
    lane, subgroup = invocation.lane, invocation.subgroup
    return f"for example invocation ({local}) of workgroup ({workgroup}): lane {lane} of subgroup {subgroup}"


def _texts(values: list[Any]) -> list[str]:
    return [str(value) for value in values]
