"""Hazards: each is found in a program that has it, and not where the instructions are kept apart."""

from __future__ import annotations

import re

import pytest
from amd.emulated_waves import BASE, run, set_buffer, waves_of

from vkgroup.amd.errors import HardwareRule
from vkgroup.amd.hazard_rules import rules_of
from vkgroup.amd.program import Compiler
from vkgroup.amd.waves import Waves

#: GPU, lanes and name of a hazard, and a program that has it; the lines with a plus sign avoid it.
HAZARDS = """
gfx803 64 VALU writes SGPR, VMEM reads it: 5 wait states
  v_readfirstlane_b32 s8, v1
+ s_nop 4
  buffer_load_dword v2, v0, s[8:11], 0 offen

gfx900 64 VALU writes SGPR, lane select reads it: 4 wait states
  v_readfirstlane_b32 s0, v1
+ s_nop 3
  v_readlane_b32 s1, v2, s0

gfx900 64 VALU writes VGPR, DPP reads it: 2 wait states
  v_mov_b32_e32 v1, 1
+ s_nop 1
  v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf

gfx900 64 VALU writes EXEC, DPP: 5 wait states
  v_cmpx_eq_u32_e32 vcc, 0, v1
+ s_nop 4
  v_mov_b32_dpp v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf

gfx900 64 VALU writes VCC, v_div_fmas: 4 wait states
  v_cmp_eq_u32_e32 vcc, 0, v1
+ s_nop 3
  v_div_fmas_f32 v1, v2, v3, v4

gfx900 64 long store, its data is written: 1 wait state
  buffer_store_dwordx4 v[0:3], v4, s[8:11], 0 offen
+ s_nop 0
  v_mov_b32_e32 v2, 0

gfx900 64 SALU writes M0, s_movrel or s_sendmsg: 1 wait state
  s_mov_b32 m0, 0
+ s_nop 0
  s_movrels_b32 s0, s1

gfx900 64 s_setreg, s_getreg or s_setreg: 2 wait states
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0
+ s_nop 1
  s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)

gfx1010 64 VMEMtoScalarWriteHazard
  buffer_load_dword v2, v0, s[8:11], 0 offen
+ s_waitcnt_depctr 0xffe3
  s_mov_b32 s8, 0

gfx1010 64 VMEMtoScalarWriteHazard
  ds_read_b32 v2, v0
+ v_mov_b32_e32 v7, 0
  s_mov_b64 exec, 1

gfx1010 64 VMEMtoScalarWriteHazard
  buffer_store_dword v2, v0, s[8:11], 0 offen
+ s_waitcnt_vscnt null, 0x0
  s_mov_b32 s8, 0

gfx1010 32 SMEMtoVectorWriteHazard
  s_load_dword s0, s[8:9], 0x0
+ s_mov_b32 null, 0
  v_cmp_eq_u32_e64 s8, 0, v1

gfx1010 32 VcmpxPermlaneHazard
  v_cmpx_eq_u32_e32 0, v1
+ v_mov_b32_e32 v3, v3
  v_permlane16_b32 v2, v3, s0, s1

gfx1010 64 VcmpxExecWARHazard
  s_mov_b64 s[0:1], exec
+ s_waitcnt_depctr 0xfffe
  v_cmpx_eq_u32_e32 0, v1

gfx1010 64 LdsBranchVmemWARHazard
  ds_read_b32 v2, v0
  s_branch 0
+ s_waitcnt_vscnt null, 0x0
  buffer_load_dword v3, v0, s[8:11], 0 offen

gfx1010 64 LdsBranchVmemWARHazard
  buffer_load_dword v3, v0, s[8:11], 0 offen
  s_branch 0
+ s_waitcnt_vscnt null, 0x0
  ds_read_b32 v2, v0

gfx1100 32 VcmpxPermlaneHazard
  v_cmpx_eq_u32_e32 0, v1
+ v_nop
  v_permlane64_b32_e32 v2, v3

gfx1100 32 VALUTransUseHazard
  v_rcp_f32_e32 v1, v2
+ s_waitcnt_depctr 0xfff
  v_add_f32_e32 v3, v1, v1

gfx1100 32 VALUTransUseHazard
  v_exp_f32_e32 v1, v2
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
+ v_mov_b32_e32 v4, 0
+ v_mov_b32_e32 v5, 0
+ v_mov_b32_e32 v6, 0
+ v_mov_b32_e32 v6, 0
  v_add_f32_e32 v3, v1, v1

gfx1100 64 VALUPartialForwardingHazard
  v_mov_b32_e32 v1, 1
  s_mov_b64 exec, 3
  v_mov_b32_e32 v2, 2
+ s_waitcnt_depctr 0xfff
  v_add_nc_u32_e32 v3, v1, v2

gfx1100 64 VALUPartialForwardingHazard
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v9, 1
  v_mov_b32_e32 v9, 1
  s_mov_b64 exec, 3
  v_mov_b32_e32 v2, 2
  v_mov_b32_e32 v8, 2
+ v_mov_b32_e32 v8, 2
+ v_mov_b32_e32 v8, 2
+ v_mov_b32_e32 v8, 2
+ v_mov_b32_e32 v8, 2
  v_add_nc_u32_e32 v3, v1, v2

gfx1100 64 VALUMaskWriteHazard
  v_cndmask_b32_e64 v1, v2, v3, s[0:1]
  s_mov_b64 s[0:1], 1
+ s_waitcnt_depctr 0xfffe
  s_mov_b64 s[2:3], s[0:1]

gfx1100 64 VALUMaskWriteHazard
  v_cndmask_b32_e32 v1, v2, v3, vcc
  v_cmp_eq_u32_e32 vcc, 0, v1
+ s_waitcnt_depctr 0xfffd
  v_cndmask_b32_e32 v1, v2, v3, vcc

gfx1100 32 s_nop before DEALLOC_VGPRS
  v_mov_b32_e32 v1, 0
+ s_nop 0
  s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)

gfx1201 32 VALUReadSGPRHazard
  v_mov_b32_e32 v1, s4
  s_mov_b32 s5, 0
+ s_wait_alu 0xfffe
  s_mov_b32 s6, s5

gfx1201 32 VALUReadSGPRHazard
  v_mov_b32_e32 v1, s4
  v_readfirstlane_b32 s4, v1
+ s_wait_alu 0xf1ff
  v_mov_b32_e32 v2, s4
"""

