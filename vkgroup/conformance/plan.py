"""Which cases go into one program: batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.cases import Case
from vkgroup.device import Capabilities

BATCH = 32
"""Cases a batch: compiling many operations in one shader costs far less than one shader each."""

LLVM_BATCH = 16
"""Cases a batch on lavapipe, whose compiler's time grows faster than the shader: 27 ms a case in batches
of 32, 20 ms in batches of 16 or 8, 25 ms in batches of 4 (lavapipe 25.0, processor time, cold)."""

BARRIER_BATCH = 4
"""Barrier cases a batch: each has cells and flags in shared memory, of which 16 KiB are promised."""


def batch_size(capabilities: Capabilities) -> int:
    """Return how many cases a batch should have on a device."""
    return LLVM_BATCH if capabilities.driver_name == "llvmpipe" else BATCH


Key = tuple[str, str, int, bool, int]


def batch_key(case: Case) -> Key:
    """Return what all cases of a batch share.

    Pattern, shape and subgroup size make the control flow and the pipeline; barrier cases stand apart for
    their memory; special data on floats needs an execution mode of its width for the whole module.
    """
    return case.pattern, case.shape, case.subgroup_size, case.operation in BARRIERS, case.preserved_width


def batches(cases: Iterable[Case], size: int = BATCH) -> Iterator[list[Case]]:
    """Split cases into batches of at most `size`, cases that share data side by side."""
    ordered = sorted(cases, key=lambda case: (batch_key(case), case.type, case.operation, case.operand))
    for key, group in groupby(ordered, key=batch_key):
        members = list(group)
        step = BARRIER_BATCH if key[3] else size
        for start in range(0, len(members), step):
            yield members[start : start + step]
