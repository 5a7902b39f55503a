"""Pointers of an inlined function: access chains known before execution, and pointers that are values.

A variable pointer is a value of two numbers: the number of a memory, 0 for the null pointer, and bytes from
its start. One in physical storage is its address.
"""

from __future__ import annotations

from dataclasses import replace

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.program.segments import ChainIndex, Op, PointerChain, Root, Segment
from vkgroup.reference.interpreter.program.variables import ModuleFacts, Slots, Variables
from vkgroup.spirv import Instruction, PointerType, Type, grammar
from vkgroup.spirv.chains import CHAINS, AccessChain, access_chain
from vkgroup.spirv.types import OpaqueType

_LARGEST_INDEX = 2**63 - 1
"""Constant indices are int64, as varying ones are; no array is that long."""

_WITHOUT_VALUE = CHAINS | {"OpVariable", "OpCopyObject", "OpImageTexelPointer", "OpFunctionParameter"}
"""Instructions whose result is a pointer that is known before execution."""

_MEMORY = ("buffer", "push", "shared", "address", "pointer")
"""Kinds of roots to which a value can point."""

_BY_VALUE = ("StorageBuffer", "Workgroup", "PhysicalStorageBuffer", "Uniform", "PushConstant")
"""Storage classes of pointers that are values."""


class FunctionValues:
    """The slots and the pointers of an inlined function by id."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        self.pointers: dict[int, PointerChain] = {}


class Pointers:
    """Makes the chain of each pointer of a program, and the values of those that are used as values."""

    def __init__(self, facts: ModuleFacts, variables: Variables, slots: Slots) -> None:
        self._facts, self._variables, self._slots = facts, variables, slots

    def is_known(self, entry: Instruction) -> bool:
        """Return whether a result is a pointer that is known before execution, and so has no slot."""
        return isinstance(self._facts.types.get(entry.result_id), PointerType) and (
            entry.name in _WITHOUT_VALUE
        )

    def find(self, identifier: int, names: FunctionValues) -> PointerChain | None:
        """Return the chain of a pointer that is known before execution; None for another id."""
        return names.pointers.get(identifier) or self._variables.pointers.get(identifier)

    def chain(self, identifier: int, names: FunctionValues) -> PointerChain:
        """Return the chain of a pointer."""
        chain = self.find(identifier, names)
        if chain is not None:
            return chain
        kind = self._facts.types.get(identifier)
        if not isinstance(kind, PointerType) or (kind.pointee is None and not kind.is_untyped):
            raise InvalidModule(f"%{identifier} is used as a pointer but is not a pointer")
        if kind.storage_class not in _BY_VALUE:
            raise Unsupported(
                f"The reference device does not support variables of storage class {kind.storage_class}.",
                [kind.storage_class],
            )
        chain = self._of_value(self._slots.of(identifier, names.slots), kind, kind.pointee)
        return replace(chain, non_uniform=self._is_non_uniform(identifier))

    def _is_non_uniform(self, identifier: int) -> bool:
        return "NonUniform" in self._facts.declared.decorations.get(identifier, {})

    def value(
        self,
        identifier: int,
        names: FunctionValues,
        segment: Segment,
        entry: Instruction,
        part: str = "pointer",
    ) -> int:
        """Return the slot of a value; for a known pointer, add the instruction that makes its value.

        `part`: ``"view"`` if the pointer is seen as another type only, as a chain from it.
        """
        chain = self.find(identifier, names)
        if chain is None:
            return self._slots.of(identifier, names.slots)
        if not chain.indices and chain.element is None and chain.root.kind in ("address", "pointer"):
            return chain.root.number
        if chain.root.kind not in _MEMORY:
            raise Unsupported(
                f"The reference device does not support {entry.name} of pointers to variables of storage"
                f" class {chain.root.storage_class}.",
                ["variablePointers"],
            )
        result = self._slots.new()
        copy = Instruction(
            grammar().opcodes["OpCopyObject"], "OpCopyObject", 0, identifier, (identifier,), entry.position
        )
        segment.ops.append(Op(copy, result, (), (chain,), part=part))
        return result

    def add_chain(self, entry: Instruction, names: FunctionValues, segment: Segment) -> None:
        """Add the pointer of an access chain; its base may need a value."""
        operands = access_chain(entry)
        assert operands is not None
        non_uniform = self._is_non_uniform(entry.result_id)
        indices = tuple(
            self._index(index, names, non_uniform=non_uniform and not operands.element)
            for index in operands.indices
        )
        base = self._base(operands, names, segment, entry)
        if operands.element:
            stride = self._facts.element_stride(operands)
            chain = PointerChain(base.root, indices, self._element(operands.element, names), stride)
        else:
            chain = PointerChain(base.root, (*base.indices, *indices), base.element, base.element_stride)
        kind = self._facts.types[entry.result_id]
        is_untyped = isinstance(kind, PointerType) and kind.is_untyped
        names.pointers[entry.result_id] = replace(
            chain, is_untyped=is_untyped, non_uniform=base.non_uniform or non_uniform
        )

    def _base(
        self, operands: AccessChain, names: FunctionValues, segment: Segment, entry: Instruction
    ) -> PointerChain:
        """Return the pointer from which an access chain starts, with the type that its indices walk through.

        Elements are counted, and other types are seen, from a value.
        """
        base = self.chain(operands.base, names)
        kind = self._facts.types[operands.base]
        assert isinstance(kind, PointerType)
        view = self._facts.declared.type(operands.base_type) if operands.base_type else None
        is_plain = not base.indices and base.element is None
        if not operands.element and (view is None or (is_plain and view == base.root.type)):
            return base
        if not operands.element and base.root.kind == "cell":
            raise Unsupported(
                "The reference device supports untyped pointers to buffers, push constants and shared memory"
                f" only, not to variables of storage class {base.root.storage_class}.",
                ["shaderUntypedPointers"],
            )
        slot = self.value(operands.base, names, segment, entry, "view")
        return replace(
            self._of_value(slot, kind, view or kind.pointee), non_uniform=self._is_non_uniform(operands.base)
        )

    def _of_value(self, slot: int, kind: PointerType, pointee: Type | None) -> PointerChain:
        form = "address" if kind.storage_class == "PhysicalStorageBuffer" else "pointer"
        root = Root(form, slot, pointee or _UNKNOWN, kind.storage_class)
        return PointerChain(root, is_untyped=kind.is_untyped)

    def _element(self, identifier: int, names: FunctionValues) -> ChainIndex:
        """Return the element of an OpPtrAccessChain, which "is treated as signed"."""
        value = self._facts.constants.get(identifier)
        if value is None:
            return self._index(identifier, names)
        return ChainIndex(int(value.data.view(f"i{value.data.itemsize}")[0]))

    def _index(self, identifier: int, names: FunctionValues, *, non_uniform: bool = False) -> ChainIndex:
        """Return an index of an access chain; `non_uniform` is true if the chain is decorated NonUniform."""
        value = self._facts.constants.get(identifier)
        if value is not None:
            return ChainIndex(min(int(value.data[0]), _LARGEST_INDEX))
        decorations = self._facts.declared.decorations.get(identifier, {})
        non_uniform = non_uniform or "NonUniform" in decorations
        return ChainIndex(self._slots.of(identifier, names.slots), is_slot=True, non_uniform=non_uniform)


_UNKNOWN = OpaqueType("an untyped pointer")
"""The type that a pointer without a type points to, until an access says it."""