#: GPU, lanes, and why a program that looks like a hazard is none.
NONE = """
gfx900 64 another unit has written the register since
  v_readfirstlane_b32 s12, v1
  s_mov_b32 s12, 0
  buffer_load_dword v2, v0, s[8:11], s12 offen

gfx1030 64 RDNA 2 has none
  buffer_load_dword v2, v0, s[8:11], 0 offen
  s_mov_b32 s8, 0

gfx1100 32 in waves of 64 only
  v_cndmask_b32_e64 v1, v2, v3, s0
  s_mov_b32 s0, 1
  s_mov_b32 s2, s0

gfx1150 32 RDNA 3 only
  v_rcp_f32_e32 v1, v2
  v_add_f32_e32 v3, v1, v1

gfx1100 64 SALU waits for what VALU wrote
  v_cndmask_b32_e32 v1, v2, v3, vcc
  v_cmp_eq_u32_e32 vcc, 0, v1
  s_and_b32 s1, vcc_lo, 1

gfx1201 32 the branch waits for what SALU wrote
  v_mov_b32_e32 v1, s4
  s_mov_b32 s4, 0
  s_cbranch_scc1 0
  s_mov_b32 s6, s4

gfx1100 64 both registers are written after EXEC
  s_mov_b64 exec, 3
  v_mov_b32_e32 v1, 1
  v_mov_b32_e32 v2, 2
  v_add_nc_u32_e32 v3, v1, v2

gfx1201 32 eleven scalar instructions lie between
  v_mov_b32_e32 v1, s4
  s_mov_b32 s4, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  s_mov_b32 s9, 0
  v_mov_b32_e32 v2, s4
"""


