"""Annotations of the causes of failures: workflow commands for GitHub, a code quality report for GitLab.

GitHub reads lines ``::error …`` on standard output (docs.github.com, "Workflow commands for GitHub Actions")
and shows ten of each kind per step. GitLab reads a file of JSON that the job names as its artifact
``reports: codequality`` (docs.gitlab.com, "Code Quality", "Code Quality report format"): description,
check_name, fingerprint, severity and location are read from each entry. GitLab also shows JUnit files below
30 MB (``reports: junit``; docs.gitlab.com, "Unit test reports").
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from vkgroup.base.files import write_output
from vkgroup.conformance.expectations import ExpectationOutcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.outputs.exports.baseline import FAILURES
from vkgroup.record.causes import Cause
from vkgroup.record.causes.description import count_of
from vkgroup.record.causes.text import kind_of, lines_of

GITLAB = "gl-code-quality-report.json"
"""The file for GitLab in a run's folder, with the name from GitLab's documentation."""

MOST = 10
"""Annotations of each kind that GitHub shows for one step."""

_SEVERITY = {
    ExpectationOutcome.CRASH: "critical",
    ExpectationOutcome.TIMEOUT: "critical",
    ExpectationOutcome.FAIL: "major",
}


def github(outcomes: RunOutcomes, folder: Path) -> list[str]:
    """Return the workflow commands: errors for causes and improvements, warnings for new flakes.

    Each cause of unexpected failures has one command. If its simplest unexpected case is in the baseline, the
    command points to the line there. The last command of a kind counts those that exceed GitHub's limit.
    """
    texts = {result.case: outcomes.description(result) for result in outcomes.results}
    errors = [_cause_command(outcomes, *found) for found in _causes(outcomes)]
    errors += [_command("error", outcomes, name, texts[name]) for name in _without_cause(outcomes)]
    if outcomes.run.missing:
        errors.insert(0, f"::error title=Missing::{escaped(_missing(outcomes))}")
    warnings = [
        _command("warning", outcomes, name, texts[name]) for name in outcomes.named(ExpectationOutcome.FLAKE)
    ]
    return [*_most(errors, "error", folder), *_most(warnings, "warning", folder)]


def _causes(outcomes: RunOutcomes) -> list[tuple[Cause, list[str]]]:
    """Return the causes of unexpected failures, each with these cases."""
    found = [(cause, outcomes.unexpected_of(cause)) for cause in outcomes.causes]
    return [(cause, names) for cause, names in found if names]


def _without_cause(outcomes: RunOutcomes) -> list[str]:
    """Return the unexpected cases that no cause has: improvements, and broken promises of the device."""
    return [
        name
        for name, outcome in outcomes.unexpected.items()
        if outcome != ExpectationOutcome.MISSING and name not in outcomes.cause_of
    ]


def _heading(cause: Cause, names: list[str]) -> str:
    """Return a cause in one line, with the number of its unexpected cases."""
    return f"{cause.title} ({kind_of(cause)}, {count_of(names)})"


def _cause_command(outcomes: RunOutcomes, cause: Cause, names: list[str]) -> str:
    fields = {"title": _heading(cause, names), **_line(outcomes, names[0])}
    listed = ",".join(f"{key}={escaped_property(value)}" for key, value in fields.items())
    return f"::error {listed}::{escaped(_cause_text(cause, names))}"


def _cause_text(cause: Cause, names: list[str]) -> str:
    own = [] if names[0] == cause.smallest else [f"Smallest unexpected case: {names[0]}"]
    return "\n".join([*lines_of(cause), *own])


def _line(outcomes: RunOutcomes, name: str) -> dict[str, str]:
    """Return the place of a case in the baseline; empty if it is not there."""
    expected = outcomes.expected(name)
    if expected is None:
        return {}
    return {"file": in_repository(expected.path, "GITHUB_WORKSPACE"), "line": str(expected.line)}


def _command(kind: str, outcomes: RunOutcomes, name: str, message: str) -> str:
    fields = {"title": f"{outcomes.by_case[name]}: {name}", **_line(outcomes, name)}
    listed = ",".join(f"{key}={escaped_property(value)}" for key, value in fields.items())
    return f"::{kind} {listed}::{escaped(message or name)}"


def _most(commands: list[str], kind: str, folder: Path) -> list[str]:
    if len(commands) <= MOST:
        return commands
    more = len(commands) - MOST + 1
    return [*commands[: MOST - 1], f"::{kind} title={more} more::{escaped(f'see {folder / FAILURES}')}"]


def escaped(text: str) -> str:
    """Escape a command's message (github.com/actions/toolkit, command.ts, ``escapeData``)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """Escape a command's property (the same file, ``escapeProperty``)."""
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def write_gitlab(outcomes: RunOutcomes, folder: Path) -> Path:
    """Write the code quality report into a run's folder and return its path.

    Each cause of unexpected failures, each improvement and each new flake (severity ``info``) has an entry.
    Its location is the line of the baseline with another status, or else the line of ``failures.csv``; for a
    cause that of its simplest unexpected case.
    """
    texts = {result.case: outcomes.description(result) for result in outcomes.results}
    lines = {name: number for number, name in enumerate(outcomes.unexpected, 1)}
    entries = []
    for cause, cases in _causes(outcomes):
        first = cases[0]
        outcome = outcomes.by_case[first]
        words = f"{_heading(cause, cases)}\n{_cause_text(cause, cases)}"
        at = _place(outcomes, first, folder, lines[first])
        entries.append(quality_entry(outcome.value, words, _SEVERITY.get(outcome, "minor"), at, cause.id))
    names = _without_cause(outcomes) + outcomes.named(ExpectationOutcome.FLAKE)
    entries += [_entry(outcomes, name, texts[name], folder, lines.get(name, 1)) for name in names]
    if outcomes.run.missing:
        at = (in_repository(folder / FAILURES, "CI_PROJECT_DIR"), lines[min(outcomes.run.missing)])
        entries.append(quality_entry("Missing", _missing(outcomes), "major", at, "Missing"))
    path = folder / GITLAB
    write_output(path, json.dumps(entries, indent=1) + "\n")
    return path


def _entry(outcomes: RunOutcomes, name: str, words: str, folder: Path, line: int) -> dict[str, object]:
    outcome = outcomes.by_case[name]
    at = _place(outcomes, name, folder, line)
    severity = "info" if outcome == ExpectationOutcome.FLAKE else _SEVERITY.get(outcome, "minor")
    return quality_entry(
        outcome.value, f"{outcome}: {name}\n{words}".strip(), severity, at, f"{name},{outcome}"
    )


def _place(outcomes: RunOutcomes, name: str, folder: Path, line: int) -> tuple[str, int]:
    """Return the path and line of a case: in the baseline, or else in ``failures.csv``."""
    expected = outcomes.expected(name)
    if expected is not None:
        return in_repository(expected.path, "CI_PROJECT_DIR"), expected.line
    return in_repository(folder / FAILURES, "CI_PROJECT_DIR"), line


def quality_entry(
    check: str, words: str, severity: str, at: tuple[str, int], identity: str
) -> dict[str, object]:
    """Return an entry of the code quality report; `at` has the file and the line."""
    return {
        "description": words,
        "check_name": check,
        "fingerprint": fingerprint(identity),
        "severity": severity,
        "location": {"path": at[0], "lines": {"begin": at[1]}},
    }


def fingerprint(identity: str) -> str:
    """Return the digest by which a code host recognises an entry in a later run."""
    return hashlib.sha256(identity.encode()).hexdigest()


def _missing(outcomes: RunOutcomes) -> str:
    count = len(outcomes.run.missing)
    return f"{count} {'case was' if count == 1 else 'cases were'} not reached before the time was over"


def in_repository(path: Path, root: str) -> str:
    """Return a path relative to the clone, which the environment variable `root` names."""
    here = Path(os.environ.get(root) or os.curdir).resolve()
    whole = path.resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else path.as_posix()
