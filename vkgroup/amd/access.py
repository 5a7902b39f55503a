"""Memory instructions other than images: scalar, buffer, global, flat and scratch memory, and local data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.amd import atomics
from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MemoryFault, MissingPart
from vkgroup.amd.memory import ADDRESS_BITS, GpuMemory
from vkgroup.amd.operands import pair, registers_of, scalar_source
from vkgroup.amd.steps import Step
from vkgroup.amd.text import NULL, InstructionOperand, MachineInstruction
from vkgroup.amd.waves import Waves


@dataclass(frozen=True)
class Element:
    """What a load or store moves: `count` integers of `size` bytes; small ones may lie in half a register."""

    size: int
    count: int = 1
    signed: bool = False
    half: str = ""  # ``low`` or ``high``: 16 bits, and the other half of the register stays


_ELEMENTS = {
    **{f"b{32 * n}": Element(4, n) for n in (1, 2, 3, 4, 8, 16)},
    **{f"dword{f'x{n}' if n > 1 else ''}": Element(4, n) for n in (1, 2, 3, 4, 8, 16)},
    **{name: Element(1) for name in ("u8", "ubyte", "b8", "byte")},
    **{name: Element(1, signed=True) for name in ("i8", "sbyte")},
    **{name: Element(2) for name in ("u16", "ushort", "b16", "short")},
    **{name: Element(2, signed=True) for name in ("i16", "sshort")},
}
for _half, _mark in (("low", ""), ("high", "_hi")):
    for _names, _element in (
        (("d16{}_u8", "ubyte_d16{}", "u8_d16{}"), Element(1, half=_half)),
        (("d16{}_i8", "sbyte_d16{}", "i8_d16{}"), Element(1, signed=True, half=_half)),
        (("d16{}_b16", "short_d16{}", "u16_d16{}"), Element(2, half=_half)),
    ):
        _ELEMENTS |= {_name.format(_mark): _element for _name in _names}
_ELEMENTS |= {"d16_hi_b8": Element(1, half="high"), "byte_d16_hi": Element(1, half="high")}
_ELEMENTS |= {"b8_d16_hi": Element(1, half="high"), "b16_d16_hi": Element(2, half="high")}


def element_of(name: str) -> Element:
    """Return what a mnemonic's end, such as ``b64`` or ``ubyte``, moves."""
    if name not in _ELEMENTS:
        raise MissingPart(f"memory access {name}")
    return _ELEMENTS[name]


def offset_of(instruction: MachineInstruction) -> int:
    """Return the immediate offset in bytes."""
    return instruction.number("offset")


ALL_INSIDE = 1 << 30
"""Bytes from an address to the end of its memory, where no access reaches beyond."""


def buffer_places(
    instruction: MachineInstruction,
    address: InstructionOperand,
    descriptor: InstructionOperand,
    offset: InstructionOperand,
    generation: float,
) -> Callable[[Waves, int], tuple[Array, Array]]:
    """Return what computes addresses of a buffer instruction, and how many bytes from there are inside.

    The function takes the waves and the size of an access in bytes.
    """
    has_index, has_offset = "idxen" in instruction.modifiers, "offen" in instruction.modifiers
    constant = offset_of(instruction)
    base_offset = scalar_source(offset, "b32")
    d = descriptor.index

    def places(waves: Waves, size: int) -> tuple[Array, Array]:
        words = waves.s[d : d + 4].astype(np.int64)
        base = (words[0] | (words[1] & 0xFFFF) << 32)[:, None]
        stride = (words[1] >> 16 & 0x3FFF)[:, None]
        records = words[2][:, None]
        swizzled = words[1] >> 31 & 1 if generation < 11 else words[1] >> 30 & 3
        scalar = np.broadcast_to(base_offset(waves), (waves.count,)).astype(np.int64)[:, None]
        index = waves.v[address.index].astype(np.int64) if has_index else np.int64(0)
        register = address.index + has_index
        within = waves.v[register].astype(np.int64) + constant if has_offset else np.int64(constant)
        within = within & 0xFFFFFFFF  # Mesa adds negative offsets, so this sum has 32 bits
        adds_lane = (words[3] >> 23 & 1 != 0)[:, None]
        if adds_lane.any():
            index = index + np.where(adds_lane, np.arange(waves.lanes), 0)
            if generation < 10:
                stride = np.where(adds_lane, stride | (words[3] >> 15 & 0xF)[:, None] << 14, stride)
        place = scalar + index * stride + within
        if swizzled.any():
            interleaved = scalar + _swizzled(words, index, within, stride, generation)
            place = np.where(swizzled[:, None] != 0, interleaved, place)
        shape = (waves.count, waves.lanes)
        raw = records - place
        if generation >= 10:
            select = (words[3] >> 28 & 3)[:, None]
            fits = np.select(
                [select == 0, select == 1],
                [(index < records) & (within + size <= stride), index < records],
                records != 0,
            )
            left = np.where(select == 3, raw, np.where(fits, ALL_INSIDE, 0))
        elif generation >= 9:
            # With an index, the number of records counts elements.
            counted = np.where(index < records, ALL_INSIDE, 0)
            left = np.where((stride == 0) | (not has_index), raw, counted)
        else:
            counted = np.where(index < records, ALL_INSIDE, 0)
            left = np.where((stride == 0) | (swizzled[:, None] == 0), raw, counted)
        return np.broadcast_to((base + place).astype(np.uint64), shape), np.broadcast_to(left, shape)

    return places


