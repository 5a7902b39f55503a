"""Events, with a count of equal ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vkgroup.reference.events import REPORTED_ALREADY, Event, Invocation
from vkgroup.reference.interpreter.values.value import CauseTable

_MOST_EVENTS = 10_000

LOCKSTEP = "; the result is right only if the subgroup runs in lockstep"
"""End of the message of a race between lanes of one subgroup."""


class EventLog:
    """Events of one dispatch.

    `causes`: the program's table.
    `invocation`: returns the invocation with a number in the dispatch.

    Attributes: `first`: number in the dispatch of the first invocation of the slice in execution.
    `reported`: every event when it was added, also one that has replaced another since.
    """

    def __init__(self, causes: CauseTable, invocation: Callable[[int], Invocation]) -> None:
        self._causes = causes
        self._invocation = invocation
        self._events: dict[tuple[object, ...], Event] = {}
        self._counts: dict[tuple[object, ...], int] = {}
        self.first = 0
        self.reported: list[Event] = []

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
        """Add an event, or increase the count of an equal one.

        A race between subgroups replaces an equal one between lanes of a subgroup.

        `lanes`: indices in the slice that starts at invocation `first`, (n,).
        `where`: (n,), flags of the invocations with the event.
        `offset`: (n,) bytes in `memory`.
        `other_position`, `other`: the other side of a race, `other` as a number in the dispatch.
        """
        count = int(np.count_nonzero(where))
        key = (kind, position, other_position, memory, cause)
        known = self._events.get(key)
        restricted = known is not None and known.message.endswith(LOCKSTEP) and not message.endswith(LOCKSTEP)
        if known is not None and not restricted:
            self._counts[key] += count
        elif restricted or len(self._events) < _MOST_EVENTS:
            example = int(np.argmax(where))
            place = -1 if offset is None else int(offset[example])
            before = self._counts.get(key, 0)
            self._add(key, message, self.first + int(lanes[example]), place, before + count, other)

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
        """Add an event of one invocation by its number in the dispatch; -1 for none."""
        key = (kind, position, -1, memory, cause)
        if key not in self._events:
            self._add(key, message, invocation, offset, count)

    def _add(
        self,
        key: tuple[str, int, int, str, int],
        message: str,
        invocation: int,
        offset: int,
        count: int,
        other: int = -1,
    ) -> None:
        """Add the first event with a key; `invocation` and `other` are numbers in the dispatch, or -1."""
        kind, position, other_position, memory, number = key
        cause = self._causes[number] if number else None
        if kind == "undefined" and cause is not None and cause.kind in REPORTED_ALREADY:
            return
        self._counts[key] = count
        event = self._events[key] = Event(
            kind,
            message,
            position,
            self._invocation(invocation) if invocation >= 0 else None,
            other_position,
            self._invocation(other) if other >= 0 else None,
            memory,
            offset,
            cause,
        )
        self.reported.append(event)

    def events(self) -> tuple[Event, ...]:
        """Return all events in the order of their first occurrence."""
        return tuple(replace(event, count=self._counts[key]) for key, event in self._events.items())
