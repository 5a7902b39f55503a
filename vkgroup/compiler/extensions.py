"""Extensions that glslang lacks or implements differently: sources are rewritten before compilation.

In the GL dialect each ``#extension NAME : BEHAVIOUR`` whose name is a key of `REWRITERS` hands the source to
that rewriter. Line numbers must stay: see `replace_directive`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vkgroup.compiler.source import DEFAULT_VERSION, find_version

BEHAVIOURS = ("require", "enable", "warn", "disable")


@dataclass(frozen=True)
class Use:
    """One ``#extension`` directive of a source.

    Attributes
    ----------
    name, behaviour : as in the directive; behaviour is one of `BEHAVIOURS`.
    source : the current text of the whole source.
    start, end : range of the directive in `source`, without the line end.
    line : its line, counted from 1.
    stage : name of the stage, for example ``"compute"``.
    version : the number after ``#version``; 460 if there is none.
    defines : macros that the host defines, by name.
    """

    name: str
    behaviour: str
    source: str
    start: int
    end: int
    line: int
    stage: str
    version: int
    defines: Mapping[str, str]


#: Function of a directive that returns the new source in place of ``use.source``. The directive must be
#: removed, or changed to a behaviour that the rewriter ignores. It raises CompileError
#: (`vkgroup.compiler.source.failure`) with ``use.line``.
Rewriter = Callable[[Use], str]

#: Rewriter by the extension's name.
REWRITERS: dict[str, Rewriter] = {}

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*extension[ \t]+(?P<name>\w+)[ \t]*:[ \t]*(?P<behaviour>\w+)[ \t]*(?=$|//|/\*)",
    re.MULTILINE,
)

# A line comment goes on in the next line where it ends with a backslash (GLSL 4.60, 3.2).
_COMMENT = re.compile(r"//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def replace_directive(use: Use, text: str) -> str:
    """Return the source with `text` in place of the directive, the lines after it keeping their numbers."""
    lines = text.splitlines()
    # Before GLSL 3.30 "#line n" numbers the line after the next (GLSL 1.50, 3.3). Counted from __LINE__, as
    # the source may have a "#line" of its own.
    step = (1 if use.version >= 330 else 0) - len(lines)
    lines.append(f"#line __LINE__ {'+' if step >= 0 else '-'} {abs(step)}")
    return use.source[: use.start] + "\n".join(lines) + use.source[use.end :]


def without_comments(source: str, count: int = 0) -> str:
    """Return a source with blanks in place of its comments, or of the first `count`; lines stay lines."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source, count=count)


def macro_of(name: str) -> str:
    """Return the macro that stands for the extension's own where glslang does not define that.

    Names that begin with ``GL_`` cannot be defined by a source, so tests such as ``#ifdef GL_NV_…`` are
    redirected to this one, which is 1.
    """
    return f"vkgroup_has_{name}"


def rewrite(source: str, stage: str, defines: Mapping[str, str]) -> str:
    """Return a source after all rewriters; raise CompileError if one of them does."""
    if not REWRITERS or not any(name in source for name in REWRITERS):
        return source
    version = find_version(source)
    number = int(version[1]) if version else DEFAULT_VERSION
    position = 0
    while (use := _next(source, position, stage, number, defines)) is not None:
        rewriter = REWRITERS.get(use.name)
        if rewriter is None or use.behaviour not in BEHAVIOURS:
            position = use.end
            continue
        source = rewriter(use)
    return _redirected(source)


def _next(source: str, position: int, stage: str, version: int, defines: Mapping[str, str]) -> Use | None:
    """Return the next directive outside comments; None if there is none."""
    match = _DIRECTIVE.search(without_comments(source), position)
    if match is None:
        return None
    line = source.count("\n", 0, match.start()) + 1
    return Use(
        match["name"],
        match["behaviour"],
        source,
        match.start(),
        match.end("behaviour"),
        line,
        stage,
        version,
        defines,
    )


def _redirected(source: str) -> str:
    """Return a source whose tests of an extension's macro test the defined macro instead."""
    names = "|".join(map(re.escape, REWRITERS))
    conditions = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*", re.MULTILINE)
    own = re.compile(rf"\b(?:{names})\b")
    return conditions.sub(lambda line: own.sub(lambda name: macro_of(name[0]), line[0]), source)
