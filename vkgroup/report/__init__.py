"""Results as files for people and for machines."""

from __future__ import annotations

from vkgroup.report.conformance import write_capabilities, write_junit, write_summary

__all__ = ["write_capabilities", "write_junit", "write_summary"]
