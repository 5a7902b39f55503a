"""Checks of many shaders as JUnit XML, and findings as annotations for GitHub and GitLab."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkgroup.base.files import write_output
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind
from vkgroup.outputs.exports.annotations import (
    GITLAB,
    MOST,
    escaped,
    escaped_property,
    in_repository,
    quality_entry,
)
from vkgroup.outputs.exports.junit import JUnitCase, write_cases

_COMPILER_PLACE = re.compile(rf"{OutcomeKind.NO_COMPILE}: (.+?):(\d+)(?::(\d+))?: ")
"""File, line and column of a compiler's message, at the beginning of an outcome's summary."""

_SUITE = "vkgroup check"
_LISTED = 5


@dataclass(frozen=True)
class ExportEntry:
    """One configuration: its name, its shader and its outcome."""

    name: str
    shader: str
    outcome: ConfigurationOutcome

    @property
    def error_place(self) -> dict[str, Any]:
        """The place of an outcome that is an error; line and column are 0 if the compiler gives none."""
        place = _COMPILER_PLACE.match(self.outcome.summary)
        file, line, column = place.groups(default=0) if place else (self.shader, 0, 0)
        return {"file": file, "line": int(line), "column": int(column), "text": ""}


@dataclass
class _Annotation:
    """A finding, or an error, and the configurations that have it."""

    kind: str
    message: str
    file: str
    line: int
    configurations: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The message with the configurations."""
        names = self.configurations
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        return f"{self.message}\nconfigurations: {', '.join(names[:_LISTED])}{more}"


def write_junit(entries: Sequence[ExportEntry], path: Path) -> None:
    """Write the outcomes as JUnit XML: findings fail, what is not covered is skipped, others are errors.

    The output of a case lists the findings that are allowed.
    """
    cases = (
        JUnitCase(
            entry.shader,
            entry.name,
            entry.outcome.seconds,
            tag_of(entry.outcome.kind),
            entry.outcome.summary,
            "\n".join(entry.outcome.text),
            "\n".join(line for line in entry.outcome.text if line.startswith("allowed: ")),
        )
        for entry in entries
    )
    write_cases(_SUITE, cases, path)


_TAGS = {
    OutcomeKind.CLEAN: "",
    OutcomeKind.QUESTIONS: "",
    OutcomeKind.WEAK: "",
    OutcomeKind.FINDINGS: "failure",
    OutcomeKind.NOT_COVERED: "skipped",
    OutcomeKind.IN_PART: "skipped",
}
"""The element of JUnit XML for an outcome; the others are errors."""


def tag_of(kind: OutcomeKind) -> str:
    """Return ``failure``, ``error`` or ``skipped`` for an outcome; empty for one that passes."""
    return _TAGS.get(kind, "error")


def github(entries: Sequence[ExportEntry]) -> list[str]:
    """Return GitHub's workflow commands: one error for each finding, however many configurations have it.

    The last command counts the findings that exceed GitHub's limit.
    """
    commands = [_command(entry) for entry in _annotations(entries)]
    if len(commands) <= MOST:
        return commands
    more = len(commands) - MOST + 1
    return [*commands[: MOST - 1], f"::error title={more} more::{escaped('see the output of vkgroup check')}"]


def _command(entry: _Annotation) -> str:
    fields = {
        "title": f"vkgroup check: {entry.kind}",
        "file": in_repository(Path(entry.file), "GITHUB_WORKSPACE"),
    }
    if entry.line:
        fields["line"] = str(entry.line)
    listed = ",".join(f"{name}={escaped_property(value)}" for name, value in fields.items())
    return f"::error {listed}::{escaped(entry.text)}"


def write_gitlab(entries: Sequence[ExportEntry], folder: Path) -> Path:
    """Write GitLab's code quality report into a folder, with one entry for each finding; return its path."""
    report = [
        quality_entry(
            entry.kind,
            entry.text,
            "major",
            (in_repository(Path(entry.file), "CI_PROJECT_DIR"), max(1, entry.line)),
            f"{entry.kind} {entry.file} {entry.line} {entry.message}",
        )
        for entry in _annotations(entries)
    ]
    path = folder / GITLAB
    write_output(path, json.dumps(report, indent=1) + "\n")
    return path


def _annotations(entries: Sequence[ExportEntry]) -> list[_Annotation]:
    """Return the findings and errors, each once with all configurations that have it."""
    found: dict[tuple[Any, ...], _Annotation] = {}
    for entry in entries:
        for kind, message, file, line in _problems(entry):
            key = (kind, message, file, line)
            found.setdefault(key, _Annotation(*key)).configurations.append(entry.name)
    return list(found.values())


def _problems(entry: ExportEntry) -> list[tuple[str, str, str, int]]:
    """Return kind, message, file and line of what is wrong with a configuration."""
    outcome = entry.outcome
    if tag_of(outcome.kind) in ("", "skipped"):
        return []
    findings = (outcome.report or {}).get("findings", [])
    if outcome.kind != OutcomeKind.FINDINGS or not findings:
        place = entry.error_place
        return [(outcome.kind.value, outcome.summary, place["file"], place["line"])]
    return [
        (finding["kind"], finding["message"], finding["place"]["file"], finding["place"]["line"])
        for finding in findings
    ]
