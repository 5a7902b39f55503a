"""Rewriting of SPIR-V modules, one instruction at a time, to plant errors.

The mutations that are written by hand take and return modules as bytes. Like the generated mutants they use
`vkgroup.spirv.editor.Editor`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from vkgroup.spirv import Module
from vkgroup.spirv.editor import Editor

Words = list[int]
"""One instruction: opcode, then its operand words."""

Rewrite = Callable[[Words], list[Words]]
"""Instruction → instructions that replace it."""

TYPE_INT, CONSTANT = 21, 43
"""Opcodes (SPIR-V, "Instructions")."""


def editor_of(data: bytes) -> Editor:
    """Return an editor of a module, which adds types and constants and copies instructions."""
    return Editor(Module.from_bytes(data))


def instructions(data: bytes) -> list[Words]:
    """Return a module's instructions, each as [opcode, operands…]."""
    return [[words[0] & 0xFFFF, *words[1:]] for words in editor_of(data).instructions]


def assemble(header: bytes, body: list[Words]) -> bytes:
    """Return a module from its header and its instructions."""
    words: Words = []
    for opcode, *operands in body:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return header + struct.pack(f"<{len(words)}I", *words)


def rewritten(data: bytes, rewrite: Rewrite) -> bytes:
    """Return a module with each instruction replaced by `rewrite`."""
    body = [new for old in instructions(data) for new in rewrite(old)]
    return assemble(data[:20], body)


def integer_constants(data: bytes) -> dict[int, int]:
    """Return value → id of the module's 32-bit unsigned constants."""
    body = instructions(data)
    unsigned = {i[1] for i in body if i[0] == TYPE_INT and i[2:4] == [32, 0]}
    return {i[3]: i[2] for i in body if i[0] == CONSTANT and i[1] in unsigned}


def boolean_constant(data: bytes, value: bool) -> tuple[bytes, int]:
    """Return a module with a Boolean constant, and the id of the constant."""
    editor = editor_of(data)
    constant = editor.true() if value else editor.null(editor.declare("OpTypeBool"))
    return editor.joined(editor.instructions).to_bytes(), constant
