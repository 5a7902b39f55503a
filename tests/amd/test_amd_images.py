"""Formats of texels, and images whose texels are loaded, stored and changed."""

from __future__ import annotations

import numpy as np
import pytest
from amd.emulated_waves import BASE, execute, waves_of

from vkgroup.amd.errors import MissingPart
from vkgroup.amd.formats import Format, decoded, encoded, format_named, unified_format
from vkgroup.amd.text import EXEC
from vkgroup.amd.waves import Waves

KINDS = ("UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(8,), (16, 16), (10, 10, 10, 2), (8, 8, 8, 8), (32, 32)])
def test_texels_are_what_their_components_encode(sizes: tuple[int, ...], kind: str) -> None:
    if kind == "FLOAT" and min(sizes) < 16:
        return
    form = Format(sizes, kind)
    random = np.random.default_rng(9)
    texels = random.integers(0, 256, (100, form.nbytes)).astype(np.uint8)
    components = decoded(texels, form)
    bits = [int.from_bytes(texel.tobytes(), "little") for texel in texels]
    at = 0
    for size, component in zip(sizes, components, strict=True):
        for number, whole in enumerate(bits):
            part = whole >> at & (1 << size) - 1
            with_sign = part - (1 << size) if part >> size - 1 else part
            expected = {
                "UINT": part, "SINT": with_sign,
                "USCALED": np.float32(part), "SSCALED": np.float32(with_sign),
                "UNORM": np.float32(part / ((1 << size) - 1)),
                "SNORM": np.float32(max(with_sign / max((1 << size - 1) - 1, 1), -1.0)),
            }  # fmt: skip
            if kind in ("UINT", "SINT"):
                assert int(component[number]) == expected[kind] & 0xFFFFFFFF
            elif kind != "FLOAT":
                assert component[number].view(np.float32) == expected[kind]
        at += size
    if kind in ("UINT", "SINT") or (kind == "UNORM" and max(sizes) <= 16):
        assert (encoded(components, form) == texels).all()


@pytest.mark.parametrize(
    ("name", "sizes"), [("10_11_11_FLOAT", (11, 11, 10)), ("2_10_10_10_UNORM", (10, 10, 10, 2))]
)
def test_names_begin_with_the_highest_bits(name: str, sizes: tuple[int, ...]) -> None:
    assert format_named(name).sizes == sizes


def test_numbers_of_formats() -> None:
    assert unified_format(20, 11) == unified_format(20, 10.3) == format_named("32_UINT")
    assert unified_format(63, 11) == unified_format(77, 10.3) == format_named("32_32_32_32_FLOAT")
    with pytest.raises(MissingPart):
        unified_format(64, 11)


def set_image(
    waves: Waves, register: int, width: int, height: int, form: int, kind: int = 9, layers: int = 1
) -> None:
    """Write the descriptor of an image of RDNA 3 to eight scalar registers."""
    address = BASE >> 8
    words = [
        address & 0xFFFFFFFF,
        address >> 32 | form << 20 | (width - 1 & 3) << 30,
        width - 1 >> 2 | (height - 1) << 14,
        0b111_110_101_100 | 27 << 20 | kind << 28,
        layers - 1, 0, 0, 0,
    ]  # fmt: skip
    for place, word in enumerate(words):
        waves.s[register + place] = word


@pytest.mark.parametrize(("width", "height"), [(8, 4), (7, 5), (1, 1)])
def test_what_is_stored_is_loaded_and_nothing_outside(width: int, height: int) -> None:
    waves = waves_of(count=2, lanes=32)
    set_image(waves, 8, width, height, 20)
    index = np.arange(64).reshape(2, 32)
    waves.v[0], waves.v[1], waves.v[2] = index % 8, index // 8, index + 1
    execute(waves, "image_store v2, v[0:1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm")
    execute(waves, "image_load v3, v[0:1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm")
    inside = (index % 8 < width) & (index // 8 < height)
    assert (waves.v[3] == np.where(inside, index + 1, 0)).all()
    held = waves.memory.words(BASE, 256)
    assert sorted(held[held > 0]) == sorted((index + 1)[inside])


def test_components_of_a_texel_by_mask() -> None:
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 32, 1, 46)  # 8_8_8_8_UINT
    waves.v[0][0], waves.v[1][0] = np.arange(32), 0
    for place in range(4):
        waves.v[4 + place][0] = 10 * place + np.arange(32)
    execute(waves, "image_store v[4:7], v[0:1], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D unorm")
    execute(waves, "image_load v[10:11], v[0:1], s[8:15] dmask:0xa dim:SQ_RSRC_IMG_2D unorm")
    assert (waves.v[10] == waves.v[5]).all()
    assert (waves.v[11] == waves.v[7]).all()


def test_layers_lie_apart() -> None:
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 4, 2, 20, kind=13, layers=4)
    lane = np.arange(32)
    waves.v[0][0], waves.v[1][0], waves.v[2][0], waves.v[3][0] = lane % 4, lane // 4 % 2, lane // 8, lane + 1
    execute(waves, "image_store v3, v[0:2], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_ARRAY unorm")
    execute(waves, "image_load v4, v[0:2], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_ARRAY unorm")
    assert waves.v[4][0].tolist() == (lane + 1).tolist()
    execute(waves, "image_get_resinfo v[5:7], v9, s[8:15] dmask:0x7 dim:SQ_RSRC_IMG_2D_ARRAY")
    assert [int(waves.v[5 + place][0, 0]) for place in range(3)] == [4, 2, 4]


