"""Instructions that steer a program: branches, waits, barriers, messages, the MODE register and the clock."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.operands import pair, registers_of, scalar_result, scalar_source
from vkgroup.amd.steps import Step
from vkgroup.amd.text import EXEC, VCC, MachineInstruction
from vkgroup.amd.waves import Waves

_NOTHING = {
    "s_nop", "s_sleep", "s_sleep_var", "s_delay_alu", "s_clause", "s_inst_prefetch", "s_sethalt", "s_wakeup",
    "s_waitcnt_depctr", "s_wait_alu", "s_setprio", "s_icache_inv", "s_dcache_inv", "s_dcache_wb", "s_gl1_inv",
    "s_code_end", "s_ttracedata", "s_ttracedata_imm", "s_version", "s_sendmsg", "s_setkill",
    "s_set_inst_prefetch_distance",
    "v_nop", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol", "s_waitcnt_expcnt",
    "global_inv", "global_wb", "global_wbinv", "s_prefetch_inst", "s_prefetch_data", "s_prefetch_inst_pc_rel",
    "s_incperflevel", "s_decperflevel", "ds_nop", "s_singleuse_vdst", "s_barrier_signal", "s_barrier_leave",
}  # fmt: skip

_CONDITIONS: dict[str, Callable[[Waves], Array]] = {
    "scc0": lambda waves: ~waves.scc,
    "scc1": lambda waves: waves.scc,
    "vccz": lambda waves: ~waves.mask(VCC).any(axis=1),
    "vccnz": lambda waves: waves.mask(VCC).any(axis=1),
    "execz": lambda waves: ~waves.mask(EXEC).any(axis=1),
    "execnz": lambda waves: waves.mask(EXEC).any(axis=1),
}


def _no_operation(waves: Waves) -> None:
    return None


def compile_control(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of an instruction that steers the program; None for others."""
    name = instruction.name
    if name in _NOTHING:
        return Step(instruction, _no_operation)
    if name == "s_endpgm" or name == "s_endpgm_saved":
        return Step(instruction, _no_operation, ends=True)
    if name in ("s_barrier", "s_barrier_wait"):
        return Step(instruction, _no_operation, barrier=True)
    if name.startswith("s_wait"):
        return Step(instruction, _no_operation, waits=_waits(instruction))
    if name == "s_branch":
        return Step(instruction, _always, target=_distance(instruction))
    if match := re.fullmatch(r"s_cbranch_(\w+)", name):
        if match[1] not in _CONDITIONS:
            raise MissingPart(name)
        used = {"v": (VCC, VCC + 1), "e": (EXEC, EXEC + 1)}.get(match[1][0], ())
        return Step(instruction, _CONDITIONS[match[1]], frozenset(used), target=_distance(instruction))
    return _program_counter(instruction) or _registers(instruction) or _clock(instruction)


def _always(waves: Waves) -> Array:
    return np.ones(waves.count, np.bool_)


def _distance(instruction: MachineInstruction) -> int:
    words = int(instruction.operands[0].value)
    return ((words & 0xFFFF ^ 0x8000) - 0x8000) * 4


_COUNTERS = {
    "vmcnt": ("vm",), "lgkmcnt": ("lgkm",), "expcnt": (), "vscnt": ("vs",), "loadcnt": ("vm",),
    "samplecnt": ("sample",), "bvhcnt": ("bvh",), "storecnt": ("vs",), "dscnt": ("ds",), "kmcnt": ("km",),
    "xcnt": (),
}  # fmt: skip


def _waits(instruction: MachineInstruction) -> dict[str, int]:
    """Return the most operations that may be outstanding after a wait, by counter."""
    waits: dict[str, int] = {}
    if instruction.name == "s_waitcnt":
        for word, number in re.findall(r"(\w+)\((\d+)\)", instruction.text):
            waits |= dict.fromkeys(_COUNTERS[word], int(number))
        return waits
    if instruction.name == "s_wait_idle":
        return dict.fromkeys(("vm", "lgkm", "vs", "sample", "bvh", "ds", "km"), 0)
    names = re.sub(r"^s_wait(cnt)?_", "", instruction.name).split("_")
    number = int(instruction.operands[-1].value)
    # Of two counters, the second one has the low bits.
    numbers = [number >> 8 & 0x3F, number & 0x3F] if len(names) == 2 else [number & 0xFFFF]
    for name, count in zip(names, numbers, strict=True):
        if name not in _COUNTERS:
            raise MissingPart(instruction.name)
        waits |= dict.fromkeys(_COUNTERS[name], count)
    return waits


