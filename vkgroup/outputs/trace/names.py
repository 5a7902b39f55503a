"""Names of the values that instructions make, load or store, as the source writes them."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from vkgroup.check.fields import interface_name, member_names
from vkgroup.check.findings import SourceLocations
from vkgroup.spirv import (
    ArrayType,
    Instruction,
    MatrixType,
    Module,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from vkgroup.spirv.chains import STORES, VARIABLES, access_chain

_LOADS = ("OpLoad", "OpCopyMemory")


def _element_of(kind: Type | None) -> Type | None:
    """Return the type of the elements of an array or the columns of a matrix; None for another type."""
    if isinstance(kind, ArrayType):
        return kind.element
    return kind.column if isinstance(kind, MatrixType) else None


class ValueNames:
    """The names of values by the position of the instruction, and those of its variables."""

    def __init__(self, module: Module, places: SourceLocations) -> None:
        self._names, self._declared = dict(places.lines.names), module.declarations
        own = [
            entry
            for entry in module.instructions
            if entry.name == "OpVariable" and entry.result_id in self._names
        ]
        counts = Counter(self._names[entry.result_id] for entry in own)
        for entry in own:
            # Variables of different functions may have one name.
            if counts[name := self._names[entry.result_id]] > 1 and (line := places[entry.position].line):
                self._names[entry.result_id] = f"{name} of line {line}"
        self._by_id = {entry.result_id: entry for entry in module.instructions if entry.result_id}
        self._by_position = places.by_position

    def __getitem__(self, position: int) -> str:
        """Return the name of what an instruction makes, loads or stores; empty if it has none."""
        entry = self._by_position.get(position)
        if entry is None or not entry.operands:
            return ""
        if entry.name in STORES or entry.name in _LOADS or entry.name.startswith("OpAtomic"):
            return self._pointer(entry.operands[0])
        return "" if entry.name in VARIABLES else self._names.get(entry.result_id, "")

    @cached_property
    def _types(self) -> dict[int, Type]:
        """The type that each variable points to."""
        types = self._declared.types
        pointers = {result: types.get(entry.result_type) for result, entry in self._by_id.items()}
        return {
            result: kind.pointee
            for result, kind in pointers.items()
            if isinstance(kind, PointerType) and kind.pointee is not None
        }

    def _pointer(self, identifier: int) -> str:
        entry = self._by_id.get(identifier)
        chain = access_chain(entry) if entry is not None else None
        if chain is None:
            return interface_name(self._names.get(identifier, ""))
        text, kind = self._pointer(chain.base), self._types.get(chain.base)
        for index in chain.indices:
            if isinstance(kind, StructType):
                member = self._number(index) or 0
                word = member_names(kind, text)[member]
                text = f"{text}.{word}" if text and word != text else word
                kind = kind.members[member].type
            elif isinstance(kind, VectorType) and (number := self._number(index)) is not None and number < 4:
                text = f"{text}.{'xyzw'[number]}"
            else:
                text = f"{text}[{self._index(index)}]"
                kind = _element_of(kind)
        return text

    def _number(self, identifier: int) -> int | None:
        constant = self._declared.constants.get(identifier)
        value = constant.value if constant is not None else None
        return value if isinstance(value, int) else None

    def _index(self, identifier: int) -> str:
        """Return an index as text: a number, the variable that was loaded, or "…"."""
        if (number := self._number(identifier)) is not None:
            return str(number)
        entry: Instruction | None = self._by_id.get(identifier)
        if entry is not None and entry.name == "OpLoad":
            return self._pointer(entry.operands[0]) or "…"
        return self._names.get(identifier, "") or "…"
