"""Declarations of a module before its types: capabilities, entry points, names, decorations."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.errors import InvalidModule
from vkgroup.spirv.grammar import grammar


@dataclass(slots=True)
class EntryPointDeclaration:
    """An `OpEntryPoint` with its execution modes by name."""

    id: int
    execution_model: str
    name: str
    interface: tuple[int, ...]
    modes: dict[str, tuple[int, ...]] = field(default_factory=dict)


Decorations = dict[str, tuple[int, ...]]


class Annotations:
    """The declarations before the types, by the id that they refer to.

    Each method named after an instruction takes its words without the first.
    """

    def __init__(self, data: bytes) -> None:
        self.capabilities: set[str] = set()
        self.extensions: set[str] = set()
        self.extended_instruction_sets: set[str] = set()
        self.memory_model: tuple[str, str] = ("", "")
        self.entry_points: list[EntryPointDeclaration] = []
        self.names: dict[int, str] = {}
        self.member_names: dict[tuple[int, int], str] = {}
        self.decorations: dict[int, Decorations] = {}
        self.member_decorations: dict[tuple[int, int], Decorations] = {}
        self.sources: list[str] = []
        self._grammar = grammar()
        self._bytes = data
        self._position = 0

    def string(self, words: list[int], skip: int = 0) -> tuple[str, int]:
        """Return the literal that starts `skip` words in, and the number of words up to its end."""
        first = 4 * (self._position + 1 + skip)
        raw = self._bytes[first : 4 * (self._position + 1 + len(words))]
        end = raw.find(b"\0")
        if end < 0:
            raise InvalidModule(f"a string without end at word {self._position}")
        return raw[:end].decode("utf-8", "replace"), skip + end // 4 + 1

    # Module level ------------------------------------------------------------------------------

    def _capability(self, words: list[int]) -> None:
        self.capabilities.add(self._grammar.enumerant("Capability", words[0]))

    def _extension(self, words: list[int]) -> None:
        self.extensions.add(self.string(words)[0])

    def _extended_instructions(self, words: list[int]) -> None:
        self.extended_instruction_sets.add(self.string(words, 1)[0])

    def _memory_model(self, words: list[int]) -> None:
        self.memory_model = (
            self._grammar.enumerant("AddressingModel", words[0]),
            self._grammar.enumerant("MemoryModel", words[1]),
        )

    def _entry_point(self, words: list[int]) -> None:
        name, end = self.string(words, 2)
        model = self._grammar.enumerant("ExecutionModel", words[0])
        self.entry_points.append(EntryPointDeclaration(words[1], model, name, tuple(words[end:])))

    def _execution_mode(self, words: list[int]) -> None:
        mode = self._grammar.enumerant("ExecutionMode", words[1])
        for entry in self.entry_points:
            if entry.id == words[0]:
                entry.modes[mode] = tuple(words[2:])

    def _source(self, words: list[int]) -> None:
        self.sources.append(self.string(words, 3)[0] if len(words) > 3 else "")

    def _source_continued(self, words: list[int]) -> None:
        if self.sources:
            self.sources[-1] += self.string(words)[0]

    # Names and decorations ---------------------------------------------------------------------

    def _name(self, words: list[int]) -> None:
        self.names[words[0]] = self.string(words, 1)[0]

    def _member_name(self, words: list[int]) -> None:
        self.member_names[words[0], words[1]] = self.string(words, 2)[0]

    def _decorate(self, words: list[int]) -> None:
        decoration = self._grammar.enumerant("Decoration", words[1])
        self.decorations.setdefault(words[0], {})[decoration] = tuple(words[2:])

    def _member_decorate(self, words: list[int]) -> None:
        decoration = self._grammar.enumerant("Decoration", words[2])
        self.member_decorations.setdefault((words[0], words[1]), {})[decoration] = tuple(words[3:])

    def _group_decorate(self, words: list[int]) -> None:
        group = self.decorations.get(words[0], {})
        for target in words[1:]:
            self.decorations.setdefault(target, {}).update(group)

    def _group_member_decorate(self, words: list[int]) -> None:
        group = self.decorations.get(words[0], {})
        for target, member in zip(words[1::2], words[2::2], strict=False):
            self.member_decorations.setdefault((target, member), {}).update(group)

    def decoration(self, identifier: int, name: str) -> int | None:
        """Return the literal of a decoration such as ``"Binding"``; None without it."""
        literals = self.decorations.get(identifier, {}).get(name)
        return literals[0] if literals else None
