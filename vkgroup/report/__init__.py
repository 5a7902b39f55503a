"""Results as files for people and for machines."""

from __future__ import annotations

from vkgroup.report.annotations import github, write_gitlab
from vkgroup.report.baseline import check_baseline, save_baseline
from vkgroup.report.conformance import write_capabilities, write_junit, write_summary
from vkgroup.report.tables import write_tables

__all__ = [
    "check_baseline",
    "github",
    "save_baseline",
    "write_capabilities",
    "write_gitlab",
    "write_junit",
    "write_summary",
    "write_tables",
]
