"""Causes of a run's failures: groups of failed cases that one error of the driver explains.

`find_causes` assigns every failed case of a run to one cause: first to known errors of the driver
(`findings`), then by the hypothesis that explains most of the remaining cases, then by the kind of
failure. `description` describes the cases of a group by the axes that matter.
"""

from __future__ import annotations

from vkgroup.record.causes.cause import Cause
from vkgroup.record.causes.grouping import causes_of, find_causes

__all__ = ["Cause", "causes_of", "find_causes"]
