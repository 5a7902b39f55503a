"""Segments: the instructions that invocations execute from one point of waiting to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkgroup.reference.interpreter.program.chains import Chain
from vkgroup.spirv import Instruction


@dataclass(slots=True)
class Label:
    """A target of branches; `number` is that of its segment, -1 until the segment exists."""

    number: int = -1


@dataclass(slots=True)
class Op:
    """An instruction of a segment.

    Attributes
    ----------
    instruction : as in the module.
    result : slot of its result; -1 without one.
    arguments : slot of each value operand; None for an operand that is a pointer.
    chains : pointer of each pointer operand, in order.
    cell : number of the variable that an OpVariable makes; -1 for other instructions.
    """

    instruction: Instruction
    result: int
    arguments: tuple[int | None, ...]
    chains: tuple[Chain, ...] = ()
    cell: int = -1

    @property
    def uses(self) -> list[int]:
        """The slots that it reads."""
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
    """The end of a segment.

    Attributes
    ----------
    kind : ``"jump"``, ``"branch"``, ``"switch"``, ``"exit"``, ``"discard"`` or ``"unreachable"``.
    instruction : that of the module; None where a segment was split.
    condition : slot of the condition or selector; -1 without one.
    edges : the branches: of a condition if true, then if false; of a switch in the order of `literals`, the
        default last.
    literals : of a switch.
    """

    kind: str
    instruction: Instruction | None = None
    condition: int = -1
    edges: tuple[Edge, ...] = ()
    literals: tuple[int, ...] = ()

    @property
    def uses(self) -> list[int]:
        """The slots that it reads."""
        slots = [self.condition] if self.condition >= 0 else []
        for edge in self.edges:
            slots += [source for _, source in edge.copies]
        return slots


@dataclass(slots=True)
class Segment:
    """Instructions that the active invocations execute one after the other.

    Attributes
    ----------
    number : its position in structured order.
    is_barrier : whether it starts with a barrier that all invocations of a workgroup must reach.
    is_loop : whether it is the header of a loop.
    position : of the block's first instruction in the module; -1 where it has none.
    """

    number: int
    ops: list[Op] = field(default_factory=list)
    terminator: Terminator = field(default_factory=lambda: Terminator("exit"))
    is_barrier: bool = False
    is_loop: bool = False
    position: int = -1
