"""A cause as text, for terminals, JUnit files and annotations."""

from __future__ import annotations

from vkgroup.record.causes.cause import Cause
from vkgroup.spec.sentences import STRENGTHS

MOST_LINES = 16
"""Lines of a failure's detail that are shown; results.jsonl has all."""

MOST_COLUMNS = 400
"""Characters of a line of a detail that are shown."""


def rule_text(rule: dict[str, str]) -> str:
    """Return a rule in one line: its strength, its document and the quoted sentence."""
    strength = STRENGTHS.get(rule["strength"], rule["strength"])
    return f'Rule ({strength}): {rule["document"]}: "{rule["quote"]}"'


def kind_of(cause: Cause) -> str:
    """Return whether a cause is new, or since which version it is known."""
    finding = cause.finding
    return "new cause" if finding is None else f"known since {finding.driver} {finding.since}"


def lines_of(cause: Cause) -> list[str]:
    """Return everything on a cause: title, cases, explanation, rule, and the detail of the smallest case."""
    return [
        cause.title,
        f"Cause {cause.id} ({kind_of(cause)})",
        f"Cases: {cause.sentence}",
        f"Explanation: {cause.explained}",
        *([rule_text(cause.rule)] if cause.rule else []),
        f"Smallest case: {cause.smallest}",
        *truncated(without_rule(cause.detail)),
    ]


def without_rule(detail: str) -> str:
    """Return a failure's detail without the line of its rule."""
    return "\n".join(line for line in detail.splitlines() if not line.startswith("Rule ("))


def truncated(detail: str, most: int = MOST_LINES) -> list[str]:
    """Return the lines of a failure's detail without the middle of a long one; the last is the command."""
    lines = [
        line if len(line) <= MOST_COLUMNS or line.startswith("repeat:") else f"{line[:MOST_COLUMNS]}…"
        for line in detail.splitlines()
    ]
    if len(lines) <= most:
        return lines
    return [*lines[: most - 2], f"… {len(lines) - most + 1} more lines in results.jsonl", lines[-1]]
