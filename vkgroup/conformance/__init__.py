"""Conformance tests of drivers: cases as data, one program for a batch of cases, one verdict for each lane.

The suite consists of `families`. Each lists its cases and has functions that plan and run them (`family`).
The largest is `subgroup`, in a folder of six modules. All families use `comparison`, and most use
`recording`. `plan` makes batches, `run` executes them on an `execute.Executor`, and `vkgroup.workers`
isolates crashes of a driver. `show` describes a case without a device.
"""

from __future__ import annotations

from vkgroup.conformance.families import (
    all_cases,
    all_families,
    case_named,
    cases_by_name,
    cases_named,
    family_of,
    select,
    select_names,
)
from vkgroup.conformance.family import AnyCase, Family
from vkgroup.conformance.run import run
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.record.record import AGAINST_THE_DEVICE, Result, Status
from vkgroup.record.run import Run

__all__ = [
    "AGAINST_THE_DEVICE",
    "AnyCase",
    "Case",
    "Family",
    "Result",
    "Run",
    "Status",
    "all_cases",
    "all_families",
    "case_named",
    "cases_by_name",
    "cases_named",
    "family_of",
    "run",
    "select",
    "select_names",
]
