"""Texts of instructions with upper halves of registers, which LLVM 19 does not read or leaves out."""

from __future__ import annotations

import pytest

from vkgroup.amd.disassembly import (
    with_chosen_halves,
    with_moved_lanes,
    with_sign_extension,
    with_upper_halves,
)


def _read(code: bytes) -> tuple[int, str]:
    """Read two instructions as LLVM does: not if a register of 16 bits has a number from 128 on."""
    word = int.from_bytes(code[:4], "little")
    result, source, second = word >> 17 & 0xFF, word & 0x1FF, word >> 9 & 0xFF
    if word >> 17 >> 8 == 0x3F and second == 0x0A and result < 128:
        return 4, f"v_cvt_f16_f32_e32 v{result}, v{source - 256}"  # the source has 32 bits
    if word >> 25 == 0x3B and max(result, second) < 128 and (source < 256 or source < 256 + 128):
        return 4, f"v_ldexp_f16_e32 v{result}, v{source - 256}, v{second}"
    if word >> 25 == 0x37 and max(result, second, source - 256) < 128:
        constant = int.from_bytes(code[4:], "little")
        return 8, f"v_fmamk_f16 v{result}.l, v{source - 256}.l, {constant:#x}, v{second}.l"
    return 0, ""


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x7F18150E, "v_cvt_f16_f32_e32 v12.h, v14"),
        (0x7F18158E, "v_cvt_f16_f32_e32 v12.h, v142"),
        (0x770A0D81, "v_ldexp_f16_e32 v5.h, v1.h, v6"),
        (0x770B0D01, "v_ldexp_f16_e32 v5.h, v1, v6.h"),
        (0x6E292995 | 0xCC00 << 32, "v_fmamk_f16 v20.l, v21.h, 0xcc00, v20.h"),  # the constant is in between
        (0x7F18FF0E, ""),  # no such instruction
        (0xFF18150E, ""),  # not one of 32 bits
    ],
)
def test_upper_halves_that_llvm_does_not_read(word: int, text: str) -> None:
    length = 8 if word >> 32 else 4
    assert with_upper_halves(_read, word.to_bytes(length, "little")) == (length if text else 4, text)


@pytest.mark.parametrize(
    ("word", "text", "with_halves"),
    [
        (0xD4FD107E, "v_cmpx_class_f16_e64 neg(1), v3", "v_cmpx_class_f16_e64 neg(1), v3 op_sel:[0,1]"),
        (0xD47D0800, "v_cmp_class_f16_e64 s[0:1], v1, v2", "v_cmp_class_f16_e64 s[0:1], v1, v2 op_sel:[1,0]"),
        (0xD7096000, "v_med3_i16 v0, v1, v2, v3", "v_med3_i16 v0, v1, v2, v3 op_sel:[0,0,1,1]"),
        (0xD7096000, "v_med3_f32 v0, v1, v2, v3", "v_med3_f32 v0, v1, v2, v3"),
        (0xD7090000, "v_med3_i16 v0, v1, v2, v3", "v_med3_i16 v0, v1, v2, v3"),
    ],
)
def test_choices_of_halves_that_llvm_leaves_out(word: int, text: str, with_halves: str) -> None:
    assert with_chosen_halves(text, word.to_bytes(4, "little")) == with_halves


def _read_plain(code: bytes) -> tuple[int, str]:
    """Read a comparison and a selection as LLVM does, not with DPP and signs; and a move with DPP."""
    first, second = (int.from_bytes(code[at : at + 4], "little") for at in (0, 4))
    source, register = first & 0x1FF, first >> 9 & 0xFF
    if first >> 17 == 0x7D04 >> 1 and source >= 256:
        return 4, f"v_cmp_eq_i32_e32 vcc, v{source - 256}, v{register}"
    if source == 0xFA and first >> 25 == 0x3F and not second >> 20 & 0xF:
        return (
            8,
            f"v_mov_b32_dpp v0, v{second & 0xFF}  row_ror:{second >> 8 & 0xF} row_mask:0xf bank_mask:0xf",
        )
    if source == 0xEA and first >> 25 == 0x3F:
        return 8, f"v_mov_b32_dpp v0, v{second & 0xFF}  dpp8:[{second >> 8:#x}] fi:1"
    if source == 0xF9 and not second & (1 << 19 | 1 << 27):
        return 8, f"v_cndmask_b32_sdwa v1, v{second & 0xFF}, v{register}, vcc dst_sel:DWORD src0_sel:BYTE_0"
    return 0, ""


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (0x7D0414FA, 0xFF01280A, "v_cmp_eq_i32_dpp vcc, v10, v10 row_ror:8 row_mask:0xf bank_mask:0xf"),
        (0x7D0414FA, 0xFF31280A, "v_cmp_eq_i32_dpp vcc, -|v10|, v10 row_ror:8 row_mask:0xf bank_mask:0xf"),
        (0x7D0414FA, 0xFF41280A, "v_cmp_eq_i32_dpp vcc, v10, -v10 row_ror:8 row_mask:0xf bank_mask:0xf"),
        (0x7D0414EA, 0xFF71280A, "v_cmp_eq_i32_dpp vcc, v10, v10 dpp8:[0xff7128] fi:1"),
        (0x7E0414FA, 0xFF01280A, ""),  # no comparison
        (0x7D04150A, 0xFF01280A, ""),  # no DPP
    ],
)
def test_comparisons_with_dpp_that_llvm_does_not_read(first: int, second: int, text: str) -> None:
    code = first.to_bytes(4, "little") + second.to_bytes(4, "little")
    assert with_moved_lanes(_read_plain, code) == (8 if text else 4, text)


@pytest.mark.parametrize(
    ("second", "sources"),
    [(0x0608_0615, "sext(v21), v20"), (0x0E00_0615, "v21, sext(v20)"), (0x0E08_0615, "sext(v21), sext(v20)")],
)
def test_signs_of_a_selection_that_llvm_does_not_read(second: int, sources: str) -> None:
    code = (0x002828F9).to_bytes(4, "little") + second.to_bytes(4, "little")
    text = f"v_cndmask_b32_sdwa v1, {sources}, vcc dst_sel:DWORD src0_sel:BYTE_0"
    assert with_sign_extension(_read_plain, code) == (8, text)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (with_sign_extension, (0x002828F9, 0x06080615)),
        (with_moved_lanes, (0x7D0414FA, 0xFF01280A)),
        (with_upper_halves, (0x7F18150E, 0)),
    ],
)
def test_what_llvm_reads_in_no_form_stays_unknown(function, words: tuple[int, int]) -> None:
    code = b"".join(word.to_bytes(4, "little") for word in words)
    asked = []
    assert function(lambda code: asked.append(code) or (0, ""), code) == (4, "")
    assert asked


def test_a_comparison_to_exec_has_no_result_before_its_sources() -> None:
    code = (0x7DA414FA).to_bytes(4, "little") + (0xFF41280A).to_bytes(4, "little")
    texts = iter(
        ["v_cmpx_eq_i32_e32 v10, v10", "v_mov_b32_dpp v0, v10  row_ror:8 row_mask:0xf bank_mask:0xf"]
    )
    text = "v_cmpx_eq_i32_dpp v10, -v10 row_ror:8 row_mask:0xf bank_mask:0xf"
    assert with_moved_lanes(lambda code: (4, next(texts)), code) == (8, text)