def counter_of(kind: str, generation: float) -> str:
    """Return the wait counter that an operation raises: ``vector``, ``store``, ``scalar`` or ``local``."""
    if generation >= 12:
        return {"vector": "vm", "store": "vs", "scalar": "km", "local": "ds", "sample": "sample"}[kind]
    if generation >= 10:
        return {"vector": "vm", "store": "vs", "scalar": "lgkm", "local": "lgkm", "sample": "vm"}[kind]
    return {"vector": "vm", "store": "vm", "scalar": "lgkm", "local": "lgkm", "sample": "vm"}[kind]


def _program_counter(instruction: MachineInstruction) -> Step | None:
    name, operands = instruction.name, instruction.operands
    if name == "s_getpc_b64":
        write = scalar_result(operands[0], 64)
        written = frozenset(registers_of(operands[0], 64))
        return Step(instruction, lambda waves: write(waves, np.uint64(waves.next)), frozenset(), written)
    if name in ("s_setpc_b64", "s_swappc_b64"):
        source = operands[-1]
        link = scalar_result(operands[0], 64) if name == "s_swappc_b64" else None

        def jump(waves: Waves) -> Array:
            target = pair(waves.s[source.index], waves.s[source.index + 1])
            if link is not None:
                link(waves, np.uint64(waves.next))
            return target

        return Step(instruction, jump, frozenset(registers_of(source, 64)), indirect=True)
    return None


def _registers(instruction: MachineInstruction) -> Step | None:
    name, operands = instruction.name, instruction.operands
    if name in ("s_round_mode", "s_denorm_mode"):
        shift, value = (0, 0) if name == "s_round_mode" else (4, 0)
        value = int(operands[0].value) & 15

        def set_part(waves: Waves) -> None:
            waves.mode = waves.mode & ~(15 << shift) | value << shift

        return Step(instruction, set_part)
    if name == "s_getreg_b32":
        register, offset, size = _hardware_register(operands[1].word)
        if register.startswith("FLAT_SCR"):
            raise MissingPart(instruction.text)
        write = scalar_result(operands[0], 32)

        def read(waves: Waves) -> None:
            whole = (
                waves.mode
                if register == "MODE"
                else waves.clock() >> (32 if register.endswith("_HI") else 0)
                if register.startswith("SHADER_CYCLES")
                else 0
            )
            write(waves, np.uint32(whole >> offset & (1 << size) - 1))

        return Step(instruction, read, frozenset(), frozenset(registers_of(operands[0], 32)))
    if name in ("s_setreg_b32", "s_setreg_imm32_b32"):
        register, offset, size = _hardware_register(operands[0].word)
        if register.startswith("FLAT_SCR"):  # each lane has scratch memory of its own, without this address
            return Step(instruction, lambda waves: None, frozenset(registers_of(operands[1], 32)))
        if register != "MODE":
            raise MissingPart(instruction.text)
        source = scalar_source(operands[1], "b32")

        def set_mode(waves: Waves) -> None:
            value = int(np.asarray(waves.of_first_member(source(waves))))
            mask = (1 << size) - 1 << offset
            waves.mode = waves.mode & ~mask | value << offset & mask

        return Step(instruction, set_mode, frozenset(registers_of(operands[1], 32)))
    return None


def _hardware_register(text: str) -> tuple[str, int, int]:
    """Return name, first bit and size of ``hwreg(HW_REG_MODE, 0, 4)``."""
    words = [word.strip() for word in text.removeprefix("hwreg(").rstrip(")").split(",")]
    name = words[0].removeprefix("HW_REG_").removeprefix("WAVE_")
    known = (
        "MODE", "HW_ID", "HW_ID1", "HW_ID2", "SHADER_CYCLES", "SHADER_CYCLES_LO", "SHADER_CYCLES_HI",
        "TRAPSTS", "STATUS", "FLAT_SCR_LO", "FLAT_SCR_HI",
    )  # fmt: skip
    if name not in known:
        raise MissingPart(text)
    return name, *((int(words[1]), int(words[2])) if len(words) == 3 else (0, 32))


def _clock(instruction: MachineInstruction) -> Step | None:
    if instruction.name in ("s_memtime", "s_memrealtime", "s_sendmsg_rtn_b64", "s_sendmsg_rtn_b32"):
        if instruction.name.startswith("s_sendmsg") and "TIME" not in instruction.text:
            raise MissingPart(instruction.text)
        target = instruction.operands[0]
        bits = 32 if instruction.name.endswith("b32") else 64
        write = scalar_result(target, bits)
        written = frozenset(registers_of(target, bits))
        return Step(
            instruction,
            lambda waves: write(waves, np.uint64(waves.clock())),
            frozenset(),
            written,
            counter="scalar",
        )
    return None
