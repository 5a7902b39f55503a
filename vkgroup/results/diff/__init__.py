"""Two runs compared: cases, capabilities and benchmark times, for ``vkgroup diff`` and the report."""

from __future__ import annotations

from vkgroup.results.diff.capability import CapabilityChange, capability_changes
from vkgroup.results.diff.differences import (
    LISTS,
    CaseChange,
    CaseDifferences,
    Differences,
    became,
    differences,
    speed_differences,
    speed_json,
)

__all__ = [
    "LISTS",
    "CapabilityChange",
    "CaseChange",
    "CaseDifferences",
    "Differences",
    "became",
    "capability_changes",
    "differences",
    "speed_differences",
    "speed_json",
]
