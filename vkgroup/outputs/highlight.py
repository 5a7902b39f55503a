"""Colours of shaders for HTML pages: each line as pieces of text with a class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from pygments.lexer import Lexer, RegexLexer
from pygments.lexers.graphics import GLShaderLexer, HLSLShaderLexer
from pygments.lexers.wgsl import WgslLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text

_LONGEST_LINE = 2_000
"""Length of the longest line with colours."""

_MOST_LINES = 100_000
"""Lines that are kept; shaders of a suite share most of theirs."""

_ACROSS_LINES = re.compile(r"/\*|\\$", re.MULTILINE)
_BUILTIN = re.compile(r"((gl_|subgroup|quad|Wave|Quad|SV_)[A-Z]|nonuniformEXT$|NonUniformResourceIndex$)")
_TYPE = re.compile(r"((u?int|b?float)(8|16|32|64)_t[1-4x]*|[biuf](8|16|32|64)(vec|mat)[2-4x]+)$")
_SUFFIXES = frozenset(("u", "U", "l", "L", "ul", "UL", "ull", "f", "F", "h", "H", "lf", "LF", "hf", "us"))
"""Suffixes of numbers, which some lexers take for names."""


class _SpirvLexer(RegexLexer):  # type: ignore[misc]
    """SPIR-V assembly, which Pygments lacks."""

    tokens: ClassVar = {
        "root": [
            (r";.*", Comment),
            (r'"(\\.|[^"\\])*"', String),
            (r"OpType\w+", Keyword.Type),
            (r"Op[A-Z]\w*", Keyword),
            (r"%?[A-Za-z_]\w*|%\d+", Text),
            (r"-?(0x[\da-fA-F.]+(p[-+]?\d+)?|\d+(\.\d+)?(e[-+]?\d+)?)", Number),
            (r"[\s=|]+|.", Text),
        ]
    }


_LEXERS: dict[str, type[Lexer]] = {
    "glsl": GLShaderLexer,
    "hlsl": HLSLShaderLexer,
    "slang": HLSLShaderLexer,  # Pygments has no lexer of Slang
    "wgsl": WgslLexer,
    "spirv": _SpirvLexer,
}

_CLASSES = (
    (Comment.Preproc, "keyword"),
    (Comment, "comment"),
    (Keyword.Type, "type"),
    (Keyword, "keyword"),
    (Number, "number"),
    (String, "string"),
    (Name.Builtin, "builtin"),
    (Name.Decorator, "builtin"),
)
"""Kinds of tokens with their class, special ones first."""


def highlighted(text: str, language: str) -> list[list[tuple[str, str]]]:
    """Return for each line of a shader its pieces as ``(class, text)``; joined, their texts are the line.

    `language`: ``"glsl"``, ``"hlsl"``, ``"slang"``, ``"wgsl"`` or ``"spirv"``; texts of another one stay
    plain. A class is ``"keyword"``, ``"type"``, ``"number"``, ``"comment"``, ``"string"``, ``"builtin"``, or
    ``""`` for plain text. Lines are those of `str.splitlines`.
    """
    lines = text.splitlines()
    if language not in _LEXERS or any(len(line) > _LONGEST_LINE for line in lines):
        return [[("", line)] if line else [] for line in lines]
    if _ACROSS_LINES.search(text):
        return _lexed("\n".join(lines), language)
    return [list(_of_line(line, language)) for line in lines]


def encoded(pieces: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return a highlighted line as its text and its colours, as the page reads them.

    Colours are the first letter of each piece's class (``-`` if it is plain) with the length of the piece in
    JavaScript's characters, such as ``t4-12n2``; a plain rest is left out.
    """
    colours = "".join(
        f"{name[:1] or '-'}{len(text.encode('utf-16-le', 'surrogatepass')) // 2}" for name, text in pieces
    )
    return "".join(text for _, text in pieces), re.sub(r"-\d+$", "", colours)


@lru_cache(_MOST_LINES)
def _of_line(line: str, language: str) -> tuple[tuple[str, str], ...]:
    return tuple(_lexed(line, language)[0])


def _lexed(text: str, language: str) -> list[list[tuple[str, str]]]:
    """Return the pieces of lines that end with ``\\n`` only; neighbours of one class are one piece."""
    lines: list[list[tuple[str, str]]] = [[]]
    for _, kind, value in _LEXERS[language]().get_tokens_unprocessed(text):
        before = lines[-1][-1] if lines[-1] else ("", "")
        is_suffix = kind is Name and before[0] == "number" and before[1][-1:].isalnum() and value in _SUFFIXES
        name = "number" if is_suffix else _class_of(kind, value)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part and lines[-1] and (lines[-1][-1][0] == name or part.isspace()):
                lines[-1][-1] = (lines[-1][-1][0], lines[-1][-1][1] + part)
            elif part:
                lines[-1].append((name, part))
    return lines


def _class_of(kind: object, value: str) -> str:
    if kind is Name:
        return "builtin" if _BUILTIN.match(value) else "type" if _TYPE.match(value) else ""
    return next((name for group, name in _CLASSES if kind in group), "")
