"""Records of a wave, where they leave a right execution, and requests of unknown layouts."""

from __future__ import annotations

import time

import numpy as np
import pytest
from amd.emulated_waves import BASE, TextProgram, set_buffer, waves_of

from vkgroup.amd.machine import WaveScheduler
from vkgroup.amd.program import Compiler
from vkgroup.amd.requests import layout_problem
from vkgroup.amd.slices import first_difference, lane_line, slice_of, stored_words, wrong_store
from vkgroup.amd.tracing import WaveRecorder
from vkgroup.amd.waves import Waves


class _Program(TextProgram):
    def code_at(self, address: int, length: int) -> bytes:
        return address.to_bytes(length, "little")


def _record(waves: Waves, text: str, wave: int = 1) -> WaveRecorder:
    """Execute a program, each wave a workgroup of its own, and return the record of one of them."""
    compiler = Compiler("gfx1100", waves.lanes)
    program = _Program(waves.memory, compiler, [line.strip() for line in text.strip().splitlines()])
    recorder = WaveRecorder((wave, 0, 0))
    recorder.begin(np.array([(number, 0, 0) for number in range(waves.count)]), 1, is_first=True)
    WaveScheduler(program, waves, 11.0, 0, time.monotonic() + 60, recorder).run(0)
    return recorder


_SUM = """
    v_mov_b32_e32 v1, 5
    v_lshlrev_b32_e32 v2, 2, v0
    v_add_nc_u32_e32 v3, v1, v0
    v_mul_lo_u32 v4, v3, s0
    buffer_store_b32 v4, v2, s[8:11], 0 offen
    s_endpgm
"""


def _summed() -> WaveRecorder:
    waves = waves_of(count=3)
    set_buffer(waves, 8, BASE, 4096)
    waves.v[0] = np.arange(32)
    waves.s[0] = [2, 3, 4]
    return _record(waves, _SUM)


def test_a_record_has_each_instruction_with_its_values() -> None:
    recorder = _summed()
    assert [executed.text.split()[0] for executed in recorder.executed] == [
        line.split()[0] for line in _SUM.split("\n") if line.strip()
    ]
    product = recorder.executed[3]
    assert product.read[0] == 3  # wave 1's own factor
    assert product.read[256 + 3].tolist() == [5 + lane for lane in range(32)]
    assert product.written[256 + 4].tolist() == [3 * (5 + lane) for lane in range(32)]
    text = "\n".join(recorder.lines())
    assert "6 instructions" in text
    assert "writes v1       0x00000005 in all lanes" in text


def test_a_record_has_only_what_its_wave_executes() -> None:
    waves = waves_of(count=2)
    waves.s[0] = [1, 0]
    lines = "s_cmp_eq_u32 s0, 1\ns_cbranch_scc1 1\ns_mov_b32 s1, 7\ns_mov_b32 s2, 8\ns_endpgm"
    texts = {wave: [each.text for each in _record(waves, lines, wave).executed] for wave in (0, 1)}
    assert "s_mov_b32 s1, 7" not in texts[0]
    assert "s_mov_b32 s1, 7" in texts[1]


def test_the_first_difference_is_where_operands_agree_and_the_result_does_not() -> None:
    record = _summed().executed
    lane = 4
    assert stored_words(record[4], lane) == [(256 + 4, 27)]
    right = {20}  # the right execution multiplies by something else
    found = wrong_store(record, lane, right)
    assert found == (4, 256 + 4)
    entries = slice_of(record, *found, lane, known={5, 9, 20})
    assert [entry.executed.text.split()[0] for entry in entries] == [
        "v_add_nc_u32_e32",
        "v_mul_lo_u32",
        "buffer_store_b32",
    ]
    assert [entry.agrees for entry in entries] == [True, False, False]
    assert first_difference(entries) is record[3]
    assert lane_line(record[3], lane).endswith("(reads s0=0x3 v3=0x9; writes v4=0x1b)")


def test_a_lane_mask_that_is_a_result_leads_to_what_set_it() -> None:
    waves = waves_of(count=2)
    set_buffer(waves, 8, BASE, 4096)
    waves.v[0] = np.arange(32)
    record = _record(
        waves,
        """
        v_lshlrev_b32_e32 v2, 2, v0
        v_cmpx_gt_u32_e32 7, v0
        v_mov_b32_e32 v4, exec_lo
        buffer_store_b32 v4, v2, s[8:11], 0 offen
        s_endpgm
        """,
    ).executed
    entries = slice_of(record, 3, 256 + 4, 2, known={2, 8})
    assert first_difference(entries) is record[1]
    assert "exec_lo=0x7f" in lane_line(record[1], 2)
    assert "exec" not in lane_line(record[3], 2)


def test_right_words_are_no_wrong_store() -> None:
    record = _summed().executed
    assert wrong_store(record, 4, {27}) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("global_store_b64 v[0:1], v[2:3], off", [(258, 0x30002), (259, 0x40003)]),
        ("buffer_store_b8 v2, v0, s[8:11], 0 offen", [(258, 2)]),
        ("buffer_store_b16 v3, v0, s[8:11], 0 offen", [(259, 3)]),
        ("v_mov_b32_e32 v1, v0", []),
    ],
)
def test_stored_words(text: str, words: list[tuple[int, int]]) -> None:
    waves = waves_of(count=2)
    set_buffer(waves, 8, BASE, 4096)
    waves.v[0], waves.v[1] = BASE & 0xFFFFFFFF, BASE >> 32
    waves.v[2], waves.v[3] = 0x30002, 0x40003
    if text.startswith("buffer"):
        waves.v[0] = 0
    record = _record(waves, f"{text}\ns_endpgm", 0).executed
    assert stored_words(record[0], 3) == words


@pytest.mark.parametrize(
    ("number", "size", "words"),
    [
        (0x44, 24, ""),  # a submission
        (0x44, 32, "32 bytes"),
        (0x48, 40, ""),  # an address
        (0x48, 64, ""),  # with fields that later kernels add
        (0x48, 32, "32 bytes"),
        (0x45, 32, ""),  # a question
        (0x56, 56, "0x56"),  # a queue that the program writes itself
        (0xC0, 8, ""),  # not of this device
    ],
)
def test_requests_of_another_layout_are_unknown(number: int, size: int, words: str) -> None:
    problem = layout_problem(number, size)
    assert (words in problem) if words else not problem
