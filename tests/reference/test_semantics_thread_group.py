"""NV_shader_thread_group in the reference model, against plain loops and the sentences of the document."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from inputs import generators, masks_of

from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.thread_group import PIXELS, is_legal_id_nv, tgballot
from vkgroup.spec.thread_group_operations import STAGES, THREAD_GROUP_OPERATIONS

SIZES = (1, 2, 4, 8, 16, 32)

#: Where thread N of a quad reads, by the lists of section 8.3.
SOURCES = {
    "0": (0, 0, 0, 0),
    "1": (1, 1, 1, 1),
    "2": (2, 2, 2, 2),
    "3": (3, 3, 3, 3),
    "X": (1, 0, 3, 2),
    "Y": (2, 3, 0, 1),
}

MASKS = {
    "gl_ThreadEqMaskNV": lambda bit, thread: bit == thread,
    "gl_ThreadGeMaskNV": lambda bit, thread: bit >= thread,
    "gl_ThreadGtMaskNV": lambda bit, thread: bit > thread,
    "gl_ThreadLeMaskNV": lambda bit, thread: bit <= thread,
    "gl_ThreadLtMaskNV": lambda bit, thread: bit < thread,
}


def shape_of(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(1, 4)), int(rng.choice(SIZES))


def reference(name: str):
    found = reference_of(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", MASKS)
@settings(max_examples=30, deadline=None)
@given(rng=generators)
def test_masks_are_shifts_of_the_id_whoever_is_active(name: str, rng: np.random.Generator) -> None:
    active = masks_of(rng, shape_of(rng))
    lanes = reference(name)(active)
    assert lanes.value.dtype == np.uint32
    assert (lanes.defined[:, :, 0] == active).all()
    for thread in range(active.shape[1]):
        bits = sum(1 << bit for bit in range(32) if MASKS[name](bit, thread))
        assert (lanes.value[:, thread, 0] == bits).all()


def test_ids_and_sizes() -> None:
    active = np.array([[True, False, True, True]])
    assert reference_of("gl_ThreadInWarpNV")(active).value[0, :, 0].tolist() == [0, 1, 2, 3]
    assert reference_of("gl_WarpSizeNV")(active).value[0, :, 0].tolist() == [4] * 4


@settings(max_examples=60, deadline=None)
@given(rng=generators)
def test_ballots_have_the_bits_of_active_threads_alone(rng: np.random.Generator) -> None:
    active = masks_of(rng, shape_of(rng))
    value = rng.random((*active.shape, 1)) < 0.5
    ballot = reference_of("ballotThreadNV")(value, active)
    threads = reference_of("activeThreadsNV")(active)
    for row in range(len(active)):
        present = sum(1 << thread for thread, there in enumerate(active[row]) if there)
        true = sum(1 << thread for thread, there in enumerate(active[row]) if there and value[row, thread, 0])
        assert (threads.value[row, :, 0] == present).all()
        assert (ballot.value[row, :, 0] == true).all()
    assert (ballot.defined[:, :, 0] == active).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32])
@settings(max_examples=40, deadline=None)
@given(rng=generators)
def test_tgballot_is_the_documents_loop(dtype, rng: np.random.Generator) -> None:
    active = masks_of(rng, shape_of(rng))
    vector = rng.integers(-1 if dtype is not np.uint32 else 0, 2, (*active.shape, 4)).astype(dtype)
    lanes = tgballot(vector, active)
    for row in range(len(active)):
        result = [0, 0, 0, 0]
        for thread in np.flatnonzero(active[row]).tolist():
            for component in range(4):
                if vector[row, thread, component] != 0:
                    result[component] |= 1 << thread
        for thread in np.flatnonzero(active[row]):
            assert lanes.value[row, thread].tolist() == result
            assert lanes.defined[row, thread].all()


def test_tgballot_of_one_is_the_active_mask() -> None:
    active = np.array([[True, False, True, True, False, False, False, True]])
    ones = np.ones((*active.shape, 4), np.int32)
    assert tgballot(ones, active).value[0, 0].tolist() == [0b10001101] * 4
    assert (tgballot(ones, active).value[..., :1] == reference_of("activeThreadsNV")(active).value).all()


def test_tgballot_compares_floats_with_zero() -> None:
    active = np.ones((1, 4), np.bool_)
    value = np.array([[[0.0], [-0.0], [np.nan], [1e-45]]], np.float32)
    assert (tgballot(value, active).value == 0b1100).all()


def test_tgballot_writes_the_components_that_the_mask_names() -> None:
    """Threads that write nothing take part all the same."""
    active = np.ones((1, 2), np.bool_)
    value = np.ones((1, 2, 4), np.uint32)
    old = np.full((1, 2, 4), 77, np.uint32)
    written = np.array([[[True, False, True, False], [False] * 4]])
    lanes = tgballot(value, active, destination=old, written=written)
    assert lanes.value.tolist() == [[[3, 77, 3, 77], [77, 77, 77, 77]]]


@pytest.mark.parametrize("which", SOURCES)
@settings(max_examples=40, deadline=None)
@given(rng=generators)
def test_swizzles_read_and_add_in_whole_quads(which: str, rng: np.random.Generator) -> None:
    active = masks_of(rng, shape_of(rng))
    components = int(rng.integers(1, 5))
    swizzled = rng.standard_normal((*active.shape, components)).astype(np.float32)
    unswizzled = rng.standard_normal(swizzled.shape).astype(np.float32)
    one = reference(f"quadSwizzle{which}NV")(swizzled, active)
    two = reference(f"quadSwizzle{which}NV")(swizzled, active, unswizzled)
    assert one.value.dtype == two.value.dtype == np.float32
    assert (one.defined == active[:, :, None]).all()
    for row, thread in np.argwhere(active):
        first = thread // 4 * 4
        quad = active[row, first : first + 4]
        if len(quad) < 4 or not quad.all():
            assert not one.value[row, thread].any()
            assert not two.value[row, thread].any()
            continue
        read = swizzled[row, first + SOURCES[which][thread % 4]]
        assert (one.value[row, thread] == read).all()
        assert (two.value[row, thread] == read + unswizzled[row, thread]).all()


def test_a_swizzle_with_one_operand_moves_bits() -> None:
    active = np.ones((1, 4), np.bool_)
    value = np.array([[[-0.0], [1.0], [np.inf], [-1.5]]], np.float32)
    moved = reference_of("quadSwizzle0NV")(value, active).value
    assert np.signbit(moved).all()
    assert not np.signbit(reference_of("quadSwizzle0NV")(value, active, np.zeros_like(value)).value).any()


def test_one_inactive_thread_makes_zeros_for_all_four() -> None:
    value = np.arange(1, 9, dtype=np.float32).reshape(1, 8, 1)
    active = np.ones((1, 8), np.bool_)
    active[0, 6] = False
    result = reference_of("quadSwizzleXNV")(value, active, value)
    assert result.value[0, :, 0].tolist() == [3.0, 3.0, 7.0, 7.0, 0.0, 0.0, 0.0, 0.0]
    assert result.defined[0, :, 0].tolist() == [True] * 6 + [False, True]


def test_helper_threads_are_those_without_coverage() -> None:
    active = np.array([[True, True, True, False]])
    covered = np.array([[True, False, True, True]])
    lanes = reference_of("gl_HelperThreadNV")(active, covered)
    assert lanes.value[0, :3, 0].tolist() == [False, True, False]
    assert lanes.defined[0, :, 0].tolist() == [True, True, True, False]


def test_ids_of_processors_are_below_their_count_and_one_a_warp() -> None:
    active = np.array([[True, True, False], [True, True, True], [True, True, True]])
    value = np.array([[3, 3, 9], [3, 4, 3], [8, 8, 8]], np.uint32)
    legal = is_legal_id_nv(value, active, 8)
    assert legal.tolist() == [[True, True, True], [True, False, True], [False, False, False]]


def test_quads_of_windows_and_framebuffer_objects() -> None:
    window, framebuffer = PIXELS["window"], PIXELS["framebuffer object"]
    assert window == ((0, 1), (1, 1), (0, 0), (1, 0))
    assert framebuffer == tuple((x, 1 - y) for x, y in window)
    assert PIXELS["Vulkan"] == framebuffer


def test_the_table_has_each_name_once_with_its_stages() -> None:
    assert len(THREAD_GROUP_OPERATIONS) == 8 + 1 + 3 + 2 + 6
    fragment = {name for name, row in THREAD_GROUP_OPERATIONS.items() if row.stages == ("fragment",)}
    assert fragment == {"gl_HelperThreadNV", *(f"quadSwizzle{which}NV" for which in SOURCES)}
    assert all(row.stages == STAGES for name, row in THREAD_GROUP_OPERATIONS.items() if name not in fragment)
