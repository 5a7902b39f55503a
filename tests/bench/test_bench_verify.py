"""Verification of benchmark results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vkgroup.bench import Data
from vkgroup.bench.host import first_error

FLOATS = np.array([1.0, 2.0, np.nan], np.float32)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (np.uint32([1, 2]), np.uint32([1, 2])),
        (np.uint32([1, 2**32 - 1]), np.int32([1, -1])),
        (np.uint32([[1, 2], [3, 4]]), np.uint32([1, 2, 3, 4])),
        (FLOATS, FLOATS),
        (np.float32(3), np.float32([3])),
    ],
)
def test_the_same_is_right(expected: Any, found: Any) -> None:
    assert first_error(Data({}, {"y": np.asarray(expected)}), {"y": found}) is None


@pytest.mark.parametrize(
    ("expected", "found", "words"),
    [
        (np.uint32([1, 2]), np.uint32([1, 3]), "y[1] is 3 instead of 2 (1 of 2 elements are wrong)"),
        (np.uint32([1, 2]), np.uint32([1, 2, 3]), "y has 3 elements instead of 2"),
        (FLOATS, np.float32([1, np.nan, np.nan]), "y[1] is nan instead of 2.0"),
        (np.float32(3), np.float32(4), "y is 4.0 instead of 3.0"),
        (np.uint32([[1, 2], [3, 4]]), np.uint32([1, 2, 3, 5]), "y[1, 1] is 5 instead of 4"),
    ],
)
def test_what_differs_is_named(expected: Any, found: Any, words: str) -> None:
    assert words in str(first_error(Data({}, {"y": np.asarray(expected)}), {"y": found}))


def test_a_missing_output_is_wrong() -> None:
    assert first_error(Data({}, {"y": FLOATS}), {}) == "there is no output y"


def test_bounds_allow_what_was_derived_and_no_more() -> None:
    data = Data({}, {"y": np.float32([1, 2])}, bounds={"y": [0.0, 0.25]})
    assert first_error(data, {"y": np.float32([1, 2.25])}) is None
    assert first_error(data, {"y": np.float32([1, 2.5])}) is not None
    assert first_error(data, {"y": np.float32([1.25, 2])}) is not None
    assert first_error(data, {"y": np.float32([1, np.nan])}) is not None
    assert first_error(data, {"y": np.float32([1, np.inf])}) is not None


def test_an_error_is_not_lost_in_the_type_that_is_judged() -> None:
    # In float16 the difference of these overflows or rounds; in double it does not.
    data = Data({}, {"y": np.float16([65504])}, bounds={"y": 1.0})
    assert first_error(data, {"y": np.float16([-65504])}) is not None


def test_a_function_judges_what_no_array_can() -> None:
    data = Data({}, verify=lambda found: None if len(found["y"]) == 2 else "not two")
    assert first_error(data, {"y": FLOATS[:2]}) is None
    assert first_error(data, {"y": FLOATS}) == "not two"
