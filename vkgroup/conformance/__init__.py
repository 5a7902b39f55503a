"""Conformance: is a driver right? Cases as data, one program a batch, one verdict a lane.

The way of a case: `cases` names it, `plan` puts it into a batch, `program` writes the batch's GLSL,
`execute` runs it, `instances` finds who was active together, `verdict` judges each lane against
`vkgroup.reference`; `pool` and `worker` keep a crashing driver away, `run` ties them together.
"""

from __future__ import annotations

from vkgroup.conformance.cases import Case, all_cases, cases_by_name, select
from vkgroup.conformance.results import AGAINST_THE_DEVICE, Result, Status
from vkgroup.conformance.run import Run, run

__all__ = [
    "AGAINST_THE_DEVICE",
    "Case",
    "Result",
    "Run",
    "Status",
    "all_cases",
    "cases_by_name",
    "run",
    "select",
]
