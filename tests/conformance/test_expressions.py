"""Regular expressions of files, looked for together."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkgroup.conformance import expressions, khronos_names
from vkgroup.conformance.expressions import Expressions

#: What RE2 and Python's `re` both have, with the same meaning.
SHARED = st.lists(
    st.sampled_from(
        ["a", "b", r"\.", ".", "a*", "(?:a|b)+", "[^a]", "b?", "^", "$", "(?:ab){1,2}", r"\w", "|"]
    ),
    min_size=1,
    max_size=5,
).map("".join)


@given(st.lists(SHARED, max_size=6), st.text("ab.", max_size=8))
def test_together_they_find_what_each_finds(texts: list[str], name: str) -> None:
    found = [index for index, text in enumerate(texts) if re.search(text, name)]
    assert Expressions(texts).which(name) == found


def test_a_quotation_without_end_stays_in_its_line() -> None:
    assert Expressions([r"\Qa.b", "c"]).which("a.b") == [0]
    assert Expressions([r"\Qa.b", "c"]).which("c") == [1]


def test_none_find_nothing() -> None:
    assert Expressions().which("a") == []
    assert len(Expressions()) == 0


def test_a_search_takes_time_in_proportion_to_the_text() -> None:
    # Python's `re` would need 2^60 steps; pytest's limit of time ends it.
    assert Expressions([r"^(\w+\.?)+!"]).which("a" * 60) == []
    assert len(khronos_names.found_by(Expressions([r"dEQP(\w+\.?)+!"] * 3))) == 3


@pytest.mark.parametrize("text", ["(", "a{1001}", "(?=a)", "[z-a]", "*", r"(a)\1"])
def test_what_is_none_is_said(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert expressions.problem(text)
    assert capfd.readouterr().err == ""


def test_too_many_are_refused_rather_than_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "_MEMORY", 1 << 16)
    texts = [f"subgroup{number}.*(?:ivec2|ivec3)" for number in range(100)]
    assert not any(map(expressions.problem, texts))
    with pytest.raises(ValueError, match="too large together"):
        Expressions(texts)


def test_no_memory_to_search_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Expressions(["a"])

    class Silent:
        """RE2's set without memory: it logs an error and finds nothing."""

        def Match(self, text: str) -> list[int]:  # noqa: N802
            return []

    monkeypatch.setattr(found, "_set", Silent())
    with pytest.raises(MemoryError, match="--skips"):
        found.which("a")
