"""A cause: failed cases that one error explains, with what is known about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from vkgroup.record.causes.description import subject_of
from vkgroup.record.causes.findings import KnownError

_COUNT = re.compile(r"\d+ of \d+ ")


@dataclass(frozen=True)
class Explanation:
    """A hypothesis with the number of failures that it explains."""

    name: str
    variant: str
    sentence: str  # about the device
    #: Cases and wrong lanes of the cause; and those of them in which the device did what the hypothesis says.
    cases: int
    of_cases: int
    lanes: int
    of_lanes: int
    open_lanes: int = 0  # wrong lanes for which the hypothesis predicts nothing

    @property
    def text(self) -> str:
        """The sentence with the numbers."""
        text = (
            f"{self.sentence}: {self.cases:,} of {self.of_cases:,} cases, "
            f"{self.lanes:,} of {self.of_lanes:,} wrong lanes"
        )
        return f"{text}; it predicts nothing for {self.open_lanes:,} wrong lanes" if self.open_lanes else text


@dataclass(frozen=True)
class Cause:
    """One cause of failures in a run."""

    id: str  # the finding's, or eight hexadecimal digits that depend on the behaviour alone
    sentence: str  # the failed cases, by the axes that matter
    cases: tuple[str, ...]  # names of the failed cases, the simplest first
    statuses: dict[str, int]  # failed cases by status
    detail: str  # of the simplest case
    evidence: dict[str, Any] | None = None  # of the simplest case; see `vkgroup.conformance.evidence`
    explanation: Explanation | None = None  # None if no hypothesis explains the cases
    common: tuple[str, ...] = ()  # what all wrong lanes share, if nothing explains them
    finding: KnownError | None = None  # the known error; None for a new one
    rule: dict[str, str] = field(default_factory=dict)  # `document`, `quote` and `strength`; may be empty

    @property
    def known(self) -> bool:
        """Whether this error of the driver is known."""
        return self.finding is not None

    @property
    def smallest(self) -> str:
        """The name of the simplest failed case."""
        return self.cases[0]

    @property
    def title(self) -> str:
        """The error in one line."""
        if self.finding is not None:
            return self.finding.title
        if self.explanation is not None:
            return self.explanation.sentence
        lines = [line for line in self.detail.splitlines() if not line.startswith(("Rule (", "repeat:"))]
        # The first line describes the case; the second one says what happened, or how many lanes are wrong.
        if "Fail" in self.statuses or not lines:
            told = "".join(lines[:2][-1:])
            return told if told and not _COUNT.match(told) else f"{subject_of(self.smallest)}: wrong result"
        return f"{max(self.statuses, key=lambda status: self.statuses[status])}: {lines[:2][-1]}"

    @property
    def explained(self) -> str:
        """What the device computes, or what the wrong lanes have in common, in one line."""
        if self.explanation is not None:
            return self.explanation.text
        if self.common:
            return f"no hypothesis matches; all wrong lanes: {', '.join(self.common)}"
        return "no hypothesis matches"

    def to_json(self) -> dict[str, Any]:
        """Return the cause as plain JSON data."""
        explanation = self.explanation
        return {
            "id": self.id,
            "title": self.title,
            "sentence": self.sentence,
            "known": self.known,
            "since": self.finding.since if self.finding else "",
            "count": len(self.cases),
            "statuses": self.statuses,
            "smallest": self.smallest,
            "detail": self.detail,
            "evidence": self.evidence,
            "hypothesis": None
            if explanation is None
            else {
                "name": explanation.name,
                "variant": explanation.variant,
                "sentence": explanation.sentence,
                "cases": [explanation.cases, explanation.of_cases],
                "lanes": [explanation.lanes, explanation.of_lanes],
                "open_lanes": explanation.open_lanes,
            },
            "common": list(self.common),
            "rule": self.rule,
            "cases": list(self.cases),
        }
