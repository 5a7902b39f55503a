"""The SPIR-V interpreter: modules executed in NumPy, all invocations of some workgroups at once."""

from __future__ import annotations

from vkgroup.dispatch.events import Cause, Event, Invocation
from vkgroup.reference.interpreter.execute import Outcome, execute
from vkgroup.reference.interpreter.memory import Memory
from vkgroup.reference.interpreter.program import Program
from vkgroup.reference.interpreter.trace import Executed

__all__ = ["Cause", "Event", "Executed", "Invocation", "Memory", "Outcome", "Program", "execute"]
