"""Outcomes of checks in one line, for lists of many shaders, and checks of many in worker processes."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from vkgroup.base.errors import CompileError, CompilerUnavailable, Unsupported, VkgroupError
from vkgroup.check.report import Report
from vkgroup.check.report_text import count_of, lines_of
from vkgroup.workers.each import NoAnswer, perform_all
from vkgroup.workers.messages import WorkerSetup

_MOST = 300
"""Maximum count of characters of a reason in a line."""


class OutcomeKind(StrEnum):
    """The result of checking one configuration."""

    CLEAN = "clean"
    FINDINGS = "findings"
    QUESTIONS = "questions"
    WEAK = "weak findings"
    IN_PART = "clean in part"
    NOT_COVERED = "not covered"
    NO_COMPILE = "does not compile"
    NO_VERDICT = "no verdict"
    ERROR = "error"


_CODES = {
    OutcomeKind.FINDINGS: 1,
    **dict.fromkeys((OutcomeKind.NO_COMPILE, OutcomeKind.NO_VERDICT, OutcomeKind.ERROR), 2),
    OutcomeKind.NOT_COVERED: 3,
}
"""The exit code of ``vkgroup check`` for each outcome; 0 for the others."""


@dataclass(frozen=True)
class ConfigurationOutcome:
    """The outcome of one configuration."""

    kind: OutcomeKind
    summary: str  # the outcome in one line
    text: tuple[str, ...] = ()  # the lines of the report; empty if there is no report
    report: dict[str, Any] | None = None  # the report as JSON data; None if the check did not end
    seconds: float = 0.0  # the time of the check, in seconds
    unchanged: bool = False  # whether the outcome is that of an earlier check of the same configuration

    @property
    def exit_code(self) -> int:
        """The exit code of ``vkgroup check`` for this outcome alone."""
        return _CODES.get(self.kind, 0)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON data, as it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ConfigurationOutcome:
        """Return a stored outcome; raise ValueError, KeyError or TypeError if the data is invalid."""
        return cls(
            OutcomeKind(data["kind"]),
            str(data["summary"]),
            tuple(map(str, data["text"])),
            data["report"],
            float(data["seconds"]),
        )


def of_report(report: Report, seconds: float, *, strict: bool = False) -> ConfigurationOutcome:
    """Return the outcome of a check that ended; `strict`: whether weak findings are findings."""
    kind, summary = _summary(report, strict)
    summary = "; ".join((summary, *report.compilations[:1]))
    return ConfigurationOutcome(
        kind, summary, tuple(line.plain for line in lines_of(report)), report.to_json(), seconds
    )


def _summary(report: Report, strict: bool) -> tuple[OutcomeKind, str]:
    """Return the kind of a report, and its line."""
    if report.internal_errors:
        return OutcomeKind.ERROR, f"internal error: {_short(report.internal_errors[0])}"
    if report.findings:
        kind, first = OutcomeKind.FINDINGS if report.fails(strict) else OutcomeKind.WEAK, report.findings[0]
        where = f"{first.place.file}:{first.place.line}" if first.place.line else first.place.file
        return kind, f"{count_of(report.findings)}: {where}: {first.kind}: {_short(first.message)}"
    if report.no_verdict:
        return OutcomeKind.NO_VERDICT, f"no verdict: {_short(report.no_verdict[0])}"
    if report.questions:
        kind, count = OutcomeKind.FINDINGS if strict else OutcomeKind.QUESTIONS, len(report.questions)
        return kind, f"{count} question{'s' * (count != 1)}: {_short(report.questions[0].text)}"
    if report.gaps:
        kind = OutcomeKind.FINDINGS if strict else OutcomeKind.IN_PART
        return kind, f"nothing found in what ran; {_short('; '.join(report.gaps))}"
    return OutcomeKind.CLEAN, "clean" + f", {len(report.allowed)} allowed" * bool(report.allowed)


def of_error(error: VkgroupError, seconds: float) -> ConfigurationOutcome:
    """Return the outcome of a check that could not be made."""
    kind, text = OutcomeKind.ERROR, str(error)
    if isinstance(error, CompileError):
        kind, text = OutcomeKind.NO_COMPILE, str(error.diagnostics[0] if error.diagnostics else error)
    elif isinstance(error, Unsupported | CompilerUnavailable):
        kind = OutcomeKind.NOT_COVERED
    return ConfigurationOutcome(kind, f"{kind}: {_short(text)}", seconds=seconds)


def of_late(sentence: str, seconds: float) -> ConfigurationOutcome:
    """Return the outcome of a check that reached its deadline before the first run."""
    return ConfigurationOutcome(OutcomeKind.NO_VERDICT, f"no verdict: {_short(sentence)}", seconds=seconds)


_SEVERITY = (
    *(OutcomeKind.FINDINGS, OutcomeKind.ERROR, OutcomeKind.NO_COMPILE, OutcomeKind.NO_VERDICT),
    *(OutcomeKind.QUESTIONS, OutcomeKind.WEAK, OutcomeKind.NOT_COVERED, OutcomeKind.IN_PART),
    OutcomeKind.CLEAN,
)
"""Kinds of outcomes, the worst first."""


def merged(outcomes: Sequence[ConfigurationOutcome]) -> ConfigurationOutcome:
    """Return the outcome of several checks as one: the worst, with the texts and findings of all."""
    first = min(outcomes, key=lambda outcome: _SEVERITY.index(outcome.kind))
    reports = [outcome.report for outcome in outcomes if outcome.report is not None]
    findings = [finding for report in reports for finding in report["findings"]]
    report = {**(first.report or reports[0]), "findings": findings} if reports else None
    text = tuple(line for outcome in outcomes for line in outcome.text)
    summary = first.summary
    if others := sum(outcome.kind is OutcomeKind.FINDINGS for outcome in outcomes if outcome is not first):
        summary += f"; and {others} more with findings"
    return replace(first, summary=summary, text=text, report=report)


def _short(text: str) -> str:
    """Return the first line of a text, shortened."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of several checks: findings first, then errors, then missing support."""
    return min(filter(None, codes), default=0)


def check_all(
    setup: WorkerSetup, jobs: Sequence[Any], workers: int, seconds: Sequence[float], grace: float
) -> Generator[tuple[int, ConfigurationOutcome], None, None]:
    """Yield the outcome of each job with the job's index, in the order in which they end.

    A worker that crashes or takes too long for a job gives the outcome of that job, and another worker does
    the rest. A caller that stops early closes the iterator, which ends the workers. The arguments are those
    of `perform_all`.
    """
    with closing(perform_all(setup, jobs, workers, seconds, grace)) as answers:
        for index, answer, taken in answers:
            if isinstance(answer, NoAnswer):
                kind = OutcomeKind.NO_VERDICT if answer.is_late else OutcomeKind.ERROR
                answer = ConfigurationOutcome(kind, f"{kind}: {answer}" if answer.is_late else str(answer))
            yield index, replace(answer, seconds=taken)
