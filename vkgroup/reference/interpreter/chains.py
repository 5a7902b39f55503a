"""Pointers: a variable or an address, and the way into it, known before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.errors import InvalidModule
from vkgroup.reference.interpreter import layout
from vkgroup.reference.interpreter.layout import Placed
from vkgroup.reference.interpreter.values import leaves_of, member_leaves
from vkgroup.spirv import ArrayType, CooperativeMatrixType, MatrixType, StructType, Type, VectorType


@dataclass(frozen=True, slots=True)
class Root:
    """Where a pointer begins.

    Attributes
    ----------
    kind : ``"cell"`` (a variable of each invocation), ``"buffer"``, ``"push"``, ``"shared"``,
        ``"resource"`` (images and samplers), ``"texel"`` (of an image) or ``"address"`` (physical storage).
    number : of the cell; id of the variable; slot of the texel or address.
    type : what is there.
    storage_class : SPIR-V's.
    """

    kind: str
    number: int
    type: Type
    storage_class: str


@dataclass(frozen=True, slots=True)
class Step:
    """One index of an access chain: a number, or the slot that holds it. It may be marked NonUniform."""

    number: int
    is_slot: bool = False
    non_uniform: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """A pointer: a root and the steps from it.

    Attributes
    ----------
    root, steps : where it begins, and the indices.
    element_step : an index before them, of the elements that lie one after the other from the root on
        (OpPtrAccessChain); None without one.
    element_stride : bytes from one of these elements to the next.
    """

    root: Root
    steps: tuple[Step, ...] = ()
    element_step: Step | None = None
    element_stride: int = 0

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots that hold what the pointer depends on."""
        found = [step.number for step in self.steps if step.is_slot]
        if self.element_step is not None and self.element_step.is_slot:
            found.append(self.element_step.number)
        if self.root.kind in ("address", "texel"):
            found.append(self.root.number)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CellPath:
    """A chain into a cell, resolved.

    Attributes
    ----------
    leaves : the cell's leaves that it reaches.
    steps : indices into their dims, with the number of elements to check each against.
    type : what is there.
    """

    leaves: slice
    steps: tuple[tuple[Step, int], ...]
    type: Type


def cell_path(chain: Chain) -> CellPath:
    """Resolve a chain into a cell."""
    kind: Type = chain.root.type
    leaves = slice(0, len(leaves_of(kind)))
    steps = []
    for step in chain.steps:
        if isinstance(kind, StructType):
            inside = member_leaves(kind, _constant(step))
            leaves = slice(leaves.start + inside.start, leaves.start + inside.stop)
            kind = kind.members[step.number].type
        elif isinstance(kind, ArrayType) and kind.length is not None:
            steps.append((step, kind.length))
            kind = kind.element
        elif isinstance(kind, MatrixType):
            steps.append((step, kind.columns))
            kind = kind.column
        elif isinstance(kind, VectorType):
            steps.append((step, kind.count))
            kind = kind.component
        elif isinstance(kind, CooperativeMatrixType):
            steps.append((step, kind.rows * kind.columns))
            kind = kind.component
        else:
            raise InvalidModule(f"an access chain goes into {kind.glsl}, which has no parts")
    return CellPath(leaves, tuple(steps), kind)


def _constant(step: Step) -> int:
    if step.is_slot:
        raise InvalidModule("a structure's member is chosen by an index that is no constant")
    return step.number


@dataclass(frozen=True, slots=True)
class MemoryPath:
    """A chain into memory, resolved.

    Attributes
    ----------
    descriptors : steps that choose among an array of descriptors, with the length of each dimension.
    offset : bytes of the constant steps together.
    scaled : for each varying step its stride, and the number of elements to check it against (None: as
        many as the memory holds from `offset` on).
    placed : what is there.
    """

    descriptors: tuple[tuple[Step, int], ...]
    offset: int
    scaled: tuple[tuple[Step, int, int | None], ...]
    placed: Placed


_NEAR = 1 << 31
"""What multiplied by any stride is still a number of 64 bits."""


def memory_path(chain: Chain, placed: Placed) -> MemoryPath:
    """Resolve a chain into memory; `placed` is the root's type with its layout."""
    descriptors: list[tuple[Step, int]] = []
    scaled: list[tuple[Step, int, int | None]] = []
    offset = 0
    steps = list(chain.steps)
    if chain.root.kind in ("buffer", "resource"):
        while isinstance(placed.type, ArrayType):
            if not steps:
                break
            descriptors.append((steps.pop(0), placed.type.length or 0))
            placed = Placed(placed.type.element)
    for step in steps:
        if isinstance(placed.type, StructType):
            start, placed = layout.member(placed, _constant(step))
            offset += start
        elif isinstance(placed.type, ArrayType | MatrixType | VectorType):
            stride, length, placed = layout.element(placed)
            if not step.is_slot and 0 <= step.number < (_NEAR if length is None else length):
                offset += stride * step.number
            else:
                scaled.append((step, stride, length))
        else:
            raise InvalidModule(f"an access chain goes into {placed.type.glsl}, which has no parts")
    return MemoryPath(tuple(descriptors), offset, tuple(scaled), placed)
