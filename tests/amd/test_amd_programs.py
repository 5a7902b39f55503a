"""Programs as text: branches, barriers, waits for loads, memory, and what stops an emulation."""

from __future__ import annotations

import time

import numpy as np
import pytest
from amd.emulated_waves import BASE, MEMORY, TextProgram, execute, run, set_buffer, waves_of

from vkgroup.amd.errors import HardwareRule, MemoryFault, MissingPart
from vkgroup.amd.machine import OutOfTime, WaveScheduler
from vkgroup.amd.program import Compiler
from vkgroup.amd.text import EXEC, VCC


def test_waves_branch_each_for_itself() -> None:
    waves = waves_of(count=4)
    waves.s[0] = [1, 2, 3, 4]
    waves.s[1] = 0
    # Each wave adds its number as often as its number says.
    run(
        waves,
        """
        s_mov_b32 s2, s0
        s_add_u32 s1, s1, s0
        s_sub_u32 s2, s2, 1
        s_cmp_lg_u32 s2, 0
        s_cbranch_scc1 65532
        s_endpgm
    """,
    )
    assert waves.s[1].tolist() == [1, 4, 9, 16]


@pytest.mark.parametrize("seed", range(4))
def test_a_barrier_waits_for_all_waves_of_its_workgroup(seed: int) -> None:
    waves = waves_of(count=6, groups=2)
    waves.v[0][:] = np.arange(32)
    waves.s[0] = np.tile([0, 1, 2], 2)  # number in the workgroup
    run(
        waves,
        """
        v_mov_b32_e32 v1, s0
        v_lshlrev_b32_e32 v2, 2, v1
        s_cmp_eq_u32 s0, 1
        s_cbranch_scc1 2
        ds_store_b32 v2, v1
        s_branch 2
        s_nop 0
        ds_store_b32 v2, v1 offset:0
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_mov_b32_e32 v3, 0
        ds_load_b32 v4, v3
        ds_load_b32 v5, v3 offset:4
        ds_load_b32 v6, v3 offset:8
        s_waitcnt lgkmcnt(0)
        s_endpgm
    """,
        seed=seed,
    )
    assert (waves.v[4] == 0).all()
    assert (waves.v[5] == 1).all()
    assert (waves.v[6] == 2).all()


def test_a_barrier_that_a_wave_never_reaches_is_a_finding() -> None:
    waves = waves_of(count=2, groups=1)
    waves.s[0] = [0, 1]
    # A wave that has ended does not hold the others up; one that loops forever does.
    run(
        waves,
        """
        s_cmp_eq_u32 s0, 0
        s_cbranch_scc1 1
        s_barrier
        s_endpgm
    """,
    )
    with pytest.raises(OutOfTime):
        run(waves_of(count=1), "s_branch 65535", seconds=0.2)


WAITING = """
    buffer_load_b32 v1, v0, s[4:7], 0 offen
    {wait}
    v_add_nc_u32_e32 v2, v1, v1
    s_endpgm
"""


def test_a_register_is_not_read_before_its_load_was_waited_for() -> None:
    waves = waves_of(count=1)
    set_buffer(waves, 4, BASE, MEMORY)
    with pytest.raises(HardwareRule) as raised:
        run(waves, WAITING.format(wait="s_nop 0"))
    assert raised.value.name == "wait counter"
    assert "v1" in str(raised.value)
    assert "v_add_nc_u32_e32 v2, v1, v1" in str(raised.value)
    waves = waves_of(count=1)
    set_buffer(waves, 4, BASE, MEMORY)
    run(waves, WAITING.format(wait="s_waitcnt vmcnt(0)"))
    assert not waves.v[2].any()


@pytest.mark.parametrize(
    ("gpu", "wait", "is_enough"),
    [
        ("gfx1100", "s_waitcnt vmcnt(1)", True),
        ("gfx1100", "s_waitcnt vmcnt(2)", False),
        ("gfx1201", "s_wait_loadcnt 0x1", True),
        ("gfx1201", "s_wait_loadcnt 0x2", False),
        ("gfx900", "s_waitcnt vmcnt(1)", True),
        ("gfx1100", "s_waitcnt lgkmcnt(0)", False),
    ],
)
def test_loads_end_in_their_order(gpu: str, wait: str, is_enough: bool) -> None:
    load = "buffer_load_b32 {}, v0, s[4:7], 0 offen"
    waves = waves_of(count=1, lanes=64)
    set_buffer(waves, 4, BASE, MEMORY)
    text = "\n".join([load.format("v1"), load.format("v2"), wait, "v_mov_b32_e32 v3, v1", "s_endpgm"])
    if is_enough:
        run(waves, text, gpu)
    else:
        with pytest.raises(HardwareRule):
            run(waves, text, gpu)


