"""Local data of workgroups (LDS): loads, stores and atomics."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from vkgroup.amd import atomics
from vkgroup.amd.access import (
    Element,
    element_of,
    lane_data,
    load_lanes,
    offset_of,
    set_lane_data,
    store_lanes,
)
from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.operands import registers_of
from vkgroup.amd.steps import Step
from vkgroup.amd.text import InstructionOperand, MachineInstruction
from vkgroup.amd.waves import Waves


def _local_load(waves: Waves, size: int) -> Callable[[Array, int], Array]:
    view = waves.local.view(f"u{size}") if len(waves.local) % size == 0 else None

    def load(places: Array, _: int) -> Array:
        if size == 1 or view is None or (places & np.uint64(size - 1)).any():
            parts = [waves.local[places + np.uint64(k)].astype(f"u{size}") << (8 * k) for k in range(size)]
            return np.asarray(sum(parts[1:], parts[0]))
        return np.asarray(view[places // np.uint64(size)])

    return load


def _local_store(waves: Waves, size: int) -> Callable[[Array, Array, int], None]:
    def store(places: Array, values: Array, _: int) -> None:
        for k in range(size):
            waves.local[places + np.uint64(k)] = (values >> (8 * k)).astype(np.uint8)

    def store_aligned(places: Array, values: Array, _: int) -> None:
        if (places & np.uint64(size - 1)).any():
            store(places, values, size)
        else:
            waves.local.view(f"u{size}")[places // np.uint64(size)] = values

    return store_aligned if len(waves.local) % size == 0 else store


def _local_places(waves: Waves, address: InstructionOperand, offset: int) -> tuple[Array, Array]:
    """Return places in `Waves.local`, and the bytes from there to the end of the workgroup's part."""
    within = waves.v[address.index].astype(np.int64) + offset & 0xFFFFFFFF
    left = np.int64(waves.local_size) - within
    start = (waves.group * waves.local_size).astype(np.int64)[:, None]
    return (start + within).astype(np.uint64), left


def compile_local(instruction: MachineInstruction) -> Step | None:
    """Return the step of a load, store or atomic of local data; None for other instructions."""
    name = instruction.name.removeprefix("ds_")
    for old, new in (
        ("read2st64_", "load_2addr_stride64_"),
        ("write2st64_", "store_2addr_stride64_"),
        ("read2_", "load_2addr_"),
        ("write2_", "store_2addr_"),
        ("read_", "load_"),
        ("write_", "store_"),
    ):
        if name.startswith(old):
            name = new + name.removeprefix(old)
    if match := re.fullmatch(r"(load|store)_2addr(_stride64)?_b(32|64)", name):
        return _two_places(instruction, match[1], 64 if match[2] else 1, int(match[3]) // 8)
    if match := re.fullmatch(r"(load|store)_(?!addtid)(\w+)", name):
        kind, element = match[1], element_of(match[2])
        operands = instruction.operands
        data, address = (operands[0], operands[1]) if kind == "load" else (operands[1], operands[0])
        offset = offset_of(instruction)

        def run(waves: Waves) -> None:
            places, left = _local_places(waves, address, offset)
            if kind == "load":
                load_lanes(waves, _local_load(waves, element.size), data.index, element, places, left)
            else:
                store_lanes(waves, _local_store(waves, element.size), data.index, element, places, left)

        moved = frozenset(registers_of(data, 32 * element.count))
        used = frozenset(registers_of(address, 32))
        if kind == "load":
            return Step(instruction, run, used, moved, counter="local")
        return Step(instruction, run, used | moved, counter="local")
    if name in ("append", "consume"):
        return _local_counter(instruction, 1 if name == "append" else -1)
    return _local_atomic(instruction, name)


def _local_counter(instruction: MachineInstruction, sign: int) -> Step:
    """Compile the addition of the number of active lanes to a counter; each wave adds once."""
    target = instruction.operands[0]
    offset = offset_of(instruction)
    add, size = atomics.named("add_u32")

    def run(waves: Waves) -> None:
        lanes = waves.active_lanes
        first = lanes & (np.cumsum(lanes, axis=1) == 1)
        count = (sign * lanes.sum(axis=1, keepdims=True)).astype(np.uint32)
        start = (waves.group * waves.local_size + offset).astype(np.uint64)[:, None]
        places, values = (np.broadcast_to(each, lanes.shape) for each in (start, count))
        load, store = _local_load(waves, size), _local_store(waves, size)
        found = atomics.perform(add, load, store, first, places, values, None)
        waves.set_vector(target.index, np.where(first, found, 0).sum(axis=1, keepdims=True).astype(np.uint32))

    return Step(instruction, run, frozenset(), frozenset(registers_of(target, 32)), counter="local")


def _two_places(instruction: MachineInstruction, kind: str, stride: int, size: int) -> Step:
    operands = list(instruction.operands)
    words = size // 4
    element = Element(4, words)
    offsets = [instruction.number(f"offset{n}") * size * stride for n in (0, 1)]
    if kind == "load":
        target, address = operands
        registers = [target.index, target.index + words]
        moved = frozenset(registers_of(target, 64 * words))
    else:
        address, *data = operands
        registers = [operand.index for operand in data]
        moved = frozenset(r for operand in data for r in registers_of(operand, 32 * words))

    def run(waves: Waves) -> None:
        # Both places are computed first: the result of a load may take the register of the address.
        places = [_local_places(waves, address, offset) for offset in offsets]
        for register, (place, left) in zip(registers, places, strict=True):
            if kind == "load":
                load_lanes(waves, _local_load(waves, 4), register, element, place, left)
            else:
                store_lanes(waves, _local_store(waves, 4), register, element, place, left)

    used = frozenset(registers_of(address, 32))
    if kind == "load":
        return Step(instruction, run, used, moved, counter="local")
    return Step(instruction, run, used | moved, counter="local")


_LOCAL_ATOMICS = {"storexchg": "swap", "wrxchg": "swap", "cmpst": "cmpswap", "cmpstore": "cmpswap"}


def _local_atomic(instruction: MachineInstruction, name: str) -> Step | None:
    match = re.fullmatch(r"(\w+?)(_rtn)?_((?:num_)?[buif]\d+)", name)
    if match is None:
        return None
    word, returns, kind = _LOCAL_ATOMICS.get(match[1], match[1]), bool(match[2]), match[3]
    try:
        operation, size = atomics.named(f"{word}_{kind}")
    except MissingPart:
        return None
    operands = list(instruction.operands)
    target = operands.pop(0) if returns else None
    address, data, *more = operands
    offset, words = offset_of(instruction), size // 4
    # Before RDNA 3 the first data of a comparison is what is compared, then the new value follows.
    swapped = match[1] == "cmpst"

    def run(waves: Waves) -> None:
        places, left = _local_places(waves, address, offset)
        lanes = waves.active_lanes & (left >= size)
        values = lane_data(waves, data.index, size)
        other = lane_data(waves, more[0].index, size) if more else None
        if swapped and other is not None:
            values, other = other, values
        load, store = _local_load(waves, size), _local_store(waves, size)
        found = atomics.perform(operation, load, store, lanes, places, values, other)
        if target is not None:
            set_lane_data(waves, target.index, found)

    used = [*registers_of(address, 32), *registers_of(data, 32 * words)]
    used += [register for operand in more for register in registers_of(operand, 32 * words)]
    written = registers_of(target, 32 * words) if target is not None else []
    return Step(instruction, run, frozenset(used), frozenset(written), counter="local")
