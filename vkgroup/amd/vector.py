"""Vector instructions: from a row of the table and the operands of an instruction to its function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from vkgroup.amd import floats
from vkgroup.amd.arrays import Mask
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.lanes import Crossing, inserted, selected
from vkgroup.amd.operands import (
    Read,
    bits_of,
    constant,
    dtype_of,
    lane_mask,
    registers_of,
    split,
    vector_bits,
)
from vkgroup.amd.steps import Step
from vkgroup.amd.text import EXEC, NULL, VCC, InstructionOperand, MachineInstruction
from vkgroup.amd.vector_integers import dot_factors, with_carry
from vkgroup.amd.vector_rows import VectorRow
from vkgroup.amd.vector_table import ALIASES, VECTOR
from vkgroup.amd.waves import Waves

_VCC = InstructionOperand("s", VCC, 2)


Finish = Callable[[Any], Any]


def row_of(instruction: MachineInstruction, generation: float) -> VectorRow | None:
    """Return the row of an instruction; None if the table has none."""
    name = instruction.name
    if name.startswith("v_cmpx_"):
        name = name.replace("v_cmpx", "v_cmp")
    if generation < 9 and name in ("v_add_u32", "v_sub_u32", "v_subrev_u32"):
        name = name.replace("_u32", "_co_u32")
    if name in ("v_dot4_i32_iu8", "v_dot8_i32_iu4"):
        name += "_" + "".join(map(str, (instruction.numbers("neg_lo") or [0, 0])[:2]))
    row = VECTOR.get(ALIASES.get(name, name))
    return row or VECTOR.get(name)


def compile_vector(instruction: MachineInstruction, row: VectorRow, generation: float, wave: int) -> Step:
    """Return the step of an instruction of the table."""
    if instruction.name.startswith("v_cmpx_"):
        return _compare_to_exec(instruction, row, generation)
    operands = list(instruction.operands)
    results, sources = _assigned(operands, row, instruction)
    reads = _sources_of(instruction, sources, row, generation)
    cross = Crossing(instruction) if "dpp" in instruction.form else None
    write = _writer(instruction, results, row, generation)
    function, with_mode = row.function, row.with_mode
    if row.packed:
        function = _packed(instruction, row)
        with_mode = True
    elif row.is_float:
        function = _float_result(instruction, row)
        with_mode = True
    elif "clamp" in instruction.modifiers:
        function = _saturating(row)
    kinds = row.sources
    flush = _flushing(row)
    upper = not row.packed and bool((instruction.numbers("op_sel") or [0])[0])
    first = vector_bits(sources[0], kinds[0] if not row.packed else "b32", upper) if cross else None

    def run(waves: Waves) -> None:
        lanes = waves.active
        values = []
        for position, read in enumerate(reads):
            if position == 0 and cross is not None:
                assert first is not None
                moved, lanes = cross.move(waves, first(waves))
                values.append(finish(moved))
            else:
                values.append(read(waves))
        if flush:
            values = [flush(waves.mode, value) for value in values]
        result = function(waves.mode, *values) if with_mode else function(*values)
        write(waves, result, lanes)

    finish = _modified(sources[0], kinds[0])
    return Step(instruction, run, _registers(sources, kinds, wave), _registers(results, row.results, wave))


def _registers(operands: Sequence[InstructionOperand], kinds: Sequence[str], wave: int) -> frozenset[int]:
    """Return the registers of operands of some types; a lane mask has one bit for each lane of a wave."""
    return frozenset(
        register
        for operand, kind in zip(operands, kinds, strict=True)
        for register in registers_of(operand, wave if kind == "m" else max(32, bits_of(kind)))
    )


def _assigned(
    operands: list[InstructionOperand], row: VectorRow, instruction: MachineInstruction
) -> tuple[list[InstructionOperand], list[InstructionOperand]]:
    """Divide the operands into results and sources; implicit ones (VCC, an accumulator) are added."""
    count = len(row.results)
    if instruction.name.startswith("v_swap_"):
        return operands[:2], operands[:2]
    if len(operands) < count or (count == 2 and operands[1].kind != "s"):
        operands.insert(count - 1, _VCC)
    results, sources = operands[:count], operands[count:]
    if row.accumulates and len(sources) < len(row.sources):
        sources.append(replace(results[0]))
    if len(sources) < len(row.sources) and row.sources[-1] == "m":
        sources.append(_VCC)
    if len(sources) != len(row.sources):
        raise MissingPart(instruction.text)
    return results, sources


def _sources_of(
    instruction: MachineInstruction, sources: Sequence[InstructionOperand], row: VectorRow, generation: float
) -> list[Read]:
    reads: list[Read] = []
    doubles = instruction.name == "v_pk_fmac_f16" and generation >= 11
    is_dot = instruction.name.startswith("v_dot")
    factors = dot_factors(instruction, generation) if is_dot else []
    chosen = [] if row.packed or is_dot else instruction.numbers("op_sel")
    for position, (operand, kind) in enumerate(zip(sources, row.sources, strict=True)):
        if kind == "m":
            reads.append(lane_mask(operand))
            continue
        if row.packed:
            reads.append(_packed_words(operand, kind, doubles))
            continue
        high = bool(position < len(chosen) and chosen[position])
        take = selected(instruction, position, operand.extended) if instruction.form == "sdwa" else None
        finish = factors[position] if position < len(factors) else _modified(operand, kind)
        if take is not None:
            words = vector_bits(replace(operand, half=""), "b32")
            if operand.kind in ("int", "float"):  # a constant has the size of the instruction's type
                words = partial(_same, np.uint32(constant(operand, kind)))
            reads.append(partial(_read_part, words, take, np.dtype(f"u{bits_of(kind) // 8}"), finish))
        else:
            reads.append(partial(_read_whole, vector_bits(operand, kind, high), finish))
    return reads


def _packed_words(operand: InstructionOperand, kind: str, doubles: bool) -> Read:
    """Return both halves of a source of packed math; an integer constant has its sign in the upper one.

    `doubles`: whether a float constant is in both halves, and not in the lower one only.
    """
    if operand.kind == "float" and kind[0] == "f":
        word = np.uint32(constant(operand, kind))
        both = word | word << np.uint32(16) if doubles else word
        return lambda waves: both
    return vector_bits(operand, "b32")


def _same(value: Any, waves: Waves) -> Any:
    return value


def _read_part(words: Read, take: Finish, narrow: np.dtype[Any], finish: Finish, waves: Waves) -> Any:
    return finish(take(words(waves)).astype(narrow))


def _read_whole(words: Read, finish: Finish, waves: Waves) -> Any:
    return finish(words(waves))


def _modified(operand: InstructionOperand, kind: str) -> Finish:
    """Return what applies the signs of a source and gives it its type."""
    dtype = dtype_of(kind)
    sign = None
    if operand.negated or operand.absolute:
        unsigned = np.dtype(f"u{bits_of(kind) // 8}").type
        sign = unsigned(1 << bits_of(kind) - 1)
        rest = unsigned((1 << bits_of(kind) - 1) - 1)
        absolute, negated = operand.absolute, operand.negated

    def finish(value: Any) -> Any:
        if sign is not None:
            if absolute:
                value = value & rest
            if negated:
                value = value ^ sign
        return value.view(dtype)

    return finish


def _flushing(row: VectorRow) -> Callable[[int, Any], Any] | None:
    """Return what flushes the denormals of sources; None if the row has no float source."""
    if not any(kind[0] == "f" for kind in row.sources) or row.function is floats.is_class:
        return None

    def flush(mode: int, value: Any) -> Any:
        if value.dtype.kind == "f" and floats.flushes(mode, value.dtype)[0]:
            return floats.without_denormals(value)
        return value

    return flush


def _float_result(instruction: MachineInstruction, row: VectorRow) -> Callable[..., Any]:
    """Return the function of a row with a float result, with output modifiers and flushed denormals."""
    function, with_mode = row.function, row.with_mode
    factors = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}
    given = (f"{key}:{value}" for key, value in instruction.modifiers.items())
    factor = next((factors[word] for word in given if word in factors), None)
    clamps = "clamp" in instruction.modifiers

    def compute(mode: int, *sources: Any) -> Any:
        result = function(mode, *sources) if with_mode else function(*sources)
        number, *others = result if isinstance(result, tuple) else (result,)
        if factor is not None:
            number = number * number.dtype.type(factor)
        if clamps:
            number = np.where(np.isnan(number), 0, np.clip(number, 0, 1)).astype(number.dtype)
        if floats.flushes(mode, number.dtype)[1]:
            number = floats.without_denormals(np.asarray(number))
        return (number, *others) if others else number

    return compute


def _saturating(row: VectorRow) -> Callable[..., Any]:
    """Return the function of a row with an integer result that stays within the range of its type."""
    kind = row.results[0]
    dtype = dtype_of(kind)
    if dtype.itemsize > 4:
        raise MissingPart(f"clamp of {kind}")
    limits = np.iinfo(dtype)
    function = row.function

    def compute_with_carry(*sources: Any) -> Any:
        value, carry = function(*sources)
        limit = limits.max if function is with_carry else 0
        return np.where(carry, dtype.type(limit), value), carry

    if len(row.results) > 1:
        return compute_with_carry

    def compute(*sources: Any) -> Any:
        wide = function(*(source.astype(np.int64) for source in sources))
        return np.clip(wide, limits.min, limits.max).astype(dtype)

    return compute


def _packed(instruction: MachineInstruction, row: VectorRow) -> Callable[..., Any]:
    """Return the function of a packed row: two halves, with their own selections and signs."""
    low = instruction.numbers("op_sel") or [0] * len(row.sources)
    high = instruction.numbers("op_sel_hi") or [1] * len(row.sources)
    negated = [instruction.numbers("neg_lo") or [0] * 3, instruction.numbers("neg_hi") or [0] * 3]
    if row.accumulates:
        low, high = [*low, 0][:3], [*high[:2], 1]
    single = replace(row, packed=False)
    function: Callable[..., Any] = row.function
    if row.is_float:
        function = _float_result(instruction, single)
    elif "clamp" in instruction.modifiers:
        saturating = _saturating(single)
        function = lambda mode, *sources: saturating(*sources)  # noqa: E731
    else:
        plain = row.function
        function = lambda mode, *sources: plain(*sources)  # noqa: E731
    dtypes = [dtype_of(kind) for kind in row.sources]

    def compute(mode: int, *words: Any) -> Any:
        halves = []
        for half, chosen in enumerate((low, high)):
            sources = []
            for position, (word, dtype) in enumerate(zip(words, dtypes, strict=True)):
                part = (word >> np.uint32(16 * chosen[position])).astype(np.uint16)
                if position < len(negated[half]) and negated[half][position]:
                    part = part ^ np.uint16(0x8000)
                value = part.view(dtype)
                if dtype.kind == "f" and floats.flushes(mode, dtype)[0]:
                    value = floats.without_denormals(value)
                sources.append(value)
            halves.append(np.asarray(function(mode, *sources)).view(np.uint16).astype(np.uint32))
        return halves[0] | halves[1] << np.uint32(16)

    return compute


def _writer(
    instruction: MachineInstruction, results: Sequence[InstructionOperand], row: VectorRow, generation: float
) -> Callable[[Waves, Any, Mask | None], None]:
    """Return what writes the results of a row."""
    writers = [
        _one_writer(instruction, operand, "b32" if row.packed else kind, generation)
        for operand, kind in zip(results, row.results, strict=True)
    ]
    if len(writers) == 1:
        return writers[0]

    def write(waves: Waves, values: Any, lanes: Mask | None) -> None:
        for writer, value in zip(writers, values, strict=True):
            writer(waves, value, lanes)

    return write


def _one_writer(
    instruction: MachineInstruction, operand: InstructionOperand, kind: str, generation: float
) -> Callable[[Waves, Any, Mask | None], None]:
    index = operand.index
    if kind == "m":
        if operand.kind != "s":
            raise MissingPart(instruction.text)
        if index == NULL:
            return lambda waves, value, lanes: None

        def write_mask(waves: Waves, value: Any, lanes: Mask | None) -> None:
            waves.set_mask(index, value if lanes is None else value & lanes)

        return write_mask
    if operand.kind != "v":
        raise MissingPart(instruction.text)
    bits = bits_of(kind)
    put = inserted(instruction) if instruction.form == "sdwa" else None
    if put is not None:

        def write_part(waves: Waves, value: Any, lanes: Mask | None) -> None:
            result = np.asarray(value)
            words = result.view(f"u{result.dtype.itemsize}").astype(np.uint32)
            waves.set_vector(index, put(words, waves.v[index]), lanes)

        return write_part
    if bits == 64:

        def write_pair(waves: Waves, value: Any, lanes: Mask | None) -> None:
            low, high = split(value)
            waves.set_vector(index, low, lanes)
            waves.set_vector(index + 1, high, lanes)

        return write_pair
    if bits == 32:
        return lambda waves, value, lanes: waves.set_vector(index, np.asarray(value).view(np.uint32), lanes)
    chosen = instruction.numbers("op_sel")
    has_choice = bool(chosen)  # instructions with three sources have no suffix for their form
    high = operand.half == "h" or (has_choice and bool(chosen[-1]))
    keeps = generation >= 10 or has_choice or (generation >= 9 and _keeps_on_gfx9(instruction.name))

    def write_half(waves: Waves, value: Any, lanes: Mask | None) -> None:
        half = np.asarray(value).view(np.uint16).astype(np.uint32)
        if high:
            half = half << np.uint32(16) | waves.v[index] & np.uint32(0xFFFF)
        elif keeps:
            half = half | waves.v[index] & np.uint32(0xFFFF0000)
        waves.set_vector(index, half, lanes)

    return write_half


def _compare_to_exec(instruction: MachineInstruction, row: VectorRow, generation: float) -> Step:
    """Return the step of a comparison whose result also goes to EXEC, and before RDNA to its own result."""
    operands = list(instruction.operands)
    own = operands[0] if len(operands) > len(row.sources) else None
    sources = operands[1:] if own is not None else operands
    reads = _sources_of(instruction, sources, row, generation)
    function, flush = row.function, _flushing(row)
    before_rdna = generation < 10
    target = EXEC if own is None else own.index

    def run(waves: Waves) -> None:
        values = [read(waves) for read in reads]
        if flush:
            values = [flush(waves.mode, value) for value in values]
        result = np.asarray(function(*values))
        lanes = waves.active
        passed = result if lanes is None else result & lanes
        if before_rdna and target != EXEC:
            waves.set_mask(target, passed)
        waves.set_mask(EXEC, passed)

    used = [
        r for o, k in zip(sources, row.sources, strict=True) for r in registers_of(o, max(32, bits_of(k)))
    ]
    return Step(instruction, run, frozenset(used), frozenset((EXEC, EXEC + 1)))


def _keeps_on_gfx9(name: str) -> bool:
    """Return whether an instruction of 16 bits leaves the upper half of its result's register on GFX9."""
    three = ("fma", "mad", "div_fixup", "min3", "max3", "med3", "mac", "madmk", "madak")
    return name.endswith("16") and name.removeprefix("v_").rpartition("_")[0] in three
