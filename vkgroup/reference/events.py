"""Events of an execution (undefined values, races, hangs), their causes, and the invocations they name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventCause:
    """Why a value is undefined, or depends on the order of atomics.

    Attributes
    ----------
    kind : such as ``"inactive_lane"``, ``"uninitialised"``, ``"shift"``; ``"order"`` for atomics.
    position : of the instruction that made it, as `Instruction.position`; -1 where none did.
    read : of shared memory that was not written: position of the load; otherwise -1.
    """

    kind: str
    detail: str
    position: int
    read: int = -1


REPORTED_ALREADY = frozenset({"race", "bounds"})
"""Kinds of causes that are events themselves: what follows from them is not reported again."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation of a dispatch: its workgroup, its index in it, its subgroup and its lane."""

    workgroup: tuple[int, int, int]
    local: tuple[int, int, int]
    subgroup: int
    lane: int


@dataclass(frozen=True, slots=True)
class VertexInvocation(Invocation):
    """One invocation of the vertex stage: its vertex and its instance."""

    vertex: int
    instance: int


@dataclass(frozen=True, slots=True)
class FragmentInvocation(Invocation):
    """One invocation of the fragment stage: gl_PrimitiveID, pixel, and sample.

    The sample is -1 where all samples of the pixel are shaded together; a helper was one from the start.
    """

    primitive: int
    x: int
    y: int
    sample: int
    is_helper: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that went wrong; the same thing in other invocations is counted, not repeated.

    Attributes
    ----------
    kind : ``"undefined"``, ``"race"``, ``"same_value"`` (a race of writes of the same value), ``"barrier"``,
        ``"hang"``, ``"bounds"`` or ``"abort"`` (OpAbortKHR is executed); in executions without fair
        progress ``"progress"`` (a loop waits for what has not started) or ``"occupancy"`` (for what has
        started and makes no progress).
    message : what happened, in a sentence.
    position : of the instruction where it shows, as `Instruction.position`; -1 where there is none.
    invocation : an example; None where it concerns none in particular.
    other_position, other_invocation : the other side of a race or of a write of the same value.
    memory : name of the buffer, image or variable; empty where it concerns none.
    offset : byte in that memory, of the example; -1 where there is none.
    cause : of an undefined value.
    count : how often it happened.
    """

    kind: str
    message: str
    position: int
    invocation: Invocation | None = None
    other_position: int = -1
    other_invocation: Invocation | None = None
    memory: str = ""
    offset: int = -1
    cause: EventCause | None = None
    count: int = 1

    @property
    def exceeds_memory(self) -> bool:
        """Whether an access is outside of a memory, which a larger one may contain; not of an array in it."""
        return self.kind == "bounds" and bool(self.memory) and self.offset >= 0

    @property
    def reason(self) -> str:
        """The kind of its cause; its own kind without one."""
        return self.cause.kind if self.cause is not None else self.kind

    @property
    def origin(self) -> int:
        """The position of its cause; its own if that is not known."""
        return self.cause.position if self.cause is not None and self.cause.position >= 0 else self.position
