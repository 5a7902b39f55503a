"""Dynamic instances of a batch's operations: the invocations that were active together.

They are computed from the records of the shader. A device may form subgroups in any way, and may keep any
invocations together in divergent control flow. Its results must be consistent (KHR_shader_subgroup: the bits
of subgroupBallot are set for active invocations only).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import POISON, Flags, Indices, Words
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.patterns import WORKGROUPS, Pattern, PatternLanes
from vkgroup.conformance.stages.base import BatchStage, Recorded

SLOT_PLANES = 5
"""Planes of one slot in the outputs: whether it was executed, and the active mask's four words."""


class RecordedPlanes(Protocol):
    """The parts of a `vkgroup.conformance.subgroup.shader.BatchProgram` that tell where its records are."""

    stage: BatchStage
    pattern: Pattern
    subgroup_size: int
    output_words: int
    mask: Words  # for each own number, whether data selects the invocation

    @property
    def invocations(self) -> int:
        """Words of a plane of the outputs."""

    @property
    def slots_at(self) -> int:
        """The first word of the record of slots in the outputs."""

    def turn_of(self, subgroup: Indices) -> Indices:
        """Return the turns of the recorded subgroups of workgroups."""


@dataclass(frozen=True)
class MaskFault:
    """The active masks of a batch of which one is wrong; masks are (rows, 4) words."""

    size: int  # subgroup size
    mask: Words  # as the device gave them
    reported: Words  # the lanes that reported each mask
    unseen: Words  # lanes that may be active without a report
    subgroups: Indices  # (rows, 2): group and subgroup of each row
    invocations: Indices  # (invocations, 3): group, subgroup and lane of each invocation
    program: RecordedPlanes | None = None  # the batch


@dataclass(frozen=True)
class LayoutFault:
    """The lanes and subgroups that invocations recorded, where these cannot be right."""

    size: int  # the declared subgroup size
    group_places: int  # invocations in each workgroup
    invocations: Recorded


@dataclass(frozen=True)
class PathFault:
    """How many executions of operations, or their absence, contradict the conditions around them."""

    wrong: int
    right: int


@dataclass(frozen=True)
class Instances:
    """The dynamic instances of one batch, one per row."""

    size: int  # subgroup size
    #: `slot`, `group`, `subgroup`: (rows,) where the instance ran; a group is a workgroup in compute.
    slot: Indices
    group: Indices
    subgroup: Indices
    number: Indices  # (rows,) the argument of `BatchStage.places` for its subgroup
    subgroups: tuple[Indices, ...]  # for each group, the numbers of its subgroups, ascending
    member: Indices  # (rows, size) invocation index of each lane; 0 where the lane left no record
    place: Indices  # (rows, size) where each lane's values lie in the data
    cell: Indices  # (rows, size) the cell of each lane in barrier cases
    active: Flags  # (rows, size) lanes that executed the instance
    recorded: Flags  # (rows, size) lanes that recorded results: all active ones except helper invocations
    mask: Words  # (rows, 4) the active mask from the device (reconstructed if there are no ballots)
    faults: tuple[str, ...]  # violations of the specification, one sentence each
    #: The lanes of the instance with the fault, in the format of `vkgroup.conformance.evidence`.
    shown: dict[str, Any] | None = None
    mask_fault: MaskFault | None = None  # all masks, if one of them is wrong
    layout_fault: LayoutFault | None = None  # the records of all invocations, if they cannot be right
    path_fault: PathFault | None = None  # if an invocation takes another path


def pack(active: Flags) -> Words:
    """Return the ballot of active lanes: (rows, size) → (rows, 4) words, lane 0 in bit 0 of the first."""
    bits = np.zeros((len(active), 128), np.bool_)
    bits[:, : active.shape[1]] = active
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def unpack(mask: Words, size: int) -> Flags:
    """Return the active lanes of ballots: (rows, 4) words → (rows, size)."""
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :size].astype(np.bool_)


