"""Hazards: instructions that hardware executes wrongly when they follow others too soon.

The compiler keeps them apart with ``s_nop``, ``v_nop`` or a wait. Names and distances: Mesa,
``src/amd/compiler/README-ISA.md`` and what ``aco_insert_NOPs.cpp`` avoids. RDNA 2 has none. Left out are
those of ``lds_param_load``, which only fragment shaders use, and of images with addresses in six registers.
"""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.amd.hazard_uses import VECTORS, Use
from vkgroup.amd.text import EXEC, M0, VCC

Mark = tuple[int, ...]
"""What a rule remembers of earlier instructions, such as a register and how many came since."""

Marks = frozenset[Mark]
NO_MARKS: Marks = frozenset()


NOTHING: frozenset[int] = frozenset()

Rule = Callable[[Marks, Use], tuple[Marks, int]]
"""From what a rule remembers and an instruction: what it remembers after it, and the register that is
used too soon, -1 if none is. Where paths meet, the marks of both are kept."""


def _first(registers: frozenset[int] | set[int]) -> int:
    return min(registers, default=-1)


# GCN: so many instructions must lie between; s_nop counts for several.


def _distance(
    states: int, starts: Callable[[Use], frozenset[int]], uses: Callable[[Use], frozenset[int]]
) -> Rule:
    """Return the rule that `states` instructions lie between one that starts and one that uses a register."""

    def rule(marks: Marks, use: Use) -> tuple[Marks, int]:
        used = uses(use) if marks else frozenset()
        wrong = _first({register for register, _ in marks if register in used})
        later = {
            (register, age + use.states)
            for register, age in marks
            if age + use.states < states and register not in use.writes  # another value has taken its place
        }
        return frozenset(later | {(register, 0) for register in starts(use)}), wrong

    return rule


def _scalars_of_valu(use: Use) -> frozenset[int]:
    return frozenset(r for r in use.writes if r < VECTORS) if use.is_vector else NOTHING


def _vectors_of_valu(use: Use) -> frozenset[int]:
    return frozenset(r for r in use.writes if r >= VECTORS) if use.is_vector else NOTHING


def _crossing_source(use: Use) -> frozenset[int]:
    """Return the register whose lanes an instruction with DPP moves."""
    if "dpp" not in use.step.instruction.form:
        return NOTHING
    sources = (operand for operand in use.step.instruction.operands[1:] if operand.kind == "v")
    return frozenset(VECTORS + operand.index for operand in list(sources)[:1])


def _chosen_lane(use: Use) -> frozenset[int]:
    lane = use.step.instruction.operands[-1] if use.name.startswith(("v_readlane", "v_writelane")) else None
    return frozenset((lane.index,)) if lane is not None and lane.kind == "s" else NOTHING


def _long_store(use: Use) -> frozenset[int]:
    if use.kind != "vmem" or use.step.counter != "store":
        return NOTHING
    operands = use.step.instruction.operands
    data = [operand for operand in operands if operand.kind == "v" and operand.count > 2]
    is_buffer = use.name.startswith(("buffer_", "tbuffer_"))
    if not data or use.name.startswith("image_") or (is_buffer and operands[-1].kind != "int"):
        return NOTHING
    return frozenset(VECTORS + data[-1].index + part for part in range(data[-1].count))


def _fmas_mask(use: Use) -> frozenset[int]:
    return use.lane_mask if use.name.startswith("v_div_fmas") else NOTHING


_MODE = frozenset((-2,))  # stands for the MODE register

