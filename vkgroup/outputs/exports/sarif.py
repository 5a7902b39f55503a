"""Findings of checks as SARIF 2.1.0 (OASIS), which code hosts and editors show at the lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vkgroup.base.files import write_output
from vkgroup.check.findings import FindingKind
from vkgroup.outputs.exports.annotations import fingerprint, in_repository
from vkgroup.outputs.exports.checks import ExportEntry, tag_of

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(entries: Sequence[ExportEntry], path: Path) -> None:
    """Write the findings of checks, each once, however many configurations have it.

    Weak findings are warnings, those of questions are notes, others errors; an allowed one is suppressed,
    with the reason. Configurations without a report are notifications of the tool.
    """
    results: dict[str, dict[str, Any]] = {}
    for entry in entries:
        report = entry.outcome.report or {"findings": [], "questions": [], "allowed": []}
        for finding in report["findings"]:
            _add(results, finding, entry.name)
        for question in report["questions"]:
            for finding in question["findings"]:
                _add(results, {**finding, "help": question["remedy"]}, entry.name, level="note")
        for allowed in report["allowed"]:
            _add(results, allowed["finding"], entry.name, allowed["allowance"])
    failed = [entry for entry in entries if tag_of(entry.outcome.kind) == "error"]
    told = [entry for entry in entries if entry.outcome.report is None]
    run = {
        "tool": {
            "driver": {
                "name": "vkgroup check",
                "semanticVersion": version("vkgroup"),
                "rules": [_rule(kind) for kind in FindingKind],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not failed,
                "toolExecutionNotifications": [
                    {
                        "level": "error" if entry in failed else "warning",
                        "message": {"text": f"{entry.name}: {entry.outcome.summary}"},
                        "locations": [_location(entry.error_place)],
                    }
                    for entry in told
                ],
            }
        ],
        "results": list(results.values()),
        "columnKind": "unicodeCodePoints",
    }
    write_output(path, json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n")


def _rule(kind: FindingKind) -> dict[str, Any]:
    """Return the description of a kind of finding."""
    return {
        "id": kind.value,
        "shortDescription": {"text": kind.headline},
        "fullDescription": {"text": kind.headline},
        "help": {"text": kind.page, "markdown": kind.page},
        "defaultConfiguration": {"level": "warning" if kind.weak else "error"},
    }


def _add(
    results: dict[str, dict[str, Any]],
    finding: dict[str, Any],
    configuration: str,
    allowance: dict[str, Any] | None = None,
    level: str = "",
) -> None:
    """Add a finding, or the name of a further configuration to it."""
    place = finding["place"]
    identity = f"{finding['kind']} {place['file']} {place['line']} {finding['message']}"
    key = identity + " allowed" * (allowance is not None)
    if key in results:
        results[key]["properties"]["configurations"].append(configuration)
        return
    notes = [note for note in finding["notes"] if note["place"] is not None]
    told = (note["message"] for note in finding["notes"] if note["place"] is None)
    text = [finding["message"], *told, f"help: {finding['help']}"]
    results[key] = {
        "ruleId": finding["kind"],
        "level": level or ("warning" if finding["weak"] else "error"),
        "message": {"text": ".\n".join(text)},
        "locations": [_location(place)],
        "relatedLocations": [
            {"id": number, "message": {"text": note["message"]}, **_location(note["place"])}
            for number, note in enumerate(notes, 1)
        ],
        # The number of the line is left out, so that the finding stays the same where lines are added.
        "partialFingerprints": {
            "vkgroup/v1": fingerprint(f"{finding['kind']} {place['file']} {place['text']}")
        },
        "properties": {"configurations": [configuration], "repeat": finding["command"]},
    }
    if allowance is not None:
        kind = "inSource" if allowance["origin"].startswith(f"{place['file']}:") else "external"
        results[key]["suppressions"] = [{"kind": kind, "justification": allowance["reason"]}]


def _location(place: dict[str, Any]) -> dict[str, Any]:
    """Return a place; one without a line is the file."""
    path = Path(in_repository(Path(place["file"]), "GITHUB_WORKSPACE"))
    file = (
        {"uri": path.as_uri()} if path.is_absolute() else {"uri": quote(str(path)), "uriBaseId": "%SRCROOT%"}
    )
    physical: dict[str, Any] = {"artifactLocation": file}
    if place["line"]:
        physical["region"] = {"startLine": place["line"], "snippet": {"text": place["text"]}}
        if place["column"]:
            physical["region"]["startColumn"] = place["column"]
    return {"physicalLocation": physical}
