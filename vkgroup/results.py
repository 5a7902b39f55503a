"""The record of a run: the public names of `vkgroup.record`, as ``vkgroup.results.run`` and ``.record``."""

from __future__ import annotations

import sys

from vkgroup.record import record, run

__all__ = ["record", "run"]

# `from vkgroup.results.run import Run` finds the modules of `vkgroup.record`.
sys.modules[f"{__name__}.run"] = run
sys.modules[f"{__name__}.record"] = record