_GCN: dict[str, Rule] = {
    "VALU writes SGPR, VMEM reads it: 5 wait states": _distance(
        5, _scalars_of_valu, lambda use: use.reads if use.kind == "vmem" else NOTHING
    ),
    "VALU writes SGPR, lane select reads it: 4 wait states": _distance(4, _scalars_of_valu, _chosen_lane),
    "VALU writes VGPR, DPP reads it: 2 wait states": _distance(2, _vectors_of_valu, _crossing_source),
    "VALU writes EXEC, DPP: 5 wait states": _distance(
        5,
        lambda use: _scalars_of_valu(use) & {EXEC, EXEC + 1},
        lambda use: frozenset((EXEC, EXEC + 1)) if "dpp" in use.step.instruction.form else NOTHING,
    ),
    "VALU writes VCC, v_div_fmas: 4 wait states": _distance(
        4, lambda use: _scalars_of_valu(use) & {VCC, VCC + 1}, _fmas_mask
    ),
    "long store, its data is written: 1 wait state": _distance(1, _long_store, _vectors_of_valu),
    "SALU writes M0, s_movrel or s_sendmsg: 1 wait state": _distance(
        1,
        lambda use: use.writes & {M0} if use.kind == "salu" else NOTHING,
        lambda use: frozenset((M0,)) if use.name.startswith(("s_movrel", "s_sendmsg")) else NOTHING,
    ),
    "s_setreg, s_getreg or s_setreg: 2 wait states": _distance(
        2,
        lambda use: _MODE if use.name.startswith("s_setreg") else NOTHING,
        lambda use: _MODE if use.name.startswith(("s_setreg", "s_getreg")) else NOTHING,
    ),
}


# RDNA 1.


