"""Statistics of the shaders of a case, as the driver's compiler reports them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vkgroup.dispatch.statistics import Executable, quantities
from vkgroup.spec.stages import STAGE_BITS


def case_statistics(case: str, executables: Sequence[Executable], driver: str) -> dict[str, float]:
    """Return the quantities of `vkgroup.dispatch.statistics` that a driver reports for a case's shaders.

    Of graphics pipelines, executables of the stage in the case's name count. Those of several pipelines are
    added.
    """
    stages = STAGE_BITS.keys() & set(case.split("."))
    chosen = [executable for executable in executables if stages & set(executable.stages)] or executables
    total = Counter[str]()
    for executable in chosen:
        total.update(quantities(driver, executable.statistics))
    return dict(total)
