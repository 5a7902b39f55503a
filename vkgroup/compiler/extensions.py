"""Extensions that glslang lacks or implements differently: sources are rewritten before compilation.

In the GL dialect each ``#extension NAME : BEHAVIOR`` whose name is a key of `REWRITERS` is passed to that
rewriter. Line numbers must not change: see `replace_directive`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vkgroup.compiler.request import DEFAULT_VERSION, find_version

BEHAVIORS = ("require", "enable", "warn", "disable")


@dataclass(frozen=True)
class Use:
    """One ``#extension`` directive of a source.

    Attributes
    ----------
    name, behavior : as in the directive; behavior is one of `BEHAVIORS`.
    source : the current text of the whole source.
    start, end : range of the directive in `source`, without the line end.
    line : its line, counted from 1.
    stage : name of the stage, for example ``"compute"``.
    version : the number after ``#version``; 460 if there is none.
    defines : macros that the host defines, by name.
    """

    name: str
    behavior: str
    source: str
    start: int
    end: int
    line: int
    stage: str
    version: int
    defines: Mapping[str, str]


#: Function of a directive that returns the new source in place of ``use.source``. The directive must be
#: removed, or changed to a behavior that the rewriter ignores. It raises CompileError
#: (`vkgroup.compiler.request.failure`) with ``use.line``.
Rewriter = Callable[[Use], str]

#: Rewriter by the extension's name.
REWRITERS: dict[str, Rewriter] = {}

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*extension[ \t]+(?P<name>\w+)[ \t]*:[ \t]*(?P<behavior>\w+)[ \t]*(?=$|//|/\*)",
    re.MULTILINE,
)

# A line comment that ends with a backslash continues on the next line (GLSL 4.60, 3.2).
_COMMENT = re.compile(r"//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def replace_directive(use: Use, text: str) -> str:
    """Return the source with the directive replaced by `text`; later lines keep their numbers."""
    lines = text.splitlines()
    # Before GLSL 3.30, "#line n" sets the number of its own line, not of the next (GLSL 1.50, 3.3). Relative
    # to __LINE__, because the source may contain another "#line".
    step = (1 if use.version >= 330 else 0) - len(lines)
    lines.append(f"#line __LINE__ {'+' if step >= 0 else '-'} {abs(step)}")
    return use.source[: use.start] + "\n".join(lines) + use.source[use.end :]


def without_comments(source: str, count: int = 0) -> str:
    """Return the source with all comments, or the first `count`, replaced by blanks; line ends stay."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source, count=count)


def macro_of(name: str) -> str:
    """Return the macro that replaces an extension's macro if glslang does not define it.

    A source cannot define names that begin with ``GL_``. Conditions such as ``#ifdef GL_NV_…`` therefore test
    this macro, which is 1.
    """
    return f"vkgroup_has_{name}"


def rewrite(source: str, stage: str, defines: Mapping[str, str]) -> str:
    """Return the source after all rewriters have been applied; raise CompileError if a rewriter does."""
    if not REWRITERS or not any(name in source for name in REWRITERS):
        return source
    version = find_version(source)
    number = int(version[1]) if version else DEFAULT_VERSION
    position = 0
    while (use := _next(source, position, stage, number, defines)) is not None:
        rewriter = REWRITERS.get(use.name)
        if rewriter is None or use.behavior not in BEHAVIORS:
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
        match["behavior"],
        source,
        match.start(),
        match.end("behavior"),
        line,
        stage,
        version,
        defines,
    )


def _redirected(source: str) -> str:
    """Return the source with extension macros in conditions replaced by the macros of `macro_of`."""
    names = "|".join(map(re.escape, REWRITERS))
    conditions = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*", re.MULTILINE)
    own = re.compile(rf"\b(?:{names})\b")
    return conditions.sub(lambda line: own.sub(lambda name: macro_of(name[0]), line[0]), source)
