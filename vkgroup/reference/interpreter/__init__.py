"""SPIR-V interpreter in NumPy; it executes all invocations of some workgroups at once."""

from __future__ import annotations

from vkgroup.reference.events import Event, EventCause, Invocation
from vkgroup.reference.interpreter.execution.execute import ExecutionOutcome, execute
from vkgroup.reference.interpreter.execution.observers import ExecutedInstruction
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.memory import Memory

__all__ = [
    "Event",
    "EventCause",
    "ExecutableShader",
    "ExecutedInstruction",
    "ExecutionOutcome",
    "Invocation",
    "Memory",
    "execute",
]
