"""Changes to whole modules that do not depend on what the module computes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from vkgroup.spirv.binary import HEADER_WORDS
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.module import Module
from vkgroup.spirv.words import instruction, literal, literal_length

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
