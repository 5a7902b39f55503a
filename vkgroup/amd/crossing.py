"""Instructions that move values between lanes, or between lanes and scalar registers."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from vkgroup.amd.access import offset_of
from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.operands import registers_of, scalar_source, vector_bits
from vkgroup.amd.steps import Step
from vkgroup.amd.text import EXEC, M0, InstructionOperand, MachineInstruction
from vkgroup.amd.waves import Waves


def _step(
    instruction: MachineInstruction,
    run: Callable[[Waves], None],
    result: InstructionOperand,
    *sources: InstructionOperand,
    counter: str = "",
) -> Step:
    """Return a step of 32-bit operands."""
    used = frozenset(register for source in sources for register in registers_of(source, 32))
    return Step(instruction, run, used, frozenset(registers_of(result, 32)), counter=counter)


def _first_active(waves: Waves) -> Array:
    """Return each wave's first active lane; lane 0 if none is."""
    return waves.mask(EXEC).argmax(axis=1)


def _read_lane(instruction: MachineInstruction) -> Step:
    result, source, *chosen = instruction.operands
    read = vector_bits(source, "b32")
    lane = scalar_source(chosen[0], "b32") if chosen else None

    def run(waves: Waves) -> None:
        values = np.broadcast_to(read(waves), (waves.count, waves.lanes))
        at = (
            _first_active(waves)
            if lane is None
            else np.broadcast_to(lane(waves), (waves.count,)) % waves.lanes
        )
        waves.set_scalar(result.index, values[np.arange(waves.count), at])

    return _step(instruction, run, result, source, *chosen)


def _write_lane(instruction: MachineInstruction) -> Step:
    result, source, chosen = instruction.operands
    read, lane = scalar_source(source, "b32"), scalar_source(chosen, "b32")

    def run(waves: Waves) -> None:
        at = np.broadcast_to(lane(waves), (waves.count,)) % waves.lanes
        there = np.arange(waves.lanes) == at[:, None]
        if waves.members is not None:
            there = there & waves.members[:, None]
        waves.set_vector(result.index, np.broadcast_to(read(waves), (waves.count,))[:, None], there)

    return _step(instruction, run, result, source, chosen)


