"""Classification of instructions, on lines that drivers of Mesa 26.1.6 printed."""

from __future__ import annotations

import pytest

from vkgroup.cost.instructions import BARRIER, SHARED, count_of, instructions, kinds_of

_NAVI31 = """BB0:
	s_or_saveexec_b64 s[2:3], -1                                ; be8223c1
	v_add_nc_u32_dpp v47, v47, v47 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf fi:1 ; 4a5e5efa ff04b12f
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1) ; bf870091
	v_permlanex16_b32 v46, v47, 0, 0                            ; d65c002e 0201012f
	v_readlane_b32 s1, v47, 0                                   ; d7600001 0001012f
	ds_store_b32 v3, v4                                         ; d8340000 00000403
	s_barrier                                                   ; bfbd0000
	ds_bpermute_b32 v1, v2, v3                                  ; d8cc0000
	v_mov_b32_e32 v4, s1                                        ; 7e080201
	s_endpgm                                                    ; bfb00000
"""

_GA104 = """block.u 0 L2 [] -> {
      b0    = bclear                                   // delay=1
      ur0   = redux.sum r1                             // delay=2 wt=000001 wr:0
              st.shared.strong.cta.b32 [r0.x4] r1      // delay=1 rd:0
              bar.sync                                 // delay=6 yld
      r0    = ld.shared.strong.cta.b32 [r0.x4], pT     // delay=2 wr:0
      r1    = shfl.idx r0 r1 0x1f                      // delay=2 wr:0
      r2 p0 = shfl.idx r0 r1 0x1f                      // delay=2 wr:0
      ur0   = vote.any p1                              // delay=2
@!p0          exit                                     // delay=1
} -> [1]
"""


def test_amd() -> None:
    kinds = kinds_of("radv", _NAVI31)
    assert kinds == {
        "DPP": 1,
        "permlane": 1,
        "readlane": 1,
        "bpermute": 1,
        "whole wave": 1,
        "LDS": 1,
        "barrier": 1,
    }
    assert count_of("radv", kinds) == 5
    assert count_of("radv", kinds, SHARED) == count_of("radv", kinds, BARRIER) == 1


def test_nvidia() -> None:
    kinds = kinds_of("NVK", _GA104)
    assert kinds == {"shfl": 2, "vote": 1, "redux": 1, "shared": 2, "barrier": 1}
    assert count_of("NVK", kinds) == 4


def test_labels_and_comments_are_no_instructions() -> None:
    assert len(list(instructions(_NAVI31))) == 10
    assert next(instructions(_GA104)) == "bclear"
    assert "exit" in list(instructions(_GA104))


@pytest.mark.parametrize("driver", ["Honeykrisp", "unknown"])
def test_a_driver_without_assembly_has_no_kinds(driver: str) -> None:
    assert kinds_of(driver, "") == {}
