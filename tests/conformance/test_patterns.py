"""Patterns of activity: an invocation on the wrong side of a condition fails, even if all else agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from suite_runs import device_of, matching

import vkgroup.conformance as conformance
from vkgroup.conformance import Status, recording
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.patterns import FRAGMENT_PATTERNS, OTHER_PATTERNS, PATTERNS, Pattern
from vkgroup.record.record import Result

#: The variable of the condition of each pattern, and another value of it.
WRONG = {
    "odd": ("lane &", "(lane + 1u) &"),
    "lower_half": ("lane <", "(lane ^ 1u) <="),
    "one_lane": ("lane ==", "lane <"),
    "data_mask": ("own]", "(own ^ 1u)]"),
    "nested": ("lane % 3u", "(lane + 1u) % 3u"),
    "loop": ("+ group)", "+ group + 1u)"),
    "early_return": ("lane % 3u", "(lane + 1u) % 3u"),
    "switch": ("lane & 3u", "(lane ^ 1u) & 3u"),
    "uniform_branch": ("turn & 1u", "(turn + 1u) & 1u"),
}


def _of(cases: Sequence[AnyCase]) -> list[Result]:
    """Return the results of supported cases on the reference device; there are some."""
    found = conformance.run(device_of("reference:8"), cases=cases, isolate=False)
    results = [result for result in found.results if result.status is not Status.NOT_SUPPORTED]
    assert results
    return results


def _results(stage: str, pattern: str) -> list[Result]:
    globs = ("ballot.{}.subgroupBroadcastFirst.uint.{}.*", "vote.{}.subgroupAll.bool.{}.*")
    return _of(matching(*(glob.format(stage, pattern) for glob in globs)))


def _changed(pattern: Pattern) -> Pattern:
    """Return a pattern whose condition, and with it the choice of data, selects other invocations."""
    old, new = WRONG[pattern.name]
    changed = replace(pattern, active=pattern.active.replace(old, new), code=pattern.code.replace(old, new))
    assert changed.code != pattern.code
    return changed


def test_each_divergent_pattern_has_a_wrong_condition_here() -> None:
    assert set(WRONG) == {name for name, pattern in PATTERNS.items() if not pattern.uniform}


@pytest.mark.parametrize("name", WRONG)
def test_other_invocations_than_the_condition_selects_fail(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {result.status for result in _results("compute", name)} == {Status.PASS}
    monkeypatch.setitem(PATTERNS, name, _changed(PATTERNS[name]))
    for result in _results("compute", name):
        assert result.status is Status.FAIL
        assert "contrary to the conditions around it" in result.detail
        assert result.evidence is not None
        assert result.evidence["wrong"]
        assert [row["name"] for row in result.evidence["diagnosis"]["hypotheses"]] == ["another_path"]


@pytest.mark.parametrize(
    ("stage", "patterns", "name"),
    [("vertex", OTHER_PATTERNS, "nested"), ("fragment", FRAGMENT_PATTERNS, "data_mask")],
)
def test_so_do_they_in_other_stages(
    stage: str, patterns: dict[str, Pattern], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {result.status for result in _results(stage, name)} == {Status.PASS}
    monkeypatch.setitem(patterns, name, _changed(patterns[name]))
    assert {result.status for result in _results(stage, name)} == {Status.FAIL}


@pytest.mark.parametrize(
    ("stage", "count", "sentence"),
    [
        ("compute", 0, "no invocation recorded anything"),
        ("compute", 8192, ""),
        ("compute", 8191, "1 invocation left no record"),
        ("vertex", 1000, "24 invocations left no record"),
        ("fragment", 1000, ""),
    ],
)
def test_invocations_without_a_record(stage: str, count: int, sentence: str) -> None:
    assert recording.absence(stage, np.ones((4, count), np.uint32)) == sentence


@pytest.mark.parametrize("language", ["hlsl", "slang"])
@pytest.mark.parametrize("name", ["one_lane", "uniform_branch", "data_mask"])
def test_other_languages_have_the_same_conditions(language: str, name: str) -> None:
    results = _of(matching(f"{language}.compute.*.{name}.*")[::60])
    assert {result.status for result in results} <= {Status.PASS, Status.UNDEFINED}