def _permute_rows(instruction: MachineInstruction) -> Step:
    """Compile v_permlane16 and v_permlanex16: within each row of 16 lanes, or from the row beside it."""
    result, source, low, high = instruction.operands
    selections = instruction.numbers("op_sel") or [0, 0]
    fetches, zeros = bool(selections[0]), bool(selections[1])
    is_other = instruction.name.startswith("v_permlanex16")
    varies = "_var_" in instruction.name
    read = vector_bits(source, "b32")
    reads = [scalar_source(operand, "b32") for operand in (low, high)] if not varies else []

    def run(waves: Waves) -> None:
        lane = np.arange(waves.lanes)
        if varies:
            choice = waves.v[low.index].astype(np.int64) & 15
        else:
            words = [np.broadcast_to(word(waves), (waves.count,)).astype(np.int64)[:, None] for word in reads]
            choice = np.where(lane % 16 < 8, words[0], words[1]) >> (4 * (lane % 8)) & 15
        at = (lane // 16 * 16 ^ (16 if is_other else 0)) + choice
        values = np.broadcast_to(read(waves), (waves.count, waves.lanes))
        moved = np.take_along_axis(values, at, axis=1)
        if fetches:
            waves.set_vector(result.index, moved)
            return
        valid = np.take_along_axis(waves.mask(EXEC), at, axis=1)
        if zeros:
            waves.set_vector(result.index, np.where(valid, moved, np.uint32(0)))
        else:
            waves.set_vector(result.index, moved, valid & waves.active_lanes)

    return _step(instruction, run, result, source, low, *(() if varies else (high,)))


def _permute_halves(instruction: MachineInstruction) -> Step:
    result, source = instruction.operands

    def run(waves: Waves) -> None:
        values = waves.v[source.index]
        moved = np.roll(values, 32, axis=1) if waves.lanes == 64 else values
        waves.set_vector(result.index, moved.copy())

    return _step(instruction, run, result, source)


def _count_below(instruction: MachineInstruction) -> Step:
    result, mask, added = instruction.operands
    words, base = vector_bits(mask, "b32"), vector_bits(added, "b32")
    is_low = "_lo_" in instruction.name

    def run(waves: Waves) -> None:
        lane = np.arange(waves.lanes)
        below = np.clip(lane if is_low else lane - 32, 0, 32)
        threads = np.array([(1 << int(n)) - 1 for n in below], np.uint32)
        chosen = np.broadcast_to(words(waves) & threads, (waves.count, waves.lanes))
        octets = np.ascontiguousarray(chosen).view(np.uint8)
        count = np.unpackbits(octets, axis=1).reshape(waves.count, waves.lanes, 32).sum(axis=2)
        waves.set_vector(result.index, count.astype(np.uint32) + base(waves))

    return _step(instruction, run, result, mask, added)


def _backward(instruction: MachineInstruction, generation: float) -> Step:
    """Compile ds_bpermute: each lane reads the lane that its address names."""
    result, address, data = instruction.operands
    offset = offset_of(instruction)

    def run(waves: Waves) -> None:
        at = _named_lanes(waves, address, offset, generation)
        valid = np.take_along_axis(waves.mask(EXEC), at, axis=1)
        moved = np.take_along_axis(waves.v[data.index], at, axis=1)
        waves.set_vector(result.index, np.where(valid, moved, np.uint32(0)))

    return _step(instruction, run, result, address, data, counter="local")


def _named_lanes(waves: Waves, address: InstructionOperand, offset: int, generation: float) -> Array:
    """Return the lanes that addresses in bytes name; those of the same half of 32 lanes in RDNA 1 to 3."""
    lane = np.arange(waves.lanes)
    number = (waves.v[address.index].astype(np.int64) + offset) >> 2
    size = min(waves.lanes, 32) if 10 <= generation < 12 else waves.lanes
    return np.asarray(lane // size * size + number % size)


def _forward(instruction: MachineInstruction, generation: float) -> Step:
    """Compile ds_permute: each lane writes to the lane that its address names; the highest lane wins."""
    result, address, data = instruction.operands
    offset = offset_of(instruction)

    def run(waves: Waves) -> None:
        at = _named_lanes(waves, address, offset, generation)
        moved = np.zeros((waves.count, waves.lanes), np.uint32)
        active = waves.active_lanes
        wave, lane = np.nonzero(active)
        moved[wave, at[wave, lane]] = waves.v[data.index][wave, lane]
        waves.set_vector(result.index, moved)

    return _step(instruction, run, result, address, data, counter="local")


def swizzle_sources(text: str, lanes: int) -> Array:
    """Return the lane that each lane reads under the offset of ds_swizzle, in numbers or LLVM's words."""
    lane = np.arange(lanes)
    if not text.startswith("swizzle("):
        offset = int(text, 0)
        if offset >= 0xE000 or not offset & 0x8000:
            if offset & 0x8000:
                raise MissingPart(f"ds_swizzle with the offset {text}")
            within = (lane % 32 & offset & 31 | offset >> 5 & 31) ^ offset >> 10 & 31
            return np.asarray(lane // 32 * 32 + within)
        if offset >= 0xC000:
            mask, direction, count = offset & 31, offset >> 10 & 1, offset >> 5 & 31
            return _rotated(lane, -count if direction else count, mask)
        return np.asarray(lane // 4 * 4 + (offset >> 2 * (lane % 4) & 3))
    kind, *words = (word.strip().strip('"') for word in text.removeprefix("swizzle(").rstrip(")").split(","))
    if kind == "QUAD_PERM":
        return np.asarray(lane // 4 * 4 + np.array([int(word) for word in words])[lane % 4])
    if kind == "SWAP":
        return np.asarray(lane ^ int(words[0]))
    if kind == "REVERSE":
        return np.asarray(lane ^ (int(words[0]) - 1))
    if kind == "BROADCAST":
        size, source = (int(word) for word in words)
        return np.asarray(lane // size * size + source)
    if kind == "ROTATE":
        direction, count = (int(word) for word in words)
        return _rotated(lane, -count if direction else count, 0)
    if kind != "BITMASK_PERM":
        raise MissingPart(f"ds_swizzle {text}")
    within = lane % 32
    for position, letter in enumerate(words[0]):
        bit = 1 << 4 - position
        if letter in "01":
            within = within & ~bit | bit * int(letter)
        elif letter == "i":
            within = within ^ bit
    return np.asarray(lane // 32 * 32 + within)


def _rotated(lane: Array, count: int, mask: int) -> Array:
    return np.asarray(lane // 32 * 32 + (lane % 32 & mask | (lane + count) % 32 & ~mask & 31))


def _swizzle(instruction: MachineInstruction) -> Step:
    result, source = instruction.operands
    text = instruction.modifiers.get("offset", "0")

    def run(waves: Waves) -> None:
        at = swizzle_sources(text, waves.lanes)
        moved = waves.v[source.index][:, at]
        waves.set_vector(result.index, np.where(waves.mask(EXEC)[:, at], moved, np.uint32(0)))

    return _step(instruction, run, result, source, counter="local")


def _relative(instruction: MachineInstruction) -> Step:
    """Compile v_movrels and v_movreld: a vector register chosen by M0."""
    result, source = instruction.operands
    from_source = "movrels" in instruction.name
    to_result = "movreld" in instruction.name or "movrelsd" in instruction.name
    read = vector_bits(source, "b32")

    def run(waves: Waves) -> None:
        place = waves.s[M0].astype(np.int64) % len(waves.v)
        value = np.broadcast_to(read(waves), (waves.count, waves.lanes))
        if from_source:
            value = waves.v[(source.index + place) % len(waves.v), np.arange(waves.count)]
        if not to_result:
            waves.set_vector(result.index, value)
            return
        wave, lane = np.nonzero(waves.active_lanes)
        waves.v[(result.index + place[wave]) % len(waves.v), wave, lane] = value[wave, lane]

    return Step(
        instruction, run, frozenset((M0, *registers_of(source, 32))), frozenset(registers_of(result, 32))
    )


_COMPILERS: dict[str, Callable[[MachineInstruction], Step]] = {
    "v_readlane_b32": _read_lane, "v_readfirstlane_b32": _read_lane, "v_writelane_b32": _write_lane,
    "v_permlane16_b32": _permute_rows, "v_permlanex16_b32": _permute_rows,
    "v_permlane16_var_b32": _permute_rows, "v_permlanex16_var_b32": _permute_rows,
    "v_permlane64_b32": _permute_halves, "v_mbcnt_lo_u32_b32": _count_below,
    "v_mbcnt_hi_u32_b32": _count_below, "ds_swizzle_b32": _swizzle, "v_movrels_b32": _relative,
    "v_movreld_b32": _relative, "v_movrelsd_b32": _relative,
}  # fmt: skip


def compile_crossing(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of an instruction that crosses lanes; None for others."""
    if instruction.name == "ds_bpermute_b32":
        return _backward(instruction, generation)
    if instruction.name == "ds_permute_b32":
        return _forward(instruction, generation)
    if re.fullmatch(r"v_permlane16_swap\w*|v_permlane32_swap\w*", instruction.name):
        raise MissingPart(instruction.name)
    make = _COMPILERS.get(instruction.name)
    return make(instruction) if make else None
