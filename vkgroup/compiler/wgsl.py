"""Structure of WGSL sources: entry points, resource variables, and the lines of statements.

tint emits no line numbers. So each statement gets a call of an empty function whose name has its line, and
the calls become `OpLine` afterwards (`with_lines`). It also turns a uniform buffer into an array of
vec4<u32>. So uniform variables are compiled as read-only storage buffers, which keep their members, and get
the storage class Uniform afterwards (`with_names`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from vkgroup.compiler.request import failure
from vkgroup.spirv import Module
from vkgroup.spirv.binary import literal
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar

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

_INNER = "inner"
_WHOLE = "@data"
"""The member of a block that tint makes for a variable, and the name that stands for the variable itself."""

_SOURCE_LANGUAGE = 10
"""SourceLanguage WGSL."""


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


def with_lines(module: Module, source: WgslSource, file: str) -> Module:
    """Return the module of a marked source with `OpLine` in place of the marks, and the source's text.

    A block without a mark has the line of the statement whose control flow it belongs to.
    """
    editor = Editor(module)
    names = {
        words[1]: words[2:] for words in editor.instructions if grammar().name(words[0] & 0xFFFF) == "OpName"
    }
    named = {identifier: _text(words) for identifier, words in names.items()}
    marks = {
        identifier: int(name.removeprefix(source.mark))
        for identifier, name in named.items()
        if name.startswith(source.mark) and name.removeprefix(source.mark).isdigit()
    }
    string = editor.fresh()
    builder = _LineBuilder(editor, marks, string)
    for words in editor.instructions:
        name = grammar().name(words[0] & 0xFFFF)
        if name == "OpFunction":
            builder.begin(words[2], source.functions.get(named.get(words[2], "").removesuffix("_inner"), 0))
        builder.add(name, words)
    declared = [
        editor.instruction("OpString", string, *literal(file.encode())),
        editor.instruction("OpSource", _SOURCE_LANGUAGE, 0, string),
    ]
    first = next(
        index
        for index, words in enumerate(builder.result)
        if grammar().name(words[0] & 0xFFFF) in ("OpName", "OpMemberName", "OpDecorate", "OpMemberDecorate")
        or grammar().name(words[0] & 0xFFFF).startswith("OpType")
    )
    return editor.joined([*builder.result[:first], *declared, *builder.result[first:]])


def _text(words: Words) -> str:
    raw = b"".join(word.to_bytes(4, "little") for word in words)
    return raw.partition(b"\0")[0].decode("utf-8", "replace")


class _LineBuilder:
    """The instructions of a module with lines."""

    def __init__(self, editor: Editor, marks: dict[int, int], string: int) -> None:
        self._editor, self._marks, self._string = editor, marks, string
        self.result: list[Words] = []
        self._line, self._skipping = 0, False
        #: The line in which blocks begin, by label: that of the construct that they belong to.
        self._beginning: dict[int, int] = {}

    def begin(self, function: int, line: int) -> None:
        """Begin a function that is declared in a line; 0 if it is not of the source."""
        self._line, self._skipping = line, function in self._marks

    def add(self, name: str, words: Words) -> None:
        """Add an instruction of the module."""
        if name == "OpName" and words[1] in self._marks:
            return
        if self._skipping:
            self._skipping = name != "OpFunctionEnd"
            return
        if name == "OpFunctionCall" and words[3] in self._marks:
            self._line = self._marks[words[3]]
            self._add_line()
            return
        self.result.append(words)
        if name == "OpLabel":
            self._line = self._beginning.get(words[1], self._line)
        elif name in ("OpLoopMerge", "OpSelectionMerge"):
            for label in words[1 : 3 if name == "OpLoopMerge" else 2]:
                self._beginning[label] = self._line
        elif name in ("OpBranchConditional", "OpSwitch"):
            # Also the block behind `else`. The words of a switch are its default, then literals with labels.
            for label in words[2:4] if name == "OpBranchConditional" else (words[2], *words[4::2]):
                self._beginning.setdefault(label, self._line)
        elif name == "OpFunctionEnd":
            self._line = 0
        if name == "OpLabel" and self._line:
            self._add_line()

    def _add_line(self) -> None:
        self.result.append(self._editor.instruction("OpLine", self._string, self._line, 0))


def with_names(module: Module, source: WgslSource, entry_point: str, *, uniforms: bool) -> Module:
    """Return a module with the names of its resource variables, and uniform buffers in their storage class.

    `uniforms`: whether these were compiled as storage. Variables without a place of their own keep tint's
    names.
    """
    editor = Editor(module)
    number = grammar().number
    decoration = {number("Decoration", "DescriptorSet"): 0, number("Decoration", "Binding"): 1}
    places: dict[int, list[int]] = {}
    for words in editor.instructions:
        if grammar().name(words[0] & 0xFFFF) == "OpDecorate" and words[2] in decoration:
            places.setdefault(words[1], [0, 0])[decoration[words[2]]] = words[3]
    used = source.used_by(entry_point)
    taken = Counter(variable.place for variable in used)
    by_place = {variable.place: variable for variable in used if taken[variable.place] == 1}
    chosen = {
        identifier: by_place[place[0], place[1]]
        for identifier, place in places.items()
        if (place[0], place[1]) in by_place
    }
    blocks = _wrappers(editor, {identifier: variable.name for identifier, variable in chosen.items()})
    uniform = {
        identifier for identifier, variable in chosen.items() if uniforms and variable.space == "uniform"
    }
    names = [editor.instruction("OpName", each, *literal(chosen[each].name.encode())) for each in chosen]
    return _Renamed(editor, blocks, uniform, names).module()


def _wrappers(editor: Editor, variables: dict[int, str]) -> set[int]:
    """Return the structures that tint made around variables: of one member, named after the variable."""
    names = {
        words[1]: _text(words[2:])
        for words in editor.instructions
        if grammar().name(words[0] & 0xFFFF) == "OpName"
    }
    found = set()
    for identifier, name in variables.items():
        block = editor.definition(editor.type_of[identifier])[1][3]
        kind, words = editor.definition(block)
        if kind == "OpTypeStruct" and len(words) == 3 and names.get(block, "").startswith(f"{name}_block"):
            found.add(block)
    return found


_SMALL_UNIFORMS = "UniformAndStorageBuffer16BitAccess"


class _Renamed:
    """A module with other names, and some variables in the storage class Uniform."""

    def __init__(self, editor: Editor, blocks: set[int], uniform: set[int], names: list[Words]) -> None:
        self._editor, self._blocks, self._uniform, self._names = editor, blocks, uniform, names
        self._class = grammar().number("StorageClass", "Uniform")

    def module(self) -> Module:
        """Return the changed module."""
        editor, result = self._editor, list[Words]()
        pointers: dict[int, int] = {}
        for words in editor.instructions:
            name = grammar().name(words[0] & 0xFFFF)
            if name == "OpMemberName" and words[1] in self._blocks and _text(words[3:]) == _INNER:
                words = editor.instruction("OpMemberName", words[1], words[2], *literal(_WHOLE.encode()))
            elif name in ("OpVariable", "OpAccessChain") and self._is_uniform(name, words):
                pointer = pointers.get(words[1])
                if pointer is None:
                    pointer = pointers[words[1]] = editor.fresh()
                    pointee = editor.definition(words[1])[1][3]
                    declared = editor.instruction("OpTypePointer", pointer, self._class, pointee)
                    place = self._after_type(result, words[1])
                    result.insert(place, declared)
                self._uniform.add(words[2])
                rest = [self._class, *words[4:]] if name == "OpVariable" else words[3:]
                words = editor.instruction(name, pointer, words[2], *rest)
            if self._names and (name.startswith("OpDecorate") or name.startswith("OpMemberDecorate")):
                result += self._names
                self._names = []
            result.append(words)
        if any(self._has_small(each) for each in pointers):
            capability = grammar().number("Capability", _SMALL_UNIFORMS)
            result.insert(1, editor.instruction("OpCapability", capability))
        return editor.joined(result)

    def _has_small(self, type_: int) -> bool:
        """Whether a type contains numbers of 16 bits."""
        kind, words = self._editor.definition(type_)
        if kind in ("OpTypeFloat", "OpTypeInt"):
            return words[2] == 16
        inner = {"OpTypeStruct": words[2:], "OpTypePointer": words[3:4]}.get(kind, words[2:3])
        return kind.startswith("OpType") and kind != "OpTypeBool" and any(map(self._has_small, inner))

    def _is_uniform(self, name: str, words: Words) -> bool:
        return (words[2] if name == "OpVariable" else words[3]) in self._uniform

    def _after_type(self, instructions: list[Words], pointer: int) -> int:
        """Return the index behind the declaration of a pointer type."""
        code = grammar().opcodes["OpTypePointer"]
        return next(
            index + 1
            for index, words in enumerate(instructions)
            if words[0] & 0xFFFF == code and words[1] == pointer
        )
