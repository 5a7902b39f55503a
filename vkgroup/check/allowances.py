"""Findings that are allowed: by a comment in the source, by a configuration, or by a baseline.

``// vkgroup: allow(differs): why it is intended`` covers one kind of finding in one line: its own, or the
next line with code if the comment stands alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_output
from vkgroup.base.suggestions import nearest
from vkgroup.check.findings import (
    COMPARED,
    DISTURBING,
    Allowance,
    AllowedFinding,
    Finding,
    FindingKind,
    SourceLocation,
    SourceLocations,
)
from vkgroup.check.report import Report
from vkgroup.check.request import CheckRequest
from vkgroup.configuration import Configuration, read
from vkgroup.configuration.fields import AllowedLine, ends_with
from vkgroup.spirv.lines import Line, SourceText

_COMMENT = re.compile(r"(?://|/\*|^\s*\*)\s*vkgroup(?:\s*:|\s+(?=allow\b))\s*(.*?)\s*(?:\*/\s*)?$", re.I)
_ALLOWANCE = re.compile(r"vkgroup\s*:\s*allow\s*\(\s*(\w*)\s*\)\s*(?::\s*(.*?))?\s*(?:\*/\s*)?$", re.I)
_MEANT = re.compile(r"vkgroup\s*:?\s*\w+\s*(?:\(|:|\*/|$)", re.I)
"""The beginning of a comment that is meant to allow something; others with this word are remarks."""
_FORM = "// vkgroup: allow(KIND): reason"

_BASELINE_REASON = "in the baseline"

_NOT_LOOKED_FOR = (
    "subgroups that are not full, reconvergence and progress were not looked at at the sizes with allowed"
    " findings"
)


def allowances_of(request: CheckRequest) -> list[Allowance]:
    """Return the allowances of a check: those of the request, then the comments in its files.

    Raises InvalidInput, with file and line: a comment has another form, an unknown kind, or no reason.
    """
    texts = SourceLocations(request.module, request.title, request.sources).lines.texts
    return [*request.allow, *(allowance for source in texts.values() for allowance in _in_file(source))]


def for_check(
    request: CheckRequest, configured: Iterable[Allowance], baseline: Iterable[Allowance]
) -> tuple[Allowance, ...]:
    """Return the allowances of a check: all of its configuration, and those of a baseline for its files.

    An entry of the configuration whose file does not exist is for the only file whose path ends so.
    """
    lines = SourceLocations(request.module, request.title, request.sources).lines
    files = {request.title, *lines.texts, *lines.files}
    # A baseline may have hundreds of lines; each file of the check is resolved once.
    known: set[str | Path] = {"", *files, *(Path(file).resolve() for file in files)}
    own = []
    for entry in configured:
        ends = [file for file in files if ends_with(Path(file).resolve(), entry.file)]
        is_end = len(ends) == 1 and not Path(entry.file).exists()
        own.append(replace(entry, file=ends[0]) if is_end else entry)
    return (*own, *(entry for entry in baseline if {entry.file, Path(entry.file).resolve()} & known))


def _in_file(source: SourceText) -> Iterator[Allowance]:
    waiting: list[tuple[Line, FindingKind, str]] = []
    for place, text, bare in source.lines():
        if (found := _COMMENT.search(text)) and _MEANT.search(found[0]):
            kind, reason = _read(found[0], f"{place.file}:{place.number}")
            waiting.append((place, kind, reason))
        if bare.strip():
            for own, kind, reason in waiting:
                yield Allowance(kind, reason, place.file, place.number, f"{own.file}:{own.number}")
            waiting = []
    for own, kind, reason in waiting:
        yield Allowance(kind, reason, own.file, 0, f"{own.file}:{own.number}")


def _read(comment: str, where: str) -> tuple[FindingKind, str]:
    """Return the kind and the reason of a comment."""
    found = _ALLOWANCE.search(comment)
    if found is None:
        raise InvalidInput(f"{where}: the comment {comment.strip()!r} has another form than {_FORM}.")
    kind = _kind(found[1], where)
    if not found[2]:
        raise InvalidInput(f"{where}: the allowance of {kind} gives no reason. Write {_FORM}.")
    return kind, found[2]


def _kind(name: str, where: str) -> FindingKind:
    kinds = [kind.value for kind in FindingKind]
    if name not in kinds:
        known = nearest(name, kinds) or f" There are: {', '.join(kinds)}."
        raise InvalidInput(f"{where}: {name!r} is no kind of finding.{known}")
    return FindingKind(name)


def allowed_lines(entries: Iterable[AllowedLine], file: Path, where: str) -> Iterator[Allowance]:
    """Yield the allowances in the field ``allow`` of a configuration or a baseline.

    `file`, `where`: the file that has them, and the words for it in messages.
    """
    for number, entry in enumerate(entries):
        kind = _kind(entry.kind, f"{where}, allow[{number}]")
        if "\0" in entry.file:
            raise InvalidInput(f"{where}, allow[{number}]: the file's name has a null character.")
        named = file.parent / entry.file
        source = str(named) if entry.file and named.exists() else entry.file
        yield Allowance(kind, entry.reason, source, entry.line, str(file))


def read_baseline(path: Path) -> tuple[Allowance, ...]:
    """Return the allowances in a file of `save_baseline`; raise InvalidInput if it is not such a file."""
    (configuration, *others) = read(path)
    if others or configuration.fields != Configuration(allow=configuration.fields.allow):
        raise InvalidInput(f"{path} is a configuration, no baseline: a baseline has the field allow alone.")
    return tuple(allowed_lines(configuration.fields.allow, path, configuration.where))


def save_baseline(
    path: Path,
    reports: Sequence[dict[str, Any]],
    earlier: Sequence[Allowance],
    unused: Collection[Allowance],
) -> int:
    """Write a file that allows the findings of reports; return how many lines it allows.

    `reports`: those of `Report.to_json`.
    `earlier`: the baseline of the check, which stays with its reasons, but for what is in `unused`.
    """
    lines: dict[tuple[str, str, int | str], str] = {}
    for report in reports:
        asked = (finding for question in report["questions"] for finding in question["findings"])
        for finding in (*report["findings"], *asked):
            for place in (finding["place"], *finding["further"]):
                line = place["text"].strip() or place["line"]
                lines[finding["kind"], _relative(place["file"], path), line] = _BASELINE_REASON
    for entry in earlier:
        if entry not in unused:
            lines[entry.kind, _relative(entry.file, path), entry.line] = entry.reason
    ordered = sorted(lines.items(), key=str)
    allowed = [
        {"kind": kind, "file": file, "line": line, "reason": reason} for (kind, file, line), reason in ordered
    ]
    write_output(path, json.dumps({"allow": allowed}, indent=1) + "\n")
    return len(allowed)


def _relative(file: str, path: Path) -> str:
    """Return a file relative to the folder of a baseline, if it exists; else its name in the module."""
    is_known = bool(file) and Path(file).exists()
    return Path(os.path.relpath(file, path.parent)).as_posix() if is_known else file


def with_allowances(report: Report, allowances: Sequence[Allowance]) -> Report:
    """Return a report whose allowed findings are apart; questions of only such findings are left out.

    A finding with several lines is allowed where all have an allowance; else it stays at the others.
    """
    kept: list[Finding] = []
    allowed: list[AllowedFinding] = []
    for finding in report.findings:
        rest, covered = _split(finding, allowances)
        kept += rest
        allowed += covered
    questions = []
    for question in report.questions:
        parts = [_split(finding, allowances) for finding in question.findings]
        allowed += [entry for _, covered in parts for entry in covered]
        questions += [question] if any(rest for rest, _ in parts) else []
    used = {entry.allowance for entry in allowed}
    kinds = {finding.kind for finding in (*kept, *(entry.finding for entry in allowed))}
    hidden = COMPARED if kinds.intersection(DISTURBING) else ()
    unused = [entry for entry in allowances if entry not in used and entry.kind not in hidden]
    has_ended = report.interrupted is None and not report.no_verdict and not report.internal_errors
    notes = [_NOT_LOOKED_FOR] if any(not entry.finding.weak for entry in allowed) else []
    return replace(
        report,
        covered=replace(report.covered, notes=(*report.covered.notes, *notes)),
        findings=tuple(kept),
        questions=tuple(questions),
        allowed=tuple(allowed),
        unused_allowances=tuple(unused) if has_ended else (),
    )


def _split(finding: Finding, allowances: Sequence[Allowance]) -> tuple[list[Finding], list[AllowedFinding]]:
    """Return what is left of a finding, nothing if all its lines are allowed, and each allowed line of it."""
    if finding.devices:
        # An error of a driver is not what the shader is for.
        return [finding], []
    rest: list[SourceLocation] = []
    allowed = []
    for place in (finding.place, *finding.further):
        found = [entry for entry in allowances if entry.covers(finding.kind, place)]
        allowed += [AllowedFinding(entry, replace(finding, place=place, further=())) for entry in found]
        rest += [] if found else [place]
    if not allowed:
        return [finding], []
    return [replace(finding, place=rest[0], further=tuple(rest[1:]))] if rest else [], allowed


def unused_in(reports: Sequence[dict[str, Any]]) -> dict[Allowance, str]:
    """Return the allowances that no report of a command needs, with them in words.

    `reports`: those of `Report.to_json`; each knows the allowances of its files.
    """
    used = {Allowance(**entry["allowance"]) for report in reports for entry in report["allowed"]}
    unused: dict[Allowance, str] = {}
    for report in reports:
        for entry in (Allowance(**data) for data in report["unused_allowances"]):
            if entry not in used:
                of_kind = [found for found in report["findings"] if found["kind"] == entry.kind]
                lines = [found["place"]["line"] for found in of_kind]
                there = f"; a finding of this kind is in line {', '.join(map(str, lines))}" if lines else ""
                unused[entry] = f"{entry}{there}"
    return unused
