"""Cooperative matrices: loads, stores, products and lengths (SPV_KHR_cooperative_matrix).

"The mapping of components to invocations and indexes is implementation-dependent." Here element
``i * size + lane`` of a matrix, counted row by row, is the component `i` of a lane. Each invocation's value
has room for all elements of the matrix; components from the length on stay zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.reference import dtypes
from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.operations.memory import Memory, Offsets
from vkgroup.reference.interpreter.operations.references import in_workgroup, resolver
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.layout import end_of
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    held,
    leaves_of,
    marked,
    overall_cause,
    single,
)
from vkgroup.reference.semantics.cooperative import multiply_add
from vkgroup.reference.semantics.lanes import same_in_all
from vkgroup.spirv import CooperativeMatrixType, Type

Function = Callable[..., Value | None]

_SUBGROUP = 3
_COLUMN_MAJOR = 1
_SIGNED = {"a": 0x1, "b": 0x2, "c": 0x4, "result": 0x8}
_SATURATING = 0x10


def length(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixLengthKHR, whose operand is a type."""
    kind = matrix_type(program.declared.type(op.instruction.operands[0]))
    return lambda frame: single(
        np.array([length_of(kind, frame.machine.arrangement.subgroup_size)], np.uint32)
    )


def load(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixLoadKHR."""
    kind = matrix_type(site.type)
    (leaf,) = leaves_of(kind)
    access = _Access(program, op, site, kind, first=1)

    def run(frame: Frame, layout: Value, stride: Value) -> Value:
        data = np.zeros((*leaf.dims, frame.count), leaf.scalar.dtype)
        memory, offset, undefined = access.elements(frame, stride)
        components, cause = memory.load(frame, site, offset, leaf.scalar.dtype)
        data[: len(components)] = components
        full = None
        if cause is not None:
            full = np.zeros(data.shape, np.uint16)
            full[: len(components)] = cause
        return single(data, combine(full, undefined))

    return run


def store(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixStoreKHR."""
    access = _Access(program, op, site, matrix_type(site.operand_types[1]), first=2)

    def run(frame: Frame, value: Value, layout: Value, stride: Value) -> None:
        memory, offset, undefined = access.elements(frame, stride)
        cause = None if value.cause is None else _first(value.cause, len(offset))
        memory.store(
            frame, site, offset, _first(value.data, len(offset)), combine(cause, undefined, frame.control)
        )

    return run


def multiply(program: ProgramForm, op: Op, site: Site) -> Function:
    """Return the function of OpCooperativeMatrixMulAddKHR."""
    kinds = [matrix_type(kind) for kind in (*site.operand_types[:3], site.type)]
    flags = site.literals[0] if site.literals else 0
    operands = [_operand_dtype(kind, flags, name) for kind, name in zip(kinds, _SIGNED, strict=True)]
    detail = "A · B leaves the result's type, which saturating accumulation leaves undefined"
    number = site.cause("cooperative_matrix", detail)
    saturating = bool(flags & _SATURATING)
    # A result in an encoding that NumPy lacks is rounded once, from float64.
    encoding = kinds[3].component.kind
    narrow = encoding in dtypes.ENCODINGS
    wanted = np.dtype(np.float64) if narrow else operands[3]

    def run(frame: Frame, *values: Value) -> Value:
        subgroups = frame.subgroups
        a, b, c = (
            _numbers(gathered(subgroups, value.data, kind), kind, dtype)
            for value, kind, dtype in zip(values, kinds[:3], operands[:3], strict=True)
        )
        product = multiply_add(a, b, c, wanted, saturating=saturating)
        numbers = dtypes.encoded(encoding, product.value) if narrow else product.value
        data = scattered(subgroups, numbers.view(held(kinds[3].component).dtype), kinds[3])
        cause = None
        if not product.defined.all():
            cause = marked(~scattered(subgroups, product.defined, kinds[3]), number)
        carried = [_of_subgroup(frame, overall_cause(value)) for value in values]
        return single(data, combine(cause, *carried, incomplete(frame, site)))

    return run


# --- elements and invocations -------------------------------------------------------------------------


def matrix_type(kind: Type | None) -> CooperativeMatrixType:
    """Return the type of a matrix; raises Unsupported for another scope than the subgroup."""
    assert isinstance(kind, CooperativeMatrixType)
    if kind.scope != _SUBGROUP:
        raise Unsupported(
            f"The reference device has cooperative matrices of scope Subgroup, not of scope {kind.scope}.",
            ["cooperativeMatrixWorkgroupScope"],
        )
    return kind


def length_of(kind: CooperativeMatrixType, size: int) -> int:
    """Return the number of components of an invocation; every lane must hold the same number."""
    elements = kind.rows * kind.columns
    if elements % size:
        raise Unsupported(
            f"A cooperative matrix of {kind.rows} × {kind.columns} elements in subgroups of {size}: the"
            " reference device requires that every lane holds the same number of elements.",
            ["a listed cooperative matrix"],
        )
    return elements // size


def _first(data: Data, count: int) -> Data:
    return data if data.ndim < 2 else data[:count]


def gathered(subgroups: Subgroups, data: Data, kind: CooperativeMatrixType) -> Data:
    """Return matrices (subgroups, rows, columns) from the components of lanes, (elements, n or 1)."""
    components = subgroups.spread(data)[:, :, : kind.rows * kind.columns // subgroups.size]
    return components.transpose(0, 2, 1).reshape(subgroups.rows, kind.rows, kind.columns)


def scattered(subgroups: Subgroups, matrices: Data, kind: CooperativeMatrixType) -> Data:
    """Return the components of lanes, (elements, n), of matrices (subgroups, rows, columns)."""
    count = kind.rows * kind.columns
    spread = np.zeros((subgroups.rows, subgroups.size, count), matrices.dtype)
    dealt = matrices.reshape(subgroups.rows, count // subgroups.size, subgroups.size)
    spread[:, :, : dealt.shape[1]] = dealt.transpose(0, 2, 1)
    return subgroups.collect(spread, (count,))


class _Access:
    """The elements in memory of a load or a store.

    `first`: number of the layout among the operands; the stride follows.
    """

    def __init__(
        self, program: ProgramForm, op: Op, site: Site, kind: CooperativeMatrixType, *, first: int
    ) -> None:
        self._resolve, target = resolver(program, op.chains[0], site)
        root = op.chains[0].root
        self._is_shared = root.storage_class == "Workgroup"
        # Of a shared variable: the bytes that it uses of the copy of each workgroup.
        self._used = end_of(program.shared[root.number][1]) if root.kind == "shared" else 0
        self._site, self._kind = site, kind
        self._component = kind.component.size or 4
        self._unit = 1 if op.chains[0].is_untyped else target.type.size or self._component
        layout = site.constants[first]
        if layout is None or int(layout.data[0]) > _COLUMN_MAJOR:
            raise Unsupported(f"{site.name}: the layout is not row-major or column-major.", ["layout"])
        self._by_columns = int(layout.data[0]) == _COLUMN_MAJOR
        if len(op.arguments) <= first + 1:
            raise Unsupported(f"{site.name} without a stride.", ["Stride"])

    def elements(self, frame: Frame, stride: Value) -> tuple[Memory, Offsets, Causes | None]:
        """Return the memory, the byte offsets in it (length, n), and the causes of undefined offsets."""
        reference, *others = self._resolve(frame)
        if others:
            raise Unsupported(f"{self._site.name} from several buffers at once.", ["a uniform pointer"])
        size = frame.machine.arrangement.subgroup_size
        count = length_of(self._kind, size)
        element = np.arange(count)[:, None] * size + frame.machine.lane[frame.lanes.indices]
        row, column = np.divmod(element, self._kind.columns)
        major, minor = (column, row) if self._by_columns else (row, column)
        steps = stride.data.astype(np.int64) * self._unit
        offset = reference.offset + major * steps + minor * self._component
        cause = combine(reference.cause, stride.cause, incomplete(frame, self._site))
        cause = combine(cause, self._varying(frame, reference.offset, steps))
        if self._is_shared:
            offset = in_workgroup(frame, reference.memory, offset, self._component, self._used)
        return reference.memory, offset, cause

    def _varying(self, frame: Frame, *operands: npt.NDArray[np.int64]) -> Causes | None:
        """Return the causes where operands that must be uniform in a subgroup differ."""
        subgroups, causes = frame.subgroups, []
        for operand in operands:
            if len(operand) == 1:
                continue
            agree = same_in_all(subgroups.spread(operand), subgroups.active)
            if not agree.all():
                detail = f"{self._site.name} takes a pointer or a stride that differs between lanes"
                causes.append(_by_row(subgroups, ~agree, self._site.cause("not_uniform", detail)))
        return combine(*causes)


# --- causes -------------------------------------------------------------------------------------------


def _by_row(subgroups: Subgroups, rows: npt.NDArray[np.bool_], cause: int) -> Causes:
    """Return a cause in all lanes of some subgroups, (n,)."""
    causes = marked(rows, cause)[:, None, None]
    return subgroups.collect(np.broadcast_to(causes, (*subgroups.active.shape, 1)).copy(), ())


def incomplete(frame: Frame, site: Site) -> Causes | None:
    """Return the causes where a subgroup is partly active; all of its lanes must be active, or none."""
    subgroups = frame.subgroups
    whole = np.asarray(subgroups.active.all(axis=1))
    cause = frame.control_of_subgroups
    if whole.all():
        return cause
    detail = f"{site.name} is executed by a part of a subgroup"
    return combine(cause, _by_row(subgroups, ~whole, site.cause("cooperative_matrix", detail)))


def _of_subgroup(frame: Frame, cause: Causes | None) -> Causes | None:
    """Return the largest cause in each subgroup, for all of its lanes: (n,)."""
    if cause is None or not cause.any():
        return None
    subgroups = frame.subgroups
    largest = subgroups.spread(cause).max(axis=1, keepdims=True)
    return subgroups.collect(np.broadcast_to(largest, (*subgroups.active.shape, 1)).copy(), ())


# --- types of elements --------------------------------------------------------------------------------


def _operand_dtype(kind: CooperativeMatrixType, flags: int, name: str) -> np.dtype[Any]:
    """Return the number type of a matrix in a product; flags of the product mark signed integers."""
    scalar = kind.component
    if scalar.kind in dtypes.ENCODINGS:
        return np.dtype(np.float32)
    if scalar.kind in ("int", "uint"):
        return np.dtype(f"{'i' if flags & _SIGNED[name] else 'u'}{scalar.bits // 8}")
    return scalar.dtype


def _numbers(bits: Data, kind: CooperativeMatrixType, dtype: np.dtype[Any]) -> Data:
    if kind.component.kind in dtypes.ENCODINGS:
        return dtypes.decoded(kind.component.kind, bits)
    return np.ascontiguousarray(bits).view(dtype)


COOPERATIVE_MATRICES = {
    "OpCooperativeMatrixLengthKHR": length,
    "OpCooperativeMatrixLoadKHR": load,
    "OpCooperativeMatrixStoreKHR": store,
    "OpCooperativeMatrixMulAddKHR": multiply,
}
"""By name: the factory of an instruction's function, which takes a `Frame` before its operands."""
