"""Editor of modules: rewrites single instructions and adds the types and constants that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.binary import BEFORE_NAMES, HEADER_WORDS, literal, literal_length
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.reflection import Module

Words = list[int]
"""The words of one instruction; the first contains length and opcode."""

Rewrite = Callable[["Editor", Words], Iterable[Words]]
"""Returns the instructions that replace one instruction."""


class Editor:
    """Editor of a module; the module itself does not change.

    Types and constants for a rewrite are taken from the module, or declared before its first function.
    `version` is the SPIR-V version of the result, `instructions` those of the module in order, and `type_of`
    has the type's id of each result id.
    """

    def __init__(self, module: Module) -> None:
        self.version = module.version
        self._header = module.words[:HEADER_WORDS].tolist()
        self._bound = module.bound
        words = module.words.tolist()
        bounds = [*module.instruction_starts.tolist(), len(words)]
        self.instructions: list[Words] = [words[start:end] for start, end in pairwise(bounds)]
        self._codes = grammar().opcodes
        self.type_of: dict[int, int] = {}
        self._declared: dict[tuple[int, ...], int] = {}
        self._defining: dict[int, Words] = {}
        self._added: list[Words] = []
        self._decorations: list[Words] = []
        self._read()

    def _read(self) -> None:
        function = self._codes["OpFunction"]
        table, before = grammar(), True
        for words in self.instructions:
            opcode = words[0] & 0xFFFF
            before = before and opcode != function
            spec = table.instruction(opcode)
            if spec is None or not spec.has_result:
                continue
            if spec.has_type:
                self.type_of[words[2]] = words[1]
                self._defining[words[2]] = words
            if before:
                self._keep(words, 2 if spec.has_type else 1)

    def _keep(self, words: Words, result: int) -> None:
        """Record a declaration by its words without the result."""
        self._defining[words[result]] = words
        self._declared.setdefault((*words[:result], *words[result + 1 :]), words[result])

    def fresh(self) -> int:
        """Return an unused id."""
        self._bound += 1
        return self._bound - 1

    def definition(self, identifier: int) -> tuple[str, Words]:
        """Return the name and the words of the instruction with a result id; ("", []) without one."""
        words = self._defining.get(identifier)
        return (grammar().name(words[0] & 0xFFFF), words) if words else ("", [])

    def instruction(self, name: str, *operands: int) -> Words:
        """Return an instruction of these words, which include type and result."""
        return [(len(operands) + 1) << 16 | self._codes[name], *operands]

    def declare(self, name: str, *operands: int) -> int:
        """Return the id of a type, declared with these operands (without the result)."""
        return self._declare(1, self.instruction(name, 0, *operands))

    def integer(self, bits: int = 32, *, signed: bool = False) -> int:
        """Return the id of an integer type."""
        return self.declare("OpTypeInt", bits, int(signed))

    def vector(self, component: int, count: int) -> int:
        """Return the id of a vector type."""
        return self.declare("OpTypeVector", component, count)

    def constant(self, type_: int, *literals: int) -> int:
        """Return the id of a scalar constant of a type's id; its literal as words, the lowest first."""
        return self._declare(2, self.instruction("OpConstant", type_, 0, *literals))

    def composite(self, type_: int, *constants: int) -> int:
        """Return the id of a composite constant."""
        return self._declare(2, self.instruction("OpConstantComposite", type_, 0, *constants))

    def null(self, type_: int) -> int:
        """Return the id of the null constant of a type."""
        return self._declare(2, self.instruction("OpConstantNull", type_, 0))

    def true(self) -> int:
        """Return the id of the Boolean constant true."""
        return self._declare(2, self.instruction("OpConstantTrue", self.declare("OpTypeBool"), 0))

    def variable(self, pointer: int, storage_class: int, *initializer: int) -> int:
        """Return the id of a new global variable of a pointer type, with or without an initializer."""
        made = self.fresh()
        self._added.append(self.instruction("OpVariable", pointer, made, storage_class, *initializer))
        self.type_of[made] = pointer
        return made

    def decorate(self, identifier: int, decoration: int, *literals: int) -> None:
        """Add a decoration."""
        self._decorations.append(self.instruction("OpDecorate", identifier, decoration, *literals))

    def add(self, name: str, *operands: int) -> None:
        """Declare a variable, or a type that must stay separate (it has decorations), by all its words."""
        words = self.instruction(name, *operands)
        spec = grammar().instruction(words[0] & 0xFFFF)
        self._added.append(words)
        self._defining[words[2 if spec is not None and spec.has_type else 1]] = words

    def _declare(self, result: int, words: Words) -> int:
        known = self._declared.get((*words[:result], *words[result + 1 :]))
        if known is None:
            known = words[result] = self.fresh()
            self._added.append(words)
            self._keep(words, result)
            if result == 2:
                self.type_of[known] = words[1]
        return known

    def rewrite(self, rewrites: Mapping[str, Rewrite]) -> Module:
        """Return the module with each instruction of these names replaced."""
        table = {self._codes[name]: rewrite for name, rewrite in rewrites.items() if name in self._codes}
        changed: list[Words] = []
        for words in self.instructions:
            rewrite = table.get(words[0] & 0xFFFF)
            changed.extend([words] if rewrite is None else rewrite(self, words))
        return self.joined(changed)

    def joined(self, instructions: Sequence[Words]) -> Module:
        """Return the module with these instructions and all added declarations and decorations."""
        functions = self._first(instructions, lambda name: name == "OpFunction")
        types = self._first(instructions, lambda name: name.startswith(("OpType", "OpConstant")))
        parts = (
            instructions[:types],
            self._decorations,
            instructions[types:functions],
            self._added,
            instructions[functions:],
        )
        major, minor = self.version
        header = [self._header[0], major << 16 | minor << 8, self._header[2], self._bound, self._header[4]]
        flat = [*header, *(word for part in parts for words in part for word in words)]
        return Module.from_bytes(np.array(flat, "<u4").tobytes())

    def inserted(self, before: Sequence[str], added: Sequence[Words]) -> list[Words]:
        """Return the instructions with others inserted after the last one whose name is in `before`."""
        codes = {self._codes[name] for name in before}
        last = [index for index, words in enumerate(self.instructions) if words[0] & 0xFFFF in codes]
        end = last[-1] + 1 if last else 0
        return [*self.instructions[:end], *added, *self.instructions[end:]]

    def _first(self, instructions: Sequence[Words], wanted: Callable[[str], bool]) -> int:
        """Return the index of the first instruction with one of some names; the end without one."""
        codes = {code for name, code in self._codes.items() if wanted(name)}
        indices = (index for index, words in enumerate(instructions) if words[0] & 0xFFFF in codes)
        return next(indices, len(instructions))


