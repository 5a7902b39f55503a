"""State of execution as operations see it: narrow interfaces to frame, slice and the record of barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from vkgroup.reference.interpreter.operations.accessor import Accessor, Flags, Indices
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.program.interface import Interpolate
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.cells import Cell
from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.subgroups import Subgroups
from vkgroup.reference.interpreter.values.value import Causes, Value


class MemoryOrder(Protocol):
    """What barriers order, recorded while data races are searched for."""

    def workgroup_barrier(self, frame: Frame, kinds: frozenset[str]) -> None:
        """Record that some workgroups have met; the barrier itself orders `kinds` of memory."""

    def subgroup_barrier(self, frame: Frame, kinds: frozenset[str]) -> None:
        """Record that the active invocations of some subgroups have met."""

    def fence(self, frame: Frame, kinds: frozenset[str], *, acquire: bool, release: bool) -> None:
        """Record a memory barrier."""


class SliceState(Protocol):
    """The slice of a dispatch, or of a stage of a draw, that advances together."""

    @property
    def count(self) -> int:
        """The number of invocations."""

    @property
    def workgroups(self) -> int:
        """The number of workgroups."""

    @property
    def workgroup(self) -> Indices:
        """Workgroup of each invocation, counted in the slice."""

    @property
    def lane(self) -> Indices:
        """Lane of each invocation."""

    @property
    def subgroup_size(self) -> int:
        """Lanes of a subgroup."""

    @property
    def dispatch_size(self) -> int:
        """Invocations of the whole dispatch."""

    @property
    def cells(self) -> list[Cell]:
        """Variables of each invocation, by number."""

    @property
    def shared(self) -> dict[int, Memory]:
        """Shared variables by id; those of all workgroups lie one after the other."""

    @property
    def memories(self) -> dict[int, Any]:
        """Memories of a buffer variable by id; of a resource variable its first number and its count."""

    @property
    def push(self) -> Memory:
        """The push constants."""

    @property
    def addressable(self) -> list[Memory]:
        """Memories with an address, in ascending order."""

    @property
    def interpolate(self) -> Interpolate | None:
        """In the fragment stage the function of `StageInputs`; else None."""

    @property
    def has_derivatives(self) -> bool:
        """Whether invocations form quads between which values change."""

    @property
    def order(self) -> MemoryOrder | None:
        """The record of barriers while data races are searched for; else None."""

    def ticks(self) -> int:
        """Return the number of segments executed, for clocks."""

    def check_barrier(self, frame: Frame, site: Site) -> None:
        """Report a barrier of the workgroup that invocations which have ended never reach."""


class Frame(Accessor, Protocol):
    """The invocations that execute a segment, or one of its instructions, together."""

    @property
    def machine(self) -> SliceState:
        """The slice that the invocations belong to."""

    @property
    def lanes(self) -> LaneSet:
        """The invocations, by index in the slice."""

    @property
    def regs(self) -> list[Any]:
        """Value of each slot."""

    @property
    def subgroups(self) -> Subgroups:
        """The invocations arranged as subgroups."""

    @property
    def helpers(self) -> Flags | None:
        """Which of the invocations are helper invocations now, (n,); None where none is."""

    @property
    def control(self) -> Causes | None:
        """What is undefined about who executes this, (n,); None where nothing is."""

    @property
    def control_of_subgroups(self) -> Causes | None:
        """The same of all invocations of each one's subgroup, active here or not."""

    def subset(self, where: Flags) -> Frame:
        """Return a frame of those invocations whose flag, (n,), is true."""

    def resource(self, number: int) -> Any:
        """Return the resource of a number that an image or sampler value holds."""

    def demote(self) -> None:
        """Make the invocations helper invocations."""

    def controlled(self, value: Value) -> Value:
        """Return a value with the causes of `control` added."""

    def report_undefined(self, site: Site, cause: Causes | None, message: str) -> None:
        """Report that control flow or an address depends on undefined values; `cause` is (n,) or (1,)."""


Step = Callable[[Frame], None]
"""One instruction of a segment, ready to run."""
