"""Observations: events, counted where they are equal, and traces of chosen invocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.events import REPORTED_ALREADY, Event, Invocation
from vkgroup.reference.interpreter.values.arrangement import Groups
from vkgroup.reference.interpreter.values.value import CauseTable, Value

_MOST_EVENTS = 10_000


@dataclass(slots=True)
class _Entry:
    kind: str
    message: str
    position: int
    lane: int
    other_position: int
    other: int
    memory: str
    offset: int
    cause: int
    count: int


class EventLog:
    """Events of one dispatch.

    Parameters
    ----------
    causes : the program's table.
    invocation : returns the invocation with a number in the dispatch.
    """

    def __init__(self, causes: CauseTable, invocation: Callable[[int], Invocation]) -> None:
        self._causes = causes
        self._invocation = invocation
        self._entries: dict[tuple[object, ...], _Entry] = {}
        self.first = 0

    def add(
        self,
        kind: str,
        position: int,
        lanes: npt.NDArray[np.int64],
        where: npt.NDArray[np.bool_],
        message: str,
        *,
        memory: str = "",
        offset: npt.NDArray[np.int64] | None = None,
        cause: int = 0,
        other_position: int = -1,
        other: int = -1,
    ) -> None:
        """Add an event, or count it where an equal one exists.

        Parameters
        ----------
        lanes : indices in the slice that starts at invocation `first`, (n,).
        where : (n,), flags of those in which the event happened.
        offset : (n,) bytes in `memory`.
        other_position, other : the other side of a race, `other` as a number in the dispatch.
        """
        if kind == "undefined" and cause and self._causes[cause].kind in REPORTED_ALREADY:
            return
        count = int(np.count_nonzero(where))
        key = (kind, position, other_position, memory, cause)
        known = self._entries.get(key)
        if known is not None:
            known.count += count
            return
        if len(self._entries) >= _MOST_EVENTS:
            return
        example = int(np.argmax(where))
        self._entries[key] = _Entry(
            kind,
            message,
            position,
            self.first + int(lanes[example]),
            other_position,
            other,
            memory,
            -1 if offset is None else int(offset[example]),
            cause,
            count,
        )

    def add_one(
        self,
        kind: str,
        position: int,
        invocation: int,
        message: str,
        *,
        memory: str,
        offset: int,
        cause: int,
        count: int,
    ) -> None:
        """Add an event of one invocation, a number in the dispatch; -1 for none."""
        if kind == "undefined" and cause and self._causes[cause].kind in REPORTED_ALREADY:
            return
        key = (kind, position, -1, memory, cause)
        if key not in self._entries:
            self._entries[key] = _Entry(
                kind, message, position, invocation, -1, -1, memory, offset, cause, count
            )

    def events(self) -> tuple[Event, ...]:
        """Return all events in the order of their first occurrence."""
        return tuple(self._event(entry) for entry in self._entries.values())

    def _event(self, entry: _Entry) -> Event:
        return Event(
            entry.kind,
            entry.message,
            entry.position,
            self._invocation(entry.lane) if entry.lane >= 0 else None,
            entry.other_position,
            self._invocation(entry.other) if entry.other >= 0 else None,
            entry.memory,
            entry.offset,
            self._causes[entry.cause] if entry.cause else None,
            entry.count,
        )


@dataclass(frozen=True, slots=True)
class Executed:
    """One instruction that an invocation executed.

    Attributes
    ----------
    position : of the instruction in the module.
    value : its result, or the value that it stored, as plain numbers; None where it has neither.
    """

    position: int
    value: tuple[Any, ...] | None


@dataclass
class Trace:
    """Records the instructions of chosen invocations.

    Attributes
    ----------
    watched : workgroup and local id of each, by its number in the dispatch.
    executed : the instructions that each has executed.
    """

    watched: dict[int, tuple[Groups, Groups]]
    executed: dict[tuple[Groups, Groups], list[Executed]] = field(default_factory=dict)

    def watched_among(self, numbers: npt.NDArray[np.int64]) -> dict[tuple[Groups, Groups], int]:
        """Return the watched invocations among some, whose numbers ascend, with their indices there."""
        return {
            name: int(np.searchsorted(numbers, number))
            for number, name in self.watched.items()
            if number in numbers
        }

    def record(self, name: tuple[Groups, Groups], position: int, value: Value | None, lane: int) -> None:
        """Record an executed instruction, and all numbers of its value in invocation `lane`."""
        numbers: list[Any] = []
        for leaf in value.leaves if value is not None else ():
            numbers += np.asarray(leaf[..., 0 if leaf.shape[-1] == 1 else lane]).reshape(-1).tolist()
        result = None if value is None else tuple(numbers)
        self.executed.setdefault(name, []).append(Executed(position, result))
