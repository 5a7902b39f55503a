"""Segments: straight-line sequences of instructions that end with a branch or before a barrier.

Pointers are access chains: a root (a variable or an address) and indices into it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.base.errors import InvalidModule
from vkgroup.reference.interpreter.program.layout import LaidOutType, element_of, member_of
from vkgroup.reference.interpreter.values.value import leaves_of, member_leaves
from vkgroup.spirv import (
    ArrayType,
    CooperativeMatrixType,
    Instruction,
    MatrixType,
    StructType,
    Type,
    VectorType,
)


@dataclass(frozen=True, slots=True)
class Root:
    """The start of a pointer."""

    #: ``"cell"`` (a variable of each invocation), ``"buffer"``, ``"push"``, ``"shared"``, ``"resource"``
    #: (images and samplers), ``"texel"`` (of an image), ``"address"`` (physical storage) or ``"pointer"`` (a
    #: value).
    kind: str
    number: int  # number of the cell, id of the variable, or slot of the texel, address or pointer
    type: Type  # pointee type
    storage_class: str  # SPIR-V name


@dataclass(frozen=True, slots=True)
class ChainIndex:
    """One index of an access chain: a number, or the slot that holds it. It may be marked NonUniform."""

    number: int
    is_slot: bool = False
    non_uniform: bool = False


@dataclass(frozen=True, slots=True)
class PointerChain:
    """A pointer: a root and the indices from it."""

    root: Root  # the start
    indices: tuple[ChainIndex, ...] = ()  # members, array elements and components, outermost first
    #: Index of an OpPtrAccessChain: counts elements from the root, applied before `indices`; else None.
    element: ChainIndex | None = None
    element_stride: int = 0  # bytes between consecutive elements of that array
    #: Whether the pointer is decorated NonUniform: lanes may access different descriptors through it.
    non_uniform: bool = False
    #: Whether an access decides the type of what it points to (SPV_KHR_untyped_pointers).
    is_untyped: bool = False

    @property
    def slots(self) -> tuple[int, ...]:
        """Slots of the values on which the pointer depends."""
        slots = [index.number for index in self.indices if index.is_slot]
        if self.element is not None and self.element.is_slot:
            slots.append(self.element.number)
        if self.root.kind in ("address", "pointer", "texel"):
            slots.append(self.root.number)
        return tuple(slots)


@dataclass(frozen=True, slots=True)
class CellPath:
    """An access chain into a cell, resolved."""

    leaves: slice  # leaves of the cell that it reaches
    #: Indices into the leaves' dimensions, each with the number of elements for the bounds check.
    indices: tuple[tuple[ChainIndex, int], ...]
    type: Type  # pointee type


def cell_path(chain: PointerChain) -> CellPath:
    """Resolve an access chain into a cell."""
    kind: Type = chain.root.type
    leaves = slice(0, len(leaves_of(kind)))
    indices = []
    for index in chain.indices:
        if isinstance(kind, StructType):
            inside = member_leaves(kind, _member_number(index))
            leaves = slice(leaves.start + inside.start, leaves.start + inside.stop)
            kind = kind.members[index.number].type
        elif isinstance(kind, ArrayType) and kind.length is not None:
            indices.append((index, kind.length))
            kind = kind.element
        elif isinstance(kind, MatrixType):
            indices.append((index, kind.columns))
            kind = kind.column
        elif isinstance(kind, VectorType):
            indices.append((index, kind.count))
            kind = kind.component
        elif isinstance(kind, CooperativeMatrixType):
            indices.append((index, kind.rows * kind.columns))
            kind = kind.component
        else:
            raise InvalidModule(f"an access chain indexes {kind.glsl}, which is not a composite")
    return CellPath(leaves, tuple(indices), kind)


def _member_number(index: ChainIndex) -> int:
    if index.is_slot:
        raise InvalidModule("the index of a structure's member is not constant")
    return index.number


@dataclass(frozen=True, slots=True)
class MemoryPath:
    """An access chain into memory, resolved."""

    #: Indices that choose from an array of descriptors, each with the length of its dimension.
    descriptors: tuple[tuple[ChainIndex, int], ...]
    offset: int  # total byte offset of the constant indices
    #: Each varying index, its stride in bytes, and the number of elements for the bounds check (None: as many
    #: as fit into the memory after `offset`).
    scaled: tuple[tuple[ChainIndex, int, int | None], ...]
    target: LaidOutType  # pointee type with its layout
    arrays: tuple[ChainIndex, ...]  # those of the varying indices that choose elements of arrays


_SMALL_INDEX = 1 << 31
"""Any stride times an index below this limit fits into 64 bits."""


def memory_path(chain: PointerChain, root_type: LaidOutType) -> MemoryPath:
    """Resolve an access chain into memory; `root_type` is the root's type with its layout."""
    descriptors: list[tuple[ChainIndex, int]] = []
    scaled: list[tuple[ChainIndex, int, int | None]] = []
    arrays: list[ChainIndex] = []
    offset, target = 0, root_type
    indices = list(chain.indices)
    if chain.root.kind in ("buffer", "resource"):
        while isinstance(target.type, ArrayType) and indices:
            descriptors.append((indices.pop(0), target.type.length or 0))
            target = LaidOutType(target.type.element)
    for index in indices:
        if isinstance(target.type, StructType):
            start, target = member_of(target, _member_number(index))
            offset += start
        elif isinstance(target.type, ArrayType | MatrixType | VectorType):
            arrays += [index] if index.is_slot and isinstance(target.type, ArrayType) else []
            stride, length, target = element_of(target)
            if not index.is_slot and 0 <= index.number < (_SMALL_INDEX if length is None else length):
                offset += stride * index.number
            else:
                scaled.append((index, stride, length))
        else:
            raise InvalidModule(f"an access chain indexes {target.type.glsl}, which is not a composite")
    return MemoryPath(tuple(descriptors), offset, tuple(scaled), target, tuple(arrays))


