"""Check of compute shaders at every subgroup size, on the reference device and on real devices."""

from __future__ import annotations

from vkgroup.check.checking import check, perform
from vkgroup.check.findings import Configuration, Coverage, Finding, Kind, Note, Place
from vkgroup.check.host import Guarantees
from vkgroup.check.question import GeneratedValue, Question
from vkgroup.check.report import Report
from vkgroup.check.request import CheckRequest

__all__ = [
    "CheckRequest",
    "Configuration",
    "Coverage",
    "Finding",
    "GeneratedValue",
    "Guarantees",
    "Kind",
    "Note",
    "Place",
    "Question",
    "Report",
    "check",
    "perform",
]
