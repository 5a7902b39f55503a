"""The type rules of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote, which SPIRV-Tools does not check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.errors import InvalidModule
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.module import Module

_WORD = 32

#: Extensions that also allow values of 16 bits.
_HALVES = frozenset({"SPV_AMD_gpu_shader_half_float", "SPV_AMD_gpu_shader_int16"})


def check_legacy(module: Module) -> None:
    """Check the types of the older ballot and vote instructions.

    A predicate is a Boolean; a ballot is a vector of four 32-bit integers; what is read of another
    invocation is a scalar of a 32-bit integer or float type, and of the result's type
    (SPV_KHR_shader_ballot, "Group Instructions"; SPV_KHR_subgroup_vote likewise).

    Raises
    ------
    InvalidModule
        An instruction has another type; says which and what it must be.
    """
    codes = {grammar().opcodes[name]: name for name in _RULES}
    present = module.words[module.instruction_starts] & 0xFFFF
    if not np.isin(present, list(codes)).any():
        return
    types = _Types(module)
    for words in types.editor.instructions:
        name = codes.get(words[0] & 0xFFFF)
        wrong = _RULES[name](types, words) if name is not None else ""
        if wrong:
            raise InvalidModule(f"{name} %{words[2]}: {wrong}")


class _Types:
    """The types of a module, as kind, bits and components."""

    def __init__(self, module: Module) -> None:
        self.editor = Editor(module)
        self.widths = {_WORD, 16} if _HALVES & module.reflection.extensions else {_WORD}

    def kind(self, type_: int) -> tuple[str, int, int]:
        """Return ("int", 32, 4) for a vector of four 32-bit integers; ("", 0, 0) for no scalar or vector."""
        name, words = self.editor.definition(type_)
        if name == "OpTypeVector":
            kind, bits, _ = self.kind(words[2])
            return kind, bits, words[3]
        if name == "OpTypeBool":
            return "bool", 1, 1
        if name in ("OpTypeInt", "OpTypeFloat"):
            return name.removeprefix("OpType").lower(), words[2], 1
        return "", 0, 0

    def of(self, value: int) -> tuple[str, int, int]:
        """Return the kind of a value's type."""
        return self.kind(self.editor.type_of.get(value, 0))


def _ballot(types: _Types, words: Words) -> str:
    if types.kind(words[1]) != ("int", _WORD, 4):
        return "the result type must be a vector of four 32-bit integers"
    return _predicate(types, words)


def _predicate(types: _Types, words: Words) -> str:
    return "" if types.of(words[3]) == ("bool", 1, 1) else "the predicate must be a Boolean"


def _vote(types: _Types, words: Words) -> str:
    if types.kind(words[1]) != ("bool", 1, 1):
        return "the result type must be a Boolean"
    return _predicate(types, words)


def _value(types: _Types, words: Words) -> str:
    kind, bits, components = types.kind(words[1])
    if kind not in ("int", "float") or bits not in types.widths or components != 1:
        return "the result type must be a scalar of a 32-bit integer or float type"
    if types.editor.type_of.get(words[3]) != words[1]:
        return "the value must be of the result's type"
    return ""


def _read(types: _Types, words: Words) -> str:
    kind, _, components = types.of(words[4])
    wrong = "the index must be an integer" if (kind, components) != ("int", 1) else ""
    return _value(types, words) or wrong


_RULES: dict[str, Callable[[_Types, Words], str]] = {
    "OpSubgroupBallotKHR": _ballot,
    "OpSubgroupFirstInvocationKHR": _value,
    "OpSubgroupReadInvocationKHR": _read,
    "OpSubgroupAllKHR": _vote,
    "OpSubgroupAnyKHR": _vote,
    "OpSubgroupAllEqualKHR": _vote,
}
