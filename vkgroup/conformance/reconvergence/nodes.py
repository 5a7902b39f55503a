"""A program that parts and joins invocations, as a tree: conditions, statements, functions.

Nothing here knows how a program is made, written as GLSL, or simulated. All that decides where an invocation
goes is its lane, its subgroup, its index, its word of data, or who is there with it (`Elect`, `Vote`); what
`Work` computes decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any


class Promise(Enum):
    """What a program counts on, from most to least.

    MAXIMAL : invocations are together again as soon as the structure allows (SPV_KHR_maximal_reconvergence).
    SUBGROUP : a subgroup that enters a construct whole, and leaves it at its merge block, is whole again
        (SPV_KHR_subgroup_uniform_control_flow).
    WORKGROUP : the same of a whole workgroup only (SPIR-V 2.2, "Uniform Control Flow").
    """

    MAXIMAL = "maximal"
    SUBGROUP = "subgroup"
    WORKGROUP = "workgroup"


# Conditions


@dataclass(frozen=True)
class LaneIn:
    """Whether the lane's bit of a constant of 128 bits is set."""

    mask: int


@dataclass(frozen=True)
class DataBit:
    """Whether a bit of the invocation's word of data is set."""

    bit: int


@dataclass(frozen=True)
class IndexFrom:
    """Whether gl_LocalInvocationIndex is at least a number."""

    index: int


@dataclass(frozen=True)
class SubgroupOdd:
    """Whether gl_SubgroupID is odd."""


@dataclass(frozen=True)
class Uniform:
    """True or false for everybody, as memory says."""

    value: bool


@dataclass(frozen=True)
class TripIs:
    """Whether the counter of a loop around has a value; None: that of the lane."""

    loop: int
    value: int | None = None


@dataclass(frozen=True)
class Elect:
    """subgroupElect()."""


@dataclass(frozen=True)
class Vote:
    """Whether a condition holds for any, or for all, of those who are together, as ballots tell."""

    every: bool
    condition: Condition


@dataclass(frozen=True)
class Not:
    """The contrary."""

    condition: Condition


Condition = LaneIn | DataBit | IndexFrom | SubgroupOdd | Uniform | TripIs | Elect | Vote | Not


def communicates(condition: Condition) -> bool:
    """Whether the answer depends on who is together."""
    if isinstance(condition, Not):
        return communicates(condition.condition)
    return isinstance(condition, Elect | Vote)


# Numbers: of trips, and for switches


@dataclass(frozen=True)
class Fixed:
    """A number, read from memory."""

    value: int


@dataclass(frozen=True)
class OfLane:
    """``base + lane % modulus``"""

    modulus: int
    base: int = 0


@dataclass(frozen=True)
class OfData:
    """Two bits of the invocation's word of data."""

    shift: int


@dataclass(frozen=True)
class OfSubgroup:
    """``gl_SubgroupID % modulus``"""

    modulus: int


@dataclass(frozen=True)
class OfTrip:
    """The counter of a loop around."""

    loop: int


Number = Fixed | OfLane | OfData | OfSubgroup | OfTrip


# Statements


@dataclass(frozen=True)
class Observe:
    """Record who is here.

    Attributes
    ----------
    place : its number in the program.
    loose : nothing says how often an invocation comes here: how others were elected decides. Not compared.
    """

    place: int
    loose: bool = False


@dataclass(frozen=True)
class Work:
    """Something without an effect on where anybody goes; `kind` is a key of `WORK`."""

    kind: str


@dataclass(frozen=True)
class If:
    """A selection.

    Attributes
    ----------
    loose : nothing says who takes which way; all come to the end.
    """

    condition: Condition
    then: Block
    otherwise: Block = ()
    loose: bool = False


@dataclass(frozen=True)
class Loop:
    """A loop.

    Attributes
    ----------
    number : of its counter, which begins at 0; in "while" and "do" it is raised before the body, in the
        others behind it.
    form : ``"for"``, ``"while"``, ``"do"``; ``"endless"``, which has no condition and is left by a break
        between `body` and `rest`; ``"elect"``, in which the elected one leaves there.
    trips : how many; of "elect" loops None.
    body : what each trip does; in endless and elect loops the part before the exit.
    rest : in these the part behind it.
    farewell : in elect loops what the elected one does before it leaves.
    exit : in elect loops ``"break"`` or ``"return"``.
    between : the place of an observation where the loop continues (in "for", endless and elect loops).
    loose : nothing says how many trips an invocation makes; all come to the end, or return.
    """

    number: int
    form: str
    trips: Number | None
    body: Block
    rest: Block = ()
    farewell: Block = ()
    exit: str = "break"
    between: Observe | None = None
    loose: bool = False


@dataclass(frozen=True)
class Case:
    """A part of a switch: its labels (and ``default``), and whether it falls through into the next."""

    labels: tuple[int, ...]
    body: Block
    default: bool = False
    falls: bool = False


@dataclass(frozen=True)
class Switch:
    """A switch."""

    selector: Number
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Leave:
    """``break``, ``continue`` or ``return``."""

    kind: str


@dataclass(frozen=True)
class Call:
    """Call the function of this number."""

    function: int


Statement = Observe | Work | If | Loop | Switch | Leave | Call
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class Program:
    """A whole program and the shape of its dispatch.

    Attributes
    ----------
    seed : of the program and its data.
    promise : what it counts on.
    elect : whether observations record subgroupElect(), instead of subgroupBallot(true).
    local_size : invocations of a workgroup in x, y and z.
    groups : workgroups.
    functions : bodies; each calls only those before it.
    body : of ``main``.
    """

    seed: int
    promise: Promise
    elect: bool
    local_size: tuple[int, int, int]
    groups: int
    functions: tuple[Block, ...]
    body: Block

    @property
    def local_invocations(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.local_size
        return x * y * z

    @property
    def invocations(self) -> int:
        """Invocations of the dispatch."""
        return self.groups * self.local_invocations


def walk(node: Any) -> Iterator[Any]:
    """Yield a node (or every node of a tuple) and everything in it, parents first."""
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif hasattr(node, "__dataclass_fields__"):
        yield node
        for field in fields(node):
            yield from walk(getattr(node, field.name))
