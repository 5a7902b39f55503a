"""The first source of a vector instruction from other lanes (DPP), and parts of registers (SDWA)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from vkgroup.amd.arrays import Array, Mask
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.waves import Waves

_SELECTIONS = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
}


@cache
def _sources(control: str, text: str, lanes: int) -> tuple[Array, Mask]:
    """Return for each lane the lane that it reads, and whether that lane exists."""
    lane = np.arange(lanes)
    in_row, row = lane % 16, lane // 16 * 16
    numbers = [int(word, 0) for word in text.strip("[]").split(",") if word]
    n = numbers[0] if numbers else 1
    if control == "quad_perm":
        source = lane // 4 * 4 + np.array(numbers)[lane % 4]
    elif control == "dpp8":
        source = lane // 8 * 8 + np.array(numbers)[lane % 8]
    elif control == "row_shl":
        source = np.where(in_row + n < 16, lane + n, -1)
    elif control == "row_shr":
        source = np.where(in_row >= n, lane - n, -1)
    elif control == "row_ror":
        source = row + (in_row - n) % 16
    elif control == "row_mirror":
        source = row + 15 - in_row
    elif control == "row_half_mirror":
        source = lane // 8 * 8 + 7 - lane % 8
    elif control in ("row_share", "row_newbcast"):
        source = row + n
    elif control == "row_xmask":
        source = row + (in_row ^ n)
    elif control == "wave_shl":
        source = np.where(lane + 1 < lanes, lane + 1, -1)
    elif control == "wave_shr":
        source = lane - 1
    elif control == "wave_rol":
        source = (lane + 1) % lanes
    elif control == "wave_ror":
        source = (lane - 1) % lanes
    elif control == "row_bcast" and n == 15:
        source = np.where(row > 0, row - 1, -1)
    elif control == "row_bcast" and n == 31:
        source = np.where(lane >= 32, 31, -1)
    else:
        raise MissingPart(f"the DPP control {control}:{text}")
    return np.maximum(source, 0), source >= 0


_CONTROLS = (
    "quad_perm", "dpp8", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_share",
    "row_newbcast", "row_xmask", "wave_shl", "wave_shr", "wave_rol", "wave_ror", "row_bcast",
)  # fmt: skip


class Crossing:
    """The DPP control of an instruction: values of its first source, and the lanes that it writes."""

    def __init__(self, instruction: MachineInstruction) -> None:
        modifiers = instruction.modifiers
        control = next((name for name in _CONTROLS if name in modifiers), None)
        if control is None:
            raise MissingPart(f"DPP in {instruction.text}")
        self._control, self._text = control, modifiers[control]
        self._zeros = control == "dpp8" or instruction.number("bound_ctrl") != 0 or "bound_ctrl" in modifiers
        self._fetches_inactive = instruction.number("fi") != 0
        self._rows = instruction.number("row_mask", 0xF)
        self._banks = instruction.number("bank_mask", 0xF)

    def move(self, waves: Waves, values: Array) -> tuple[Array, Mask | None]:
        """Return the values from other lanes, and the lanes that are written; None if all active ones are."""
        source, exists = _sources(self._control, self._text, waves.lanes)
        full = np.broadcast_to(values, (waves.count, waves.lanes))
        moved = full[:, source]
        active = waves.active
        valid: Mask = np.broadcast_to(exists, full.shape)
        if not self._fetches_inactive:
            valid = valid & waves.mask(126)[:, source]
        everywhere = bool(valid.all())
        written = active
        if not everywhere:
            moved = np.where(valid, moved, moved.dtype.type(0))
            if not self._zeros:
                written = valid if active is None else active & valid
        if self._rows != 0xF or self._banks != 0xF:
            lane = np.arange(waves.lanes)
            chosen = (self._rows >> lane // 16 & 1) & (self._banks >> lane % 16 // 4 & 1)
            mask = np.broadcast_to(chosen.astype(np.bool_), full.shape)
            written = mask if written is None else written & mask
        return moved, written


def selected(instruction: MachineInstruction, position: int, signed: bool) -> Callable[[Array], Array] | None:
    """Return what takes the part of a source that SDWA selects, as 32 bits; None for the whole."""
    selection = instruction.modifiers.get(f"src{position}_sel", "DWORD")
    if selection == "DWORD":
        return None
    shift, width = _SELECTIONS[selection]
    mask, sign = np.uint32((1 << width) - 1), np.uint32(1 << (width - 1))

    def take(words: Array) -> Array:
        part = words.astype(np.uint32) >> np.uint32(shift) & mask
        return (part ^ sign) - sign if signed else part

    return take


def inserted(instruction: MachineInstruction) -> Callable[[Array, Array], Array] | None:
    """Return what puts an SDWA result of 32 bits into the old value of its register; None for the whole."""
    selection = instruction.modifiers.get("dst_sel", "DWORD")
    if selection == "DWORD":
        return None
    unused = instruction.modifiers.get("dst_unused", "UNUSED_PRESERVE")
    shift, width = _SELECTIONS[selection]
    mask = (1 << width) - 1

    def put(result: Array, old: Array) -> Array:
        part = (result & np.uint32(mask)) << np.uint32(shift)
        if unused == "UNUSED_PRESERVE":
            return old & np.uint32(~(mask << shift) & 0xFFFFFFFF) | part
        if unused == "UNUSED_SEXT":
            high = np.uint32(0xFFFFFFFF & ~((1 << shift + width) - 1))
            return np.where(result >> np.uint32(width - 1) & np.uint32(1), part | high, part)
        return part

    return put
