"""Check of compute shaders at every subgroup size, on the reference device and on real devices."""

from __future__ import annotations

from vkgroup.check.checking import check
from vkgroup.check.findings import Coverage, Finding, FindingKind, Note, RunParameters, SourceLocation
from vkgroup.check.host import Guarantees
from vkgroup.check.question import GeneratedValue, Question
from vkgroup.check.report import Report

__all__ = [
    "Coverage",
    "Finding",
    "FindingKind",
    "GeneratedValue",
    "Guarantees",
    "Note",
    "Question",
    "Report",
    "RunParameters",
    "SourceLocation",
    "check",
]
