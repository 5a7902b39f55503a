"""Instructions from their text, in the syntax of LLVM: mnemonic, operands, modifiers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from vkgroup.amd.errors import MissingPart

_NAMED = {"flat_scratch": 102, "xnack_mask": 104, "vcc": 106, "exec": 126}
NULL, M0, VCC, EXEC = 124, 125, 106, 126
"""Places of registers with a name among the scalar registers; `NULL` reads as zero and takes no value."""

_PAIR = {"flat_scratch", "xnack_mask", "vcc", "exec"}
_REGISTER = re.compile(r"(v|s|ttmp|a)(?:(\d+)|\[(\d+):(\d+)\])(?:\.([lh]))?")
_TTMP = 108
_NUMBER = re.compile(r"-?(0x[0-9a-f]+|\d+)")
_FLOAT = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?")


def register_name(number: int) -> str:
    """Return the name of a register by its number; those of vectors start at 256."""
    if number >= 256:
        return f"v{number - 256}"
    names = {VCC: "vcc_lo", VCC + 1: "vcc_hi", M0: "m0", EXEC: "exec_lo", EXEC + 1: "exec_hi", NULL: "null"}
    return names.get(number, f"s{number}")


@dataclass(frozen=True)
class InstructionOperand:
    """One operand: ``s`` and ``v`` are registers, ``int`` and ``float`` constants, ``word`` other texts."""

    kind: str
    index: int = 0
    count: int = 1
    value: float = 0
    word: str = ""
    negated: bool = False
    absolute: bool = False
    extended: bool = False
    half: str = ""
    literal: bool = False
    parts: tuple[InstructionOperand, ...] = ()  # of a list of registers, ``[v1, v7]``


@dataclass(frozen=True)
class MachineInstruction:
    """An instruction: `name` without the suffix of its form (``e32``, ``e64``, ``dpp``, ``sdwa``), if any."""

    text: str
    name: str
    form: str
    operands: tuple[InstructionOperand, ...]
    modifiers: dict[str, str] = field(hash=False)
    length: int = 4

    def numbers(self, modifier: str, default: str = "") -> list[int]:
        """Return the numbers of a modifier such as ``op_sel:[0,1]``."""
        text = self.modifiers.get(modifier, default)
        return [int(word, 0) for word in text.strip("[]").split(",") if word]

    def number(self, modifier: str, default: int = 0) -> int:
        """Return the number of a modifier such as ``offset:16``; 1 for a flag."""
        text = self.modifiers.get(modifier)
        if text is None:
            return default
        return int(text, 0) if text else 1


@cache
def parse(text: str, length: int = 4) -> MachineInstruction:
    """Return an instruction from its text."""
    mnemonic, _, rest = text.partition(" ")
    name, form = mnemonic, ""
    for suffix in ("_e64_dpp", "_e64", "_e32", "_dpp", "_sdwa"):
        if mnemonic.endswith(suffix):
            name, form = mnemonic.removesuffix(suffix), suffix[1:]
            break
    words = _split(rest)
    modifiers: dict[str, str] = {}
    operands: list[InstructionOperand] = []
    for word in words:
        parts = _spaces(word)  # an operand, and modifiers if it is the last one
        if parts:
            operands.append(_operand(parts.pop(0)))
        for part in parts:
            key, _, value = part.partition(":")
            modifiers[key] = value
    return MachineInstruction(text, name, form, tuple(operands), modifiers, length)


def _split(text: str) -> list[str]:
    """Divide at commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += letter in "[(" or 0
        depth -= letter in "])" or 0
        if letter == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _spaces(text: str) -> list[str]:
    """Divide at spaces that are not inside brackets."""
    return re.findall(r"(?:\[[^\]]*\]|\([^)]*\)|\S)+", text)


def _operand(text: str) -> InstructionOperand:
    if _NUMBER.fullmatch(text):
        return InstructionOperand("int", value=int(text, 0), literal="0x" in text)
    if _FLOAT.fullmatch(text):
        return InstructionOperand("float", value=float(text))
    if text.startswith("-"):
        return replace(_operand(text[1:]), negated=True)
    if text.startswith("|") and text.endswith("|"):
        return replace(_operand(text[1:-1]), absolute=True)
    for word, change in (("neg", "negated"), ("abs", "absolute"), ("sext", "extended")):
        if text.startswith(f"{word}(") and text.endswith(")"):
            changed: dict[str, Any] = {change: True}
            return replace(_operand(text[len(word) + 1 : -1]), **changed)
    if match := _REGISTER.fullmatch(text):
        kind, one, first, last, half = match.groups()
        index = int(one if one is not None else first)
        count = 1 if one is not None else int(last) - int(first) + 1
        if kind == "a":
            raise MissingPart(text)
        return InstructionOperand(
            "v" if kind == "v" else "s", index + _TTMP * (kind == "ttmp"), count, half=half or ""
        )
    if text.startswith("[") and text.endswith("]"):
        return InstructionOperand("list", parts=tuple(_operand(part) for part in _split(text[1:-1])))
    base, _, part = text.rpartition("_")
    if text in _NAMED:
        return InstructionOperand("s", _NAMED[text], 2)
    if base in _NAMED and part in ("lo", "hi"):
        return InstructionOperand("s", _NAMED[base] + (part == "hi"))
    if text == "m0":
        return InstructionOperand("s", M0)
    if text == "null":
        return InstructionOperand("s", NULL, 2)
    return InstructionOperand("word", word=text)