def _memory_reads_scalar(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VMEM or LDS reads a scalar register or EXEC, then SALU or SMEM writes it.

    Marks: register, and the counter whose wait ends it: 0 of loads, 1 of stores, 2 of local data.
    """
    if use.is_vector or "vm_vsrc" in use.idle:
        return NO_MARKS, -1
    waits = use.step.waits
    ended = {number for number, name in enumerate(("vm", "vs", "lgkm")) if waits.get(name) == 0}
    marks = frozenset(mark for mark in marks if mark[1] not in ended) if ended else marks
    if use.kind in ("vmem", "lds"):
        counter = 2 if use.kind == "lds" else int(use.step.counter == "store")
        scalars = {r for r in use.reads if r < VECTORS} | {EXEC, EXEC + 1}
        marks |= {(register, counter) for register in scalars}
        if use.name.startswith("flat_"):
            marks |= {(register, 2) for register in scalars}
        return marks, -1
    if use.kind in ("salu", "smem"):
        return marks, _first({register for register, _ in marks if register in use.writes})
    return marks, -1


def _scalar_load_reads(marks: Marks, use: Use) -> tuple[Marks, int]:
    """SMEM reads a scalar register, then VALU writes it."""
    if use.kind == "smem":
        return marks | {(register,) for register in use.reads}, -1
    if use.is_vector:
        return marks, _first({register for (register,) in marks if register in use.writes})
    if use.step.waits.get("lgkm") == 0 or (use.kind == "salu" and _has_result(use)):
        return NO_MARKS, -1
    return marks, -1


def _has_result(use: Use) -> bool:
    """Return whether an instruction of the scalar unit computes something, even into ``null``."""
    without = ("s_nop", "s_wait", "s_barrier", "s_sendmsg", "s_sleep", "s_clause", "s_inst_", "s_endpgm")
    return bool(use.step.instruction.operands) and not use.name.startswith(without)


def _compare_then_permute(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VALU compares into EXEC, then a permlane follows."""
    if use.name.startswith("v_cmpx_"):
        return frozenset(((EXEC,),)), -1
    if use.name.startswith("v_permlane"):
        return NO_MARKS, EXEC if marks else -1
    return (NO_MARKS, -1) if use.is_vector and use.name != "v_nop" else (marks, -1)


def _compare_then_permute_11(marks: Marks, use: Use) -> tuple[Marks, int]:
    """As before; ``v_nop`` helps, too."""
    return (NO_MARKS, -1) if use.name == "v_nop" else _compare_then_permute(marks, use)


def _exec_read_then_written(marks: Marks, use: Use) -> tuple[Marks, int]:
    """An instruction of another unit reads EXEC, then VALU writes it; a branch has read it when it ends."""
    if use.kind == "salu" and use.reads & {EXEC, EXEC + 1}:
        return frozenset(((EXEC,),)), -1
    if use.is_vector and _scalars_of_valu(use):
        return NO_MARKS, EXEC if marks and EXEC in use.writes else -1
    is_wait = use.name == "s_waitcnt_depctr" and "sa_sdst" in use.idle
    return NO_MARKS if is_wait else marks, -1


def _memory_around_branch(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VMEM, a branch, LDS; or LDS, a branch, VMEM. Marks: 0 for VMEM and 1 for LDS, and the branch."""
    if use.name == "s_waitcnt_vscnt" and use.step.waits.get("vs") == 0:
        return NO_MARKS, -1
    if use.kind == "branch":
        return frozenset((kind, 1) for kind, _ in marks), -1
    if use.kind not in ("vmem", "lds") or use.name.startswith(("flat_", "buffer_gl", "ds_nop")):
        return marks, -1
    kind = int(use.kind == "lds")
    return frozenset(((kind, 0),)), -2 if (1 - kind, 1) in marks else -1


def _branch_at_offset(marks: Marks, use: Use) -> tuple[Marks, int]:
    """A branch over 0x3f words."""
    return marks, -2 if use.step.target == 0x3F * 4 else -1


def _image_after_writelane(marks: Marks, use: Use) -> tuple[Marks, int]:
    """``v_writelane``, then an image instruction with its address in scattered registers."""
    if use.name.startswith("v_writelane"):
        return frozenset(((0,),)), -1
    is_scattered = use.name.startswith("image_") and any(o.parts for o in use.step.instruction.operands)
    return NO_MARKS, -2 if marks and is_scattered else -1


# RDNA 3 and 4.


def _transcendental_result(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VALU reads a transcendental's result before 6 VALU or 2 transcendentals. Marks: register and both."""
    if not use.is_vector:
        return (NO_MARKS, -1) if "va_vdst" in use.idle else (marks, -1)
    wrong = _first({register for register, *_ in marks if register in use.reads})
    special = use.is_transcendental
    aged = ((register, valu + 1, trans + special) for register, valu, trans in marks)
    kept = frozenset(mark for mark in aged if mark[1] <= 5 and mark[2] <= 1)
    if special:
        kept |= {(register, 0, 0) for register in use.writes if register >= VECTORS}
    return kept, wrong


def _partial_forwarding(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VALU reads two registers, one written before SALU wrote EXEC and one after.

    Too near are fewer than 3 VALU between both writes and fewer than 5 after the second. Marks: one
    for each path, of pairs of register and how many VALU came since it was written; EXEC is among them.
    """
    if not use.is_vector:
        if "va_vdst" in use.idle:
            return NO_MARKS, -1
        if use.kind == "salu" and EXEC in use.writes:
            return frozenset((*mark, EXEC, 0) for mark in marks), -1
        return marks, -1
    wrong, after = -1, set()
    for mark in marks or (((),) if use.writes else ()):
        events = list(zip(mark[::2], mark[1::2], strict=True))
        if len(use.reads) > 1 and EXEC in mark:
            wrong = max(wrong, _too_near(events, use.reads))
        kept = [(r, age + 1) for r, age in events if age < 8 and (r == EXEC or r not in use.writes)]
        kept += [(r, 0) for r in sorted(use.writes) if r >= VECTORS]
        after.add(tuple(number for event in kept for number in event))
    return frozenset(after), wrong


def _too_near(events: list[tuple[int, int]], reads: frozenset[int]) -> int:
    written = [(register, age) for register, age in events if register in reads and register != EXEC]
    switches = [age for register, age in events if register == EXEC]
    for register, late in written:
        for _, early in written:
            between = any(late < switch <= early for switch in switches)
            if between and late < 5 and early - late - 1 < 3:
                return register
    return -1


def _mask_written(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VALU reads a lane mask, then it is written, then it is read; SALU waits for what VALU wrote.

    Marks: register, stage (0 read, 1 then written by SALU, 2 then written by VALU) and 0.
    """
    return _written_after_read(marks, use, use.lane_mask, frozenset(range(108)), forgets=True)


def _scalar_written(marks: Marks, use: Use) -> tuple[Marks, int]:
    """VALU reads a scalar register, then it or its neighbour is written, then it is read.

    Marks: register, stage as before, and how many instructions SALU executed since it wrote.
    """
    pairs = {register & ~1 for register in use.reads if register < 124} if use.is_vector else set()
    marked = frozenset(pairs | {register + 1 for register in pairs})
    return _written_after_read(marks, use, marked, frozenset(range(124)), forgets=False)


def _written_after_read(
    marks: Marks, use: Use, marked: frozenset[int], known: frozenset[int], forgets: bool
) -> tuple[Marks, int]:
    if not (marks or marked):
        return marks, -1
    wrong = -1
    vector, scalar = use.is_vector, use.kind == "salu"
    if vector or scalar:
        late = {(1, age) for age in range(10 + vector)} | ({(2, 0)} if vector else set())
        wrong = _first({r for r, stage, age in marks if r in use.reads and (stage, age) in late})
    idle = use.idle
    kept = set()
    for register, stage, age in marks:
        is_vcc = register in (VCC, VCC + 1)
        over = (stage == 1 and "sa_sdst" in idle) or (
            stage == 2 and ("va_vcc" if is_vcc else "va_sdst") in idle
        )
        over = over or (forgets and stage == 2 and "va_vdst" in idle)
        if not over:
            grows = stage == 1 and not forgets and scalar and _has_result(use)
            kept.add((register, stage, age + grows))
    if vector and forgets and any(r < 126 for r in use.reads):
        kept = {mark for mark in kept if mark[1]}
    if vector or scalar:
        read = {register for register, stage, _ in kept if not stage}
        kept |= {(register, 1 + vector, 0) for register in use.writes & known & read}
    kept |= {(register, 0, 0) for register in marked}
    return frozenset(mark for mark in kept if mark[2] < 11), wrong


def _matrix_after_matrix(marks: Marks, use: Use) -> tuple[Marks, int]:
    """WMMA reads as a factor what the VALU before it, a WMMA, wrote."""
    if not use.is_vector:
        return marks, -1
    if not use.name.startswith(("v_wmma", "v_swmmac")):
        return NO_MARKS, -1
    factors = use.step.instruction.operands[1:3]
    read = {VECTORS + o.index + part for o in factors if o.kind == "v" for part in range(o.count)}
    wrong = _first({register for (register,) in marks if register in read})
    return frozenset((register,) for register in use.writes), wrong


def _registers_given_back(marks: Marks, use: Use) -> tuple[Marks, int]:
    """``s_sendmsg`` gives the registers back, without ``s_nop`` before it. Marks: another instruction."""
    if use.name == "s_sendmsg" and "DEALLOC_VGPRS" in use.step.instruction.text:
        return marks, -2 if marks else -1
    return (NO_MARKS if use.name == "s_nop" else frozenset(((0,),))), -1


def rules_of(generation: float, wave: int) -> dict[str, Rule]:
    """Return the hazards of a generation, by name."""
    if generation < 10:
        return _GCN
    if generation < 10.3:
        return {
            "VMEMtoScalarWriteHazard": _memory_reads_scalar,
            "SMEMtoVectorWriteHazard": _scalar_load_reads,
            "VcmpxPermlaneHazard": _compare_then_permute,
            "VcmpxExecWARHazard": _exec_read_then_written,
            "LdsBranchVmemWARHazard": _memory_around_branch,
            "Offset3fBug": _branch_at_offset,
            "waNsaCannotFollowWritelane": _image_after_writelane,
        }
    if generation < 11:
        return {}
    rules: dict[str, Rule] = {
        "VcmpxPermlaneHazard": _compare_then_permute_11,
        "WMMAHazards": _matrix_after_matrix,
    }
    if generation < 11.5:
        rules["VALUTransUseHazard"] = _transcendental_result
    if generation < 12:
        rules["s_nop before DEALLOC_VGPRS"] = _registers_given_back
        if wave == 64:
            rules["VALUPartialForwardingHazard"] = _partial_forwarding
            rules["VALUMaskWriteHazard"] = _mask_written
    else:
        rules["VALUReadSGPRHazard"] = _scalar_written
    return rules
