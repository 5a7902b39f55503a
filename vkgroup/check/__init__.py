"""Is a compute shader right on every subgroup size? Runs it on the reference device and on real ones."""

from __future__ import annotations

from vkgroup.check.findings import Configuration, Coverage, Finding, Kind, Note, Place, Report
from vkgroup.check.judge import SIZES, check

__all__ = ["SIZES", "Configuration", "Coverage", "Finding", "Kind", "Note", "Place", "Report", "check"]
