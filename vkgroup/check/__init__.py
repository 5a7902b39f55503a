"""Check of compute shaders at every subgroup size, on the reference device and on real devices."""

from __future__ import annotations

from vkgroup.check.checking import check, perform
from vkgroup.check.equality import Equality, compare_shaders
from vkgroup.check.findings import (
    Allowance,
    Coverage,
    Finding,
    FindingKind,
    Note,
    RunParameters,
    SourceLocation,
)
from vkgroup.check.report import BarrierResult, BarrierVerdict, GeneratedValue, Question, Report
from vkgroup.check.request import CheckRequest, Guarantees

__all__ = [
    "Allowance",
    "BarrierResult",
    "BarrierVerdict",
    "CheckRequest",
    "Coverage",
    "Equality",
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
    "compare_shaders",
    "perform",
]