def read(program: RecordedPlanes, outputs: Words, ballot: bool) -> Instances:
    """Return the dynamic instances in a batch's outputs, (program.output_words,).

    Without `ballot`, the shader recorded no active masks. Then all executing invocations of a subgroup count
    as active together, which is correct in uniform control flow.
    """
    stage, n, size = program.stage, program.invocations, program.subgroup_size
    invocations = stage.recorded(outputs[: stage.record_planes * n].reshape(stage.record_planes, n))
    faults = [*invocations.faults, *_layout_faults(invocations, size)]
    if faults:
        layout = LayoutFault(size, stage.group_places, invocations)
        return replace(_empty(size, faults), layout_fault=layout)
    index, lane = invocations.index, invocations.lane
    subgroup, group = invocations.subgroup, invocations.group
    slots = program.pattern.slots
    planes = outputs[program.slots_at :][: slots * SLOT_PLANES * n].reshape(slots, SLOT_PLANES, n)[..., index]
    slot, record = np.nonzero(planes[:, 0])
    masks = planes[slot, 1:, record]
    if not ballot:
        masks = np.zeros_like(masks)
    keys = np.column_stack([slot, group[record], subgroup[record], masks]).astype(np.int64)
    rows, first, row_of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    row_of = row_of.ravel()
    member = np.zeros((len(rows), size), np.int64)
    recorded = np.zeros((len(rows), size), np.bool_)
    member[row_of, lane[record]] = index[record]
    recorded[row_of, lane[record]] = True
    reported = pack(recorded)
    mask = rows[:, 3:].astype(np.uint32) if ballot else reported
    number = invocations.number[record[first]]
    everyone = pack(np.ones(recorded.shape, np.bool_))
    unseen = everyone if program.pattern.demotes else invocations.unseen[record[first]] & everyone
    fault = _mask_fault(program, rows, number, mask, reported, unseen)
    faults, shown = ([], None) if fault is None else ([fault.words], fault.lanes)
    mask_fault = path_fault = None
    if fault is not None:
        everybody = np.column_stack([group, subgroup, lane])
        mask_fault = MaskFault(size, mask, reported, unseen, rows[:, 1:3], everybody, program)
    if program.pattern.uniform:
        faults += _uniformity_faults(rows, recorded, len(index), group, subgroup)
    elif fault is None and (found := _path_fault(program, invocations, planes[:, 0] != 0)) is not None:
        fault, path_fault = found
        faults, shown = [fault.words], fault.lanes
    place = stage.places(rows[:, 1], number, member)
    return Instances(
        size=size, slot=rows[:, 0], group=rows[:, 1], subgroup=rows[:, 2], number=number,
        subgroups=tuple(np.unique(subgroup[group == workgroup]) for workgroup in range(WORKGROUPS)),
        member=member, place=place, cell=stage.cell(rows[:, 2], member),
        active=unpack(mask, size), recorded=recorded, mask=mask,
        faults=tuple(faults), shown=shown, mask_fault=mask_fault,
        path_fault=path_fault,
    )  # fmt: skip


def _empty(size: int, faults: list[str]) -> Instances:
    none, lanes = np.zeros(0, np.int64), np.zeros((0, size), np.int64)
    return Instances(
        size=size, slot=none, group=none, subgroup=none, number=none, subgroups=(none,) * WORKGROUPS,
        member=lanes, place=lanes, cell=lanes, active=lanes != 0, recorded=lanes != 0,
        mask=np.zeros((0, 4), np.uint32), faults=tuple(faults),
    )  # fmt: skip


def _layout_faults(invocations: Recorded, size: int) -> list[str]:
    """Check that no two invocations report the same lane; otherwise no result can be compared.

    The cases of gl_SubgroupID and gl_NumSubgroups check that these agree.
    """
    lane, sizes = invocations.lane, invocations.size
    subgroup, group = invocations.subgroup, invocations.group
    wrong = sizes[sizes != size]
    if len(wrong) and wrong[0] == POISON:
        return [f"{int((sizes == POISON).sum())} invocations left no record"]
    if faults := lane_faults(lane, sizes, size):
        return faults
    lanes = np.column_stack([group, subgroup, lane])
    if len(np.unique(lanes, axis=0)) != len(lanes):
        return ["two invocations share subgroup and gl_SubgroupInvocationID"]
    return []


