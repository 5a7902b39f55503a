"""Trace: the steps of one workgroup around the one that a finding or an event is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vkgroup.reference.events import Event, Invocation
from vkgroup.reference.interpreter.execution.recorder import StepRecorder, window_around
from vkgroup.reference.interpreter.values.arrangement import Groups

Execute = Callable[[StepRecorder], Iterable[Event]]
"""Executes the dispatch with an observer, from the same contents each time; returns its events."""


@dataclass(frozen=True)
class Focus:
    """What a trace is to show.

    `workgroup`, `local`: an invocation by gl_WorkGroupID and gl_LocalInvocationID.
    `kind`, `position`, `message`: of an event, its kind, its origin, and its message or that of its cause.
    Empty and -1 for the start.
    `others`: positions of further instructions. Without such an event, the first step of the first of all
    these instructions that is executed.
    """

    workgroup: Groups = (0, 0, 0)
    local: Groups = (0, 0, 0)
    kind: str = ""
    position: int = -1
    others: tuple[int, ...] = ()
    message: str = ""

    @classmethod
    def of(cls, event: Event, who: Invocation) -> Focus:
        """Return the focus on an event in one of its invocations."""
        others, text = (event.other_position,), _text_of(event)
        return cls(who.workgroup, who.local, event.kind, event.origin, others, text)

    def is_of(self, event: Event) -> bool:
        """Return whether an event is the one that is to be shown."""
        return (
            event.kind == self.kind
            and self.position in (event.origin, event.position)
            and self.message in ("", _text_of(event))
            and (event.other_position < 0 or event.other_position in self.others)
        )


def _text_of(event: Event) -> str:
    """Return the message of an event's cause; its own without one."""
    return event.cause.detail if event.cause is not None else event.message


@dataclass(frozen=True)
class WorkgroupTrace:
    """The recorded steps of one workgroup.

    Attributes
    ----------
    focus : what was asked for.
    recorder : the steps, lanes and memories.
    step : number of the step to look at first.
    event : the event that the focus names; None if there is none.
    total : steps of the workgroup in the whole execution; the record may have fewer.
    """

    focus: Focus
    recorder: StepRecorder
    step: int
    event: Event | None
    total: int


def trace_workgroup(execute: Execute, focus: Focus) -> WorkgroupTrace:
    """Execute a dispatch twice, to find the step that a focus names and to record those around it."""
    counter = StepRecorder(focus.workgroup, local=focus.local, wanted=focus.is_of)
    events = execute(counter)
    step, event = counter.found or (-1, None)
    if event is None:
        # Some errors show only in what a memory holds at the end.
        event = next(filter(focus.is_of, events), None)
        at_end = counter.last_at.get(event.position, -1) if event is not None else -1
        executed = (counter.first_at.get(position) for position in (focus.position, *focus.others))
        step = at_end if at_end >= 0 else next((number for number in executed if number is not None), 0)
    recorder = StepRecorder(focus.workgroup, window_around(step), local=focus.local)
    execute(recorder)
    return WorkgroupTrace(focus, recorder, step, event, counter.count)
