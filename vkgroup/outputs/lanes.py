"""Values that each lane of a subgroup gives to a subgroup operation, and gets from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.findings import SourceLocations
from vkgroup.reference.interpreter.execution.recorder import GROUP_OPERATIONS, TracedValue
from vkgroup.reference.trace import WorkgroupTrace
from vkgroup.spirv import Instruction, grammar


@dataclass(frozen=True)
class LaneOperation:
    """One subgroup operation that a subgroup executes.

    Attributes
    ----------
    line, text : its line in the source, 0 if that is unknown; the text of the line.
    name : the instruction, as in ``"IAdd Reduce"``.
    present : which lanes of the subgroup have an invocation, (size,).
    active : which of them execute it, (size,).
    operands : the values of each operand, by lane; empty texts for lanes that do not execute it, and a
        question mark after those that are undefined.
    result : the values that it returns, by lane.
    """

    line: int
    text: str
    name: str
    present: npt.NDArray[np.bool_]
    active: npt.NDArray[np.bool_]
    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


def lane_operations(trace: WorkgroupTrace, subgroup: int = 0) -> Iterator[LaneOperation]:
    """Yield the operations of one subgroup of the workgroup, in the order in which it executes them."""
    recorder = trace.recorder
    machine = recorder.machine
    assert machine is not None
    module, size = machine.program.module, machine.arrangement.subgroup_size
    places = SourceLocations(module, "")
    present = np.zeros(size, np.bool_)
    present[recorder.lane[recorder.subgroup == subgroup]] = True
    for step in recorder.steps:
        entry = places.by_position[step.position]
        own = np.flatnonzero(recorder.subgroup[step.lanes] == subgroup)
        if not own.size or not entry.name.startswith(GROUP_OPERATIONS):
            continue
        lanes = recorder.lane[step.lanes[own]]
        active = np.zeros(size, np.bool_)
        active[lanes] = True
        place = places[step.position]
        columns = [_texts(value, len(step.lanes), own, lanes, size) for value in (*step.operands, step.value)]
        yield LaneOperation(
            place.line,
            place.text.strip(),
            _name_of(entry),
            present,
            active,
            tuple(columns[:-1]),
            columns[-1],
        )


def _texts(
    value: TracedValue, count: int, own: npt.NDArray[np.int64], lanes: npt.NDArray[np.int64], size: int
) -> tuple[str, ...]:
    """Return the values of a subgroup's lanes: of each the numbers of all leaves.

    `count`: invocations of the step. `own`: the places of the subgroup's invocations among them.
    """
    texts, undefined = [""] * size, value.undefined(count)
    for place, lane in zip(own.tolist(), lanes.tolist(), strict=True):
        numbers = [number_text(row[place % len(row)]) for leaf in value.data for row in leaf]
        text = numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})" if numbers else ""
        texts[lane] = f"{text}?" if undefined[place] else text
    return tuple(texts)


def number_text(number: Any) -> str:
    """Return a NumPy number as text, floats with six digits."""
    if number.dtype.kind == "b":
        return "true" if number else "false"
    return f"{number:.6g}" if number.dtype.kind == "f" else str(int(number))


_OPERATION = "GroupOperation"


def _name_of(entry: Instruction) -> str:
    """Return the name of an instruction, with its group operation."""
    name = entry.name.removeprefix("OpGroupNonUniform").removeprefix("Op")
    spec = grammar().instruction(entry.opcode)
    kinds = [operand.kind for operand in (spec.operands if spec else ())]
    if _OPERATION not in kinds:
        return name
    number = entry.operands[kinds.index(_OPERATION)]
    return f"{name} {grammar().enumerant(_OPERATION, number)}"
