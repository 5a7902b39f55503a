"""The example of SPV_KHR_shader_ballot (issue 5): five ballots A to E, and what is promised of them.

The document has dynamic instances in the place of "lockstep". Only uniform control flow guarantees that
invocations are together, so A and E name every invocation of the subgroup. B, C and D are executed in
divergent control flow: each names invocations that execute it together, the own one included. B need not
equal D.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.instances import unpack
from vkgroup.conformance.intrinsics import instruction
from vkgroup.results.record import Status

WORKGROUPS, LOCAL_SIZE = 4, 61
INVOCATIONS = WORKGROUPS * LOCAL_SIZE
_BALLOTS, _UNIFORM = "ABCDE", "AE"
WORDS = 2 + 5 * len(_BALLOTS)
"""Words of each invocation: subgroup, lane; then for each ballot whether it was executed, and its words."""

SOURCE = f"""#version 460
// The example of SPV_KHR_shader_ballot. Binding 0: {WORDS} words of each invocation.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_spirv_intrinsics : require
{instruction("OpSubgroupBallotKHR", "SubgroupBallotKHR", "SPV_KHR_shader_ballot")}
uvec4 ballot(bool predicate);
layout(local_size_x = {LOCAL_SIZE}) in;
layout(std430, binding = 0) writeonly buffer Results {{ uint results[][{WORDS}]; }};

void keep(uint which, uvec4 found) {{
    uint at = 2u + 5u * which;
    results[gl_GlobalInvocationID.x][at] = 1u;
    for (uint word = 0u; word < 4u; ++word) results[gl_GlobalInvocationID.x][at + 1u + word] = found[word];
}}

void main() {{
    results[gl_GlobalInvocationID.x][0] = gl_SubgroupID;
    results[gl_GlobalInvocationID.x][1] = gl_SubgroupInvocationID;
    bool odd = (gl_SubgroupInvocationID & 1u) != 0u;
    bool odd2 = (gl_SubgroupInvocationID & 2u) != 0u;
    keep(0u, ballot(true));
    if (odd) {{
        keep(1u, ballot(true));
        if (odd2) {{
            keep(2u, ballot(true));
        }}
        keep(3u, ballot(true));
    }}
    keep(4u, ballot(true));
}}
"""


def blank() -> NDArray[np.uint32]:
    """Return the results before the dispatch: nothing executed."""
    return np.zeros((INVOCATIONS, WORDS), np.uint32)


def verdict_on(results: NDArray[Any], size: int) -> Verdict:
    """Return the verdict on the example's records, (`INVOCATIONS`, `WORDS`), in subgroups of `size`."""
    workgroup = np.arange(INVOCATIONS) // LOCAL_SIZE
    subgroup, lane = results[:, 0].astype(np.int64), results[:, 1].astype(np.int64)
    if lane.max() >= size:
        return Verdict(Status.FAIL, 0, 0, f"lane {lane.max()} is not below the subgroup size {size}")
    _, row = np.unique(np.column_stack([workgroup, subgroup]), axis=0, return_inverse=True)
    row = row.ravel()
    odd, odd2 = lane & 1 == 1, lane & 2 == 2
    executing = {"A": odd | True, "B": odd, "C": odd & odd2, "D": odd, "E": odd | True}
    faults: list[Fault] = []
    masks = {}
    for number, name in enumerate(_BALLOTS):
        record = results[:, 2 + 5 * number : 7 + 5 * number]
        masks[name] = unpack(np.ascontiguousarray(record[:, 1:]), 128)
        if not np.array_equal(record[:, 0] == 1, executing[name]):
            faults.append(Fault(f"{name} was not executed by the invocations that its branches let in"))
            continue
        fault = _fault(name, masks[name], row, lane, executing[name], size)
        faults += [] if fault is None else [fault]
    judged = int(sum(int(flags.sum()) for flags in executing.values()))
    if faults:
        shown = next((fault.lanes for fault in faults if fault.lanes), None)
        return Verdict(Status.FAIL, judged, 0, "; ".join(fault.words for fault in faults), shown)
    same = bool(np.array_equal(masks["B"][odd], masks["D"][odd]))
    detail = f"B {'equals' if same else 'does not equal'} D here, which is not promised"
    return Verdict(Status.PASS, judged, 0, detail)


def _fault(
    name: str, masks: Flags, row: NDArray[Any], lane: NDArray[Any], active: Flags, size: int
) -> Fault | None:
    """Return what a ballot's masks, (invocations, 128), contradict; None if nothing."""
    for subgroup in np.unique(row[active]):
        members = np.flatnonzero(active & (row == subgroup))
        there = np.zeros(128, np.bool_)
        there[lane[members]] = True
        ballots, least = masks[members], np.eye(128, dtype=np.bool_)[lane[members]]
        words, wrong = _judged(name, ballots, there, lane[members])
        if words:
            rows = {
                "invocation": map(str, members.tolist()),
                "expected": [
                    evidence.hex_of(there)
                    if name in _UNIFORM
                    else f"{evidence.hex_of(own)} … {evidence.hex_of(there)}"
                    for own in least
                ],
                "got": [evidence.hex_of(mask) for mask in ballots],
            }
            most = np.broadcast_to(there[:size], (len(members), size))
            least = most if name in _UNIFORM else least[:, :size]
            lanes = evidence.of_lanes(
                f"ballot {name}, the subgroup of invocation {members[0]}",
                lane[members],
                wrong,
                rows,
                size=size,
                active=there[:size],
                masks=evidence.masks_of(lane[members], ballots[:, :size], least, most),
                code=f"keep({_BALLOTS.index(name)}u,",
            )
            return Fault(words, lanes)
    return None


def _judged(name: str, ballots: Flags, there: Flags, lane: NDArray[Any]) -> tuple[str, Flags]:
    """Return what is wrong with the masks of one subgroup, (members, 128), and with whose."""
    others = np.any(ballots & ~there, axis=1)
    if name in _UNIFORM and (wrong := np.any(ballots != there, axis=1)).any():
        return f"{name} is not every invocation of the subgroup, in uniform control flow", wrong
    if others.any():
        return f"{name} names an invocation that does not execute it", others
    if not (own := ballots[np.arange(len(lane)), lane]).all():
        return f"{name} leaves out the invocation that executes it", ~own
    member_of = {int(own_lane): number for number, own_lane in enumerate(lane)}
    for number, mask in enumerate(ballots):
        together = [member_of[int(other)] for other in np.flatnonzero(mask)]
        if not np.all(ballots[together] == mask):
            return f"{name} differs between invocations that it says executed it together", (
                np.arange(len(lane)) == number
            )
    return "", np.zeros(len(lane), np.bool_)