def test_an_instruction_of_gcn_without_da_has_no_layer() -> None:
    """The descriptor has layers, the instruction two coordinates; the next register is the data."""
    waves = waves_of(count=1, lanes=64)
    lane, base_layer = np.arange(64), 1
    words = [
        BASE >> 8 & 0xFFFFFFFF,
        BASE >> 40 | 4 << 20 | 4 << 26,
        3 | 3 << 14,
        0b111_110_101_100 | 13 << 28,
    ]
    for place, word in enumerate(
        [*words, 3 | 3 << 13, base_layer, 0, 0]
    ):  # 32_UINT of 4 × 4 texels, 4 layers
        waves.s[8 + place] = word
    waves.v[0][0], waves.v[1][0], waves.v[2][0] = lane % 4, lane // 4 % 4, lane // 16
    waves.v[3][0] = 100 + lane % 16
    execute(waves, "image_store v3, v[0:1], s[8:15] dmask:0x1 unorm", "gfx900")
    execute(waves, "image_load v4, v[0:2], s[8:15] dmask:0x1 unorm da", "gfx900")
    assert waves.v[4][0].tolist() == np.where(lane < 16, 100 + lane, 0).tolist()
    execute(waves, "image_load v5, v[0:1], s[8:15] dmask:0x1 unorm", "gfx900")
    assert waves.v[5][0].tolist() == (100 + lane % 16).tolist()


def test_a_view_of_one_level_has_the_layers_of_a_view_of_all() -> None:
    """GCN 3: an upload writes level 0 by a view of its own, and a sample reads it by a view of all levels."""
    waves = waves_of(count=1, lanes=64)
    lane = np.arange(64)
    address = [BASE >> 8 & 0xFFFFFFFF, BASE >> 40 | 4 << 20 | 4 << 26, 3 | 3 << 14]
    for register, last_level in ((8, 0), (16, 2)):
        view = 0b111_110_101_100 | last_level << 16 | 13 << 28
        for place, word in enumerate([*address, view, 3, 3 << 13, 0, 0]):  # 32_UINT of 4 × 4 texels, 4 layers
            waves.s[register + place] = word
    waves.v[0][0], waves.v[1][0], waves.v[2][0], waves.v[3][0] = lane % 4, lane // 4 % 4, lane // 16, lane + 1
    execute(waves, "image_store v3, v[0:2], s[8:15] dmask:0x1 unorm da", "gfx803")
    execute(waves, "image_load v4, v[0:2], s[16:23] dmask:0x1 unorm da", "gfx803")
    assert waves.v[4][0].tolist() == (lane + 1).tolist()


def test_atomics_on_texels() -> None:
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 4, 1, 20)
    waves.v[0][0], waves.v[1][0], waves.v[2][0] = np.arange(32) % 4, 0, np.arange(32)
    execute(waves, "image_atomic_add v2, v[0:1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm glc")
    totals = [0] * 4
    for lane in range(32):
        assert waves.v[2][0, lane] == totals[lane % 4]
        totals[lane % 4] += lane
    assert waves.memory.words(BASE, 4).tolist() == totals


@pytest.mark.parametrize("linear", [False, True])
def test_samples_between_texels(linear: bool) -> None:
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 4, 1, 22)  # 32_FLOAT
    waves.memory.words(BASE, 4)[:] = np.array([1, 2, 4, 8], np.float32).view(np.uint32)
    for place, word in enumerate((2 | 2 << 3 | 2 << 6, 0xFFF << 12, (1 << 20 | 1 << 22) * linear, 0)):
        waves.s[20 + place] = word
    x = np.linspace(0, 1, 32, dtype=np.float32)
    waves.v[0][0], waves.v[1][0] = x.view(np.uint32), np.float32(0.5).view(np.uint32)
    execute(waves, "image_sample_lz v2, v[0:1], s[8:15], s[20:23] dmask:0x1 dim:SQ_RSRC_IMG_2D")
    texels = np.array([1.0, 2.0, 4.0, 8.0])
    place = x.astype(np.float64) * 4
    if linear:
        expected = np.interp(place - 0.5, np.arange(4), texels)
    else:
        expected = texels[np.clip(np.floor(place), 0, 3).astype(int)]
    # Both round the same sum of two products once to float32.
    assert np.allclose(waves.v[2][0].view(np.float32), expected, rtol=2.0**-23, atol=0)


