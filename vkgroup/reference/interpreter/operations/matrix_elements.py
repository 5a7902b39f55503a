"""Cooperative matrices: reductions, conversions of use, functions of elements, coordinates.

SPV_EXT_cooperative_matrix_maintenance1 and SPV_NV_cooperative_matrix2. A reduction, and an operation on each
element, is a loop in which every lane calls the function (`Inliner`); the functions here are its parts. Of
a reduction each lane has some jobs: the rows, columns or neighbourhoods that it reduces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.operations.cooperative_matrices import (
    gathered,
    incomplete,
    length_of,
    matrix_type,
    scattered,
)
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.matrix_rules import COLUMN, NEIGHBOURS, ROW
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    held,
    marked,
    single,
    spread,
    zeros,
)
from vkgroup.spirv import CooperativeMatrixType

Function = Callable[..., Value]
Indices = npt.NDArray[np.int64]

_REDUCE = "OpCooperativeMatrixReduceEXT"


# --- conversions and coordinates ----------------------------------------------------------------------


def convert_use(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixConvertUseEXT, or …ConvertNV: the elements stay the same."""
    dtype = held(matrix_type(site.type).component).dtype
    return lambda frame, matrix: single(
        matrix.data.view(dtype), combine(matrix.cause, incomplete(frame, site))
    )


