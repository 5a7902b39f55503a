"""What invocations saw of the subgroup size, and whether they may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.instances import unpack
from vkgroup.conformance.results import Status
from vkgroup.conformance.size_control.case import SizeCase
from vkgroup.conformance.verdict import Verdict
from vkgroup.device import Capabilities

Words = NDArray[np.uint32]

WORDS = 12
"""Words of a record: size; lane; whether all active invocations have that size; number of the stage; the
active mask's four; of stages with workgroups also workgroup, gl_NumSubgroups, gl_SubgroupID, local index."""

_MOST_LANES = 128


@dataclass(frozen=True)
class Seen:
    """What the invocations of one stage saw in one dispatch or draw.

    Attributes
    ----------
    stage : its name.
    records : (invocations, `WORDS`).
    least : how many records there must be.
    local_size, workgroups : of stages with workgroups; None and 0 of others.
    """

    stage: str
    records: Words
    least: int
    local_size: tuple[int, int, int] | None = None
    workgroups: int = 0

    @property
    def where(self) -> str:
        """The stage and the workgroups' shape in words."""
        shape = "" if self.local_size is None else f", workgroups of {' x '.join(map(str, self.local_size))}"
        return f"{self.stage.replace('_', ' ')} stage{shape}"


def judge(case: SizeCase, seen: list[Seen], capabilities: Capabilities) -> Verdict:
    """Judge what a case's invocations saw."""
    judged = sum(len(one.records) for one in seen)
    faults = [f"{one.where}: {fault}" for one in seen for fault in faults_of(case, one, capabilities)]
    if faults:
        return Verdict(Status.FAIL, judged, 0, "; ".join(faults[:4]))
    sizes = sorted({int(size) for one in seen for size in np.unique(one.records[:, 0])})
    return Verdict(Status.PASS, judged, 0, f"sizes {', '.join(map(str, sizes))}")


def faults_of(case: SizeCase, seen: Seen, capabilities: Capabilities) -> list[str]:
    """Return what contradicts the specification, in words; empty if nothing does."""
    if len(seen.records) < seen.least:
        return [f"{len(seen.records)} invocations left a record, of at least {seen.least}"]
    legal = case.legal(capabilities)
    size, lane, agree = seen.records[:, :3].astype(np.int64).T
    wrong = ~np.isin(size, legal)
    if wrong.any():
        return [
            f"gl_SubgroupSize is {size[wrong][0]} in {int(wrong.sum())} of {len(size)} invocations; it may "
            f"be {' or '.join(map(str, legal))}"
        ]
    if (lane >= size).any():
        return [f"gl_SubgroupInvocationID is {lane[lane >= size][0]}, not below the subgroup size"]
    if (agree != 1).any():
        return ["gl_SubgroupSize differs between invocations of one subgroup"]
    active = unpack(np.ascontiguousarray(seen.records[:, 4:8]), _MOST_LANES)
    if not active[np.arange(len(lane)), lane].all():
        return ["subgroupBallot(true) leaves out the invocation that executes it"]
    if (active & (np.arange(_MOST_LANES) >= size[:, None])).any():
        return ["subgroupBallot(true) names a lane that is not below the subgroup size"]
    return [] if seen.local_size is None else _workgroup_faults(case, seen, size, lane, active)


def _workgroup_faults(
    case: SizeCase, seen: Seen, size: NDArray[np.int64], lane: NDArray[np.int64], active: NDArray[np.bool_]
) -> list[str]:
    """Return what contradicts the specification in workgroups, whose invocations are all active."""
    assert seen.local_size is not None
    invocations = int(np.prod(seen.local_size))
    group, count, number, index = seen.records[:, 8:12].astype(np.int64).T
    if len(np.unique(group * invocations + index)) != len(group) or len(group) != seen.least:
        return ["the invocations of the workgroups are not there once each"]
    if len(np.unique(size)) > 1:
        return [f"subgroups of sizes {np.unique(size).tolist()} are in one command"]
    width = int(size[0])
    if (number >= count).any() or len(np.unique(np.column_stack([group, count]), axis=0)) != seen.workgroups:
        return ["gl_SubgroupID is not below gl_NumSubgroups, or the latter differs in a workgroup"]
    key = group * (int(number.max()) + 1) + number
    members = np.zeros((int(key.max()) + 1, _MOST_LANES), np.bool_)
    members[key, lane] = True
    if int(members.sum()) != len(key):
        return ["two invocations share a lane of a subgroup"]
    if not np.array_equal(active, members[key]):
        return ["subgroupBallot(true) is not every invocation of the subgroup, in uniform control flow"]
    held = members.sum(axis=1)[np.unique(key)]
    if case.must_be_full(seen.local_size, width):
        if (held != width).any():
            return [f"a subgroup of size {width} holds {held[held != width][0]} invocations; it must be full"]
        if (count != invocations // width).any():
            return [f"gl_NumSubgroups is {count[0]}; {invocations // width} full subgroups are needed"]
    return []
