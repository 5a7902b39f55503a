"""Structure of WGSL sources: entry points, resource variables, and the places of statements.

tint emits no line numbers, and turns a uniform buffer into an array of vec4<u32>. So `WgslSource.marked` is a
source whose statements call empty functions with their lines as names, and whose uniform buffers are storage
buffers. `wgsl_modules` makes of both in the module what they stand for.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from vkgroup.compiler.request import failure

_MARK = "vkgroup_line_"
_ENDS = "\n\v\f\r\u0085\u2028\u2029"
"""The characters that end a line, and a comment (WGSL, "Blankspace and Line Breaks")."""

_BLANK = f"{_ENDS} \t\u200e\u200f"
# A word may have combining marks, which `\w` lacks; every sign of WGSL is ASCII.
_TOKEN = re.compile(
    rf"[{_BLANK}]+|//[^{_ENDS}]*|(?P<comment>/\*)|(?P<word>(?:\w|[^\x00-\x7f{_BLANK}])+)|(?P<sign>.)",
    re.DOTALL,
)
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[iu]?,?")
_STAGES = ("vertex", "fragment", "compute")
_NO_STATEMENT = ("}", "else", "continuing", "case", "default", ";")
"""What may follow a brace or a semicolon without being a statement."""


@dataclass(frozen=True)
class WgslToken:
    """One word or sign of a source."""

    text: str
    start: int


@dataclass(frozen=True)
class WgslEntryPoint:
    """An entry point of a source."""

    name: str
    stage: str


@dataclass(frozen=True)
class WgslVariable:
    """A variable with a group and a binding."""

    name: str
    space: str  # ``"uniform"``, ``"storage"``, or empty for textures and samplers
    place: tuple[int, int] | None  # group and binding; None if they are not literals


def _tokens(source: str) -> Iterator[WgslToken]:
    """Yield the words and signs of a source without its comments, which may be nested."""
    at = 0
    while match := _TOKEN.match(source, at):
        at = match.end()
        if match["comment"]:
            depth = 1
            while depth:
                found = re.compile(r"/\*|\*/").search(source, at)
                if found is None:
                    return
                at = found.end()
                depth += 1 if found[0] == "/*" else -1
        elif match["word"] or match["sign"]:
            yield WgslToken(match[0], match.start())


class WgslSource:
    """The structure of one source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = list(_tokens(source))
        self.entry_points: list[WgslEntryPoint] = []
        self.variables: list[WgslVariable] = []
        self.functions: dict[str, int] = {}  # name and line
        self._bodies: dict[str, tuple[int, int]] = {}  # the first and the last token of each function
        self._line_ends = [match.start() for match in re.finditer("\n", source)]
        #: The beginning of the names of marks, which no name of the source has.
        self.mark = _MARK
        while self.mark in source:
            self.mark += "_"
        self.statements: list[int] = []  # where each statement starts
        self._read()

    def line(self, start: int) -> int:
        """Return the line of a place."""
        return bisect_left(self._line_ends, start) + 1

    def _read(self) -> None:
        """Read the declarations at module scope."""
        at, attributes = 0, dict[str, str]()
        texts = [token.text for token in self.tokens]
        while at < len(texts):
            if texts[at] == "@" and at + 1 < len(texts):
                end = self._closing(at + 2) if texts[at + 2 : at + 3] == ["("] else at + 1
                attributes[texts[at + 1]] = "".join(texts[at + 3 : end])
                at = end + 1
            elif texts[at] == "fn" and at + 1 < len(texts):
                stage = next((name for name in _STAGES if name in attributes), None)
                if stage is not None:
                    self.entry_points.append(WgslEntryPoint(texts[at + 1], stage))
                self.functions[texts[at + 1]] = self.line(self.tokens[at].start)
                end = self._function(at)
                self._bodies[texts[at + 1]] = at, end
                at, attributes = end, {}
            elif texts[at] == "var":
                self._variable(at, attributes)
                at += 1
            else:
                if texts[at] in (";", "}"):
                    attributes = {}
                at += 1

    def _closing(self, at: int) -> int:
        """Return the index of the sign that closes a parenthesis or a brace."""
        depth = 0
        for index in range(at, len(self.tokens)):
            text = self.tokens[index].text
            depth += text in ("(", "{")
            depth -= text in (")", "}")
            if depth == 0:
                return index
        return len(self.tokens) - 1

    def _variable(self, at: int, attributes: dict[str, str]) -> None:
        texts = [token.text for token in self.tokens[at + 1 : at + 10]]
        space, name = "", texts[:1]
        if texts[:1] == ["<"] and ">" in texts:
            space, name = texts[1], texts[texts.index(">") + 1 :][:1]
        if name and {"group", "binding"} <= attributes.keys():
            group, binding = (_NUMBER.fullmatch(attributes[word]) for word in ("group", "binding"))
            place = (int(group[1], 0), int(binding[1], 0)) if group and binding else None
            self.variables.append(WgslVariable(name[0], space, place))

    def _function(self, at: int) -> int:
        """Record the statements of a function; return the index behind it."""
        while at < len(self.tokens) and self.tokens[at].text != "{":
            at = self._closing(at) + 1 if self.tokens[at].text == "(" else at + 1
        blocks, switch, depth = list[bool](), False, 0  # for each block, whether it is the body of a switch
        for index in range(at, len(self.tokens)):
            text = self.tokens[index].text
            depth += (text == "(") - (text == ")")
            if text == "switch":
                switch = True
            elif text == "{":
                blocks.append(switch)
                switch = False
            elif text == "}":
                blocks.pop()
                if not blocks:
                    return index + 1
            if depth or text not in ("{", "}", ";") or blocks[-1]:
                continue
            following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
            if following is not None and following.text not in _NO_STATEMENT:
                self.statements.append(following.start)
        return len(self.tokens)

    def used_by(self, entry_point: str) -> list[WgslVariable]:
        """Return the variables whose names occur in the functions that an entry point may call."""
        names, waiting = set[str](), [entry_point]
        while waiting:
            first, last = self._bodies.get(waiting.pop(), (0, 0))
            found = {token.text for token in self.tokens[first:last]} - names
            names |= found
            waiting += [name for name in found if name in self._bodies and name != entry_point]
        return [variable for variable in self.variables if variable.name in names]

    def are_placed(self, entry_point: str) -> bool:
        """Whether all its variables have groups and bindings in literals, each one of its own."""
        places = [variable.place for variable in self.used_by(entry_point)]
        return None not in places and len(set(places)) == len(places)

    def marked(self, *, lines: bool, uniforms: bool) -> str:
        """Return the source for tint: with lines of statements, and with uniform buffers as storage."""
        inserted = {start: f"{self.mark}{self.line(start)}(); " for start in self.statements if lines}
        parts, last = [], 0
        changes = [(start, start, text) for start, text in inserted.items()]
        if uniforms:
            for match in re.finditer(r"\b(var|ptr)\s*<\s*uniform\b", self.source):
                changes.append((*match.span(), f"{match[1]}<storage"))
        for start, end, text in sorted(changes):
            parts += [self.source[last:start], text]
            last = end
        made = "".join([*parts, self.source[last:]])
        used = sorted({self.line(start) for start in self.statements}) if lines else []
        return made + "\n" + "".join(f"fn {self.mark}{line}() {{}}\n" for line in used)


