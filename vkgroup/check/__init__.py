"""Check of compute shaders at every subgroup size, on the reference device and on real devices."""

from __future__ import annotations

from vkgroup.check.checking import check
from vkgroup.check.findings import Configuration, Coverage, Finding, Kind, Note, Place, Report
from vkgroup.check.host import Guarantees

__all__ = ["Configuration", "Coverage", "Finding", "Guarantees", "Kind", "Note", "Place", "Report", "check"]
