"""Sizes, mappings and fullness found on simulated devices."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from simulated_observations import in_order, in_tiles, laid_out, rows_of_x, told

from vkgroup.probe.layout import (
    RecordedLayout,
    classify,
    contradictions,
    dimensions,
    extents,
    invocation_mapping,
    text_of,
)
from vkgroup.probe.size import SubgroupSize, full_subgroups, met_size

SIZES = [1, 2, 4, 8, 16, 32, 64, 128]
LEAST = {"invocations": 128, "x": 128, "y": 128, "z": 64}
COMMON = {"invocations": 1024, "x": 1024, "y": 1024, "z": 64}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("limits", [LEAST, COMMON])
def test_extents_keep_the_limits_and_reach_every_case(size: int, limits: dict[str, int]) -> None:
    chosen = extents(size, limits)
    assert len(set(chosen)) == len(chosen) == 7
    assert all(np.prod(extent) <= limits["invocations"] for extent in chosen)
    assert all(extent[axis] <= limits["xyz"[axis]] for extent in chosen for axis in range(3))
    assert {dimensions(extent) for extent in chosen} == {1, 2, 3}
    assert any(np.prod(extent) % size == 0 for extent in chosen)
    if size > 1:
        for n in (1, 2, 3):
            assert any(np.prod(e) % size for e in chosen if dimensions(e) == n), f"all {n}-D are multiples"


@pytest.mark.parametrize("size", SIZES)
def test_linear_devices_of_every_size(size: int) -> None:
    found = invocation_mapping([in_order(extent, size, "linear") for extent in extents(size, COMMON)])
    assert found.linear
    assert told(found).startswith("linear in gl_LocalInvocationIndex in 1-D, 2-D and 3-D")
    assert not any(mapping.contradictions for mapping in found.workgroups)


@pytest.mark.parametrize(
    ("order", "extent"), [("quads", (16, 8, 1)), ("morton", (16, 8, 1)), ("column_major", (8, 8, 1))]
)
def test_orders_of_the_whole_workgroup(order: str, extent: tuple[int, int, int]) -> None:
    mapping = classify(in_order(extent, 32, order))
    assert (mapping.kind, mapping.tile, mapping.contradictions) == (order, None, ())
    assert mapping.to_json()["places"][1] == list(mapping.places[1])


@pytest.mark.parametrize("lane_of", ["linear", "quads", "morton", "column_major"])
def test_tiles(lane_of: str) -> None:
    mapping = classify(in_tiles((16, 16, 1), (8, 4, 1), lane_of))
    assert (mapping.kind, mapping.tile, mapping.lane_order) == ("tiles", (8, 4, 1), lane_of)
    assert mapping.in_words.startswith("in tiles of 8x4 per subgroup, lanes ")


def test_tiles_in_three_dimensions_and_in_no_known_lane_order() -> None:
    mapping = classify(in_tiles((8, 8, 8), (4, 4, 2), "linear"))
    assert (mapping.kind, mapping.tile) == ("tiles", (4, 4, 2))
    tiled = in_tiles((8, 8, 1), (4, 4, 1), "linear")
    backwards = dataclasses.replace(tiled, lane=15 - tiled.lane)
    assert classify(backwards).lane_order == "other"
    assert "in another order" in classify(backwards).in_words


def test_a_subgroup_for_each_row_of_x() -> None:
    mapping = classify(rows_of_x((7, 5, 1), 8))
    assert (mapping.kind, mapping.tile, mapping.lane_order) == ("tiles", (7, 1, 1), "linear")
    assert mapping.in_words == "in tiles of 7x1 per subgroup, lanes linear with x fastest"


def test_subgroups_numbered_in_another_order() -> None:
    plain = in_order((64, 1, 1), 16, "linear")
    assert classify(dataclasses.replace(plain, subgroup_id=3 - plain.subgroup_id)).kind == "linear_unordered"


def test_a_mapping_of_no_known_kind() -> None:
    place = np.random.default_rng(3).permutation(64)
    mapping = classify(laid_out((8, 8, 1), 16, place // 16, place % 16))
    assert (mapping.kind, mapping.in_words) == ("other", "in another order")
    assert len(mapping.places) == 64


def test_the_sentence_names_each_kind_with_its_extents() -> None:
    found = invocation_mapping([in_order((64, 1, 1), 32, "linear"), in_order((16, 8, 1), 32, "quads")])
    assert not found.linear
    assert told(found) == (
        "linear in gl_LocalInvocationIndex in 1-D (64); in quads of 2x2, quad after quad in 2-D (16x8)"
    )


def _changed(layout: RecordedLayout, **arrays: object) -> tuple[str, ...]:
    return contradictions(dataclasses.replace(layout, **arrays))


def test_operations_are_believed_rather_than_gl_subgroup_id() -> None:
    real = rows_of_x((4, 16, 1), 8)
    named = in_order((4, 16, 1), 8, "linear")
    lying = dataclasses.replace(real, subgroup_id=named.subgroup_id, num_subgroups=named.num_subgroups)
    mapping = classify(lying)
    assert (mapping.kind, mapping.tile, mapping.lane_order) == ("tiles", (4, 1, 1), "linear")
    assert len(mapping.contradictions) == 2
    assert full_subgroups([lying]).fillings[0].populations == (4,) * 16
    assert not full_subgroups([lying]).full_in_multiples
    assert met_size([lying]).populated == 4


def test_contradictions_are_named() -> None:
    sound = in_order((64, 1, 1), 16, "linear")
    assert contradictions(sound) == ()
    assert _changed(sound, subgroup_size=np.full(64, 8, np.uint32)) == (
        "gl_SubgroupInvocationID is not below gl_SubgroupSize",
    )
    assert _changed(sound, num_subgroups=np.full(64, 3, np.uint32)) == (
        "gl_SubgroupID is not below gl_NumSubgroups",
    )
    assert "two invocations have the same" in _changed(sound, lane=np.zeros(64, np.uint32))[0]
    halves = in_order((64, 1, 1), 8, "linear")
    both = _changed(sound, leader=halves.leader, ballot_bits=halves.ballot_bits)
    assert len(both) == 1
    assert "subgroupBroadcastFirst" in both[0]
    bits = _changed(sound, ballot_bits=np.full(64, 15, np.uint32))
    assert len(bits) == 1
    assert "subgroupBallot(true)" in bits[0]
    broken = invocation_mapping([dataclasses.replace(sound, num_subgroups=np.full(64, 3, np.uint32))])
    assert told(broken).endswith("contradiction (64): gl_SubgroupID is not below gl_NumSubgroups")
    assert broken.to_json()["workgroups"][0]["contradictions"]


@pytest.mark.parametrize("size", SIZES)
def test_the_size_met_is_the_size_declared(size: int) -> None:
    met = met_size([in_order(extent, size, "linear") for extent in extents(size, COMMON)])
    assert met.is_exactly(size)
    found = SubgroupSize(size, met, {size: met})
    assert told(found) == f"{size}, as declared; exactly {size} when required"


def test_another_size_than_declared() -> None:
    met = met_size([in_order((128, 1, 1), 32, "linear")])
    found = SubgroupSize(64, met, {16: met_size([in_order((64, 1, 1), 16, "linear")]), 64: met})
    assert told(found) == (
        "64 is declared, but gl_SubgroupSize is 32, at most 32 invocations are in a subgroup, "
        "ballots have at most 32 bits; exactly 16 when required; when 64 is required, gl_SubgroupSize is 32, "
        "at most 32 invocations are in a subgroup, ballots have at most 32 bits"
    )
    assert json.loads(json.dumps(found.to_json()))["required"]["16"]["populated"] == 16


def test_a_device_without_ballot_shows_no_ballot_bits() -> None:
    index = np.arange(64)
    met = met_size([laid_out((64, 1, 1), 16, index // 16, index % 16, ballot=False)])
    assert met.ballot_bits is None
    assert met.is_exactly(16)
    assert "ballot" not in met.in_words()


def test_gl_subgroup_size_that_is_never_filled_is_not_met() -> None:
    halves = in_order((64, 1, 1), 16, "linear")
    met = met_size([dataclasses.replace(halves, subgroup_size=np.full(64, 32, np.uint32))])
    assert (met.built_in, met.populated, met.ballot_bits) == ((32,), 16, 16)
    assert not met.is_exactly(32)


def test_full_subgroups() -> None:
    found = full_subgroups([in_order((64, 1, 1), 16, "linear"), in_order((37, 1, 1), 16, "linear")])
    assert (found.full_in_multiples, found.only_last_partial) == (True, True)
    assert found.fillings[1].populations == (16, 16, 5)
    assert told(found) == (
        "full in workgroups that are a multiple of the size; in others, only the last subgroup is not full "
        "(37: 2 of 16 + 1 of 5)"
    )


def test_subgroups_that_are_not_full() -> None:
    found = full_subgroups([rows_of_x((4, 8, 1), 8), rows_of_x((7, 5, 1), 8), rows_of_x((12, 3, 1), 8)])
    assert (found.full_in_multiples, found.only_last_partial) == (False, False)
    assert told(found) == (
        "not always full in workgroups that are a multiple of the size: 4x8: 8 of 4; "
        "in others, not only the last subgroup is not full: 7x5: 5 of 7 and "
        "12x3: 1 of 8 + 1 of 4 + 1 of 8 + 1 of 4 + …"
    )
    assert found.to_json()["workgroups"][0]["populations"] == [4] * 8


@pytest.mark.parametrize(
    ("extent", "text"), [((64, 1, 1), "64"), ((8, 8, 1), "8x8"), ((1, 8, 1), "1x8"), ((4, 1, 4), "4x1x4")]
)
def test_extents_as_text(extent: tuple[int, int, int], text: str) -> None:
    assert text_of(extent) == text
