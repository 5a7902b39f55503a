"""Denormals and NaN on simulated devices."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from simulated_observations import told

from vkgroup.probe.floats import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FloatType,
    from_words,
    inputs,
    rows,
    special_values,
    to_words,
)

KINDS = [FLOAT16, FLOAT32, FLOAT64]


def _flush(values: np.ndarray) -> np.ndarray:
    least = np.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < least, np.zeros_like(values), values)


def _keep(values: np.ndarray) -> np.ndarray:
    return values


Flow = Callable[[np.ndarray], np.ndarray]


def _device(
    kind: FloatType,
    size: int,
    operands: Flow = _keep,
    result: Flow = _keep,
    least: np.ufunc = np.fmin,
    greatest: np.ufunc = np.fmax,
) -> np.ndarray:
    """Return the words (rows, 8, size, 2) of a device that treats operands, results and NaN in these ways."""
    mine = operands(from_words(inputs(kind, size), kind))
    following = np.roll(mine, -1, axis=1)
    got = np.empty((len(mine), 8, size), dtype=kind.dtype)
    for index, operation in enumerate([np.add, np.multiply, least, greatest]):
        total = mine[:, 0]
        for lane in range(1, size):
            total = result(operation(total, mine[:, lane]))
        got[:, index] = total[:, None]
        got[:, 4 + index] = result(operation(mine, following))
    return to_words(got)


@pytest.mark.parametrize("size", [2, 4, 32, 128])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_device_that_keeps_denormals_and_ignores_nan(kind: FloatType, size: int) -> None:
    found = special_values(kind, _device(kind, size))
    assert told(found) == (
        "denormals: kept by all; NaN and a number, in either order: the number by all; only NaN: NaN by all"
    )
    assert len(found.findings) == 2 * len(rows(kind))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_device_that_flushes_denormals(kind: FloatType) -> None:
    found = special_values(kind, _device(kind, 8, operands=_flush, result=_flush))
    assert {each.gives for each in found.findings if "denormal" in each.subject} == {"flushed"}
    assert told(found).startswith("denormals: flushed to zero by all; ")


def test_flushed_operands_are_told_from_flushed_results() -> None:
    found = special_values(FLOAT32, _device(FLOAT32, 4, result=_flush))
    gives = {(each.operation, each.subject): each.gives for each in found.findings}
    assert gives["subgroupAdd", "denormal result"] == "flushed"
    assert gives["subgroupAdd", "denormal operands"] == "kept"
    assert gives["*", "denormal result"] == "flushed"
    assert "denormal result: flushed to zero by all" in found.lines()
    assert gives["subgroupMin", "denormal operands"] == "flushed"


def test_a_device_that_lets_nan_through() -> None:
    found = special_values(FLOAT32, _device(FLOAT32, 4, least=np.minimum, greatest=np.maximum))
    assert told(found).endswith("NaN and a number, in either order: NaN by all; only NaN: NaN by all")


def test_a_device_whose_choice_depends_on_the_side() -> None:
    def left_if_less(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.where(one < other, one, other)

    found = special_values(FLOAT32, _device(FLOAT32, 2, least=left_if_less))
    gives = {(each.operation, each.subject): each.gives for each in found.findings}
    assert gives["min", "NaN and a number"] == "number"
    assert gives["min", "a number and NaN"] == "NaN"
    assert "NaN and a number: the number by all" in found.lines()
    assert "a number and NaN: NaN by subgroupMin and min, the number by subgroupMax and max" in found.lines()


def test_results_that_are_neither_are_told() -> None:
    words = _device(FLOAT32, 4)
    words[:, :, :, 0] = np.float32(42.0).view(np.uint32)
    found = special_values(FLOAT32, words)
    assert {each.gives for each in found.findings} == {"other"}
    assert "only NaN: something else by all" in found.lines()


def test_lanes_with_different_results_are_told() -> None:
    words = _device(FLOAT32, 4)
    words[0, 0, 3] = 0
    found = special_values(FLOAT32, words)
    assert found.findings[0].gives == "lanes differ"


def test_one_lane_shows_nothing() -> None:
    found = special_values(FLOAT32, np.zeros((len(rows(FLOAT32)), 8, 1, 2), np.uint32))
    assert found.findings == ()
    assert told(found).startswith("no result: ")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_words_and_back(kind: FloatType) -> None:
    least = kind.smallest_normal
    values = np.array([0.5 * least, -least, 1.0, -0.0, np.inf], dtype=kind.dtype)
    words = to_words(values)
    assert words.shape == (5, 2)
    assert (words[:, 1] != 0).any() == (kind.scalar.bits == 64)
    assert np.array_equal(from_words(words, kind), values)


def test_json_is_strict() -> None:
    data = json.loads(json.dumps(special_values(FLOAT64, _device(FLOAT64, 4)).to_json(), allow_nan=False))
    assert data["type"] == "float64"
    assert data["findings"][0] == {
        "operation": "subgroupAdd",
        "subject": "denormal operands",
        "gives": "kept",
    }


def test_a_device_that_begins_a_reduction_with_its_identity() -> None:
    words = _device(FLOAT32, 4)
    only_nan = [row for row, given in enumerate(rows(FLOAT32)) if given.subject == "only NaN"]
    for row, identity in zip(only_nan, (np.inf, -np.inf), strict=True):
        words[row, :4, :, 0] = np.float32(identity).view(np.uint32)
    assert (
        "only NaN: the infinity that is the identity by subgroupMin and subgroupMax, NaN by min and max"
        in special_values(FLOAT32, words).lines()
    )


def test_a_device_where_nan_swallows_what_was_before() -> None:
    def second_if_first_is_nan(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(one), other, np.minimum(one, other))

    found = special_values(FLOAT32, _device(FLOAT32, 8, least=second_if_first_is_nan))
    gives = {(each.operation, each.subject): each.gives for each in found.findings}
    assert gives["subgroupMin", "a number and NaN"] == "another number"
    assert gives["subgroupMin", "NaN and a number"] == "number"
