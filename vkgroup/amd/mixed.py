"""Vector instructions on several numbers of a register: mixed precision, dot products and matrices."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from vkgroup.amd import floats
from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.operands import registers_of, vector_bits
from vkgroup.amd.steps import Step
from vkgroup.amd.text import InstructionOperand, MachineInstruction
from vkgroup.amd.waves import Waves


def compile_mixed(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of an instruction on several numbers of a register; None for others."""
    if re.fullmatch(r"v_(fma|mad)_mix(lo|hi)?_f(16|32)", instruction.name):
        return _mix(instruction)
    if match := re.fullmatch(r"v_dot2(?:c|acc)?_f32_(f16|bf16)", instruction.name):
        return _dot(instruction, match[1])
    if instruction.name.startswith("v_wmma_"):
        return _matrices(instruction, generation)
    return None


def _mix(instruction: MachineInstruction) -> Step:
    """Compile a fused multiply-add whose sources have 16 or 32 bits, as ``op_sel_hi`` says."""
    result, *sources = instruction.operands
    halves = instruction.numbers("op_sel_hi") or [0, 0, 0]
    upper = instruction.numbers("op_sel") or [0, 0, 0]
    reads = []
    for operand, is_half, is_upper in zip(sources, halves, upper, strict=False):
        words = vector_bits(operand, "b16" if is_half else "b32", bool(is_upper and is_half))
        reads.append((words, operand, is_half))
    fused = "_fma_" in instruction.name
    kind = instruction.name.removeprefix("v_fma_").removeprefix("v_mad_")

    def run(waves: Waves) -> None:
        values = []
        for words, operand, is_half in reads:
            raw = np.asarray(words(waves))
            value = raw.view(np.float16 if is_half else np.float32)
            if floats.flushes(waves.mode, value.dtype)[0]:
                value = floats.without_denormals(value)
            value = np.asarray(value.astype(np.float32))
            if operand.absolute:
                value = np.abs(value)
            values.append(np.negative(value) if operand.negated else value)
        a, b, c = values
        if fused:
            total = floats.multiply_add(waves.mode, a, b, c)
        else:
            total = floats.add(waves.mode, floats.multiply(waves.mode, a, b), c)
        if "clamp" in instruction.modifiers:
            total = np.clip(np.nan_to_num(total, nan=0.0), 0, 1).astype(np.float32)
        if kind == "mix_f32":
            if floats.flushes(waves.mode, np.dtype(np.float32))[1]:
                total = floats.without_denormals(np.asarray(total))
            waves.set_vector(result.index, np.asarray(total).view(np.uint32))
            return
        half = (
            floats.narrow(waves.mode, np.asarray(total), np.dtype(np.float16))
            .view(np.uint16)
            .astype(np.uint32)
        )
        old = waves.v[result.index]
        if kind == "mixlo_f16":
            waves.set_vector(result.index, old & np.uint32(0xFFFF0000) | half)
        else:
            waves.set_vector(result.index, old & np.uint32(0xFFFF) | half << np.uint32(16))

    used = [register for operand in sources for register in registers_of(operand, 32)]
    return Step(instruction, run, frozenset(used), frozenset(registers_of(result, 32)))


def _wide(bits: Array, kind: str) -> Array:
    """Return float64 of 16 bits."""
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return bits.astype(np.uint16).view(np.float16).astype(np.float64)


def _dot(instruction: MachineInstruction, kind: str) -> Step:
    """Compile the sum of two products and an addend in float32."""
    result, first, second, *more = instruction.operands
    if {"op_sel", "op_sel_hi", "clamp"} & set(instruction.modifiers) or "float" in (first.kind, second.kind):
        raise MissingPart(instruction.text)
    addend = more[0] if more else result
    reads = [vector_bits(operand, "b32") for operand in (first, second, addend)]
    signs = [[1 - 2 * bit for bit in instruction.numbers(name) or [0, 0, 0]] for name in ("neg_lo", "neg_hi")]

    def run(waves: Waves) -> None:
        a, b, c = (np.asarray(read(waves)) for read in reads)
        total = c.view(np.float32).astype(np.float64) * signs[0][2]
        for half in (0, 1):
            parts = [word >> np.uint32(16 * half) & np.uint32(0xFFFF) for word in (a, b)]
            total = total + _wide(parts[0], kind) * signs[half][0] * _wide(parts[1], kind) * signs[half][1]
        waves.set_vector(result.index, total.astype(np.float32).view(np.uint32))

    used = [register for operand in (first, second, addend) for register in registers_of(operand, 32)]
    return Step(instruction, run, frozenset(used), frozenset(registers_of(result, 32)))


# Matrices


