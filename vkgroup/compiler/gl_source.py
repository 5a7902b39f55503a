"""Preprocessed GL sources: facts that the compiled module does not contain, and changes before parsing.

glslang's preprocessor has removed comments, skipped branches and macros; line numbers are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"(?P<directive>^[ \t]*#[^\n]*)|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d[\w.]*)|(?P<end>\n)|(?P<other>\S)",
    re.MULTILINE,
)
_LINE = re.compile(r'[ \t]*#[ \t]*line[ \t]+(\d+)(?:[ \t]+(?:\d+|"([^"\n]*)"))?')
_EXTENSION = re.compile(r"[ \t]*#[ \t]*extension[ \t]+(\w+)[ \t]*:[ \t]*(\w+)")
_VERSION = re.compile(r"([ \t]*#[ \t]*version[ \t]+)(\d+)([ \t]+\w+)?")

_LOCAL_SIZE = re.compile(r"local_size_([xyz])(_id)?")
#: On one line, so that later lines keep their numbers.
_DEPTH_RANGE = "vkgroup_DepthRange"
_DEPTH_RANGE_DECLARATION = (
    "struct vkgroup_DepthRangeParameters { float near; float far; float diff; }; "
    f"const vkgroup_DepthRangeParameters {_DEPTH_RANGE} = vkgroup_DepthRangeParameters(0.0, 1.0, 1.0); "
)

_ON = ("require", "enable", "warn")


@dataclass(frozen=True)
class Token:
    """A token of a source: text, line, file (empty for the source itself), and start in the text."""

    text: str
    line: int
    file: str
    start: int


@dataclass(frozen=True)
class LocalSizeDeclaration:
    """A ``layout(local_size_… = …) in``: the dimensions that it names, and its location."""

    dimensions: frozenset[str]
    is_specializable: bool
    line: int
    file: str


@dataclass(frozen=True)
class Facts:
    """Facts about a source that its module does not contain."""

    name: str  # name of the source in diagnostics
    local_sizes: tuple[LocalSizeDeclaration, ...]  # declarations of the workgroup size, in order
    early_uses: tuple[Token, ...]  # uses of gl_WorkGroupSize before all of these declarations
    # names of the variables and blocks with an explicit binding. glslang gives all others binding 0, as
    # OpenGL does, but not to all elements of an array
    bound: frozenset[str]
    unbound_counters: tuple[Token, ...]  # declarations of atomic counters without binding


def facts(text: str, name: str) -> Facts:
    """Return the facts about a preprocessed source."""
    tokens = list(_tokens(text))
    sizes: list[LocalSizeDeclaration] = []
    early: list[Token] = []
    for position, token in enumerate(tokens):
        if token.text == "gl_WorkGroupSize" and not sizes:
            early.append(token)
        if token.text == "layout":
            matches = [
                match for word in _qualifiers(tokens, position) if (match := _LOCAL_SIZE.fullmatch(word.text))
            ]
            if matches:
                dimensions = frozenset(match[1] for match in matches)
                specializable = any(match[2] for match in matches)
                sizes.append(LocalSizeDeclaration(dimensions, specializable, token.line, token.file))
    bound, unbound = _bindings(tokens)
    return Facts(name, tuple(sizes), tuple(early), frozenset(bound), tuple(unbound))


def _bindings(tokens: Sequence[Token]) -> tuple[list[str], list[Token]]:
    """Return the names of global declarations with a ``binding``, and the atomic counters without one."""
    bound: list[str] = []
    unbound: list[Token] = []
    start = depth = 0
    has_binding = False
    for position, token in enumerate(tokens):
        if token.text == "layout" and not depth:
            has_binding = has_binding or "binding" in (word.text for word in _qualifiers(tokens, position))
        if token.text == "{" and not depth:
            bound += [tokens[position - 1].text] if has_binding and position else []
            # The instance name after the block is not the block's name.
            has_binding = False
        elif token.text == ";" and not depth:
            declaration = tokens[start:position]
            bound += _declared(declaration) if has_binding else []
            words = [word.text for word in declaration]
            if not has_binding and "uniform" in words and "atomic_uint" in words:
                unbound.append(declaration[words.index("atomic_uint")])
            has_binding = False
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if token.text in (";", "}") and not depth:
            start = position + 1
    return bound, unbound


def _declared(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the variable names of a declaration: words before a comma, an array size, a value or the end."""
    depth = 0
    following = [*(token.text for token in tokens[1:]), ";"]
    for token, after in zip(tokens, following, strict=True):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if not depth and after in (",", ";", "=", "["):
            yield token.text


