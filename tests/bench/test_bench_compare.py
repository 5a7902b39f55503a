"""Comparing two recorded runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.bench.compare import compare


def _median(name: str, time: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    return {
        "name": f"{name}_median",
        "run_name": name,
        "run_type": "aggregate",
        "aggregate_name": "median",
        "iterations": 20,
        "real_time": time,
        "time_unit": "ns",
        "time_low": low,
        "time_high": high,
        "confidence": 0.95,
        **more,
    }


def _write(path: Path, *entries: dict[str, Any], **context: str) -> Path:
    path.write_text(json.dumps({"context": context, "benchmarks": entries}))
    return path


@pytest.mark.parametrize(
    ("new", "low", "high", "verdict"),
    [
        (150, 140, 160, "slower"),
        (50, 45, 55, "faster"),
        (150, 105, 160, "same"),  # the intervals overlap
        (104, 103, 105, "same"),  # they are apart, but the change is below the threshold
        (100, 90, 110, "same"),
    ],
)
def test_other_than_the_same_only_with_intervals_apart(
    tmp_path: Path, new: float, low: float, high: float, verdict: str
) -> None:
    before = _write(tmp_path / "a.json", _median("x", 100, 99, 106 if new == 150 and low == 105 else 102))
    after = _write(tmp_path / "b.json", _median("x", new, low, high))
    found = compare(before, after, 0.05)
    (change,) = found.changes
    assert change.ratio == pytest.approx(new / 100)
    assert change.verdict(found.threshold) == verdict
    assert found.worse == (verdict == "slower")


def test_the_threshold_is_chosen(tmp_path: Path) -> None:
    before = _write(tmp_path / "a.json", _median("x", 100, 99, 101))
    after = _write(tmp_path / "b.json", _median("x", 104, 103, 105))
    assert not compare(before, after, 0.05).worse
    assert compare(before, after, 0.01).worse


def test_rows_of_one_run_alone_are_named_and_no_change(tmp_path: Path) -> None:
    before = _write(tmp_path / "a.json", _median("x", 100, 99, 101), _median("gone", 1, 1, 1))
    after = _write(tmp_path / "b.json", _median("x", 100, 99, 101), _median("new", 1, 1, 1))
    found = compare(before, after)
    assert (found.missing, found.added) == (("gone",), ("new",))
    assert not found.worse


def test_a_row_that_became_wrong_is_worse(tmp_path: Path) -> None:
    before = _write(tmp_path / "a.json", _median("x", 100, 99, 101))
    error = {"name": "x_error", "run_name": "x", "error_occurred": True, "error_message": "y[0] is 1"}
    found = compare(before, _write(tmp_path / "b.json", error))
    assert found.worse
    assert found.wrong == {"x": "y[0] is 1"}


def test_different_machines_are_named(tmp_path: Path) -> None:
    before = _write(tmp_path / "a.json", _median("x", 1, 1, 1), device="one", clock="c")
    after = _write(tmp_path / "b.json", _median("x", 1, 1, 1), device="two", clock="c")
    assert compare(before, after).context == {"device": ("one", "two")}


def test_plain_files_of_google_benchmark_are_read(tmp_path: Path) -> None:
    def repetitions(times: list[float], unit: str) -> list[dict[str, Any]]:
        return [{"name": "BM_x", "run_type": "iteration", "real_time": t, "time_unit": unit} for t in times]

    before = _write(tmp_path / "a.json", *repetitions([1.0, 1.1, 1.2, 1.0, 1.1, 1.2], "us"))
    after = _write(tmp_path / "b.json", *repetitions([2000.0, 2100.0, 2200.0, 2000.0, 2100.0, 2200.0], "ns"))
    (change,) = compare(before, after).changes
    assert change.name == "BM_x"
    assert change.ratio == pytest.approx(2100 / 1100)
    assert not change.overlap


def test_another_unit_stays_what_it_is(tmp_path: Path) -> None:
    before = _write(tmp_path / "a.json", _median("x", 30, 29, 31, unit="cycles"))
    after = _write(tmp_path / "b.json", _median("x", 60, 59, 61, unit="cycles"))
    (change,) = compare(before, after).changes
    assert (change.unit, change.old.median, change.new.median) == ("cycles", 30, 60)


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "{}",
        '{"benchmarks": 3}',
        '{"benchmarks": [3]}',
        '{"benchmarks": [{"name": "x", "time_unit": "fortnights", "real_time": 1}]}',
        '{"benchmarks": [{"name": "x", "time_unit": "ns"}]}',
    ],
)
def test_what_is_no_result_is_refused_by_name(tmp_path: Path, text: str) -> None:
    good = _write(tmp_path / "a.json", _median("x", 1, 1, 1))
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    with pytest.raises(InvalidInput, match=r"bad\.json"):
        compare(good, bad)
    with pytest.raises(InvalidInput, match=r"nonesuch\.json"):
        compare(tmp_path / "nonesuch.json", good)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"benchmarks": ' + "[" * 100_000 + "]" * 100_000 + "}", "is not valid JSON"),
        ('{"benchmarks": [], "context": [1]}', r"Expected `object \| null`, got `array` - at `\$\.context`"),
        (
            '{"benchmarks": [{"name": "x", "run_name": null}]}',
            r"Expected `str`, got `null` - at `\$\.benchmarks\[0\]\.run_name`",
        ),
        (
            '{"benchmarks": [{"name": ["x"], "error_occurred": true}]}',
            r"Expected `str`, got `array` - at `\$\.benchmarks\[0\]\.name`",
        ),
        (
            '{"benchmarks": [{"name": "x", "unit": []}]}',
            r"Expected `str`, got `array` - at `\$\.benchmarks\[0\]\.unit`",
        ),
        (
            '{"benchmarks": [{"name": "x", "time_unit": "ns", "real_time": NaN}]}',
            "nan instead of a finite number",
        ),
        (
            '{"benchmarks": [{"name": "x", "time_unit": "ns", "real_time": 1%s}]}' % ("0" * 400),
            "finite number",
        ),
        (
            '{"benchmarks": [{"name": "x", "time_unit": "ns", "real_time": "5"}]}',
            "'5' instead of a finite number",
        ),
    ],
    ids=[
        "depth",
        "context",
        "no name",
        "list for a name",
        "unit",
        "nan",
        "beyond floats",
        "text for a number",
    ],
)
def test_files_of_nonsense_are_refused(text: str, message: str, tmp_path: Path) -> None:
    """None of them ends in an error of Python's, whichever of both it is; a time of NaN was "same"."""
    (tmp_path / "bad.json").write_text(text)
    good = _write(tmp_path / "good.json", _median("x", 100, 90, 110))
    for files in ((tmp_path / "bad.json", good), (good, tmp_path / "bad.json")):
        with pytest.raises(InvalidInput, match=message):
            compare(*files)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    good = _write(tmp_path / "good.json", _median("x", 100, 90, 110))
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + good.read_bytes())
    assert len(compare(good, tmp_path / "marked.json").changes) == 1
