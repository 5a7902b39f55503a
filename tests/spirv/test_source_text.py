"""Lines of source files that `#line` directives number."""

from __future__ import annotations

import pytest

from vkgroup.spirv.lines import NOWHERE, Line, SourceText

_TEXT = """#version 460
first
#line 20
second // #line 1
/* #line 1
#line 2 */
third
#line 5 "other.glsl"
fourth
#line 9 3
fifth"""


@pytest.mark.parametrize(
    ("file", "number", "text"),
    [
        ("a", 2, "first"),
        ("a", 20, "second // #line 1"),
        ("a", 23, "third"),
        ("other.glsl", 5, "fourth"),
        ("other.glsl", 9, "fifth"),
        ("a", 4, ""),
        ("a", 5, ""),
        ("a", 99, ""),
        ("none", 1, ""),
        ("", 0, ""),
    ],
)
def test_directives_number_the_lines_after_them(file: str, number: int, text: str) -> None:
    source = SourceText("a", _TEXT)
    assert source.text(Line(file, number)) == text
    assert source.named_files == {"other.glsl"}


def test_a_number_of_two_lines_of_code_has_no_text() -> None:
    source = SourceText("a", "one\ntwo\n#line 1\nthree\n#line 2\n\n")
    assert source.text(Line("a", 1)) == ""
    # The second line with the number 2 is empty, and the directives are no code.
    assert source.text(Line("a", 2)) == "two"


def test_lines_after_a_directive_that_may_be_skipped_are_unknown() -> None:
    source = SourceText("a", '#if X\n#line 50 "b"\n#endif\ncode\n#line 7\nmore\n#line 8 "c"\nlast')
    for line in (Line("a", 4), Line("b", 52), Line("a", 7), Line("b", 7)):
        assert source.text(line) == ""
    assert source.text(Line("c", 8)) == "last"
    assert source.text(Line("a", 1)) == "#if X"


def test_lines_after_a_directive_with_a_macro_are_unknown() -> None:
    source = SourceText("a", '#line N\ncode\n#line 4 "b"\nmore')
    assert source.text(Line("a", 2)) == ""
    assert source.text(Line("b", 4)) == "more"


def test_words_are_found_at_their_numbers() -> None:
    source = SourceText("a", "#define word\nx.word\n// word\nword\n#line 30\nsword\nword = 1")
    assert source.find("word", NOWHERE) == Line("a", 4)
    assert source.find("word", Line("a", 30)) == Line("a", 31)
    assert source.find("absent", NOWHERE) == NOWHERE
