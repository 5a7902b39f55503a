"""Preamble of a module: capabilities, entry points, names, decorations, sources; it precedes the types."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.spirv.binary import Binary
from vkgroup.spirv.grammar import grammar

PREAMBLE = (
    *("OpCapability", "OpExtension", "OpExtInstImport", "OpMemoryModel", "OpEntryPoint", "OpExecutionMode"),
    *("OpExecutionModeId", "OpSource", "OpSourceContinued", "OpName", "OpMemberName", "OpDecorate"),
    *("OpDecorateId", "OpMemberDecorate", "OpGroupDecorate", "OpGroupMemberDecorate"),
)
"""Instructions that `ModulePreamble` reads."""

_HEAPS = (
    "The module takes its descriptors from descriptor heaps (capability DescriptorHeapEXT of"
    " SPV_EXT_descriptor_heap: ResourceHeapEXT, SamplerHeapEXT, OpBufferPointerEXT). vkgroup binds descriptor"
    " sets. Compile the shader without heaps, with a set and a binding for each resource:"
    " layout(set = 0, binding = 0)."
)

Decorations = dict[str, tuple[int, ...]]


@dataclass(slots=True)
class EntryPointDeclaration:
    """An `OpEntryPoint` with its execution modes by name."""

    id: int
    execution_model: str
    name: str
    interface: tuple[int, ...]
    modes: dict[str, tuple[int, ...]] = field(default_factory=dict)


class ModulePreamble:
    """The declarations before the types of a module, by the id that they apply to."""

    def __init__(self, module: Binary) -> None:
        self._bytes = module.to_bytes()
        self._enumerant = grammar().enumerant

    def _clear(self) -> None:
        self._position = 0  # first word of the current instruction
        self.capabilities: set[str] = set()
        self.extensions: set[str] = set()
        self.extended_sets: dict[int, str] = {}
        self.memory_model: tuple[str, str] = ("", "")
        self.entry_points: list[EntryPointDeclaration] = []
        self.names: dict[int, str] = {}
        self.member_names: dict[tuple[int, int], str] = {}
        self.decorations: dict[int, Decorations] = {}
        self.member_decorations: dict[tuple[int, int], Decorations] = {}
        self.sources: list[str] = []

    def decoration(self, identifier: int, name: str) -> int | None:
        """Return the literal of a decoration such as ``"Binding"``; None without it."""
        literals = self.decorations.get(identifier, {}).get(name)
        return literals[0] if literals else None

    def _string(self, words: list[int], skip: int = 0) -> tuple[str, int]:
        """Return the literal that starts `skip` words in, and the number of words up to its end."""
        first = 4 * (self._position + 1 + skip)
        raw = self._bytes[first : 4 * (self._position + 1 + len(words))]
        end = raw.find(b"\0")
        if end < 0:
            raise InvalidModule(f"an unterminated string at word {self._position}")
        return raw[:end].decode("utf-8", "replace"), skip + end // 4 + 1

    def _read_preamble(self, name: str, words: list[int]) -> None:
        """Read one instruction of `PREAMBLE`; the most frequent ones come first."""
        match name:
            case "OpName":
                self.names[words[0]] = self._string(words, 1)[0]
            case "OpMemberName":
                self.member_names[words[0], words[1]] = self._string(words, 2)[0]
            case "OpDecorate" | "OpDecorateId":
                decoration = self._enumerant("Decoration", words[1])
                self.decorations.setdefault(words[0], {})[decoration] = tuple(words[2:])
            case "OpMemberDecorate":
                decoration = self._enumerant("Decoration", words[2])
                self.member_decorations.setdefault((words[0], words[1]), {})[decoration] = tuple(words[3:])
            case "OpCapability":
                self.capabilities.add(self._enumerant("Capability", words[0]))
                if "DescriptorHeapEXT" in self.capabilities:
                    raise Unsupported(_HEAPS, ["descriptorHeap"])
            case "OpExtension":
                self.extensions.add(self._string(words)[0])
            case "OpExtInstImport":
                self.extended_sets[words[0]] = self._string(words, 1)[0]
            case "OpMemoryModel":
                addressing = self._enumerant("AddressingModel", words[0])
                self.memory_model = addressing, self._enumerant("MemoryModel", words[1])
            case "OpEntryPoint":
                entry, end = self._string(words, 2)
                model = self._enumerant("ExecutionModel", words[0])
                self.entry_points.append(EntryPointDeclaration(words[1], model, entry, tuple(words[end:])))
            case "OpExecutionMode" | "OpExecutionModeId":
                for entry_point in self.entry_points:
                    if entry_point.id == words[0]:
                        entry_point.modes[self._enumerant("ExecutionMode", words[1])] = tuple(words[2:])
            case "OpSource":
                self.sources.append(self._string(words, 3)[0] if len(words) > 3 else "")
            case "OpSourceContinued" if self.sources:
                self.sources[-1] += self._string(words)[0]
            case "OpGroupDecorate":
                for target in words[1:]:
                    self.decorations.setdefault(target, {}).update(self.decorations.get(words[0], {}))
            case "OpGroupMemberDecorate":
                for target, member in zip(words[1::2], words[2::2], strict=False):
                    group = self.decorations.get(words[0], {})
                    self.member_decorations.setdefault((target, member), {}).update(group)