@pytest.mark.parametrize(("kind", "ones"), [(20, 1), (22, np.float32(1).view(np.uint32))])
def test_borders_have_ones_of_the_format_and_the_selection_of_the_descriptor(kind: int, ones: int) -> None:
    """A format of one component: its border is that component, and alpha is 1 as it is in texels."""
    for border, red in ((0, 0), (1, 0), (2, ones)):
        waves = waves_of(count=1, lanes=32)
        set_image(waves, 8, 4, 1, kind)
        waves.s[8 + 3] = 0b001_000_000_100 | 27 << 20 | 9 << 28
        for place, word in enumerate((6 | 6 << 3 | 6 << 6, 0xFFF << 12, 0, border << 30)):
            waves.s[20 + place] = word
        waves.v[0][0], waves.v[1][0] = np.float32(2).view(np.uint32), np.float32(0.5).view(np.uint32)
        execute(waves, "image_sample_lz v[2:5], v[0:1], s[8:15], s[20:23] dmask:0xf dim:SQ_RSRC_IMG_2D")
        assert [int(waves.v[2 + place][0, 0]) for place in range(4)] == [red, 0, 0, ones]


@pytest.mark.parametrize(("least", "greatest", "expected"), [(0, 0, 0), (0, 15, 2), (1, 1, 1), (3, 15, 3)])
def test_a_sampler_limits_levels(least: int, greatest: int, expected: int) -> None:
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 8, 1, 20)
    waves.s[8 + 1] |= 3 << 16  # levels of the image, 4
    waves.s[8 + 3] |= 3 << 16  # the last one of the view
    waves.memory.words(BASE, 15)[:] = [0] * 8 + [1] * 4 + [2] * 2 + [3]
    levels = least * 256 | greatest * 256 << 12
    for place, word in enumerate((2 | 2 << 3 | 2 << 6, levels, 0, 0)):
        waves.s[20 + place] = word
    for register, value in ((0, 0.5), (1, 0.5), (2, 2.0)):
        waves.v[register][0] = np.float32(value).view(np.uint32)
    execute(waves, "image_sample_l v3, v[0:2], s[8:15], s[20:23] dmask:0x1 dim:SQ_RSRC_IMG_2D")
    assert int(waves.v[3][0, 0]) == expected


def test_bits_that_are_no_number_take_some_texel_and_inactive_lanes_none() -> None:
    """Vulkan leaves open which texel a NaN takes; the lanes beside it have theirs."""
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 4, 1, 22)  # 32_FLOAT
    waves.memory.words(BASE, 4)[:] = np.array([1, 2, 4, 8], np.float32).view(np.uint32)
    for place, word in enumerate((2 | 2 << 3 | 2 << 6, 0xFFF << 12, 1 << 20 | 1 << 22, 0)):
        waves.s[20 + place] = word
    lane = np.arange(32)
    waves.v[0][0] = np.where(lane == 3, np.nan, 0.375).astype(np.float32).view(np.uint32)
    waves.v[1][0] = np.float32(0.5).view(np.uint32)
    waves.v[2][0] = np.where(lane == 4, np.nan, 0.0).astype(np.float32).view(np.uint32)
    waves.v[3][0] = 77
    waves.set_mask(EXEC, lane[None] != 5)
    waves.v[2][0][5] = 0xFFFFFFFF
    execute(waves, "image_sample_l v3, v[0:2], s[8:15], s[20:23] dmask:0x1 dim:SQ_RSRC_IMG_2D")
    found = waves.v[3][0].view(np.float32)
    assert (found[[0, 1, 2, 4, 6]] == 2).all()
    assert found[3] in (1, 2, 4, 8)
    assert waves.v[3][0][5] == 77


@pytest.mark.parametrize(
    ("value", "red", "blue"),
    [
        (np.nan, 0x7E0, 0x3F0), (np.inf, 0x7C0, 0x3E0), (-np.inf, 0, 0), (-1.0, 0, 0),
        (1.0, 15 << 6, 15 << 5), (1 + 63.99 / 64, 15 << 6 | 63, 15 << 5 | 31),
        (1e9, 30 << 6 | 63, 30 << 5 | 31),
    ],
)  # fmt: skip
def test_small_floats_are_rounded_towards_zero(value: float, red: int, blue: int) -> None:
    form = format_named("10_11_11_FLOAT")
    bits = np.array([value], np.float32).view(np.uint32)
    texel = int(encoded([bits, bits, bits], form).view(np.uint32)[0, 0])
    assert (texel & 0x7FF, texel >> 22) == (red, blue)


def test_several_samples_a_texel_are_not_emulated() -> None:
    waves = waves_of(count=1, lanes=32)
    set_image(waves, 8, 4, 4, 20, kind=14)
    with pytest.raises(MissingPart):
        execute(waves, "image_load v2, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA unorm")
