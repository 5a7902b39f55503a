"""Inactive lanes and reconvergence on simulated devices."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from simulated_observations import told

from vkgroup.probe.branches import (
    CONSTRUCTS,
    LABELS,
    READINGS,
    inactive_lanes,
    inside_values,
    keys,
    reconvergence,
    start_values,
    taken_lanes,
)

ALL = {reading.category for reading in READINGS}


def _reads(size: int, give: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool], np.ndarray]):
    """Return the analysis of a device; `give` has the parameters start, current, lane, source, inside."""
    start, lane = start_values(size), np.arange(size, dtype=np.uint32)
    got = np.zeros((len(READINGS), 2, size), np.uint32)
    for row, reading in enumerate(READINGS):
        source = np.minimum(reading.source(lane), size - 1)
        for inside in (False, True):
            current = inside_values(start) if inside else start
            got[row, int(inside)] = give(start, current, lane, source, inside)
    return inactive_lanes(got, ALL)


@pytest.mark.parametrize("size", [4, 8, 32, 64, 128])
@pytest.mark.parametrize(
    ("before", "inside", "give"),
    [
        ("held", "held", lambda start, current, lane, source, inside: start[source]),
        ("held", "computed", lambda start, current, lane, source, inside: current[source]),
        ("own", "own", lambda start, current, lane, source, inside: current[lane]),
        ("zero", "zero", lambda start, current, lane, source, inside: np.zeros_like(start)),
        ("first", "first", lambda start, current, lane, source, inside: np.full_like(start, current[0])),
        ("other", "other", lambda start, current, lane, source, inside: np.full_like(start, 0xDEAD)),
    ],
)
def test_what_inactive_lanes_give(size: int, before: str, inside: str, give: Callable) -> None:
    found = _reads(size, give)
    assert len(found.reads) == 2 * len(READINGS)
    for read in found.reads:
        assert list(read.lanes) == [inside if read.inside else before]
        assert sum(read.lanes.values()) >= size // 2 - 1
    assert LABELS[before] in told(found)


def test_lanes_that_get_different_things_are_counted() -> None:
    found = _reads(8, lambda start, current, lane, source, inside: np.where(lane < 4, start[source], 0))
    shuffle = found.reads[0]
    assert shuffle.lanes == {"held": 2, "zero": 2}
    assert shuffle.in_words == "the last value of the inactive lane in 2 lanes and zero in 2 lanes"
    one = replace(shuffle, lanes={"held": 1, "zero": 30})
    assert one.in_words == "the last value of the inactive lane in 1 lane and zero in 30 lanes"


def test_a_subgroup_of_one_lane_has_no_result() -> None:
    result = _reads(1, lambda start, current, lane, source, inside: current[lane])
    assert result.lines() == ["no result: subgroups are too small to read from an inactive lane"]


def test_operations_that_read_no_inactive_lane_are_not_described() -> None:
    """In a subgroup of two lanes, subgroupShuffleUp reads only out of range."""
    result = _reads(2, lambda start, current, lane, source, inside: start[source])
    reads_nothing = {read.operation for read in result.reads if not read.lanes}
    assert "subgroupShuffleUp" in reads_nothing
    assert result.lines() == [
        f"a value set before the branch: {LABELS['held']}",
        f"a value set inside it: {LABELS['held']}",
    ]


def test_the_out_of_range_lane_of_shuffle_up_is_not_looked_at() -> None:
    def give(start, current, lane, source, inside):
        return np.where(lane == 0, 0xBAD, start[source])

    up = next(read for read in _reads(8, give).reads if read.operation == "subgroupShuffleUp")
    assert up.lanes == {"held": 3}


def test_only_the_categories_a_device_has_are_told() -> None:
    got = np.zeros((len(READINGS), 2, 8), np.uint32)
    found = inactive_lanes(got, {"ballot"}, ("VK_SUBGROUP_FEATURE_SHUFFLE_BIT",))
    assert {read.operation for read in found.reads} == {"subgroupBroadcast"}
    assert told(found) == (
        "a value set before the branch: zero; a value set inside it: zero; "
        "not tried, missing: VK_SUBGROUP_FEATURE_SHUFFLE_BIT"
    )
    assert json.loads(json.dumps(found.to_json()))["missing"] == ["VK_SUBGROUP_FEATURE_SHUFFLE_BIT"]


@pytest.mark.parametrize("size", [1, 2, 4, 32, 128])
def test_values_cannot_be_mistaken_for_each_other(size: int) -> None:
    values = np.concatenate([start_values(size), inside_values(start_values(size))])
    assert len(np.unique(values)) == 2 * size
    assert (values != 0).all()
    assert taken_lanes(size).tolist() == [1, 0] * (size // 2) + [1] * (size % 2)


def _mask(members: np.ndarray) -> np.ndarray:
    """The uvec4 that a ballot over `members` (bool) gives."""
    bits = np.zeros(128, dtype=bool)
    bits[: len(members)] = members
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)


def _masks(size: int, apart: dict[str, Callable[[np.ndarray], np.ndarray]]) -> np.ndarray:
    """Ballots of a device that parts odd from even keys in each construct, and keeps some parted after it.

    `apart` maps a construct to a function from keys to the groups that stay apart.
    """
    masks = np.zeros((2, len(CONSTRUCTS), 3, size, 4), np.uint32)
    everyone = _mask(np.ones(size, dtype=bool))
    for which, key in enumerate(keys(size)):
        for number, name in enumerate(CONSTRUCTS):
            after = apart.get(name, np.zeros_like)(key)
            for invocation in range(size):
                masks[which, number, 0, invocation] = everyone
                masks[which, number, 1, invocation] = _mask(key % 2 == key[invocation] % 2)
                masks[which, number, 2, invocation] = _mask(after == after[invocation])
    return masks


def test_a_device_that_always_reconverges() -> None:
    found = reconvergence(_masks(32, {}))
    assert found.always
    assert all(construct.parted_inside and construct.parts_after == 1 for construct in found.constructs)
    assert told(found).startswith("together again after if, if/else, nested branches, ")


def test_a_device_that_stays_apart_after_some_constructs() -> None:
    found = reconvergence(_masks(32, {"switch": lambda key: key & 3, "if": lambda key: key & 1}))
    by_name = {construct.construct: construct for construct in found.constructs}
    assert not found.always
    assert (by_name["switch"].together_after, by_name["switch"].parts_after) == (False, 4)
    assert (by_name["if"].together_after, by_name["if"].parts_after) == (False, 2)
    assert by_name["nested branches"].together_after
    assert told(found).startswith(
        "apart after if (in 2 parts) and switch (in 4 parts); together again after "
    )
    assert json.loads(json.dumps(found.to_json()))["always_together"] is False


def test_invocations_that_did_not_pass_are_left_out() -> None:
    masks = _masks(8, {})
    inner = CONSTRUCTS.index("the inner of two branches")
    for which, key in enumerate(keys(8)):
        outside = key % 2 == 0
        masks[which, inner, :, outside] = 0
        masks[which, inner, :2, ~outside] = _mask(~outside)
        masks[which, inner, 2, ~outside] = _mask(~outside)
    assert reconvergence(masks).always


def test_a_mask_that_is_whole_but_another_than_before() -> None:
    masks = _masks(8, {})
    masks[:, 0, 2] = _mask(np.arange(8) < 7)
    found = reconvergence(masks)
    assert not found.always
    assert "if (all with a different mask than before)" in told(found)


def test_subgroups_of_one_invocation_have_nothing_to_part() -> None:
    found = reconvergence(_masks(1, {}))
    assert found.always
    assert told(found) == "no result: no branch separated the invocations of a subgroup"


def test_a_construct_that_did_not_part_is_named() -> None:
    masks = _masks(8, {})
    masks[:, 3, 1] = masks[:, 3, 0]
    assert told(reconvergence(masks)).endswith("; never separated in the inner of two branches")