def test_scalar_loads_end_in_any_order() -> None:
    text = """
        s_load_b32 s4, s[0:1], 0x0
        ds_load_b32 v1, v0
        s_waitcnt lgkmcnt(1)
        {use}
        s_endpgm
    """
    for use, fails in (("s_mov_b32 s6, s4", True), ("v_mov_b32_e32 v2, v1", True), ("s_nop 0", False)):
        waves = waves_of(count=1)
        waves.s[0], waves.s[1] = BASE & 0xFFFFFFFF, BASE >> 32
        if fails:
            with pytest.raises(HardwareRule):
                run(waves, text.format(use=use))
        else:
            run(waves, text.format(use=use))


def test_other_lanes_of_a_loaded_register_may_be_written() -> None:
    waves = waves_of(count=1)
    set_buffer(waves, 4, BASE, MEMORY)
    waves.memory.words(BASE, 1)[0] = 5
    waves.s[10] = 0xFFFF
    run(
        waves,
        """
        s_mov_b32 exec_lo, s10
        buffer_load_b32 v1, v0, s[4:7], 0 offen
        s_not_b32 exec_lo, exec_lo
        v_mov_b32_e32 v1, 9
        s_endpgm
    """,
    )
    assert waves.v[1][0].tolist() == [5] * 16 + [9] * 16


@pytest.mark.parametrize(("nbytes", "left"), [(128, 32), (64, 16), (0, 0)])
def test_a_buffer_ends_at_its_records(nbytes: int, left: int) -> None:
    waves = waves_of(count=1)
    waves.memory.words(BASE, 64)[:] = np.arange(64) + 1
    set_buffer(waves, 4, BASE, nbytes)
    waves.v[0][0] = np.arange(32) * 4
    run(
        waves,
        """
        buffer_load_b32 v1, v0, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        v_add_nc_u32_e32 v1, 100, v1
        buffer_store_b32 v1, v0, s[4:7], 0 offen
        s_endpgm
    """,
    )
    assert waves.v[1][0].tolist() == [lane + 101 if lane < left else 100 for lane in range(32)]
    stored = waves.memory.words(BASE, 32)
    assert stored.tolist() == [lane + 101 if lane < left else lane + 1 for lane in range(32)]


def test_an_address_without_memory_is_a_fault() -> None:
    waves = waves_of(count=1)
    waves.s[0], waves.s[1] = (BASE + MEMORY) & 0xFFFFFFFF, (BASE + MEMORY) >> 32
    with pytest.raises(MemoryFault) as raised:
        run(waves, "global_load_b32 v1, v0, s[0:1]\ns_endpgm")
    assert hex(BASE + MEMORY) in str(raised.value)
    assert "global_load_b32" in str(raised.value)


def test_an_unknown_instruction_is_named() -> None:
    with pytest.raises(MissingPart) as raised:
        run(waves_of(count=1), "v_quantum_leap_b32 v0, v1\ns_endpgm")
    assert raised.value.name == "v_quantum_leap_b32"


@pytest.mark.parametrize("text", ["v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", "v_swap_b32 v1, v2"])
def test_both_halves_of_a_dual_instruction_read_first(text: str) -> None:
    waves = waves_of(count=1)
    waves.v[1][0], waves.v[2][0] = 1, 2
    execute(waves, text)
    assert (waves.v[1][0] == 2).all()
    assert (waves.v[2][0] == 1).all()


@pytest.mark.parametrize("returns", [True, False])
def test_atomics_of_one_address_come_one_after_the_other(returns: bool) -> None:
    waves = waves_of(count=2, lanes=32)
    waves.s[0], waves.s[1] = BASE & 0xFFFFFFFF, BASE >> 32
    waves.v[0][:] = np.arange(32) % 3 * 4
    waves.v[1][:] = np.arange(64).reshape(2, 32)
    text = (
        "global_atomic_add_u32 v2, v0, v1, s[0:1] glc" if returns else "global_atomic_add_u32 v0, v1, s[0:1]"
    )
    run(waves, f"{text}\ns_waitcnt vmcnt(0)\ns_endpgm")
    totals = [0, 0, 0]
    for wave in range(2):
        for lane in range(32):
            if returns:
                assert waves.v[2][wave, lane] == totals[lane % 3]
            totals[lane % 3] += wave * 32 + lane
    assert waves.memory.words(BASE, 3).tolist() == totals


@pytest.mark.parametrize(
    ("operation", "function"),
    [
        ("sub_u32", lambda old, data: old - data),
        ("min_i32", lambda old, data: min(old, data, key=lambda x: x - (1 << 32) * (x >> 31))),
        ("max_u32", max),
        ("swap_b32", lambda old, data: data),
        ("inc_u32", lambda old, data: 0 if old >= data else old + 1),
        ("dec_u32", lambda old, data: data if old == 0 or old > data else old - 1),
        ("xor_b32", lambda old, data: old ^ data),
    ],
)
def test_the_operations_of_atomics(operation: str, function: object) -> None:
    random = np.random.default_rng(6)
    waves = waves_of(count=1, lanes=32)
    waves.s[0], waves.s[1] = BASE & 0xFFFFFFFF, BASE >> 32
    waves.v[0][0] = random.integers(0, 4, 32) * 4
    waves.v[1][0] = random.integers(0, 1 << 32, 32, dtype=np.uint32)
    start = random.integers(0, 1 << 32, 4, dtype=np.uint32)
    waves.memory.words(BASE, 4)[:] = start
    run(waves, f"global_atomic_{operation} v2, v0, v1, s[0:1] glc\ns_waitcnt vmcnt(0)\ns_endpgm")
    held = [int(word) for word in start]
    for lane in range(32):
        place = int(waves.v[0][0, lane]) // 4
        assert int(waves.v[2][0, lane]) == held[place]
        held[place] = function(held[place], int(waves.v[1][0, lane])) & 0xFFFFFFFF  # type: ignore[operator]
    assert waves.memory.words(BASE, 4).tolist() == held


