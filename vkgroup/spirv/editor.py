"""Editor of modules: rewrites single instructions, and adds types and constants that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from vkgroup.spirv.binary import HEADER_WORDS
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.module import Module

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