def lane_faults(lane: NDArray[Any], sizes: NDArray[Any], size: int) -> list[str]:
    """Return how recorded lanes and sizes contradict the device's subgroup size; empty if they agree."""
    if (sizes != size).any():
        return [f"gl_SubgroupSize is {int(sizes[sizes != size][0])} where the device declares {size}"]
    if (lane >= size).any():
        return [f"gl_SubgroupInvocationID {int(lane.max())} is not below the subgroup size {size}"]
    return []


def _mask_fault(
    program: RecordedPlanes, rows: Indices, number: Indices, mask: Words, reported: Words, unseen: Words
) -> Fault | None:
    """Check that each active mask names exactly the invocations that reported it.

    It may also name invocations of `unseen`: helper invocations, whose stores have no effect.
    """
    wrong = np.nonzero(np.any((reported & ~mask) | (mask & ~reported & ~unseen), axis=1))[0]
    if not len(wrong):
        return None
    row = int(wrong[0])
    where = program.stage.subgroup_name(int(rows[row, 1]), int(number[row]))
    words = (
        f"subgroupBallot(true) gave {hex_of(mask[row])} to lanes {hex_of(reported[row])} of {where}: an "
        "active mask must name the lanes that execute together, each of which must see the same"
    )
    size = program.subgroup_size
    got, there, open_ = (unpack(masks[row : row + 1], size)[0] for masks in (mask, reported, unseen))
    wrong_lanes = there & ~got | got & ~there & ~open_
    lanes = evidence.of_lanes(
        where,
        np.arange(size),
        wrong_lanes,
        {"in the mask": np.where(got, "yes", "no").tolist()},
        size=size,
        active=there,
        slot=int(rows[row, 0]),
        masks=[evidence.mask_of("the mask they got", got, wrong_lanes)],
        code="subgroupBallot(true)",
    )
    return Fault(words, lanes)


def _path_fault(
    program: RecordedPlanes, invocations: Recorded, executed: Flags
) -> tuple[Fault, PathFault] | None:
    """Check which invocations executed each slot, (slots, invocations): those that the conditions select."""
    index, lane, group, own = invocations.index, invocations.lane, invocations.group, invocations.own
    turn = program.turn_of(invocations.subgroup) if invocations.turn is None else invocations.turn
    own = index if own is None else own
    mask, size = program.mask, program.subgroup_size
    either = [PatternLanes(lane, size, group, turn, mask[own] != 0)]
    if (own < 0).any():  # which invocations data selects is not known
        either = [replace(either[0], selected=np.full(len(lane), value)) for value in (False, True)]
    required, other = (np.array(program.pattern.paths(each)) for each in (either[0], either[-1]))
    wrong = (executed != required) & (executed != other)
    if not wrong.any():
        return None
    slot, record = (int(each[0]) for each in np.nonzero(wrong))
    together = np.flatnonzero(
        (invocations.subgroup == invocations.subgroup[record]) & (group == group[record])
    )
    where = program.stage.subgroup_name(int(group[record]), int(invocations.number[record]))
    done, wanted = executed[slot, together], required[slot, together]
    words = (
        f"lane {lane[record]} of {where} {'executed' if executed[slot, record] else 'did not execute'} the "
        f"operation, contrary to the conditions around it: {int(wrong.sum())} of {wrong.size} are wrong"
    )
    lanes = evidence.of_lanes(
        where,
        lane[together],
        wrong[slot, together],
        {
            name: np.where(flags, "yes", "no").tolist()
            for name, flags in (("expected", wanted), ("got", done))
        },
        size=size,
        slot=slot,
    )
    return Fault(words, lanes), PathFault(int(wrong.sum()), int((~wrong).sum()))


def _uniformity_faults(
    rows: Indices, recorded: Flags, n: int, group: Indices, subgroup: Indices
) -> list[str]:
    """Check that all invocations of each subgroup were active together in uniform control flow."""
    subgroups = len(np.unique(group * (subgroup.max() + 1) + subgroup))
    if len(rows) == subgroups and int(recorded.sum()) == n:
        return []
    return [
        f"{n} invocations in {subgroups} subgroups were met in {len(rows)} parts by uniform control flow, "
        "where no invocation may be missing or apart"
    ]


def hex_of(words: Words) -> str:
    """Return a ballot of four words as a hexadecimal number."""
    return "0x" + "".join(f"{word:08x}" for word in words[::-1]).lstrip("0").rjust(1, "0")