def test_a_comparison_writes_no_lane_that_is_off() -> None:
    waves = waves_of(count=1, lanes=64)
    waves.s[VCC], waves.s[VCC + 1] = 0xFFFFFFFF, 0xFFFFFFFF
    waves.set_mask(EXEC, np.arange(64)[None] % 2 == 0)
    waves.v[1][0] = np.arange(64)
    execute(waves, "v_cmp_gt_u32_e32 vcc, 40, v1")
    assert waves.mask(VCC)[0].tolist() == [lane % 2 == 0 and lane < 40 for lane in range(64)]
    execute(waves, "v_cmpx_lt_u32_e32 9, v1")
    assert waves.mask(EXEC)[0].tolist() == [lane % 2 == 0 and lane > 9 for lane in range(64)]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("and_saveexec", lambda mask, old: mask & old),
        ("or_saveexec", lambda mask, old: mask | old),
        ("and_not1_saveexec", lambda mask, old: mask & ~old),
        ("and_not0_saveexec", lambda mask, old: ~mask & old),
        ("xor_saveexec", lambda mask, old: mask ^ old),
    ],
)
def test_exec_is_saved_and_combined(name: str, function: object) -> None:
    waves = waves_of(count=1, lanes=32)
    waves.s[EXEC], waves.s[4] = 0x0FF0_1234, 0x3333_5555
    execute(waves, f"s_{name}_b32 s6, s4")
    assert int(waves.s[6][0]) == 0x0FF0_1234
    expected = function(0x3333_5555, 0x0FF0_1234) & 0xFFFFFFFF  # type: ignore[operator]
    assert int(waves.s[EXEC][0]) == expected
    assert bool(waves.scc[0]) == bool(expected)


@pytest.mark.parametrize("gpu", ["gfx803", "gfx900", "gfx1010", "gfx1100"])
def test_the_upper_half_after_an_instruction_of_16_bits(gpu: str) -> None:
    waves = waves_of(count=1, lanes=64)
    waves.v[1][0], waves.v[2][0], waves.v[3][0] = 0xABCD_0001, 0x1111_0002, 0x7777_7777
    execute(waves, "v_add_u16_e32 v3, v1, v2", gpu)
    # GCN writes zeros there, RDNA keeps what was there.
    assert (waves.v[3][0] == (0x3 if gpu in ("gfx803", "gfx900") else 0x7777_0003)).all()


def test_instructions_of_many_programs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkgroup.amd.program.MOST_STEPS", 3)
    waves = waves_of(count=1)
    compiler = Compiler("gfx1100", waves.lanes)
    lines = [*(f"s_mov_b32 s{number}, {number}" for number in range(1, 6)), "s_endpgm"]
    for _ in range(3):  # a program keeps its own instructions; the next one starts anew
        program = TextProgram(waves.memory, compiler, lines)
        first = compiler.step(lines[0])
        WaveScheduler(program, waves, compiler.generation, 0, time.monotonic() + 60).run(0)
        assert compiler.step(lines[0]) is first
        assert waves.s[1:6, 0].tolist() == [1, 2, 3, 4, 5]
    TextProgram(waves.memory, compiler, lines)
    assert compiler.step(lines[0]) is not first


def test_a_wave_adds_its_active_lanes_to_a_counter() -> None:
    """Of two workgroups, each with two waves: both waves of one add, each once, in some order."""
    waves = waves_of(count=4, groups=2)
    waves.set_mask(EXEC, np.arange(32)[None, :] < np.array([[5], [32], [0], [7]]))
    waves.v[1] = 999
    execute(waves, "ds_append v1 offset:8")
    counters = waves.local.view(np.uint32).reshape(2, -1)[:, 2]
    assert counters.tolist() == [37, 7]
    found = [set(waves.v[1][wave][: (5, 32, 0, 7)[wave]].tolist()) for wave in range(4)]
    assert sorted([*found[0], *found[1]]) in ([0, 5], [0, 32])
    assert found[2:] == [set(), {0}]
    assert (waves.v[1][0][5:] == 999).all()
    execute(waves, "ds_consume v2 offset:8")
    assert waves.local.view(np.uint32).reshape(2, -1)[:, 2].tolist() == [0, 0]
