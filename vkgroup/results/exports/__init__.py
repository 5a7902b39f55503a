"""Exports of a conformance run: summary, JUnit, CSV, baselines, annotations, and its folder."""

from __future__ import annotations

from vkgroup.results.exports.annotations import github, write_gitlab
from vkgroup.results.exports.baseline import check_baseline, save_baseline
from vkgroup.results.exports.csv_tables import write_tables
from vkgroup.results.exports.junit import write_junit
from vkgroup.results.exports.summary import write_capabilities, write_summary

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
