"""Annotations of unexpected outcomes: workflow commands for GitHub, a code quality report for GitLab.

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

from vkgroup.conformance.expectations import Outcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output
from vkgroup.results.exports.baseline import FAILURES

GITLAB = "gl-code-quality-report.json"
"""The file for GitLab in a run's folder, with the name from GitLab's documentation."""

MOST = 10
"""Annotations of each kind that GitHub shows for one step."""

_SEVERITY = {Outcome.CRASH: "critical", Outcome.TIMEOUT: "critical", Outcome.FAIL: "major"}


def github(outcomes: RunOutcomes, folder: Path) -> list[str]:
    """Return the workflow commands: errors for unexpected outcomes, warnings for new flakes.

    A case in the baseline points to its line there. The last command of a kind counts those that exceed
    GitHub's limit.
    """
    texts = {result.case: outcomes.description(result) for result in outcomes.results}
    names = [name for name, outcome in outcomes.unexpected.items() if outcome != Outcome.MISSING]
    errors = [_command("error", outcomes, name, texts[name]) for name in names]
    if outcomes.run.missing:
        errors.insert(0, f"::error title=Missing::{_data(_missing(outcomes))}")
    warnings = [_command("warning", outcomes, name, texts[name]) for name in outcomes.named(Outcome.FLAKE)]
    return [*_most(errors, "error", folder), *_most(warnings, "warning", folder)]


def _command(kind: str, outcomes: RunOutcomes, name: str, message: str) -> str:
    fields = {"title": f"{outcomes.by_case[name]}: {name}"}
    expected = outcomes.expected(name)
    if expected is not None:
        fields |= {"file": _in_repository(expected.path, "GITHUB_WORKSPACE"), "line": str(expected.line)}
    listed = ",".join(f"{key}={_property(value)}" for key, value in fields.items())
    return f"::{kind} {listed}::{_data(message or name)}"


def _most(commands: list[str], kind: str, folder: Path) -> list[str]:
    if len(commands) <= MOST:
        return commands
    more = len(commands) - MOST + 1
    return [*commands[: MOST - 1], f"::{kind} title={more} more::{_data(f'see {folder / FAILURES}')}"]


def _data(text: str) -> str:
    """Escape a command's message (github.com/actions/toolkit, command.ts, ``escapeData``)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a command's property (the same file, ``escapeProperty``)."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_gitlab(outcomes: RunOutcomes, folder: Path) -> Path:
    """Write the code quality report into a run's folder and return its path.

    Each unexpected case and each new flake (severity ``info``) has an entry. Its location is the line of the
    baseline with another status, or else the line of ``failures.csv``.
    """
    texts = {result.case: outcomes.description(result) for result in outcomes.results}
    lines = {name: number for number, name in enumerate(outcomes.unexpected, 1)}
    names = [name for name in lines if outcomes.by_case[name] != Outcome.MISSING] + outcomes.named(
        Outcome.FLAKE
    )
    entries = [_entry(outcomes, name, texts[name], folder, lines.get(name, 1)) for name in names]
    if outcomes.run.missing:
        at = (_in_repository(folder / FAILURES, "CI_PROJECT_DIR"), lines[min(outcomes.run.missing)])
        entries.append(_quality("Missing", _missing(outcomes), "major", at, "Missing"))
    path = folder / GITLAB
    write_output(path, json.dumps(entries, indent=1) + "\n")
    return path


def _entry(outcomes: RunOutcomes, name: str, words: str, folder: Path, line: int) -> dict[str, object]:
    outcome = outcomes.by_case[name]
    expected = outcomes.expected(name)
    if expected is not None:
        at = (_in_repository(expected.path, "CI_PROJECT_DIR"), expected.line)
    else:
        at = (_in_repository(folder / FAILURES, "CI_PROJECT_DIR"), line)
    severity = "info" if outcome == Outcome.FLAKE else _SEVERITY.get(outcome, "minor")
    return _quality(outcome.value, f"{outcome}: {name}\n{words}".strip(), severity, at, f"{name},{outcome}")


def _quality(check: str, words: str, severity: str, at: tuple[str, int], identity: str) -> dict[str, object]:
    return {
        "description": words,
        "check_name": check,
        "fingerprint": hashlib.sha256(identity.encode()).hexdigest(),
        "severity": severity,
        "location": {"path": at[0], "lines": {"begin": at[1]}},
    }


def _missing(outcomes: RunOutcomes) -> str:
    count = len(outcomes.run.missing)
    return f"{count} {'case was' if count == 1 else 'cases were'} not reached before the time was over"


def _in_repository(path: Path, root: str) -> str:
    """Return a path relative to the clone, which the environment variable `root` names."""
    here = Path(os.environ.get(root) or os.curdir).resolve()
    whole = path.resolve()
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else path.as_posix()