def _swizzled(words: Array, index: Any, within: Any, stride: Array, generation: float) -> Array:
    """Return the place in a swizzled buffer, whose elements of several indices are interleaved."""
    together = (8 << (words[3] >> 21 & 3))[:, None]
    if generation >= 11:
        element = np.where(words[1] >> 30 & 3 == 3, 16, np.where(words[1] >> 30 & 3 == 2, 8, 4))[:, None]
    elif generation >= 10:
        element = np.full_like(together, 4)
    else:
        element = (2 << (words[3] >> 19 & 3))[:, None]
    index = np.asarray(index)
    return np.asarray(
        (index // together * stride + within // element * element) * together
        + index % together * element
        + within % element
    )


def buffer_registers(
    instruction: MachineInstruction,
    address: InstructionOperand,
    descriptor: InstructionOperand,
    offset: InstructionOperand,
) -> list[int]:
    """Return the registers with the address of a buffer instruction."""
    count = ("idxen" in instruction.modifiers) + ("offen" in instruction.modifiers)
    used = registers_of(address, 32 * count) if count else []
    return [*used, *registers_of(descriptor, 128), *registers_of(offset, 32)]


def compile_buffer(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of a buffer instruction; None for others."""
    match = re.fullmatch(r"buffer_(load|store|atomic)_(\w+)", instruction.name)
    if match is None:
        return None
    kind, rest = match.groups()
    if "format" in rest or "lds" in instruction.modifiers or "tfe" in instruction.modifiers:
        return None
    data, address, descriptor, offset = instruction.operands
    places = buffer_places(instruction, address, descriptor, offset, generation)
    used = buffer_registers(instruction, address, descriptor, offset)
    return _vector_memory(instruction, kind, rest, data, places, used)


def compile_flat(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of a flat, global or scratch instruction; None for others."""
    match = re.fullmatch(r"(flat|global|scratch)_(load|store|atomic)_(\w+)", instruction.name)
    if match is None:
        return None
    space, kind, rest = match.groups()
    if "addtid" in rest or "lds" in instruction.modifiers:
        return None
    operands = list(instruction.operands)
    has_result = kind == "load" or (kind == "atomic" and returns_old(instruction))
    result = operands.pop(0) if has_result else None
    address = operands.pop(0)
    data = result if kind == "load" else operands.pop(0)
    base = operands.pop(0) if operands else InstructionOperand("word", word="off")
    assert data is not None
    constant = offset_of(instruction)
    has_base = base.kind == "s" and base.index != NULL
    used = registers_of(base, 32 if space == "scratch" else 64) if has_base else []
    if space == "scratch":
        used += registers_of(address, 32)
    else:
        used += registers_of(address, 32 if has_base else 64)

    def places(waves: Waves, size: int) -> tuple[Array, Array]:
        shape = (waves.count, waves.lanes)
        if space == "scratch":
            offset = np.full(shape, constant, np.int64)
            if address.kind == "v":
                offset = offset + waves.v[address.index].astype(np.int64)
            if has_base:
                offset = offset + waves.s[base.index].astype(np.int64)[:, None]
            size_of_lane = waves.scratch_size // waves.lanes
            beyond = waves.active_lanes & ((offset < 0) | (offset + size > size_of_lane))
            if beyond.any():
                raise MemoryFault(
                    f"scratch memory at {int(offset[beyond][0])}; a lane has {size_of_lane} bytes"
                )
            return waves.scratch_places(offset), np.full(shape, ALL_INSIDE)
        if has_base:
            start = pair(waves.s[base.index], waves.s[base.index + 1])[:, None]
            found = start + waves.v[address.index].astype(np.uint64) + np.uint64(constant % 2**64)
        else:
            found = pair(waves.v[address.index], waves.v[address.index + 1]) + np.uint64(constant % 2**64)
        if space == "flat":
            window = found >> np.uint64(32)
            special = (window == 1 << 16) | (window == 2 << 16)
            if (special & waves.active_lanes).any():
                raise MissingPart("flat access to local data or scratch")
        return np.broadcast_to(found & np.uint64(ADDRESS_BITS), shape), np.full(shape, ALL_INSIDE)

    return _vector_memory(instruction, kind, rest, data, places, used, result, scratch=space == "scratch")


def _vector_memory(
    instruction: MachineInstruction,
    kind: str,
    rest: str,
    data: InstructionOperand,
    places: Callable[[Waves, int], tuple[Array, Array]],
    used: list[int],
    result: InstructionOperand | None = None,
    scratch: bool = False,
) -> Step:
    if kind == "atomic":
        if scratch:
            raise MissingPart(instruction.name)
        return _atomic(instruction, rest, data, places, used, result)
    element = element_of(rest)
    if kind == "load":

        def run(waves: Waves) -> None:
            address, left = places(waves, element.size * element.count)
            memory, stride = _memory_of(waves, element, address, scratch)
            load_lanes(waves, memory.load, data.index, element, address, left, stride)

        written = registers_of(data, 32 * element.count)
        return Step(instruction, run, frozenset(used), frozenset(written), counter="vector")

    def run_store(waves: Waves) -> None:
        address, left = places(waves, element.size * element.count)
        memory, stride = _memory_of(waves, element, address, scratch)
        store_lanes(waves, memory.store, data.index, element, address, left, stride)

    stored = registers_of(data, 32 * element.count)
    return Step(instruction, run_store, frozenset([*used, *stored]), counter="store")


def _memory_of(waves: Waves, element: Element, address: Array, scratch: bool) -> tuple[GpuMemory, int]:
    """Return the memory of an access, and how far apart the words of one lane lie; 0 if they follow."""
    if not scratch:
        return waves.memory, 0
    if element.size == 4 and (address[waves.active_lanes] % np.uint64(4)).any():
        raise MissingPart("scratch memory at addresses that are no multiple of 4")
    return waves.scratch_memory, 4 * waves.lanes


def load_lanes(
    waves: Waves,
    load: Callable[[Array, int], Array],
    register: int,
    element: Element,
    address: Array,
    left: Array,
    stride: int = 0,
) -> None:
    """Load an element for each active lane; parts beyond the end are 0."""
    lanes, stride = waves.active_lanes, stride or element.size
    results = []
    for part in range(element.count):
        inside = lanes & (left >= (part + 1) * element.size)
        values = np.zeros(lanes.shape, np.uint32)
        values[inside] = load(address[inside] + np.uint64(part * stride), element.size)
        if element.signed:
            sign = np.uint32(1 << element.size * 8 - 1)
            values = (values ^ sign) - sign
        results.append(values)
    for part, values in enumerate(results):
        if element.half == "low":
            values = values & np.uint32(0xFFFF) | waves.v[register] & np.uint32(0xFFFF0000)
        elif element.half == "high":
            values = values << np.uint32(16) | waves.v[register] & np.uint32(0xFFFF)
        waves.set_vector(register + part, values)


def store_lanes(
    waves: Waves,
    store: Callable[[Array, Array, int], None],
    register: int,
    element: Element,
    address: Array,
    left: Array,
    stride: int = 0,
) -> None:
    """Store an element of each active lane; parts beyond the end are dropped."""
    lanes, stride = waves.active_lanes, stride or element.size
    for part in range(element.count):
        inside = lanes & (left >= (part + 1) * element.size)
        values = waves.v[register + part]
        if element.half == "high":
            values = values >> np.uint32(16)
        store(
            address[inside] + np.uint64(part * stride),
            values[inside].astype(f"u{element.size}"),
            element.size,
        )


def returns_old(instruction: MachineInstruction) -> bool:
    """Return whether an atomic instruction gives back what it found in memory."""
    return "glc" in instruction.modifiers or "RETURN" in instruction.modifiers.get("th", "")


def lane_data(waves: Waves, register: int, size: int) -> Array:
    """Return the data of all lanes, unsigned integers of 4 or 8 bytes."""
    if size == 4:
        return waves.v[register]
    return pair(waves.v[register], waves.v[register + 1])


def set_lane_data(waves: Waves, register: int, values: Array) -> None:
    """Write integers of 4 or 8 bytes to a register of the active lanes, or to two."""
    if values.dtype.itemsize == 4:
        waves.set_vector(register, values)
        return
    waves.set_vector(register, values.astype(np.uint32))
    waves.set_vector(register + 1, (values >> np.uint64(32)).astype(np.uint32))


def _atomic(
    instruction: MachineInstruction,
    rest: str,
    data: InstructionOperand,
    places: Callable[[Waves, int], tuple[Array, Array]],
    used: list[int],
    result: InstructionOperand | None,
) -> Step:
    operation, size = atomics.named(rest)
    returns = returns_old(instruction)
    target = (result or data) if returns else None
    words = size // 4

    def run(waves: Waves) -> None:
        address, left = places(waves, size)
        lanes = waves.active_lanes & (left >= size)
        values = lane_data(waves, data.index, size)
        compared = lane_data(waves, data.index + words, size) if operation.compares else None
        memory = waves.memory
        found = atomics.perform(operation, memory.load, memory.store, lanes, address, values, compared)
        if target is not None:
            set_lane_data(waves, target.index, found)

    stored = registers_of(data, 32 * words * (2 if operation.compares else 1))
    written = registers_of(target, 32 * words) if target is not None else []
    counter = "vector" if returns else "store"
    return Step(instruction, run, frozenset([*used, *stored]), frozenset(written), counter=counter)
