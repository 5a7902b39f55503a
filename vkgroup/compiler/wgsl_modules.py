"""Modules that tint made of a changed source (`wgsl`): lines of statements, names, uniform buffers."""

from __future__ import annotations

from collections import Counter

from vkgroup.compiler.wgsl import WgslSource
from vkgroup.spirv import Module
from vkgroup.spirv.binary import literal, text_of
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar

_INNER = "inner"
_WHOLE = "@data"
"""The member of a block that tint makes for a variable, and the name that stands for the variable itself."""


def with_lines(module: Module, source: WgslSource, file: str) -> Module:
    """Return the module of a marked source with `OpLine` in place of the marks, and the source's text.

    A block without a mark has the line of the statement whose control flow it belongs to.
    """
    editor = Editor(module)
    named = _names(editor)
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
        editor.instruction("OpSource", grammar().number("SourceLanguage", "WGSL"), 0, string),
    ]
    first = next(
        index
        for index, words in enumerate(builder.result)
        if grammar().name(words[0] & 0xFFFF) in ("OpName", "OpMemberName", "OpDecorate", "OpMemberDecorate")
        or grammar().name(words[0] & 0xFFFF).startswith("OpType")
    )
    return editor.joined([*builder.result[:first], *declared, *builder.result[first:]])


def _names(editor: Editor) -> dict[int, str]:
    """Return the names of ids."""
    code = grammar().opcodes["OpName"]
    return {words[1]: text_of(words[2:]) for words in editor.instructions if words[0] & 0xFFFF == code}


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
    names, found = _names(editor), set[int]()
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
            if name == "OpMemberName" and words[1] in self._blocks and text_of(words[3:]) == _INNER:
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
