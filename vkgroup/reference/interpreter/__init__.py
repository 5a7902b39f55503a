"""SPIR-V interpreter in NumPy; it executes all invocations of some workgroups at once."""

from __future__ import annotations

from vkgroup.reference.events import Cause, Event, Invocation
from vkgroup.reference.interpreter.execution.execute import Outcome, execute
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.event_log import Executed

__all__ = ["Cause", "Event", "Executed", "Invocation", "Memory", "Outcome", "Program", "execute"]
