"""The HTML report: capabilities, failures, benchmark times and changes of runs in one file."""

from __future__ import annotations

from vkgroup.results.report.inputs import Inputs, read
from vkgroup.results.report.page import html_of, write_html

__all__ = ["Inputs", "html_of", "read", "write_html"]
