"""Scalar loads: from an address, or from a buffer with its range."""

from __future__ import annotations

import re

import numpy as np

from vkgroup.amd.access import element_of, offset_of
from vkgroup.amd.operands import pair, registers_of, scalar_source
from vkgroup.amd.steps import Step
from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.waves import Waves


def compile_scalar_memory(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of a scalar load; None for other instructions."""
    match = re.fullmatch(r"s_(buffer_)?load_(\w+)", instruction.name)
    if match is None:
        return None
    element = element_of(match[2])
    target, base, *rest = instruction.operands
    offsets = [scalar_source(operand, "b32") for operand in rest if operand.kind != "word"]
    constant = offset_of(instruction)
    is_buffer = bool(match[1])
    unit = np.uint64(element.size)

    def run(waves: Waves) -> None:
        chosen = np.arange(waves.count) if waves.members is None else np.flatnonzero(waves.members)
        low, high = waves.s[base.index][chosen], waves.s[base.index + 1][chosen]
        offset = np.full(len(chosen), constant, np.int64)
        for read in offsets:
            value = np.broadcast_to(read(waves), (waves.count,))[chosen]
            offset = offset + value.astype(np.int64)
        address = pair(low, high) + offset.astype(np.uint64)
        inside = np.ones((len(chosen), element.count), np.bool_)
        if is_buffer:
            records = waves.s[base.index + 2][chosen].astype(np.int64)
            stride = (high >> np.uint32(16) & np.uint32(0x3FFF)).astype(np.int64)
            limit = np.where(stride > 0, stride * records, records)
            address = pair(low, high & np.uint32(0xFFFF)) + offset.astype(np.uint64)
            ends = offset[:, None] + np.arange(1, element.count + 1) * element.size
            inside = ends <= limit[:, None]
        address = address & ~(unit - np.uint64(1))
        places = address[:, None] + np.arange(element.count, dtype=np.uint64) * unit
        values = np.zeros(places.shape, np.uint32)
        values[inside] = waves.memory.load(places[inside], element.size)
        if element.signed:
            sign = np.uint32(1 << element.size * 8 - 1)
            values = (values ^ sign) - sign
        whole = np.zeros(waves.count, np.uint32)
        for part in range(element.count):
            whole[chosen] = values[:, part]
            waves.set_scalar(target.index + part, whole)

    used = [*registers_of(base, 128 if is_buffer else 64)]
    used += [register for operand in rest for register in registers_of(operand, 32)]
    return Step(
        instruction,
        run,
        frozenset(used),
        frozenset(registers_of(target, 32 * element.count)),
        counter="scalar",
    )
