"""SPIR-V binaries: the words of a module and its decoded instructions, without their meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.grammar import grammar

MAGIC = 0x07230203
HEADER_WORDS = 5
#: Largest accepted bound: SPIR-V guarantees 4,194,303 (specification 2.17, "Universal Limits").
MAXIMUM_BOUND = 1 << 24


class Instruction(NamedTuple):
    """One instruction."""

    # `opcode`, `name`: number and name, for example 349 and ``"OpGroupNonUniformIAdd"``
    opcode: int
    name: str
    # `result_type`, `result_id`: 0 if the instruction has none
    result_type: int
    result_id: int
    operands: tuple[int, ...]  # the words after result type and result id
    position: int  # index of the instruction's first word in `Module.words`


class Binary:
    """An immutable SPIR-V binary, equal to another of the same words.

    It is made by `from_bytes`, which checks the header and that the instructions fill the words exactly.
    `vkgroup.compiler.validate` checks the rest.
    """

    instruction_starts: npt.NDArray[np.int64]
    """Index in `words` of each instruction's first word, shape (instructions,)."""

    _data: bytes

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """Read a module, of either byte order.

        Raises
        ------
        InvalidModule
            `data` is not a SPIR-V module.
        """
        binary = object.__new__(cls)
        binary._data = _in_little_endian(bytes(data))
        binary.instruction_starts = _instruction_starts(np.frombuffer(binary._data, "<u4"))
        return binary

    @cached_property
    def words(self) -> npt.NDArray[np.uint32]:
        """The module's words, header included; read-only."""
        return np.frombuffer(self._data, "<u4")

    def to_bytes(self) -> bytes:
        """Return the module as bytes, little-endian."""
        return self._data

    @property
    def version(self) -> tuple[int, int]:
        """SPIR-V version, for example ``(1, 3)``."""
        word = int(self.words[1])
        return (word >> 16) & 0xFF, (word >> 8) & 0xFF

    @property
    def bound(self) -> int:
        """All ids are below this number."""
        return int(self.words[3])

    @cached_property
    def opcodes(self) -> npt.NDArray[np.int64]:
        """Opcode of each instruction, shape (instructions,)."""
        return (self.words[self.instruction_starts] & 0xFFFF).astype(np.int64)

    @cached_property
    def present(self) -> frozenset[int]:
        """The opcodes of the module."""
        return frozenset(self.opcodes.tolist())

    @cached_property
    def result_types(self) -> npt.NDArray[np.int64]:
        """Type id by result id, 0 if there is none; shape (bound,)."""
        specs = [grammar().instruction(code) for code in self.present]
        typed = np.zeros(1 << 16, np.bool_)
        typed[[spec.opcode for spec in specs if spec and spec.has_type and spec.has_result]] = True
        starts = self.instruction_starts[typed[self.opcodes]]
        starts = starts[(self.words[starts] >> 16) > 2]
        results = self.words[starts + 2].astype(np.int64)
        known = results < self.bound
        types = np.zeros(self.bound, np.int64)
        types[results[known]] = self.words[starts + 1][known]
        return types

    def type_of(self, identifier: int) -> int:
        """Return the type id of a result id; 0 if it has no type, or is no id of the module."""
        return int(self.result_types[identifier]) if identifier < self.bound else 0

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """All instructions in order.

        Raises InvalidModule: an instruction is shorter than the grammar requires.
        """
        return self._decoded(pairwise([*self.instruction_starts.tolist(), len(self.words)]))

    def instructions_of(self, opcodes: Iterable[int]) -> tuple[Instruction, ...]:
        """The instructions of some opcodes, in order, without decoding the others.

        Raises InvalidModule: one of them is shorter than the grammar requires.
        """
        wanted = self.present.intersection(opcodes)
        if not wanted:
            return ()
        starts = self.instruction_starts[np.isin(self.opcodes, list(wanted))]
        ends = starts + (self.words[starts] >> 16)
        return self._decoded(zip(starts.tolist(), ends.tolist(), strict=True))

    def _decoded(self, bounds: Iterable[tuple[int, int]]) -> tuple[Instruction, ...]:
        """Return the instructions whose first word and end are given."""
        words = self.words.tolist()
        table = grammar()
        decoded = []
        for start, end in bounds:
            opcode = words[start] & 0xFFFF
            spec = table.instruction(opcode)
            if spec is None:
                decoded.append(Instruction(opcode, f"Op{opcode}", 0, 0, tuple(words[start + 1 : end]), start))
                continue
            if end - start < spec.minimum_words:
                raise InvalidModule(f"{spec.name} at word {start} has {end - start} words, too few")
            first = start + 1 + spec.has_type + spec.has_result
            decoded.append(
                Instruction(
                    opcode,
                    spec.name,
                    words[start + 1] if spec.has_type else 0,
                    words[first - 1] if spec.has_result else 0,
                    tuple(words[first:end]),
                    start,
                )
            )
        return tuple(decoded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Binary) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return type(self).from_bytes, (self._data,)

    def __repr__(self) -> str:
        major, minor = self.version
        return f"<vkgroup.spirv.{type(self).__name__} SPIR-V {major}.{minor}, {len(self._data) // 4} words>"


def _in_little_endian(data: bytes) -> bytes:
    """Check size and magic number; swap the bytes of each word of a module of the other byte order."""
    if not data:
        raise InvalidModule("not a SPIR-V module: it is empty")
    if len(data) % 4:
        raise InvalidModule(f"not a SPIR-V module: the size, {len(data)} bytes, is not a multiple of 4")
    if len(data) < 4 * HEADER_WORDS:
        raise InvalidModule(f"not a SPIR-V module: {len(data)} bytes, shorter than the header of 20 bytes")
    if int.from_bytes(data[:4], "little") == MAGIC:
        return data
    if int.from_bytes(data[:4], "big") == MAGIC:
        return np.frombuffer(data, ">u4").astype("<u4").tobytes()
    raise InvalidModule(f"not a SPIR-V module: it starts with {data[:4].hex()}, not with 07230203")


def _instruction_starts(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """Check the header's version and bound and that instructions fill the words exactly."""
    values: list[int] = words.tolist()
    version, bound = values[1], values[3]
    if version & 0xFF0000FF or not 0x10000 <= version <= 0x1FFFF:
        raise InvalidModule(f"not a SPIR-V module: version word {version:#010x}")
    if not 0 < bound <= MAXIMUM_BOUND:
        raise InvalidModule(f"not a SPIR-V module: bound {bound} on its ids")
    starts = []
    position, end = HEADER_WORDS, len(values)
    while position < end:
        starts.append(position)
        length = values[position] >> 16
        if not length:
            raise InvalidModule(f"damaged SPIR-V module: the instruction at word {position} has length 0")
        position += length
    if position != end:
        raise InvalidModule(
            f"truncated SPIR-V module: the instruction at word {starts[-1]} runs past the end, word {end}"
        )
    return np.array(starts, dtype=np.int64)


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
