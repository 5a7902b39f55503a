"""Instructions that cross lanes, compared with their definition lane by lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from amd.emulated_waves import execute, waves_of

from vkgroup.amd.crossing import swizzle_sources
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.text import EXEC

#: The lane that a lane reads, or -1, by the text of a DPP control: for rows of 16 in a wave of 64.
CONTROLS: dict[str, Callable[[int], int]] = {
    "quad_perm:[2,0,3,1]": lambda n: n // 4 * 4 + (2, 0, 3, 1)[n % 4],
    "row_shl:3": lambda n: n + 3 if n % 16 + 3 < 16 else -1,
    "row_shr:5": lambda n: n - 5 if n % 16 >= 5 else -1,
    "row_ror:4": lambda n: n // 16 * 16 + (n % 16 - 4) % 16,
    "row_mirror": lambda n: n // 16 * 16 + 15 - n % 16,
    "row_half_mirror": lambda n: n // 8 * 8 + 7 - n % 8,
    "row_share:7": lambda n: n // 16 * 16 + 7,
    "row_xmask:9": lambda n: n // 16 * 16 + (n % 16 ^ 9),
    "row_bcast:15": lambda n: n // 16 * 16 - 1 if n >= 16 else -1,
    "row_bcast:31": lambda n: 31 if n >= 32 else -1,
    "wave_shl:1": lambda n: n + 1 if n < 63 else -1,
    "wave_shr:1": lambda n: n - 1,
    "wave_rol:1": lambda n: (n + 1) % 64,
    "wave_ror:1": lambda n: (n - 1) % 64,
    "dpp8:[7,6,5,4,0,1,2,3]": lambda n: n // 8 * 8 + (7, 6, 5, 4, 0, 1, 2, 3)[n % 8],
}


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("fetches", [False, True])
def test_dpp_moves_between_lanes(control: str, zeros: bool, fetches: bool) -> None:
    waves = waves_of(count=1, lanes=64)
    on = np.random.default_rng(3).random(64) < 0.7
    waves.v[1][0], waves.v[2][0] = np.arange(64) + 100, 7
    waves.set_mask(EXEC, on[None])
    extra = f" row_mask:0xf bank_mask:0xf{' bound_ctrl:1' if zeros else ''}{' fi:1' if fetches else ''}"
    execute(waves, f"v_mov_b32_dpp v2, v1 {control}{extra}")
    for lane in range(64):
        source = CONTROLS[control](lane)
        is_valid = source >= 0 and (fetches or on[source])
        if not on[lane]:
            expected = 7
        elif is_valid:
            expected = source + 100
        else:  # DPP8 has no bound_ctrl: lanes that are off read as zero
            expected = 0 if zeros or control.startswith("dpp8") else 7
        assert waves.v[2][0, lane] == expected, lane


def test_row_and_bank_masks_leave_lanes_unchanged() -> None:
    waves = waves_of(count=1, lanes=64)
    waves.v[1][0], waves.v[2][0] = np.arange(64) + 100, 7
    execute(waves, "v_mov_b32_dpp v2, v1 quad_perm:[0,1,2,3] row_mask:0x5 bank_mask:0x3")
    for lane in range(64):
        is_written = 0x5 >> lane // 16 & 1 and 0x3 >> lane % 16 // 4 & 1
        assert waves.v[2][0, lane] == (lane + 100 if is_written else 7)


def test_dpp_applies_to_the_first_source_of_an_operation() -> None:
    waves = waves_of(count=1, lanes=64)
    waves.v[1][0], waves.v[3][0] = np.arange(64), 1000
    execute(waves, "v_sub_nc_u32_dpp v2, v1, v3 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1")
    expected = [(n - 1 if n % 16 else 0) - 1000 & 0xFFFFFFFF for n in range(64)]
    assert waves.v[2][0].tolist() == expected


@pytest.mark.parametrize("name", ["v_permlane16_b32", "v_permlanex16_b32"])
@pytest.mark.parametrize("selections", [(0, 0), (1, 0), (0, 1)])
def test_permlane_takes_lanes_by_nibbles(name: str, selections: tuple[int, int]) -> None:
    waves = waves_of(count=1, lanes=64)
    on = np.random.default_rng(4).random(64) < 0.7
    low, high = 0x76543210 ^ 0x35353535, 0xFEDCBA98 ^ 0x12121212
    waves.s[4], waves.s[5] = low, high
    waves.v[1][0], waves.v[2][0] = np.arange(64) + 100, 7
    waves.set_mask(EXEC, on[None])
    execute(waves, f"{name} v2, v1, s4, s5 op_sel:[{selections[0]},{selections[1]}]")
    for lane in range(64):
        nibble = (high << 32 | low) >> 4 * (lane % 16) & 15
        source = lane // 16 * 16 + nibble ^ (16 if "x16" in name else 0)
        valid = selections[0] or on[source]
        expected = source + 100 if valid else 0 if selections[1] else 7
        assert waves.v[2][0, lane] == (expected if on[lane] else 7)


def test_lanes_and_scalars() -> None:
    waves = waves_of(count=2, lanes=32)
    waves.v[1][:] = np.arange(64).reshape(2, 32)
    waves.s[4] = [5, 40]  # the lane is taken modulo the size of the wave
    execute(waves, "v_readlane_b32 s6, v1, s4")
    assert waves.s[6].tolist() == [5, 32 + 8]
    waves.set_mask(EXEC, np.arange(32)[None] >= 9)
    execute(waves, "v_readfirstlane_b32 s7, v1")
    assert waves.s[7].tolist() == [9, 41]
    execute(waves, "v_writelane_b32 v1, 77, s4")  # also where the lane is off
    assert waves.v[1][0, 5] == 77
    assert waves.v[1][1, 8] == 77
    assert (waves.v[1] == 77).sum() == 2


@pytest.mark.parametrize(
    ("gpu", "lanes"), [("gfx900", 64), ("gfx1100", 64), ("gfx1100", 32), ("gfx1201", 64)]
)
def test_bpermute_and_permute(gpu: str, lanes: int) -> None:
    random = np.random.default_rng(5)
    waves = waves_of(count=1, lanes=lanes)
    on = random.random(lanes) < 0.8
    at = random.integers(0, 256, lanes)
    waves.v[1][0], waves.v[2][0], waves.v[3][0], waves.v[4][0] = at, np.arange(lanes) + 100, 7, 7
    waves.set_mask(EXEC, on[None])
    # From RDNA 1 to 3, a lane reaches only its half of a wave of 64.
    reach = 32 if gpu == "gfx1100" else lanes
    execute(waves, "ds_bpermute_b32 v3, v1, v2", gpu)
    execute(waves, "ds_permute_b32 v4, v1, v2", gpu)
    forward = dict.fromkeys(range(lanes), 0)
    for lane in range(lanes):
        if on[lane]:
            forward[lane // reach * reach + at[lane] // 4 % reach] = lane + 100
    for lane in range(lanes):
        source = lane // reach * reach + at[lane] // 4 % reach
        assert waves.v[3][0, lane] == ((source + 100 if on[source] else 0) if on[lane] else 7)
        assert waves.v[4][0, lane] == (forward[lane] if on[lane] else 7)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("swizzle(SWAP,16)", lambda n: n ^ 16),
        ("swizzle(REVERSE,8)", lambda n: n ^ 7),
        ("swizzle(BROADCAST,4,2)", lambda n: n // 4 * 4 + 2),
        ("swizzle(QUAD_PERM,1,1,0,3)", lambda n: n // 4 * 4 + (1, 1, 0, 3)[n % 4]),
        ('swizzle(BITMASK_PERM,"01pip")', lambda n: n // 32 * 32 + ((n % 32 & 0b00111 | 0b01000) ^ 0b00010)),
        ("0x041f", lambda n: n // 32 * 32 + (n % 32 ^ 1)),
        ("0x80e4", lambda n: n),
    ],
)
def test_the_lanes_of_a_swizzle(text: str, source: Callable[[int], int]) -> None:
    assert swizzle_sources(text, 64).tolist() == [source(n) for n in range(64)]


def test_an_unknown_swizzle_is_no_result() -> None:
    with pytest.raises(MissingPart) as raised:
        swizzle_sources("swizzle(SPIRAL,1)", 32)
    assert "SPIRAL" in raised.value.name


def test_counts_of_lanes_below() -> None:
    waves = waves_of(count=1, lanes=64)
    waves.s[4], waves.s[5] = 0xF0F0_1234, 0x8000_0001
    waves.v[1][0] = 10
    execute(waves, "v_mbcnt_lo_u32_b32 v2, s4, v1")
    execute(waves, "v_mbcnt_hi_u32_b32 v2, s5, v2")
    mask = 0x8000_0001_F0F0_1234
    assert waves.v[2][0].tolist() == [10 + (mask & (1 << lane) - 1).bit_count() for lane in range(64)]


def test_halves_are_exchanged() -> None:
    waves = waves_of(count=1, lanes=64)
    waves.v[1][0] = np.arange(64)
    execute(waves, "v_permlane64_b32 v2, v1")
    assert waves.v[2][0].tolist() == [lane ^ 32 for lane in range(64)]


def test_both_halves_of_a_wave_share_registers() -> None:
    waves = waves_of(count=1, lanes=64)
    waves.shared_from = 10
    waves.v[1][0] = np.arange(64)
    waves.set_mask(EXEC, np.arange(64)[None] >= 32)
    execute(waves, "v_mov_b32_e32 v10, v1", "gfx1010")
    waves.set_mask(EXEC, np.arange(64)[None] < 32)
    execute(waves, "v_mov_b32_e32 v2, v10", "gfx1010")
    assert waves.v[2][0, :32].tolist() == list(range(32, 64))