#: Bytes of text in one `OpSource`, whose length in words is a 16-bit number.
_LONGEST_TEXT = 4 * (0xFFFF - 4) - 1


def rename_entry_point(module: Module, name: str) -> Module:
    """Return `module` with every entry point called `name`."""

    def renamed(editor: Editor, words: Words) -> list[Words]:
        interface = words[3 + literal_length(words[3:]) :]
        return [editor.instruction("OpEntryPoint", *words[1:3], *literal(name.encode()), *interface)]

    return Editor(module).rewrite({"OpEntryPoint": renamed})


def set_source(module: Module, file: str, text: str) -> Module:
    """Return `module` with `file` and `text` as its debug source, instead of its own.

    Line numbers (`OpLine`) that refer to the old source's file refer to `file` afterwards. A module
    without any `OpSource` stays as it is.
    """
    editor = Editor(module)
    code = grammar().opcodes["OpSource"]
    old = next((words for words in editor.instructions if words[0] & 0xFFFF == code), None)
    if old is None:
        return module
    known = old[3] if len(old) > 3 else 0
    identifier = known or editor.fresh()
    string = editor.instruction("OpString", identifier, *literal(file.encode()))
    first, *others = _split(text.encode())
    added = [] if known else [string]
    added.append(editor.instruction("OpSource", *old[1:3], identifier, *literal(first)))
    added += [editor.instruction("OpSourceContinued", *literal(part)) for part in others]
    return editor.rewrite(
        {
            "OpSource": lambda _, words: added if words is old else [],
            "OpSourceContinued": lambda _, words: [],
            "OpString": lambda _, words: [string] if words[1] == known else [words],
        }
    )


def set_version(module: Module, version: tuple[int, int]) -> Module:
    """Return `module` with another SPIR-V version in its header, for example ``(1, 0)``.

    Raises InvalidModule: there is no such version.
    """
    editor = Editor(module)
    editor.version = version
    return editor.joined(editor.instructions)


def replace_constants(module: Module, values: Mapping[int, int]) -> Module:
    """Return `module` with single uses of integer constants replaced.

    `values` has the new integer by the index of a word in ``module.words`` that is the id of an integer
    constant. The new constants are declared before all functions, so every instruction of a function
    moves by the same number of words.
    """
    editor = Editor(module)
    starts = module.instruction_starts
    added: dict[int, list[tuple[int, int]]] = {}
    for index, value in values.items():
        number = int(np.searchsorted(starts, index, "right")) - 1
        words, word = editor.instructions[number], index - int(starts[number])
        identifier = editor.fresh()
        added.setdefault(words[word], []).append((identifier, value))
        words[word] = identifier

    def defined(editor: Editor, words: Words) -> list[Words]:
        changed = [words]
        for identifier, value in added.get(words[2], ()):
            width = editor.definition(words[1])[1][2]
            value_words = [value >> 32 * number & 0xFFFFFFFF for number in range(-(-width // 32))]
            changed.append(editor.instruction("OpConstant", words[1], identifier, *value_words))
        return changed

    return editor.rewrite(dict.fromkeys(("OpConstant", "OpSpecConstant", "OpSpecConstantOp"), defined))


def _split(text: bytes) -> list[bytes]:
    """Split text between characters into parts that fit into an instruction."""
    parts = []
    while len(text) > _LONGEST_TEXT:
        end = _LONGEST_TEXT
        while text[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def source_extensions(module: Module) -> frozenset[str]:
    """Return the language extensions that a module names in `OpSourceExtension`.

    Raises InvalidModule: a name has no end.
    """
    starts = module.instruction_starts
    first = module.words[starts]
    chosen = np.flatnonzero(first & 0xFFFF == grammar().opcodes["OpSourceExtension"])
    names = set()
    for start, length in zip(starts[chosen].tolist(), (first[chosen] >> 16).tolist(), strict=True):
        raw, end, _ = module.words[start + 1 : start + length].tobytes().partition(b"\0")
        if not end:
            raise InvalidModule(f"an unterminated string at word {start}")
        names.add(raw.decode("utf-8", "replace"))
    return frozenset(names)


def add_source_extension(module: Module, name: str) -> Module:
    """Return `module` with one more `OpSourceExtension`, after the others."""
    editor = Editor(module)
    return editor.joined(
        editor.inserted(BEFORE_NAMES, [editor.instruction("OpSourceExtension", *literal(name.encode()))])
    )