def transpose(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixTransposeNV, and of the last part of a decorated conversion.

    The decoration is CooperativeMatrixTransposeEXT.
    """
    result = matrix_type(site.type)
    source = CooperativeMatrixType(result.component, result.scope, result.columns, result.rows, result.use)

    def run(frame: Frame, matrix: Value) -> Value:
        def turned(data: Data) -> Data:
            matrices = gathered(frame.subgroups, data, source)
            return scattered(frame.subgroups, np.ascontiguousarray(matrices.transpose(0, 2, 1)), result)

        cause = _causes(matrix)
        own = None if cause is None else turned(cause)
        return single(turned(matrix.data), combine(own, incomplete(frame, site)))

    return run


def coordinate(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixGetCoordinateEXT: row and column of a lane's component."""
    kind = matrix_type(site.operand_types[0])
    detail = "the index is not less than the number of components of the invocation"
    number = site.cause("cooperative_matrix", detail)

    def run(frame: Frame, matrix: Value, index: Value) -> Value:
        count = length_of(kind, frame.machine.arrangement.subgroup_size)
        indices = np.broadcast_to(index.data, (frame.count,)).astype(np.int64)
        outside = (indices < 0) | (indices >= count)
        row, column = _coordinates(frame, kind, np.where(outside, 0, indices))
        cause = marked(outside, number) if outside.any() else None
        return single(np.stack([row, column]).astype(np.uint32), combine(index.cause, cause))

    return run


def _causes(matrix: Value) -> Causes | None:
    """Return the causes of each element of a matrix."""
    return None if matrix.cause is None else spread(matrix.cause, matrix.data.shape[:-1])


def _coordinates(frame: Frame, kind: CooperativeMatrixType, index: Indices) -> tuple[Indices, Indices]:
    """Return row and column of a component of each lane, (n,)."""
    size = frame.machine.arrangement.subgroup_size
    return np.divmod(index * size + frame.machine.lane[frame.lanes.indices], kind.columns)


# --- reductions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Jobs:
    """The reductions of one matrix: `count` of `steps` elements each, by a Cooperative Matrix Reduce Mode.

    "This function should be mathematically commutative and associative", so any order of the elements
    is right. Here the first one depends on the size of the subgroup and on which invocations form it, which
    shows functions that are not.
    """

    mode: int
    source: CooperativeMatrixType
    result: CooperativeMatrixType

    @property
    def count(self) -> int:
        """The number of different results."""
        rows, columns = self.source.rows, self.source.columns
        return {ROW: rows, COLUMN: columns, NEIGHBOURS: rows * columns // 4}.get(self.mode, 1)

    @property
    def steps(self) -> int:
        """The number of elements of each result."""
        return self.source.rows * self.source.columns // self.count

    def each(self, size: int) -> int:
        """Return the number of jobs of a lane; a lane without a job repeats that of another one."""
        return -(-self.count // size)

    def dealt(self, frame: Frame, data: Data) -> Data:
        """Return the elements of each lane's jobs, (jobs * steps, n)."""
        subgroups = frame.subgroups
        # Zero where invocations form subgroups in order.
        first = subgroups.spread(frame.machine.local_index[frame.lanes.selector] % subgroups.size)[:, 0]
        matrices = gathered(subgroups, data, self.source)
        groups, rows, columns = matrices.shape
        if self.mode == COLUMN:
            matrices = matrices.transpose(0, 2, 1)
        elif self.mode == NEIGHBOURS:
            matrices = matrices.reshape(groups, rows // 2, 2, columns // 2, 2).transpose(0, 1, 3, 2, 4)
        order = (np.arange(self.steps) - first - subgroups.size.bit_length() + 1) % self.steps
        jobs = np.take_along_axis(matrices.reshape(groups, self.count, self.steps), order[:, None, :], axis=2)
        each = self.each(subgroups.size)
        job = np.arange(each)[None, :] * subgroups.size + np.arange(subgroups.size)[:, None]
        lanes = jobs[:, job % self.count]
        return subgroups.collect(lanes.reshape(groups, subgroups.size, -1), (each * self.steps,))

    def matrices(self, subgroups: Subgroups, data: Data) -> Data:
        """Return the result's components of lanes, (elements, n), from the results of jobs."""
        lanes = subgroups.spread(data)[:, :, :: self.steps]
        results = lanes.transpose(0, 2, 1).reshape(subgroups.rows, -1)[:, : self.count]
        shape = {ROW: (-1, 1), COLUMN: (1, -1), NEIGHBOURS: (self.result.rows, self.result.columns)}
        results = results.reshape(subgroups.rows, *shape.get(self.mode, (1, 1)))
        whole = np.broadcast_to(results, (subgroups.rows, self.result.rows, self.result.columns))
        return scattered(subgroups, np.ascontiguousarray(whole), self.result)


# --- parts of a loop that calls a function ------------------------------------------------------------


class _Calls:
    """The calls of an instruction: how many, and which elements each of them reads and writes."""

    def __init__(self, site: Site) -> None:
        self.kind = matrix_type(site.type)
        self.jobs: _Jobs | None = None
        if site.name == _REDUCE:
            self.jobs = _Jobs(site.literals[0], matrix_type(site.operand_types[0]), self.kind)

    def total(self, size: int) -> int:
        """Return the number of calls in each lane."""
        own = length_of(self.kind, size)
        return own if self.jobs is None else self.jobs.each(size) * (self.jobs.steps - 1)

    def target(self, count: Indices) -> Indices:
        """Return the number of the element that a call's result replaces."""
        steps = self.jobs.steps if self.jobs is not None else 1
        return count if self.jobs is None else count // (steps - 1) * steps

    def second(self, count: Indices) -> Indices:
        """Return the number of the element that a call of a reduction combines with the target."""
        assert self.jobs is not None
        return self.target(count) + 1 + count % (self.jobs.steps - 1)


def _number(frame: Frame, count: Value) -> Indices:
    return np.broadcast_to(count.data, (frame.count,)).astype(np.int64)


def _at(frame: Frame, matrix: Value, index: Indices) -> Value:
    """Return one element of each lane."""
    lanes = np.arange(frame.count)
    data = np.broadcast_to(matrix.data, (len(matrix.data), frame.count))
    cause = _causes(matrix)
    if cause is not None:
        cause = np.broadcast_to(cause, data.shape)[index, lanes]
    return single(data[index, lanes], cause)


def _begin(program: ProgramForm, op: Op, site: Site) -> Function:
    calls = _Calls(site)

    def run(frame: Frame, matrix: Value) -> Value:
        if calls.jobs is None:
            return zeros(calls.kind, frame.count)
        cause = _causes(matrix)
        dealt = None if cause is None else calls.jobs.dealt(frame, cause)
        return single(calls.jobs.dealt(frame, matrix.data), dealt)

    return run


def _more(program: ProgramForm, op: Op, site: Site) -> Function:
    calls = _Calls(site)
    return lambda frame, count: single(count.data < calls.total(frame.machine.arrangement.subgroup_size))


def _coordinate_part(axis: int) -> Callable[[ProgramForm, Op, Site], Function]:
    def factory(program: ProgramForm, op: Op, site: Site) -> Function:
        kind = matrix_type(site.type)
        return lambda frame, work, count: single(
            _coordinates(frame, kind, _number(frame, count))[axis].astype(np.uint32)
        )

    return factory


def _first(program: ProgramForm, op: Op, site: Site) -> Function:
    calls = _Calls(site)
    return lambda frame, work, count: _at(frame, work, calls.target(_number(frame, count)))


def _second(program: ProgramForm, op: Op, site: Site) -> Function:
    calls = _Calls(site)
    return lambda frame, work, count: _at(frame, work, calls.second(_number(frame, count)))


def _put(program: ProgramForm, op: Op, site: Site) -> Function:
    calls = _Calls(site)

    def run(frame: Frame, work: Value, count: Value, returned: Value) -> Value:
        index, lanes = calls.target(_number(frame, count)), np.arange(frame.count)
        data = work.data.copy()
        data[index, lanes] = returned.data
        before = _causes(work)
        if before is None and returned.cause is None:
            return single(data)
        cause = np.zeros(data.shape, np.uint16) if before is None else before.copy()
        cause[index, lanes] = 0 if returned.cause is None else returned.cause
        return single(data, cause)

    return run


def _end(program: ProgramForm, op: Op, site: Site) -> Function:
    calls = _Calls(site)

    def run(frame: Frame, work: Value) -> Value:
        data, cause = work.data, _causes(work)
        if calls.jobs is not None:
            data = calls.jobs.matrices(frame.subgroups, data)
            cause = None if cause is None else calls.jobs.matrices(frame.subgroups, cause)
        return single(data, combine(cause, incomplete(frame, site)))

    return run


MATRIX_ELEMENTS: dict[str, Callable[[ProgramForm, Op, Site], Function]] = {
    "OpCooperativeMatrixConvertUseEXT": convert_use,
    "OpCooperativeMatrixTransposeNV": transpose,
    "OpCooperativeMatrixGetCoordinateEXT": coordinate,
}
"""By name: the factory of an instruction's function, which takes a `Frame` before its operands."""

PARTS: dict[str, Callable[[ProgramForm, Op, Site], Function]] = {
    "transpose": transpose,
    "begin": _begin,
    "zero": lambda program, op, site: lambda frame: single(np.zeros(1, np.uint32)),
    "more": _more,
    "row": _coordinate_part(0),
    "column": _coordinate_part(1),
    "element": lambda program, op, site: (
        lambda frame, matrix, count: _at(frame, matrix, _number(frame, count))
    ),
    "first": _first,
    "second": _second,
    "put": _put,
    "next": lambda program, op, site: lambda frame, count: single(count.data + np.uint32(1)),
    "end": _end,
}
"""By `Op.part`: the same of the parts of instructions."""
