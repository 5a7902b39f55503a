"""Editor of modules: rewrites single instructions, and adds types and constants that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidModule
from vkgroup.spirv.binary import BEFORE_NAMES, HEADER_WORDS, instruction, literal, literal_length
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.reflection import Module

Words = list[int]
"""One instruction: its words, the first with length and opcode."""

Rewrite = Callable[["Editor", Words], Iterable[Words]]
"""Returns the instructions that replace one instruction."""


class Editor:
    """A module to rewrite.

    Types and constants that a rewrite asks for are those that the module has, or else are declared before its
    first function.

    Parameters
    ----------
    module : what to begin with; it stays as it is.

    Attributes
    ----------
    version : SPIR-V version of the result.
    instructions : the instructions of `module`, in order.
    type_of : the type's id of each result id.
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
        """Return the id of the constant of a type that is all zeros."""
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
        """Declare a variable, or a type that is not shared (because of its decorations), by all its words."""
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
        """Return the module of these instructions and of all added declarations and decorations."""
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

    def _first(self, instructions: Sequence[Words], wanted: Callable[[str], bool]) -> int:
        """Return the index of the first instruction with one of some names; the end without one."""
        codes = {code for name, code in self._codes.items() if wanted(name)}
        indices = (index for index, words in enumerate(instructions) if words[0] & 0xFFFF in codes)
        return next(indices, len(instructions))


_Words = npt.NDArray[np.uint32]

#: Bytes of text in one `OpSource`, whose length in words is a 16-bit number.
_LONGEST_TEXT = 4 * (0xFFFF - 4) - 1


def rename_entry_point(module: Module, name: str) -> Module:
    """Return `module` with every entry point called `name`."""
    code = grammar().opcodes["OpEntryPoint"]
    changed = []
    for words in _instructions(module):
        if words[0] & 0xFFFF == code:
            end = 3 + literal_length(words[3:])
            words = instruction(code, words[1:3], literal(name.encode()), words[end:])
        changed.append(words)
    return _joined(module, changed)


def set_source(module: Module, file: str, text: str) -> Module:
    """Return `module` with `file` and `text` as its debug source, instead of its own.

    Line numbers (`OpLine`) that refer to the old source's file refer to `file` afterwards. A module
    without any `OpSource` stays as it is.
    """
    codes = grammar().opcodes
    source, string, continued = codes["OpSource"], codes["OpString"], codes["OpSourceContinued"]
    old = [words for words in _instructions(module) if words[0] & 0xFFFF == source]
    if not old:
        return module
    known = int(old[0][3]) if len(old[0]) > 3 else 0
    identifier = known or module.bound
    named = instruction(string, [identifier], literal(file.encode()))
    parts = _split(text.encode())
    replacement = [] if known else [named]
    replacement.append(instruction(source, old[0][1:3], [identifier], literal(parts[0])))
    replacement += [instruction(continued, literal(part)) for part in parts[1:]]
    changed: list[_Words] = []
    for words in _instructions(module):
        opcode = words[0] & 0xFFFF
        if opcode == source:
            changed += replacement
            replacement = []
        elif opcode == string and words[1] == known:
            changed.append(named)
        elif opcode != continued:
            changed.append(words)
    return _joined(module, changed, bound=max(module.bound, identifier + 1))


def set_version(module: Module, version: tuple[int, int]) -> Module:
    """Return `module` declared as one of another SPIR-V version, for example ``(1, 0)``.

    Raises
    ------
    InvalidModule
        There is no such version.
    """
    words = module.words.copy()
    words[1] = version[0] << 16 | version[1] << 8
    return Module.from_bytes(words.tobytes())


def replace_constants(module: Module, values: Mapping[int, int]) -> Module:
    """Return `module` with other integers instead of constants, at single uses of them.

    The new constants stand before all functions, so that every instruction of a function lies the same number
    of words further on.

    Parameters
    ----------
    values : the new integer by the index of a word in ``module.words`` that is the id of an integer constant.
    """
    codes = grammar().opcodes
    widths = {int(w[1]): int(w[2]) for w in _instructions(module) if w[0] & 0xFFFF == codes["OpTypeInt"]}
    words = module.words.copy()
    added: dict[int, list[tuple[int, int]]] = {}
    for number, (index, value) in enumerate(values.items()):
        added.setdefault(int(words[index]), []).append((module.bound + number, value))
        words[index] = module.bound + number
    changed = []
    defining = {codes[name] for name in ("OpConstant", "OpSpecConstant", "OpSpecConstantOp")}
    for entry in np.split(words, module.instruction_starts)[1:]:
        changed.append(entry)
        if int(entry[0]) & 0xFFFF in defining:
            for identifier, value in added.get(int(entry[2]), ()):
                value_words = [value >> 32 * k & 0xFFFFFFFF for k in range(-(-widths[int(entry[1])] // 32))]
                changed.append(instruction(codes["OpConstant"], [int(entry[1]), identifier], value_words))
    return _joined(module, changed, bound=module.bound + len(values))


def _instructions(module: Module) -> list[_Words]:
    return np.split(module.words, module.instruction_starts)[1:]


def _joined(module: Module, instructions: list[_Words], bound: int | None = None) -> Module:
    header = module.words[:HEADER_WORDS].copy()
    if bound is not None:
        header[3] = bound
    return Module.from_bytes(np.concatenate([header, *instructions]).astype("<u4").tobytes())


def _split(text: bytes) -> list[bytes]:
    """Return text in parts that fit into an instruction, split between characters."""
    parts = []
    while len(text) > _LONGEST_TEXT:
        end = _LONGEST_TEXT
        while text[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def source_extensions(module: Module) -> frozenset[str]:
    """Return the names, such as ``"GL_KHR_shader_subgroup_ballot"``.

    Raises
    ------
    InvalidModule
        A name has no end.
    """
    starts = module.instruction_starts
    first = module.words[starts]
    chosen = np.flatnonzero(first & 0xFFFF == grammar().opcodes["OpSourceExtension"])
    names = set()
    for start, length in zip(starts[chosen].tolist(), (first[chosen] >> 16).tolist(), strict=True):
        raw, end, _ = module.words[start + 1 : start + length].tobytes().partition(b"\0")
        if not end:
            raise InvalidModule(f"a string without end at word {start}")
        names.add(raw.decode("utf-8", "replace"))
    return frozenset(names)


def add_source_extension(module: Module, name: str) -> Module:
    """Return `module` with one more `OpSourceExtension`, after the others."""
    codes = grammar().opcodes
    opcodes = module.words[module.instruction_starts] & 0xFFFF
    before = np.isin(opcodes, [codes[known] for known in BEFORE_NAMES])
    last = int(np.flatnonzero(before)[-1]) + 1 if before.any() else 0
    ends = [*module.instruction_starts.tolist(), len(module.words)]
    end = ends[last] if before.any() else HEADER_WORDS
    added = instruction(codes["OpSourceExtension"], literal(name.encode()))
    words = np.concatenate([module.words[:end], added, module.words[end:]])
    return Module.from_bytes(words.astype("<u4").tobytes())
