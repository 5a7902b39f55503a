"""Static cost of a shader, as the driver's compiler reports it: registers, code and estimates.

The shader is compiled for a device and not executed, so the device may be compile-only.
"""

from __future__ import annotations

from vkgroup.cost.comparing import CostChange, regressions
from vkgroup.cost.jobs import CompileJob, job_of
from vkgroup.cost.measuring import costs_of_jobs, costs_on_all
from vkgroup.cost.record import CompileStatus, Cost, labels
from vkgroup.dispatch.statistics import FIELDS

__all__ = [
    "FIELDS",
    "CompileJob",
    "CompileStatus",
    "Cost",
    "CostChange",
    "costs_of_jobs",
    "costs_on_all",
    "job_of",
    "labels",
    "regressions",
]