@dataclass(slots=True)
class Label:
    """A branch target; `number` is the number of its segment, -1 until the segment exists."""

    number: int = -1


@dataclass(slots=True)
class Op:
    """An instruction of a segment."""

    instruction: Instruction  # as in the module
    result: int  # slot of its result; -1 without one
    arguments: tuple[int | None, ...]  # slot of each value operand; None for an operand that is a pointer
    chains: tuple[PointerChain, ...] = ()  # pointer of each pointer operand, in order
    cell: int = -1  # number of the variable that an OpVariable makes; -1 for other instructions
    #: Of an instruction that is executed in parts, as a loop that calls a function: the name of the part.
    #: ``"pointer"`` and ``"view"`` make the value of a pointer that is known before execution.
    part: str = ""

    @property
    def uses(self) -> list[int]:
        """Slots that are read."""
        slots = [slot for slot in self.arguments if slot is not None]
        for chain in self.chains:
            slots += chain.slots
        return slots


@dataclass(slots=True)
class Edge:
    """A branch to a segment, and the copies made on it: (slot of the phi, slot of its operand)."""

    target: Label
    copies: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Terminator:
    """The end of a segment."""

    #: ``"jump"``, ``"branch"``, ``"switch"``, ``"exit"``, ``"discard"``, ``"abort"`` or ``"unreachable"``.
    kind: str
    instruction: Instruction | None = None  # instruction of the module; None where a segment was split
    condition: int = -1  # slot of the condition or selector; -1 without one
    #: For a branch: the edge if true, then the edge if false. For a switch: the edges in the order of
    #: `literals`, then the default.
    edges: tuple[Edge, ...] = ()
    literals: tuple[int, ...] = ()  # case literals of a switch

    @property
    def uses(self) -> list[int]:
        """Slots that are read."""
        slots = [self.condition] if self.condition >= 0 else []
        for edge in self.edges:
            slots += [source for _, source in edge.copies]
        return slots


@dataclass(slots=True)
class Segment:
    """Instructions that the active invocations execute in order."""

    number: int  # its position in structured order
    ops: list[Op] = field(default_factory=list)
    terminator: Terminator = field(default_factory=lambda: Terminator("exit"))
    #: Whether it starts with a barrier that all invocations of a workgroup must reach.
    is_barrier: bool = False
    position: int = -1  # of the block's first instruction in the module; -1 where it has none
    #: Where invocations meet again that part at its end, or in the function called there: the merge block of
    #: a selection, or the segment after a call.
    merge: Label | None = None
    loop_merge: Label | None = None  # of the header of a loop: the merge block of the loop
    #: Whether the invocations that are here were together before, since they execute one instruction.
    rejoins: bool = False

    @property
    def is_loop(self) -> bool:
        """Whether it is the header of a loop."""
        return self.loop_merge is not None
