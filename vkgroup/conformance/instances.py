"""Which invocations were active together: dynamic instances of a batch's operations.

Read from what the shader recorded, never assumed: how a device forms subgroups, and which invocations it
keeps together in divergent control flow, is its own affair. What is required is that its answers agree
with each other (KHR_shader_subgroup: subgroupBallot has the bits of the active invocations alone).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.program import LANE_PLANES, SLOT_PLANES, Program
from vkgroup.conformance.shapes import WORKGROUPS

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Instances:
    """The dynamic instances of one batch, one a row.

    Attributes
    ----------
    size : subgroup size.
    slot, workgroup, subgroup : (rows,) where the instance was met.
    subgroups : for each workgroup the distinct gl_SubgroupID of its invocations, ascending.
    member : (rows, size) invocation index of each lane; 0 where the lane is not active.
    active : (rows, size) lanes that executed the instance.
    mask : (rows, 4) the active mask as the device gave it (or as found, where it has no ballots).
    faults : what contradicts the specification, in words; empty if nothing does.
    """

    size: int
    slot: Indices
    workgroup: Indices
    subgroup: Indices
    subgroups: tuple[Indices, ...]
    member: Indices
    active: Flags
    mask: Words
    faults: tuple[str, ...]


def pack(active: Flags) -> Words:
    """Return the ballot of active lanes: (rows, size) → (rows, 4) words, lane 0 in bit 0 of the first."""
    bits = np.zeros((len(active), 128), np.bool_)
    bits[:, : active.shape[1]] = active
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint32)


def read(program: Program, outputs: Words, ballot: bool) -> Instances:
    """Find the dynamic instances in a batch's outputs.

    Parameters
    ----------
    outputs : (program.output_words,) uint32.
    ballot : whether the shader recorded active masks; without, all executing invocations of a subgroup are
        taken to be active together, which holds in uniform control flow.
    """
    n, size = program.invocations, program.subgroup_size
    lane, subgroup, sizes = outputs[: LANE_PLANES * n].reshape(LANE_PLANES, n).astype(np.int64)
    workgroup = np.arange(n) // (n // WORKGROUPS)
    faults = _layout_faults(lane, subgroup, sizes, workgroup, size)
    if faults:
        return _empty(size, faults)
    slots = program.pattern.slots
    planes = outputs[LANE_PLANES * n :][: slots * SLOT_PLANES * n].reshape(slots, SLOT_PLANES, n)
    slot, invocation = np.nonzero(planes[:, 0])
    masks = planes[slot, 1:, invocation]
    if not ballot:
        masks = np.zeros_like(masks)
    keys = np.column_stack([slot, workgroup[invocation], subgroup[invocation], masks]).astype(np.int64)
    rows, row_of = np.unique(keys, axis=0, return_inverse=True)
    row_of = row_of.ravel()
    member = np.zeros((len(rows), size), np.int64)
    active = np.zeros((len(rows), size), np.bool_)
    member[row_of, lane[invocation]] = invocation
    active[row_of, lane[invocation]] = True
    found = pack(active)
    mask = rows[:, 3:].astype(np.uint32) if ballot else found
    faults = _mask_faults(rows, mask, found)
    if program.pattern.uniform:
        faults += _uniformity_faults(rows, active, n, workgroup, subgroup)
    subgroups = tuple(np.unique(subgroup[workgroup == group]) for group in range(WORKGROUPS))
    return Instances(size, rows[:, 0], rows[:, 1], rows[:, 2], subgroups, member, active, mask, tuple(faults))


def _empty(size: int, faults: list[str]) -> Instances:
    none = np.zeros(0, np.int64)
    return Instances(
        size, none, none, none, (none,) * WORKGROUPS,
        np.zeros((0, size), np.int64), np.zeros((0, size), np.bool_), np.zeros((0, 4), np.uint32),
        tuple(faults),
    )  # fmt: skip


def _layout_faults(
    lane: Indices, subgroup: Indices, sizes: Indices, workgroup: Indices, size: int
) -> list[str]:
    """Check that the built-in variables give each invocation a place of its own.

    Without that nothing can be judged. That gl_SubgroupID and gl_NumSubgroups agree is for their own cases.
    """
    faults = []
    if np.any(sizes != size):
        wrong = int(sizes[sizes != size][0])
        faults.append(f"gl_SubgroupSize is {wrong} where the device declares {size}")
    if np.any(lane >= size):
        faults.append(f"gl_SubgroupInvocationID {int(lane.max())} is not below the subgroup size {size}")
    if faults:
        return faults
    places = np.column_stack([workgroup, subgroup, lane])
    if len(np.unique(places, axis=0)) != len(places):
        faults.append("two invocations of a workgroup share gl_SubgroupID and gl_SubgroupInvocationID")
    return faults


def _mask_faults(rows: Indices, mask: Words, found: Words) -> list[str]:
    """Check that each active mask names exactly the invocations that reported it."""
    wrong = np.nonzero(np.any(mask != found, axis=1))[0]
    if not len(wrong):
        return []
    row = int(wrong[0])
    return [
        f"subgroupBallot(true) gave {_hex(mask[row])} to lanes {_hex(found[row])} of subgroup "
        f"{rows[row, 2]}, workgroup {rows[row, 1]}: an active mask must name the lanes that execute "
        "together, each of which must see the same"
    ]


def _uniformity_faults(
    rows: Indices, active: Flags, n: int, workgroup: Indices, subgroup: Indices
) -> list[str]:
    """Check that uniform control flow kept the invocations of each subgroup together."""
    subgroups = len(np.unique(workgroup * (subgroup.max() + 1) + subgroup))
    if len(rows) == subgroups and int(active.sum()) == n:
        return []
    return [
        f"{n} invocations in {subgroups} subgroups were met in {len(rows)} parts by uniform control flow, "
        "where no invocation may be missing or apart"
    ]


def _hex(words: Words) -> str:
    return "0x" + "".join(f"{word:08x}" for word in words[::-1]).lstrip("0").rjust(1, "0")