def _matrices(instruction: MachineInstruction, generation: float) -> Step:
    """Compile D = A * B + C for matrices of 16 × 16, whose rows and columns lie in the lanes of a wave."""
    match = re.fullmatch(r"v_wmma_(f32|f16|bf16|i32)_16x16x16_(f16|bf16|iu8|iu4)", instruction.name)
    if match is None:
        raise MissingPart(instruction.name)
    kind, factor = match.groups()
    result, a, b, c = instruction.operands
    signed = [bool(bit) for bit in (instruction.numbers("neg_lo") or [0, 0, 0])]
    chosen = instruction.numbers("op_sel") or [0, 0, 0]
    upper = bool(chosen[-1])

    def run(waves: Waves) -> None:
        x, y = (
            _factor(waves, operand, factor, signed[place], generation) for place, operand in enumerate((a, b))
        )
        addend = _accumulator(waves, c, kind, upper, generation)
        product = np.einsum("wik,wjk->wij", x, y)
        if kind == "i32":
            total = (product + addend).astype(np.int64)
            if "clamp" in instruction.modifiers:
                total = np.clip(total, -(2**31), 2**31 - 1)
            _write_matrix(waves, result, total.astype(np.uint32), 32, upper, generation)
        elif kind == "f32":
            _write_matrix(
                waves, result, (product + addend).astype(np.float32).view(np.uint32), 32, upper, generation
            )
        else:
            total = product + addend
            half = total.astype(np.float16).view(np.uint16) if kind == "f16" else _to_bfloat(total)
            _write_matrix(waves, result, half.astype(np.uint32), 16, upper, generation)

    used = [register for operand in (a, b, c) for register in registers_of(operand, 32 * operand.count)]
    written = registers_of(result, 32 * result.count)
    return Step(instruction, run, frozenset(used), frozenset(written))


def _to_bfloat(values: Array) -> Array:
    word = values.astype(np.float32).view(np.uint32)
    return (word + np.uint32(0x7FFF) + (word >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)


def _factor(waves: Waves, operand: InstructionOperand, kind: str, signed: bool, generation: float) -> Array:
    """Return a factor as (waves, row or column, 16), float64 or int64."""
    bits = {"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4}[kind]
    words = waves.v[operand.index : operand.index + operand.count].transpose(1, 2, 0)
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    numbers = (words[..., None] >> shifts & np.uint32((1 << bits) - 1)).reshape(*words.shape[:2], -1)
    if generation >= 12:  # the other lanes of a row have further numbers
        groups = 16 // numbers.shape[2]
        numbers = np.concatenate([numbers[:, 16 * part : 16 * part + 16] for part in range(groups)], axis=2)
    else:
        numbers = numbers[:, :16]
    if kind in ("f16", "bf16"):
        return _wide(numbers, kind)
    wide = numbers.astype(np.int64)
    sign = 1 << bits - 1
    return (wide ^ sign) - sign if signed else wide


def _rows(waves: Waves, registers: int, generation: float) -> Callable[[int], Array]:
    """Return what gives the rows of the lanes of a register of an accumulator."""
    lane = np.arange(waves.lanes)
    if generation >= 12:
        # In a wave of 64, the rows of lanes 16 to 31 follow those of lanes 32 to 47.
        order = np.array([0, 1] if waves.lanes == 32 else [0, 2, 1, 3])
        return lambda place: order[lane // 16] * registers + place
    return lambda place: place * (waves.lanes // 16) + lane // 16


def _accumulator(
    waves: Waves, operand: InstructionOperand, kind: str, upper: bool, generation: float
) -> Array:
    if operand.kind in ("int", "float"):
        bits = np.asarray(vector_bits(operand, "b32" if kind in ("f32", "i32") else "b16")(waves))
        typed = {"f32": np.float32, "i32": np.int32, "f16": np.float16}
        value = _wide(bits, "bf16") if kind == "bf16" else bits.view(typed[kind])
        return np.full((waves.count, 16, 16), value).astype(np.int64 if kind == "i32" else np.float64)
    matrix = np.zeros((waves.count, 16, 16), np.int64 if kind == "i32" else np.float64)
    column = np.arange(waves.lanes) % 16
    for place, row in _places(waves, operand.count, kind in ("f32", "i32"), generation):
        word = waves.v[operand.index + place[0]]
        if kind == "f32":
            matrix[:, row, column] = word.view(np.float32)
        elif kind == "i32":
            matrix[:, row, column] = word.view(np.int32)
        else:
            matrix[:, row, column] = _wide(
                word >> np.uint32(16 * (place[1] or upper)) & np.uint32(0xFFFF), kind
            )
    return matrix


def _places(waves: Waves, count: int, whole: bool, generation: float) -> list[tuple[tuple[int, bool], Array]]:
    """Return the registers of an accumulator with the half of each number, and the rows of its lanes."""
    if whole or generation < 12:
        rows = _rows(waves, count, generation)
        return [((place, False), rows(place)) for place in range(count)]
    rows = _rows(waves, 2 * count, generation)
    return [((place // 2, bool(place % 2)), rows(place)) for place in range(2 * count)]


def _write_matrix(
    waves: Waves, result: InstructionOperand, matrix: Array, bits: int, upper: bool, generation: float
) -> None:
    column = np.arange(waves.lanes) % 16
    for place, row in _places(waves, result.count, bits == 32, generation):
        value = matrix[:, row, column]
        if bits == 16:
            old = waves.v[result.index + place[0]]
            high = place[1] or upper
            value = (
                old & np.uint32(0xFFFF) | value << np.uint32(16)
                if high
                else old & np.uint32(0xFFFF0000) | value
            )
        waves.set_vector(result.index + place[0], value)
