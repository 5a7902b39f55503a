"""Conformance of drivers: cases as data, one program for a batch, one verdict for each lane.

The suite is made of `families`, each with its cases and the functions that plan and judge them (`family`).
The largest is `subgroup`: `cases` lists its cases, `program` writes a batch's GLSL, `instances` finds the
invocations that were active together, `verdict` judges each lane against `vkgroup.reference`. All families
compare in `comparison`, and most record through `recording`. Around them, `plan` makes batches, `run`
judges them on an `execute.Executor`, and `vkgroup.runner` isolates a crashing driver.
"""

from __future__ import annotations

from vkgroup.conformance.case import Case
from vkgroup.conformance.families import FAMILIES, all_cases, cases_by_name, family_of, select
from vkgroup.conformance.family import AnyCase, Family
from vkgroup.conformance.run import run
from vkgroup.results.record import AGAINST_THE_DEVICE, Result, Status
from vkgroup.results.run import Run

__all__ = [
    "AGAINST_THE_DEVICE",
    "FAMILIES",
    "AnyCase",
    "Case",
    "Family",
    "Result",
    "Run",
    "Status",
    "all_cases",
    "cases_by_name",
    "family_of",
    "run",
    "select",
]
