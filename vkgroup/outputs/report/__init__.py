"""The HTML report: capabilities, failures, benchmark times and changes of runs in one file."""

from __future__ import annotations

from vkgroup.outputs.report.inputs import ReportInputs, read
from vkgroup.outputs.report.page import html_of, write_html

__all__ = ["ReportInputs", "html_of", "read", "write_html"]
