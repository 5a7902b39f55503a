"""The subgroup size over several dispatches: uniform in each, and where it may not vary, in all of them."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.size_control.case import SizeAxes
from vkgroup.conformance.size_control.records import Seen, judge
from vkgroup.conformance.size_control.shaders import MOST_RECORDS, workgroup_shader
from vkgroup.conformance.size_control.stages import control_of, emptied, recorded
from vkgroup.device import Capabilities
from vkgroup.dispatch import Dispatch
from vkgroup.results.record import Status

GROUPS = (1, 3, 2, 5, 1)
"""Workgroups of the dispatches of one pipeline, one after another in one submission."""


def local_sizes(case: SizeAxes, capabilities: Capabilities) -> list[int]:
    """Return the sizes of 1-D workgroups that a case dispatches: powers of two, as the device allows."""
    limits, control = capabilities.limits, capabilities.size_control
    most = min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))
    if (required := case.required(capabilities)) is not None:
        most = min(most, required * control.max_compute_workgroup_subgroups)
    least = max(case.legal(capabilities)) if case.full else 1
    most = min(most, MOST_RECORDS // sum(GROUPS))
    return [1 << bit for bit in range(most.bit_length()) if least <= 1 << bit <= most]


def judge_dispatches(executor: Executor, case: SizeAxes) -> Verdict:
    """Dispatch one pipeline of each local size several times, and judge each dispatch for itself."""
    capabilities = executor.capabilities
    seen: list[Seen] = []
    for invocations in local_sizes(case, capabilities):
        seen += _dispatched(executor, case, (invocations, 1, 1))
    verdict = judge(case, seen, capabilities)
    constant = case.required(capabilities) is not None or not (case.choice.varying or case.spirv16)
    if verdict.status is Status.PASS and constant and len({_size(one) for one in seen}) > 1:
        return Verdict(Status.FAIL, verdict.defined, 0, f"{verdict.detail} in dispatches of one size")
    return verdict


def _dispatched(executor: Executor, case: SizeAxes, shape: tuple[int, int, int]) -> list[Seen]:
    module = executor.compile(workgroup_shader("compute", shape), stage="compute", target=case.target)
    buffer = emptied(executor)
    firsts = np.cumsum((0, *GROUPS))
    control = control_of(case, executor.capabilities)
    with executor.device.pipeline(module, **control) as pipeline, pipeline.bind({0: buffer}) as bound:
        steps = [
            Dispatch(bound, groups, {"first_group": int(first)})
            for groups, first in zip(GROUPS, firsts[:-1], strict=True)
        ]
        with executor.device.sequence(steps) as sequence:
            sequence.run(timeout=executor.timeout)
    return [
        Seen("compute", records, groups * prod(shape), shape, groups)
        for groups, records in zip(GROUPS, _by_dispatch(recorded(buffer), firsts), strict=True)
    ]


def _by_dispatch(records: NDArray[np.uint32], firsts: NDArray[np.int64]) -> list[NDArray[np.uint32]]:
    """Split the records by the dispatch that their workgroups, counted through all, belong to."""
    number = np.searchsorted(firsts, records[:, 8].astype(np.int64), side="right") - 1
    parts = [records[number == dispatch].copy() for dispatch in range(len(GROUPS))]
    for part, first in zip(parts, firsts, strict=False):
        part[:, 8] -= np.uint32(first)
    return parts


def _size(seen: Seen) -> int:
    return int(seen.records[0, 0])
