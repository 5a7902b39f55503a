"""Recorded subgroup sizes, and the rules for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags, Words
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.evidence import MOST_LANES, Fault
from vkgroup.conformance.instances import unpack
from vkgroup.conformance.size_control.case import SizeAxes
from vkgroup.device import Capabilities
from vkgroup.record.record import Status

WORDS = 12
"""Words of a record: size; lane; whether all active invocations have that size; number of the stage; the
active mask's four; of stages with workgroups also workgroup, gl_NumSubgroups, gl_SubgroupID, local index."""

_SIZE, _BALLOT = "gl_SubgroupSize", "subgroupBallot(true)"
"""Text in the shader lines that record the size and the active mask."""


@dataclass(frozen=True)
class Seen:
    """The records of the invocations of one stage in one dispatch or draw."""

    stage: str  # its name
    records: Words  # (invocations, `WORDS`)
    least: int  # required number of records
    #: `local_size`, `workgroups`: of stages with workgroups; None and 0 of others.
    local_size: tuple[int, int, int] | None = None
    workgroups: int = 0

    @property
    def where(self) -> str:
        """A phrase for the stage and the shape of its workgroups."""
        shape = "" if self.local_size is None else f", workgroups of {' x '.join(map(str, self.local_size))}"
        return f"{self.stage.replace('_', ' ')} stage{shape}"


def verdict_of_sizes(case: SizeAxes, seen: list[Seen], capabilities: Capabilities) -> Verdict:
    """Return the verdict on the recorded sizes of a case's invocations."""
    judged = sum(len(dispatch.records) for dispatch in seen)
    checked = [(dispatch.where, fault_of(case, dispatch, capabilities)) for dispatch in seen]
    faults = [(where, fault) for where, fault in checked if fault is not None]
    if faults:
        words = [f"{where}: {fault.words}" for where, fault in faults]
        lanes = next((fault.lanes for _, fault in faults if fault.lanes), None)
        return Verdict(Status.FAIL, judged, 0, "; ".join(words[:4]), lanes)
    sizes = sorted({int(size) for dispatch in seen for size in np.unique(dispatch.records[:, 0])})
    return Verdict(Status.PASS, judged, 0, f"sizes {', '.join(map(str, sizes))}")


def fault_of(case: SizeAxes, seen: Seen, capabilities: Capabilities) -> Fault | None:
    """Return the first violation of the specification; None if there is none."""
    if len(seen.records) < seen.least:
        return Fault(f"{len(seen.records)} invocations left a record, of at least {seen.least}")
    legal = case.legal(capabilities)
    size, lane, agree = seen.records[:, :3].astype(np.int64).T
    wrong = ~np.isin(size, legal)
    if wrong.any():
        may = " or ".join(map(str, legal))
        words = (
            f"gl_SubgroupSize is {size[wrong][0]} in {int(wrong.sum())} of {len(size)} invocations; it may "
        )
        return _fault(seen, wrong, f"{words}be {may}", size, may)
    if (wrong := lane >= size).any():
        words = f"gl_SubgroupInvocationID is {lane[wrong][0]}, not below the subgroup size"
        return _fault(seen, wrong, words, lane, f"below {size[wrong][0]}", "gl_SubgroupInvocationID")
    if (wrong := agree != 1).any():
        words = "gl_SubgroupSize differs between invocations of one subgroup"
        return _fault(seen, wrong, words, size, "one size")
    active = unpack(np.ascontiguousarray(seen.records[:, 4:8]), MOST_LANES)
    if not (own := active[np.arange(len(lane)), lane]).all():
        words = "subgroupBallot(true) leaves out the invocation that executes it"
        return _fault(seen, ~own, words, active, "a mask with itself", _BALLOT)
    if (wrong := (active & (np.arange(MOST_LANES) >= size[:, None])).any(axis=1)).any():
        words = "subgroupBallot(true) names a lane that is not below the subgroup size"
        return _fault(seen, wrong, words, active, f"lanes below {size[wrong][0]}", _BALLOT)
    return None if seen.local_size is None else _workgroup_fault(case, seen, size, lane, active)