def _programs(text: str) -> list[tuple[str, int, str, list[str]]]:
    """Return GPU, lanes, words and lines of each program of a text."""
    found = []
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        gpu, lanes, words = head.split(" ", 2)
        found.append((gpu, int(lanes), words, lines))
    return found


def _waves(lanes: int) -> Waves:
    waves = waves_of(count=1, lanes=lanes)
    set_buffer(waves, 8, BASE, 4096)
    return waves


@pytest.mark.parametrize(("gpu", "lanes", "name", "lines"), _programs(HAZARDS))
def test_a_hazard_is_found_unless_instructions_lie_between(
    gpu: str, lanes: int, name: str, lines: list[str]
) -> None:
    with pytest.raises(HardwareRule) as raised:
        run(_waves(lanes), "\n".join(line[2:] for line in lines if line[0] == " ") + "\ns_endpgm", gpu)
    assert raised.value.name == name
    assert lines[-1].split()[0] in str(raised.value)
    fewer = re.sub(
        r"s_nop (\d)", lambda nop: f"s_nop {int(nop[1]) - 1}", "\n".join(line[2:] for line in lines)
    )
    if "s_nop" in fewer and "s_nop -1" not in fewer:
        with pytest.raises(HardwareRule):
            run(_waves(lanes), f"{fewer}\ns_endpgm", gpu)
    run(_waves(lanes), "\n".join(line[2:] for line in lines) + "\ns_endpgm", gpu)


@pytest.mark.parametrize(("gpu", "lanes", "why", "lines"), _programs(NONE))
def test_what_only_looks_like_a_hazard_is_none(gpu: str, lanes: int, why: str, lines: list[str]) -> None:
    run(_waves(lanes), "\n".join(line[2:] for line in lines) + "\ns_endpgm", gpu)


def test_every_hazard_has_a_program() -> None:
    known = {name for generation in (8, 9, 10.1, 11, 11.5, 12) for name in rules_of(generation, 64)}
    others = {"Offset3fBug", "waNsaCannotFollowWritelane", "WMMAHazards"}  # below
    assert {name for _, _, name, _ in _programs(HAZARDS)} == known - others


@pytest.mark.parametrize("between", ["", "s_nop 0"])
def test_an_image_address_in_scattered_registers_after_writelane(between: str) -> None:
    image = "image_load v0, [v1, v5], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D"
    compiler = Compiler("gfx1010", 32)
    state, found = compiler.hazards.start, []
    for line in filter(None, ("v_writelane_b32 v0, s1, s2", between, image)):
        state, hazard, _ = compiler.hazards.advance(state, compiler.step(line))
        found.append(hazard)
    assert any(found) == (not between)
    assert found[-1] == ("" if between else "waNsaCannotFollowWritelane")


def test_a_branch_over_63_words_of_rdna_1_is_found() -> None:
    with pytest.raises(HardwareRule, match="Offset3fBug"):
        run(_waves(32), "s_cbranch_scc1 63\n" + "s_nop 0\n" * 64 + "s_endpgm", "gfx1010")


def test_a_matrix_that_reads_the_one_before_is_found() -> None:
    first = "v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]"
    second = "v_wmma_f32_16x16x16_f16 v[24:31], v[16:23], v[8:15], v[24:31]"
    with pytest.raises(HardwareRule, match="WMMAHazards with v16"):
        run(_waves(32), f"{first}\n{second}\ns_endpgm")
    run(_waves(32), f"{first}\nv_nop\n{second}\ns_endpgm")


def test_marks_of_both_paths_are_kept_where_they_join() -> None:
    """The lane mask is read on one path only; the rule holds for both waves, which go on together."""
    waves = waves_of(count=2, lanes=64)
    waves.s[20] = [0, 1]
    text = """
        s_cmp_eq_u32 s20, 0
        s_cbranch_scc1 1
        v_cndmask_b32_e64 v1, v2, v3, s[0:1]
        s_mov_b64 s[0:1], 1
        s_mov_b64 s[2:3], s[0:1]
        s_endpgm
    """
    with pytest.raises(HardwareRule, match="VALUMaskWriteHazard"):
        run(waves, text)
