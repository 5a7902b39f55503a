"""Pieces of highlighted shaders: their texts are the shader's, and their classes those of the tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkgroup.outputs.highlight import highlighted

ROOT = Path(__file__).parents[2]
LANGUAGES = ("glsl", "hlsl", "slang", "wgsl", "spirv", "another")
CLASSES = {"", "keyword", "type", "number", "comment", "string", "builtin"}


def classes_of(text: str, language: str) -> dict[str, str]:
    """Return the class of each piece by its text without spaces."""
    return {piece.strip(): name for line in highlighted(text, language) for name, piece in line}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "glsl",
            "#version 460\nuint64_t i = 0x1Fu; // all\nuvec2 v = subgroupAdd(gl_SubgroupSize);",
            {
                "#version 460": "keyword",
                "uint64_t": "type",
                "0x1Fu": "number",
                "// all": "comment",
                "uvec2": "type",
                "subgroupAdd": "builtin",
                "gl_SubgroupSize": "builtin",
            },
        ),
        ("hlsl", "uint x = WaveActiveSum(1);", {"uint": "type", "WaveActiveSum": "builtin", "1": "number"}),
        ("slang", "uint x = WaveMaskSum(1);", {"uint": "type", "WaveMaskSum": "builtin"}),
        ("wgsl", "fn f() { subgroupAdd(1u); }", {"fn": "keyword", "subgroupAdd": "builtin", "1u": "number"}),
        (
            "spirv",
            '; a\nOpName %4 "main"\n%2 = OpTypeVoid\n%5 = OpConstant %6 -12',
            {
                "; a": "comment",
                "OpName": "keyword",
                '"main"': "string",
                "OpTypeVoid": "type",
                "-12": "number",
            },
        ),
    ],
)  # fmt: skip
def test_tokens_have_their_class(language: str, text: str, expected: dict[str, str]) -> None:
    found = classes_of(text, language)
    assert {piece: found.get(piece) for piece in expected} == expected
    assert "builtin" not in classes_of("subgrouped = gl + Waver;", language).values()


def test_a_comment_over_lines_is_one_on_each() -> None:
    lines = highlighted("int a; /* int b;\nint c; */ int d;\r\nint e;", "glsl")
    assert lines[1] == [("comment", "int c; */ "), ("type", "int "), ("", "d;")]
    assert lines[2] == highlighted("int e;", "glsl")[0]
    # The same line outside of a comment has its own colours, although lines are kept.
    assert highlighted("int c; */ int d;", "glsl")[0][0] == ("type", "int ")


def test_other_languages_and_long_lines_stay_plain() -> None:
    assert highlighted("int a;\n\nint b;", "another") == [[("", "int a;")], [], [("", "int b;")]]
    line = "int a; " * 100_000
    assert highlighted(line, "glsl") == [[("", line)]]


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(st.sampled_from("/*\\\n\r\u2028\x0b\"';#%-0x1e.aOp \ud800é")))
def test_pieces_joined_are_the_lines(language: str, text: str) -> None:
    pieces = highlighted(text, language)
    assert ["".join(part for _, part in line) for line in pieces] == text.splitlines()
    assert {name for line in pieces for name, _ in line} <= CLASSES
    assert all(part for line in pieces for _, part in line)


@pytest.mark.parametrize("path", ["shaders/tutorial/sum.comp", "kernels/scan/subgroup.comp"])
def test_most_of_a_shader_has_a_class(path: str) -> None:
    pieces = [piece for line in highlighted((ROOT / path).read_text(), "glsl") for piece in line]
    assert {"keyword", "type", "number", "builtin"} <= {name for name, _ in pieces}
