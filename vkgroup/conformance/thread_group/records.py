"""Recorded invocations of a program: the warps, and who executed which slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags, Indices, Words
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.instances import lane_faults
from vkgroup.conformance.poison import POISON
from vkgroup.conformance.thread_group.program import RECORD, Program


@dataclass(frozen=True)
class Executions:
    """Everything that executed one slot, one invocation a row."""

    slot: int  # which
    #: `index`, `lane`, `warp`: (n,) the invocation, its id in the warp, the warp's number.
    index: Indices
    lane: Indices
    warp: Indices
    company: Words  # (n,) the threads of the warp that left a record
    mask: Words  # (n,) the ballot of those that executed the slot together
    active: Flags  # (n, size) its bits
    ended: Words  # (n,) the bits of those that executed before the results and not behind them
    helper: Flags  # (n, size) the helper threads of the own quad: those without a record
    left_out: Flags  # (n, size) those of them that ballots of the device leave out, which Vulkan allows
    expected: Flags  # (size,) the threads that the control flow sends here
    results: Words  # (slot planes, n) what was recorded

    @property
    def executing(self) -> Flags:
        """The threads that execute the slot by the document, which counts helper threads: (n, size)."""
        return self.active | self.left_out & self.expected

    @property
    def unseen(self) -> Flags:
        """Whether the quad is divergent by helper threads alone that ballots leave out, (n,).

        Nothing tells the shader so on such a device.
        """
        quad = np.arange(self.active.shape[1]) // 4 == self.lane[:, None] // 4
        others = (self.active | self.left_out | ~quad).all(axis=1)
        return np.asarray(others & (self.left_out & ~self.expected).any(axis=1))


def _bits_of(mask: Words, size: int) -> Flags:
    """Return the bits of masks (n,) as (n, size)."""
    return np.asarray(mask[:, None] >> np.arange(size, dtype=np.uint32) & 1 == 1)


def layout_faults(program: Program, outputs: Words, size: int) -> list[str]:
    """Return what contradicts itself in where invocations say they are; empty if nothing does."""
    recorded = outputs[0] == 1
    if not recorded.any():
        return ["no invocation recorded anything"]
    if program.stage != "fragment" and not recorded.all():
        return [f"{int((~recorded).sum())} invocations left no record"]
    lane, sizes = outputs[1, recorded], outputs[2, recorded]
    if faults := lane_faults(lane, sizes, size):
        return faults
    if (outputs[: len(RECORD), recorded] == POISON).any():
        return ["an invocation recorded where it is in part"]
    return []


def executions(program: Program, outputs: Words, slot: int, size: int) -> Executions:
    """Put together what was recorded in a slot."""
    at = program.slot_at(slot)
    index = np.flatnonzero((outputs[0] == 1) & (outputs[at] == 1))
    lane = outputs[1, index].astype(np.int64)
    company = _company(outputs)[index]
    quad = np.arange(size) // 4 == lane[:, None] // 4
    helper = quad & ~_bits_of(company, size) & (program.stage == "fragment")
    present = _bits_of(outputs[4, index], size)
    mask = outputs[at + 1, index]
    return Executions(
        slot=slot,
        index=index,
        lane=lane,
        warp=outputs[3, index].astype(np.int64),
        company=company,
        mask=mask,
        active=_bits_of(mask, size),
        ended=mask & ~outputs[at + 2, index],
        helper=helper,
        left_out=helper & ~present,
        expected=program.flow.executing(slot, size),
        results=outputs[at : at + program.slot_planes, index],
    )


def _company(outputs: Words) -> Words:
    """Return for each invocation the threads of its warp that left a record, (invocations,)."""
    recorded = outputs[0] == 1
    # A pixel may be the first of two warps, where a device clips a triangle into two.
    warps = np.where(recorded, outputs[3:5].astype(np.uint64), 0)
    _, warp = np.unique(warps[0] << np.uint64(32) | warps[1], return_inverse=True)
    threads = np.zeros(int(warp.max()) + 1, np.uint32)
    np.bitwise_or.at(threads, warp[recorded], np.uint32(1) << outputs[1, recorded])
    return np.asarray(threads[warp])


def activity_fault(program: Program, executed: Executions) -> Fault | None:
    """Return what contradicts the control flow, or itself, in who was active; None if nothing does."""
    own = executed.active[np.arange(len(executed.lane)), executed.lane]
    if not own.all():
        words = f"{int((~own).sum())} invocations are not in the mask of active threads that they got"
        return _fault(executed, words, int(np.argmin(own)), ~own)
    strays = executed.active & ~executed.expected
    if strays.any() and not program.flow.demotes:
        row, thread = np.argwhere(strays)[0]
        words = f"thread {thread} is in the mask 0x{executed.mask[row]:x} of code that it does not execute"
        return _fault(executed, words, int(row), np.any(strays, axis=1))
    if program.stage == "vertex":
        # A vertex may be shaded more than once, so records of a warp need not be complete.
        return None
    return _company_fault(program, executed)


def _company_fault(program: Program, executed: Executions) -> Fault | None:
    """Compare each mask with the invocations that recorded it; helper threads record nothing."""
    met: dict[tuple[int, int, int], int] = {}
    keys = list(zip(executed.warp.tolist(), executed.company.tolist(), executed.mask.tolist(), strict=True))
    for key, lane in zip(keys, executed.lane.tolist(), strict=True):
        met[key] = met.get(key, 0) | 1 << lane
    if (lost := executed.ended & executed.company != 0).any():
        words = "a mask lost threads between two ballots of straight code"
        return _fault(executed, words, int(np.argmax(lost)), lost)
    for key, recorded in met.items():
        _, company, mask = key
        if mask & ~recorded & company and not program.flow.demotes:
            words = f"the mask 0x{mask:x} names threads that did not execute with 0x{recorded:x}"
        elif mask & ~company and program.stage != "fragment":
            words = f"the mask 0x{mask:x} names threads beyond those of the warp, 0x{company:x}"
        elif program.flow.uniform and recorded != company:
            words = f"uniform control flow parted 0x{recorded:x} from 0x{company:x}"
        else:
            continue
        return _fault(executed, words, keys.index(key), np.array([other == key for other in keys]))
    return None


def _fault(executed: Executions, words: str, row: int, wrong: Flags) -> Fault:
    """Return a fault with the masks that the warp of execution `row` got."""
    same = np.flatnonzero((executed.warp == executed.warp[row]) & (executed.company == executed.company[row]))
    lane, size = executed.lane[same], executed.active.shape[1]
    least = np.eye(size, dtype=np.bool_)[lane]
    most = np.broadcast_to(executed.expected, least.shape)
    there = np.zeros(size, np.bool_)
    there[lane] = True
    rows = {
        "invocation": map(str, executed.index[same].tolist()),
        "got": map(hex, executed.mask[same].tolist()),
    }
    masks = [
        evidence.mask_of("sent here", executed.expected),
        evidence.mask_of("recorded it", there),
        *evidence.masks_of(lane, executed.active[same], least, most, told=False),
    ]
    where = f"warp {executed.warp[row]}"
    lanes = evidence.of_lanes(where, lane, wrong[same], rows, size=size, slot=executed.slot, masks=masks)
    return Fault(words, lanes)