def mended(text: str, stage: str) -> str:
    """Return a preprocessed source with the changes that glslang needs to generate SPIR-V.

    Line numbers do not change. The changes are:

    - Block layouts ``shared`` and ``packed``, which are implementation-defined, become std140.
    - The compatibility profile becomes the core profile in compute shaders, where both mean the same. glslang
      accepts it, but reports it as an error in shaders that have another error.
    - GL_ARB_compute_shader enables the atomic functions without another directive (ARB_compute_shader,
      "Dependencies on OpenGL 4.3 and ARB_shader_storage_buffer_object").
    - GL_ARB_shader_atomic_counter_ops needs GLSL 4.20, but glslang requires 4.50.
    - gl_DepthRange becomes a constant with OpenGL's initial depth range.
    """
    on = {match[1] for match in map(_EXTENSION.match, text.splitlines()) if match and match[2] in _ON}
    version = _VERSION.match(text)
    edits: list[tuple[int, int, str]] = []
    tokens = list(_tokens(text))
    for position, token in enumerate(tokens):
        if token.text == "layout":
            edits += (
                (word.start, word.start + len(word.text), "std140")
                for word in _qualifiers(tokens, position)
                if word.text in ("shared", "packed")
            )
    depth_ranges = [token for token in tokens if token.text == "gl_DepthRange"]
    edits += ((token.start, token.start + len(token.text), _DEPTH_RANGE) for token in depth_ranges)
    if depth_ranges:
        edits.append((tokens[0].start, tokens[0].start, _DEPTH_RANGE_DECLARATION))
    if version is not None:
        number, profile = int(version[2]), version[3] or ""
        is_compute = stage == "compute" and (number >= 430 or "GL_ARB_compute_shader" in on)
        if profile.strip() == "compatibility" and stage == "compute":
            profile = " core"
        if number < 450 and "GL_ARB_shader_atomic_counter_ops" in on and (is_compute or stage != "compute"):
            number = 450
        edits.append((version.start(), version.end(), f"{version[1]}{number}{profile}"))
    if stage == "compute" and "GL_ARB_compute_shader" in on:
        edits += _with_atomics(text)
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _with_atomics(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield edits that enable the atomic functions after each directive that enables compute shaders."""
    line = 1
    start = 0
    for content in text.splitlines(keepends=True):
        match = _EXTENSION.match(content)
        if match and match[1] == "GL_ARB_compute_shader" and match[2] in _ON:
            added = f"#extension GL_ARB_shader_storage_buffer_object : enable\n#line {line + 1}\n"
            yield start + len(content), start + len(content), added
        numbered = _LINE.match(content)
        line = int(numbered[1]) if numbered else line + 1
        start += len(content)


def _tokens(text: str) -> Iterator[Token]:
    line, file = 1, ""
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "end":
            line += 1
        elif match.lastgroup == "directive":
            numbered = _LINE.match(match[0])
            if numbered:
                # The line end after the directive adds one.
                line, file = int(numbered[1]) - 1, numbered[2] or ""
        else:
            yield Token(match[0], line, file, match.start())


def _qualifiers(tokens: Sequence[Token], position: int) -> Iterator[Token]:
    """Yield the first word of each qualifier of the ``layout(…)`` that starts at a position."""
    depth = 0
    for number in range(position + 1, len(tokens)):
        text = tokens[number].text
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
        elif depth == 1 and tokens[number - 1].text in ("(", ","):
            yield tokens[number]
        if depth <= 0:
            return
