"""Conformance: is a driver right? Cases as data, one program a batch, one verdict a lane.

The suite is made of `families`, each with its own cases and its own way to judge them (`family`). The
largest is `subgroup`: `cases` names its cases, `program` writes a batch's GLSL, `instances` finds who was
active together, `verdict` judges each lane against `vkgroup.reference`. Around the families, `plan` makes
batches, `judge_batch` judges them on an `execute.Executor`, `pool` and `worker` keep a crashing driver away,
`run` ties them together.
"""

from __future__ import annotations

from vkgroup.conformance.case import Case
from vkgroup.conformance.families import FAMILIES, all_cases, cases_by_name, family_of, select
from vkgroup.conformance.family import AnyCase, Family
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status
from vkgroup.conformance.run import Run, run

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
