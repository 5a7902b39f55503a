"""Modules in the making: their instructions as lists of words, and what mutations ask about them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from execution_operands import EDGES_FLOAT, EDGES_INTEGER

from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words


class Mutant:
    """A module in the making: its instructions as lists of words, with the editor that declares constants."""

    def __init__(self, module: Module) -> None:
        self.editor = Editor(module)
        self.lines: list[Words] = [list(words) for words in self.editor.instructions]
        self.first = next((i for i, words in enumerate(self.lines) if name_of(words) == "OpFunction"), 0)

    def module(self) -> Module:
        """Return the changed module."""
        return self.editor.joined(self.lines)

    def body(self, *names: str) -> list[int]:
        """Return the indices of the instructions of functions, of some names or of all."""
        return [
            index
            for index in range(self.first, len(self.lines))
            if not names or name_of(self.lines[index]) in names
        ]

    def kind(self, type_: int) -> tuple[str, Words]:
        """Return the name and the words of a type's declaration."""
        return self.editor.definition(type_)

    def literal(self, words: Words) -> int | None:
        """Return the value of the instruction OpConstant; None for another one."""
        if name_of(words) != "OpConstant":
            return None
        return sum(word << 32 * number for number, word in enumerate(words[3:]))

    def constant(self, type_: int, rng: random.Random, old: int | None = None) -> int | None:
        """Return the id of another constant of a scalar type, often a limit; None for another type."""
        name, words = self.kind(type_)
        if name == "OpTypeBool":
            return self.editor.true() if rng.random() < 0.5 else self.editor.null(type_)
        if name not in ("OpTypeInt", "OpTypeFloat"):
            return None
        bits = words[2]
        value = other_value(name, bits, rng, old)
        if name == "OpTypeInt" and bits < 32 and words[3] and value >> bits - 1:
            value |= 0xFFFFFFFF << bits & 0xFFFFFFFF  # narrow signed literals are sign-extended
        return self.editor.constant(type_, *(value >> 32 * n & 0xFFFFFFFF for n in range(-(-bits // 32))))


def name_of(words: Words) -> str:
    """Return an instruction's name."""
    return grammar().name(words[0] & 0xFFFF)


def other_value(name: str, bits: int, rng: random.Random, old: int | None) -> int:
    """Return the bits of a number: a limit, a small number, a change of the old one, or random bits."""
    edges = EDGES_INTEGER(bits) if name == "OpTypeInt" else EDGES_FLOAT[bits]
    choice = rng.random()
    if choice < 0.5 or (old is None and choice < 0.8):
        return rng.choice(edges)
    if old is not None and choice < 0.9:
        return (old + rng.choice((-1, 1, old, 1 << rng.randrange(bits)))) & (1 << bits) - 1
    return rng.getrandbits(bits)


def operands(words: Words) -> Iterator[int]:
    """Yield the positions of the operands of an instruction that are ids, without the type."""
    spec = grammar().instruction(words[0] & 0xFFFF)
    if spec is None or spec.name in ("OpLabel", "OpPhi", "OpFunction", "OpLoopMerge", "OpSelectionMerge"):
        return
    position = 1 + spec.has_type + spec.has_result
    for operand in spec.operands:
        if operand.kind in ("IdRef", "IdScope", "IdMemorySemantics"):
            last = len(words) if operand.quantifier == "*" else min(position + 1, len(words))
            yield from range(position, last)
        elif operand.quantifier == "*" or operand.kind.startswith("Pair"):
            return
        position += 1