def _workgroup_fault(
    case: SizeAxes, seen: Seen, size: NDArray[np.int64], lane: NDArray[np.int64], active: Flags
) -> Fault | None:
    """Return the first violation in workgroups, whose invocations are all active."""
    assert seen.local_size is not None
    invocations = int(np.prod(seen.local_size))
    group, count, number, index = seen.records[:, 8:12].astype(np.int64).T
    if len(np.unique(group * invocations + index)) != len(group) or len(group) != seen.least:
        return Fault("the invocations of the workgroups are not there once each")
    if len(np.unique(size)) > 1:
        words = f"subgroups of sizes {np.unique(size).tolist()} are in one command"
        return _fault(seen, size != size[0], words, size, str(size[0]))
    width = int(size[0])
    wrong = number >= count
    if wrong.any() or len(np.unique(np.column_stack([group, count]), axis=0)) != seen.workgroups:
        words = "gl_SubgroupID is not below gl_NumSubgroups, or the latter differs in a workgroup"
        return (
            _fault(seen, wrong, words, number, "below gl_NumSubgroups", "gl_SubgroupID")
            if wrong.any()
            else Fault(words)
        )
    key = group * (int(number.max()) + 1) + number
    members = np.zeros((int(key.max()) + 1, MOST_LANES), np.bool_)
    members[key, lane] = True
    if int(members.sum()) != len(key):
        return Fault("two invocations share a lane of a subgroup")
    if (wrong := np.any(active != members[key], axis=1)).any():
        words = "subgroupBallot(true) is not every invocation of the subgroup, in uniform control flow"
        return _fault(seen, wrong, words, active, members[key], _BALLOT)
    return _fullness_fault(case, seen, width, members.sum(axis=1)[key])


def _fullness_fault(case: SizeAxes, seen: Seen, width: int, held: NDArray[np.int64]) -> Fault | None:
    """Return which subgroups must be full and are not; `held`: number of invocations in each subgroup."""
    assert seen.local_size is not None
    if not case.must_be_full(seen.local_size, width):
        return None
    if (wrong := held != width).any():
        words = f"a subgroup of size {width} holds {held[wrong][0]} invocations; it must be full"
        return _fault(seen, wrong, words, held, str(width))
    count, needed = seen.records[:, 9].astype(np.int64), int(np.prod(seen.local_size)) // width
    if (wrong := count != needed).any():
        words = f"gl_NumSubgroups is {count[0]}; {needed} full subgroups are needed"
        return _fault(seen, wrong, words, count, str(needed))
    return None


def _fault(
    seen: Seen, wrong: Flags, words: str, got: NDArray[Any], expected: NDArray[Any] | str, code: str = _SIZE
) -> Fault:
    """Return a fault with the lanes of the first wrong record's subgroup.

    Records of stages without workgroups do not name their subgroup: then only that record is shown. `got` and
    `expected` are (records,) numbers or (records, lanes) masks.
    """
    same = np.flatnonzero(wrong)[:1]
    where, rows = seen.where, {"gl_SubgroupSize": seen.records[:, 0]}
    if seen.local_size is not None:
        same = evidence.together(wrong, seen.records[:, 8], seen.records[:, 10])
        group, subgroup = seen.records[same[0], [8, 10]]
        where = f"{where}, workgroup {group} subgroup {subgroup}"
        rows["invocation"] = seen.records[:, 11]
    first = seen.records[same[0]]
    # If sizes or lanes are wrong, the other records give the number of lanes to draw.
    told = [int(first[0]), int(seen.records[same, 1].max()) + 1]
    size = max((number for number in told if number <= MOST_LANES), default=0)
    same = same[seen.records[same, 1] < size]
    if not wrong[same].any():
        return Fault(words)
    lane, masks = seen.records[same, 1].astype(np.int64), None
    if got.ndim == 2 and not isinstance(expected, str):
        must = expected[same, :size]
        masks = evidence.masks_of(lane, got[same, :size], must, must)
    lane_rows: dict[str, list[str | None]] = {name: _texts(values, same) for name, values in rows.items()}
    lane_rows["expected"] = [expected] * len(same) if isinstance(expected, str) else _texts(expected, same)
    lane_rows["got"] = _texts(got, same)
    active = unpack(np.ascontiguousarray(first[None, 4:8]), size)[0]
    lanes = evidence.of_lanes(
        where, lane, wrong[same], lane_rows, size=size, active=active, masks=masks, code=code
    )
    return Fault(words, lanes)


def _texts(values: NDArray[Any], records: NDArray[np.int64]) -> list[str | None]:
    """Return the values of some records as texts: numbers, or masks."""
    return [evidence.hex_of(value) if value.ndim else str(value) for value in values[records]]