@lru_cache(maxsize=16)
def read_wgsl(source: str) -> WgslSource:
    """Return the structure of a source."""
    return WgslSource(source)


def entry_point_of(source: str, stage: str, name: str, file: str) -> WgslEntryPoint:
    """Return the entry point of a source.

    `stage`: its stage; empty for any. `name`: its name; ``"main"``, the default, also means the only one of
    the stage, or the only compute shader if no stage is given.

    Raises CompileError: there is none, or there are several and none has the name. The message lists them.
    """
    found = read_wgsl(source).entry_points
    fitting = [entry for entry in found if entry.stage == (stage or entry.stage)]
    named = [entry for entry in fitting if entry.name == name]
    if named:
        return named[0]
    chosen = (
        [entry for entry in fitting if entry.stage == (stage or "compute")] if len(fitting) > 1 else fitting
    )
    if name == "main" and len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(f"{entry.name} ({entry.stage})" for entry in found)
    if not found:
        raise failure(
            file, 0, "the source has no entry point: no function with @compute, @vertex or @fragment"
        )
    if name == "main":
        text = f"several entry points of the stage {stage}" if stage and fitting else "several entry points"
        text = text if fitting else f"no entry point of the stage {stage}"
        raise failure(file, 0, f"the source has {text}: {listed}; choose one with --entry-point")
    raise failure(
        file, 0, f"the source has no entry point {name!r}{f' of the stage {stage}' * bool(stage)}: {listed}"
    )
