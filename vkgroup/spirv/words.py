"""Words: encoded instructions and literal strings, and the order of instructions in a module."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

BEFORE_STRINGS = (
    "OpCapability",
    "OpExtension",
    "OpExtInstImport",
    "OpMemoryModel",
    "OpEntryPoint",
    "OpExecutionMode",
    "OpExecutionModeId",
)
"""Instructions before the debug instructions (SPIR-V 2.4, "Logical Layout of a Module", 1 to 6)."""

BEFORE_NAMES = (*BEFORE_STRINGS, "OpString", "OpSource", "OpSourceContinued", "OpSourceExtension")
"""Instructions before the names of ids, which include the debug instructions of section 7a."""


def instruction(opcode: int, *parts: Sequence[int] | npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return an instruction, (words,) uint32: the word with length and opcode, and its operands in parts."""
    operands = np.concatenate([np.asarray(part, "<u4") for part in parts])
    return np.concatenate([np.array([(len(operands) + 1) << 16 | opcode], "<u4"), operands])


def literal(text: bytes) -> list[int]:
    """Return a literal string: its bytes, a zero, and zeros up to a whole word (SPIR-V 2.2.1)."""
    words: list[int] = np.frombuffer(text + bytes(4 - len(text) % 4), "<u4").tolist()
    return words


def literal_length(words: Sequence[int] | npt.NDArray[np.uint32]) -> int:
    """Return the number of words of the literal string at the start of some words."""
    return np.asarray(words, "<u4").tobytes().find(b"\0") // 4 + 1


def text_of(words: Sequence[int]) -> str:
    """Return the literal string at the start of some words."""
    return np.array(words, "<u4").tobytes().partition(b"\0")[0].decode("utf-8", "replace")
