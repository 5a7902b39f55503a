"""One HTML file that shows runs: what devices can do, what they got wrong, what is fast, what changed."""

from __future__ import annotations

from vkgroup.results.report.inputs import Inputs, read
from vkgroup.results.report.page import html_of, write_html

__all__ = ["Inputs", "html_of", "read", "write_html"]
