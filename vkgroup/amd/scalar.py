"""Scalar instructions: from a row of the table and the operands of an instruction to its function."""

from __future__ import annotations

import numpy as np

from vkgroup.amd.errors import MissingPart
from vkgroup.amd.operands import bits_of, registers_of, scalar_result, scalar_source
from vkgroup.amd.scalar_table import ALIASES, TABLE, ScalarRow
from vkgroup.amd.steps import Step
from vkgroup.amd.text import EXEC, M0, InstructionOperand, MachineInstruction
from vkgroup.amd.waves import Waves

_KEEPING_OLD = ("s_cmov", "s_bitset", "s_addk", "s_mulk", "s_fmac")


def row_of(name: str) -> ScalarRow | None:
    """Return the row of a mnemonic; None if the table has none."""
    return TABLE.get(ALIASES.get(name, name))


def compile_scalar(instruction: MachineInstruction, row: ScalarRow, wave: int) -> Step:
    """Return the step of an instruction of the table."""
    operands = list(instruction.operands)
    if instruction.modifiers:
        raise MissingPart(instruction.text)
    if row.condition in ("exec", "wrexec"):
        return _exec_step(instruction, row)
    kinds = [kind for kind in row.sources if kind != "scc"]
    results = [] if row.condition == "only" else [operands.pop(0)]
    if len(operands) < len(kinds) and instruction.name.startswith(_KEEPING_OLD):
        old = results[0]
        # The immediate of s_addk and s_mulk follows the register; a conditional move's old value comes last.
        operands = [old, *operands] if instruction.name.startswith(("s_addk", "s_mulk")) else [*operands, old]
    if len(operands) != len(kinds):
        raise MissingPart(instruction.text)
    if instruction.name in ("s_movk_i32", "s_addk_i32", "s_addk_co_i32", "s_mulk_i32", "s_cmovk_i32") or (
        instruction.name.startswith("s_cmpk") and instruction.name.endswith("i32")
    ):
        operands = [_short(operand) for operand in operands]
    reads = [scalar_source(operand, kind) for operand, kind in zip(operands, kinds, strict=True)]
    uses_condition = "scc" in row.sources
    function, condition, with_mode = row.function, row.condition, row.with_mode
    bits = bits_of(row.result) if row.result else 0
    write = scalar_result(results[0], bits) if results else None
    unsigned = f"u{bits // 8}"

    def run(waves: Waves) -> None:
        values = [read(waves) for read in reads]
        if uses_condition:
            values.append(waves.scc)
        result = function(waves.mode, *values) if with_mode else function(*values)
        if condition == "only":
            waves.set_condition(result)
            return
        if condition == "own":
            result, flag = result
            flag = np.array(flag)
        result = np.asarray(result).view(unsigned)
        if condition == "nonzero":
            flag = result != 0
        if condition:
            waves.set_condition(flag)
        assert write is not None
        write(waves, result)

    used = [r for o, k in zip(operands, kinds, strict=True) for r in registers_of(o, bits_of(k))]
    written = registers_of(results[0], bits) if results else []
    return Step(instruction, run, frozenset(used), frozenset(written))


def _short(operand: InstructionOperand) -> InstructionOperand:
    """Return an immediate of 16 bits with its sign."""
    if operand.kind != "int":
        return operand
    value = (int(operand.value) & 0xFFFF ^ 0x8000) - 0x8000
    return InstructionOperand("int", value=value)


def _exec_step(instruction: MachineInstruction, row: ScalarRow) -> Step:
    """Return the step of an instruction that combines EXEC and a mask, and saves the old or the new EXEC."""
    result, source = instruction.operands
    bits = bits_of(row.result)
    everything = InstructionOperand("s", EXEC, bits // 32)
    read, read_exec = scalar_source(source, row.result), scalar_source(everything, row.result)
    write, write_exec = scalar_result(result, bits), scalar_result(everything, bits)
    function, saves = row.function, row.condition == "exec"

    def run(waves: Waves) -> None:
        mask, old = np.array(read(waves)), np.array(read_exec(waves))
        new = function(mask, old)
        waves.set_condition(new != 0)
        write(waves, old if saves else new)
        write_exec(waves, new)

    used = [*registers_of(source, bits), *registers_of(everything, bits)]
    written = [*registers_of(result, bits), *registers_of(everything, bits)]
    return Step(instruction, run, frozenset(used), frozenset(written))


def relative_moves(instruction: MachineInstruction) -> Step | None:
    """Return the step of a move whose register is chosen by M0; None for other instructions."""
    names = {
        "s_movrels_b32": (True, 1),
        "s_movrels_b64": (True, 2),
        "s_movreld_b32": (False, 1),
        "s_movreld_b64": (False, 2),
    }
    if instruction.name not in names:
        return None
    from_source, count = names[instruction.name]
    result, source = instruction.operands

    def run(waves: Waves) -> None:
        for part in range(count):
            if from_source:
                place = source.index + part + waves.s[M0].astype(np.int64)
                waves.set_scalar(result.index + part, waves.s[place % 128, np.arange(waves.count)])
            else:
                value = np.broadcast_to(scalar_source(source, "b32")(waves), (waves.count,))
                place = (result.index + part + waves.s[M0].astype(np.int64)) % 128
                chosen = np.ones(waves.count, np.bool_) if waves.members is None else waves.members
                waves.s[place[chosen], np.nonzero(chosen)[0]] = value[chosen]

    return Step(instruction, run, frozenset((M0,)), frozenset())
