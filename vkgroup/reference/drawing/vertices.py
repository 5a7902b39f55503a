"""The vertex stage: one invocation for each vertex of each instance, in order, subgroup after subgroup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.reference.events import EventCause, VertexInvocation
from vkgroup.reference.interpreter.execution.execute import SLICE, Execution
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.program.interface import (
    Assembly,
    Component,
    Port,
    StageInputs,
    read_numbers,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.arrangement import StagePlacement
from vkgroup.reference.interpreter.values.value import HARD, Causes, CauseTable, Data, Value, single

Column = tuple[Data, Causes | None]
"""One number for every vertex, (n,), and its causes."""


@dataclass(frozen=True)
class VertexData:
    """The vertices of a draw."""

    #: By location, (vertices, components) of float32, int32 or uint32. Missing components are 0, 0 and 1.
    attributes: Mapping[int, npt.NDArray[Any]]
    count: int  # vertices of an instance; with indices, the number of indices
    #: The vertices of an instance in order; None for all of them in their order.
    indices: npt.NDArray[np.integer[Any]] | None = None
    instances: int = 1  # number of instances

    @property
    def total(self) -> int:
        """Invocations of the vertex stage."""
        return self.count * self.instances

    def index(self, number: int) -> int:
        """Return gl_VertexIndex of an invocation."""
        inside = number % self.count
        return inside if self.indices is None else int(self.indices[inside])


@dataclass(frozen=True)
class Shaded:
    """Outputs of the vertex stage, in every vertex of every instance."""

    columns: Mapping[Component, Column]  # numbers by location and component
    #: `position`, `point_size`, `clip`, `cull`: the built-in outputs: (n, 4), (n,), (n, distances) twice.
    position: npt.NDArray[np.float64]
    point_size: npt.NDArray[np.float64]
    clip: npt.NDArray[np.float64]
    cull: npt.NDArray[np.float64]
    undefined: Causes | None  # causes of the built-in outputs, (n,); None where all are defined


def invocation_of(data: VertexData, subgroup_size: int, number: int) -> VertexInvocation:
    """Return the vertex of an invocation of the stage."""
    return VertexInvocation(
        (0, 0, 0),
        (number, 0, 0),
        number // subgroup_size,
        number % subgroup_size,
        data.index(number),
        number // data.count,
    )


def shade(execution: Execution, data: VertexData, subgroup_size: int, *, points: bool) -> Shaded:
    """Run the vertex stage and return its outputs; `points` is true if the topology is points."""
    program = execution.program
    pieces: list[tuple[dict[Component, Column], dict[str, list[Column]]]] = []
    step = SLICE // subgroup_size * subgroup_size
    for first in range(0, data.total, step):
        number = np.arange(first, min(first + step, data.total))
        inside = number - first
        placement = StagePlacement(
            subgroup_size,
            inside // subgroup_size,
            inside % subgroup_size,
            first=first,
            first_subgroup=first // subgroup_size,
        )
        machine = execution.run(placement, placement.part, _inputs(program, data, number))
        columns: dict[Component, Column] = {}
        built_ins: dict[str, list[Column]] = {}
        for port in program.ports["Output"]:
            value = machine.cells[port.cell].read(machine.lanes)
            if port.built_in == "PointSize" and not points:
                continue
            if port.built_in:
                built_ins[port.built_in] = _built_in(port, value, len(number))
            elif port.location >= 0:
                for component, column in read_numbers(port, value).items():
                    columns[component] = _in_full(*column, len(number))
        pieces.append((columns, built_ins))
    columns = {component: _joined([piece[0][component] for piece in pieces]) for component in pieces[0][0]}
    return _shaded(
        columns,
        {
            name: [_joined([piece[1][name][row] for piece in pieces]) for row in range(len(rows))]
            for name, rows in pieces[0][1].items()
        },
        data.total,
        program,
    )


def _inputs(program: ExecutableShader, data: VertexData, number: npt.NDArray[np.int64]) -> StageInputs:
    inside = number % data.count
    index = inside if data.indices is None else np.asarray(data.indices, np.int64)[inside]
    variables: dict[int, Value] = {}
    for port in program.ports["Input"]:
        assembly = Assembly(port.type, len(number), 0)
        for entry in port.numbers():
            location, component = entry.component
            array = data.attributes[location]
            if component < array.shape[1]:
                assembly.put(entry, array[index, component], None)
            else:
                # Vulkan 1.4, "Vertex Input Extraction": missing components are 0, 0, 1.
                assembly.put(entry, np.array([int(component == 3)], array.dtype), None)
        variables[port.cell] = assembly.value()
    zero = single(np.zeros(1, np.int32))
    return StageInputs(
        {
            "VertexIndex": single(index.astype(np.int32)),
            "InstanceIndex": single((number // data.count).astype(np.int32)),
            "BaseVertex": zero,
            "BaseInstance": zero,
            "DrawIndex": zero,
        },
        variables,
    )


def _built_in(port: Port, value: Value, count: int) -> list[Column]:
    """Return the numbers of a built-in output: float, vector or array of floats."""
    data, cause = value.leaves[port.leaves.start], value.causes[port.leaves.start]
    flat = data.reshape(-1, data.shape[-1])
    if cause is not None:
        cause = np.broadcast_to(cause, (*data.shape[:-1], cause.shape[-1])).reshape(len(flat), -1)
    return [_in_full(row, None if cause is None else cause[number], count) for number, row in enumerate(flat)]


def _in_full(data: Data, cause: Causes | None, count: int) -> Column:
    return np.broadcast_to(data, (count,)), None if cause is None else np.broadcast_to(cause, (count,))


def _joined(columns: list[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    data = np.concatenate([column[0] for column in columns])
    if all(cause is None for _, cause in columns):
        return data, None
    return data, np.concatenate(
        [np.zeros(len(own), np.uint16) if cause is None else cause for own, cause in columns]
    )


def _shaded(
    columns: dict[Component, Column],
    built_ins: dict[str, list[Column]],
    count: int,
    program: ExecutableShader,
) -> Shaded:
    undefined: Causes | None = None
    rows: dict[str, list[Data]] = {}
    for name, outputs in built_ins.items():
        # glslang declares all of gl_PerVertex, even if a shader writes only the position.
        written = name == "Position" or any(cause is None or not cause.all() for _, cause in outputs)
        rows[name] = [data.astype(np.float64) for data, _ in outputs] if written else []
        for _, cause in outputs if written else ():
            if cause is not None and cause.any():
                undefined = cause if undefined is None else np.maximum(undefined, cause)
    if "Position" not in rows:
        number = Site("", None, (), (), (), (), -1, program.causes).cause(
            "uninitialised", "the vertex shader has no gl_Position"
        )
        undefined = np.full(count, number, np.uint16)
        rows["Position"] = [np.zeros(count)] * 4
    no_distances = np.zeros((count, 0))
    return Shaded(
        columns,
        np.stack(rows["Position"], axis=1),
        rows["PointSize"][0] if rows.get("PointSize") else np.ones(count),
        np.stack(rows["ClipDistance"], axis=1) if rows.get("ClipDistance") else no_distances,
        np.stack(rows["CullDistance"], axis=1) if rows.get("CullDistance") else no_distances,
        undefined,
    )


def carried(number: int, table: CauseTable, into: CauseTable) -> int:
    """Return the number of a cause of the vertex stage in the table of the fragment stage."""
    cause = table[number]
    return into.number(
        EventCause(cause.kind, f"in the vertex shader: {cause.detail}", -1), hard=number >= HARD
    )


def translated(
    columns: Mapping[Component, Column], table: CauseTable, into: CauseTable
) -> dict[Component, Column]:
    """Return outputs of the vertex stage with causes numbered in the table of the fragment stage."""
    result: dict[Component, Column] = {}
    for component, (data, cause) in columns.items():
        if cause is not None:
            numbers, inverse = np.unique(cause, return_inverse=True)
            others = [carried(number, table, into) if number else 0 for number in numbers.tolist()]
            cause = np.array(others, np.uint16)[inverse]
        result[component] = data, cause
    return result
