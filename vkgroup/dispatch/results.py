"""Results of a run: arrays by binding, time, definedness, and events such as races and hangs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vkgroup.errors import InvalidDispatch

if TYPE_CHECKING:
    from vkgroup.dispatch.exported import RunConfiguration


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a value is undefined, or depends on the order of atomics.

    Attributes
    ----------
    kind : such as ``"inactive_lane"``, ``"uninitialised"``, ``"shift"``; ``"order"`` for atomics.
    position : of the instruction that made it, as `Instruction.position`; -1 where none did.
    """

    kind: str
    detail: str
    position: int


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
        ``"hang"`` or ``"bounds"``.
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
    cause: Cause | None = None
    count: int = 1


class ByBinding(Mapping[Any, Any]):
    """A mapping whose keys are bindings: by name, by number in set 0, or by (set, number)."""

    def __init__(self, values: Mapping[Any, Any], places: Mapping[Any, Any]) -> None:
        self._values, self._places = values, places

    def __getitem__(self, key: Any) -> Any:
        """Return the value of a binding by its name, its number in set 0, or (set, number)."""
        return self._values[key if key in self._values else self._places[key]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class RunResult(ByBinding):
    """Arrays that a run wrote: a mapping from a binding's name to its array.

    Where a binding has no name, its key is its number in set 0, or (set, number).

    Attributes
    ----------
    seconds : GPU time of one dispatch, on average; None if it was not measured, or the device has no
        timestamps.
    defined : for each array, under the same keys, a bool array of its shape: which elements the
        specifications define. None where the device cannot tell: only the reference device can.
    ordered : the same, without elements that depend on the order in which atomics ran.
    events : accesses out of bounds, races and others; only the reference device reports them.
    """

    _arguments: tuple[Any, ...] | None = None

    def __init__(
        self,
        arrays: Mapping[Any, Any],
        places: Mapping[Any, Any],
        seconds: float | None,
        *,
        defined: Mapping[Any, Any] | None = None,
        ordered: Mapping[Any, Any] | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        super().__init__(arrays, places)
        self.seconds = seconds
        self.defined = None if defined is None else ByBinding(defined, places)
        self.ordered = None if ordered is None else ByBinding(ordered, places)
        self.events = tuple(events)

    def of(self, *arguments: Any) -> RunResult:
        """Keep the arguments of `Device.run`, in the order of `RunConfiguration`, and return the result."""
        self._arguments = arguments
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the arguments: they may hold buffers of a device."""
        return {**self.__dict__, "_arguments": None}

    @property
    def configuration(self) -> RunConfiguration:
        """The shader, groups, constants and inputs of a `Device.run`; its method `save` writes them as JSON.

        The result keeps the arrays that the run was given, so their memory is freed with the result.

        Raises InvalidDispatch: the result is not of `Device.run`.
        """
        # Imported here, because most results are never asked for it.
        from vkgroup.dispatch.exported import RunConfiguration

        if self._arguments is None:
            raise InvalidDispatch(
                "Only a result of Device.run has a configuration. Arrays given to Device.submit may change"
                " after the call; use Device.run to save them."
            )
        return RunConfiguration(*self._arguments)

    def __repr__(self) -> str:
        return f"RunResult({self._values!r}, seconds={self.seconds!r})"
