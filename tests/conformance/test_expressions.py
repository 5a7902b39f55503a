"""Regular expressions of files, looked for together."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkgroup.conformance import caselist
from vkgroup.conformance.caselist import CaseExpressions, TooLarge
from vkgroup.conformance.expectations import read_expectations

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
    assert list(CaseExpressions(texts).which(name)) == found


def test_more_than_a_set_holds_are_found() -> None:
    many = CaseExpressions([f"x{number}$" for number in range(250)])
    assert [list(many.which(f"x{number}")) for number in (0, 99, 100, 249)] == [[0], [99], [100], [249]]
    assert list(many.which("y")) == []


def test_a_quotation_without_end_stays_in_its_line() -> None:
    assert list(CaseExpressions([r"\Qa.b", "c"]).which("a.b")) == [0]
    assert list(CaseExpressions([r"\Qa.b", "c"]).which("c")) == [1]


def test_none_find_nothing() -> None:
    assert list(CaseExpressions().which("a")) == []
    assert len(CaseExpressions()) == 0


def test_a_search_takes_time_in_proportion_to_the_text() -> None:
    # Python's `re` would need 2^60 steps; pytest's limit of time ends it.
    assert list(CaseExpressions([r"^(\w+\.?)+!"]).which("a" * 60)) == []
    assert caselist.found_by(CaseExpressions([r"dEQP(\w+\.?)+!"] * 3)) == (frozenset(), frozenset())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(", "missing"),
        ("a{1001}", "repetition size"),
        ("(?=a)", "perl operator"),
        ("[z-a]", "range"),
        ("*", "no argument"),
        (r"(a)\1", "escape"),
        ("[a-z&&[^x]]ote", r"&& in a class is an operator in Rust and not in RE2: write \&\&"),
        ("[[a-v]]ote", r"write \["),
        ("[a-z--x]", r"write \-\-"),
        ("|" * 2_000_000, "it has 2000000 characters"),
        ("(" * 90_000, "missing"),
    ],
)
def test_what_is_none_is_said_and_nothing_else(
    text: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    said = caselist.problem(text)
    assert said is not None
    assert why in said
    assert len(said) < 100
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "text", [r"[\[x]", "[]a]", "[^]a]", "[[:alpha:]]", r"a&&\[b--", r"\[[a]&&b]", "[^[:^digit:]_]"]
)
def test_what_only_looks_like_classes_in_classes_is_taken(text: str) -> None:
    assert caselist.problem(text) is None


def test_too_many_are_refused_rather_than_not_found(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caselist, "_MEMORY", 1 << 16)
    texts = [f"subgroup{number}.*(?:ivec2|ivec3)" for number in range(100)]
    assert not any(map(caselist.problem, texts))
    with pytest.raises(TooLarge, match="too large"):
        CaseExpressions(texts)
    (tmp_path / "skips").write_text("\n".join(texts))
    with pytest.raises(TooLarge):
        read_expectations(skips=[tmp_path / "skips"])


def _nothing(text: str) -> None:
    """RE2's set without memory: it logs an error, and its wrapper returns None."""


def _no_memory(text: str) -> None:
    raise MemoryError("std::bad_alloc")


@pytest.mark.parametrize("match", [_nothing, _no_memory])
def test_no_memory_to_search_is_an_error(match, monkeypatch: pytest.MonkeyPatch) -> None:
    found = CaseExpressions(["a"])
    monkeypatch.setattr(found, "_sets", [type("Set", (), {"Match": staticmethod(match)})()])
    with pytest.raises(TooLarge, match="memory"):
        list(found.which("a"))
