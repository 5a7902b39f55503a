"""Atomic instructions. Several invocations change one number in ascending order of invocations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.reference.interpreter.operations.races import IGNORED, ROUNDED, STORE
from vkgroup.reference.interpreter.operations.records import Target
from vkgroup.reference.interpreter.operations.references import BytesReference, resolver
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, marked, select, single
from vkgroup.spirv import ScalarType

Flags = npt.NDArray[np.bool_]
Atomic = Callable[..., Value | None]

_FOLDS: dict[str, tuple[np.ufunc, str]] = {
    "OpAtomicIAdd": (np.add, ""),
    "OpAtomicISub": (np.add, ""),
    "OpAtomicIIncrement": (np.add, ""),
    "OpAtomicIDecrement": (np.add, ""),
    "OpAtomicFAddEXT": (np.add, "f"),
    "OpAtomicSMin": (np.minimum, "i"),
    "OpAtomicUMin": (np.minimum, "u"),
    "OpAtomicFMinEXT": (np.fmin, "f"),
    "OpAtomicSMax": (np.maximum, "i"),
    "OpAtomicUMax": (np.maximum, "u"),
    "OpAtomicFMaxEXT": (np.fmax, "f"),
    "OpAtomicAnd": (np.bitwise_and, ""),
    "OpAtomicOr": (np.bitwise_or, ""),
    "OpAtomicXor": (np.bitwise_xor, ""),
}
"""Operation of each read-modify-write, and the kind of its number: "i", "u", "f" or the declared one."""

ATOMICS = frozenset({*_FOLDS, "OpAtomicLoad", "OpAtomicStore", "OpAtomicExchange", "OpAtomicCompareExchange"})

_ADDITIONS = ("OpAtomicIAdd", "OpAtomicISub", "OpAtomicIIncrement", "OpAtomicIDecrement")
_OPERATIONS = {
    **{name: number for number, name in enumerate(sorted(ATOMICS), ROUNDED + 2)},
    **dict.fromkeys(_ADDITIONS, ROUNDED + 1),
    **dict.fromkeys(("OpAtomicStore", "OpAtomicExchange"), STORE),
    "OpAtomicFAddEXT": ROUNDED,
}
"""A number for each atomic, as for `Accesses.atomic`; the lowest two for those whose order matters."""

_ORDER = "the order in which invocations execute atomics is not specified"


def atomic(program: ProgramForm, op: Op, site: Site) -> Atomic:
    """Return the function of an atomic instruction; it takes the frame and the operands that are values."""
    (chain,) = op.chains
    if chain.root.kind == "cell":
        raise Unsupported("Atomics on variables that only one invocation can access.", [site.name])
    resolve, target = resolver(program, chain, site)
    if not isinstance(target.type, ScalarType):
        raise Unsupported(f"{site.name} on {target.type.glsl}, which is not a scalar.", [site.name])
    dtype = target.type.dtype
    order = site.order_cause(_ORDER)
    operation = _OPERATIONS[site.name] + IGNORED * (op.result not in program.used_slots)
    no_effect = site.cause(
        "helper", "an atomic in a helper invocation returns an undefined value and changes nothing"
    )

    def run(frame: Frame, *operands: Value) -> Value | None:
        references = resolve(frame)
        helpers = frame.helpers
        if len(references) == 1 and references[0].lanes.is_all and helpers is None:
            return _access(references[0], site, dtype, operands, order, operation)
        result = np.zeros(frame.count, dtype)
        causes = np.zeros(frame.count, np.uint16)
        if helpers is not None:
            causes[helpers] = no_effect
        for reference in references:
            effective = reference.with_effect()
            if not effective.lanes:
                continue
            lanes = effective.lanes.indices
            chosen = tuple(select(operand, lanes) for operand in operands)
            before = _access(effective, site, dtype, chosen, order, operation)
            if before is not None:
                result[lanes] = before.data
                causes[lanes] = 0 if before.cause is None else before.cause
        return None if site.type is None else single(result, causes)

    return run


def _access(
    reference: BytesReference,
    site: Site,
    dtype: np.dtype[Any],
    operands: tuple[Value, ...],
    order: int,
    operation: int,
) -> Value | None:
    """Execute an atomic through one reference; return the value before, None without a result.

    `order`: the cause of numbers that depend on the order. `operation`: as for `Accesses.atomic`.
    """
    frame, memory = reference.frame, reference.memory
    n, itemsize = frame.count, dtype.itemsize
    offset = np.broadcast_to(reference.offset, (n,))
    inside = (offset >= 0) & (offset <= memory.nbytes - itemsize) & (offset % itemsize == 0)
    if not inside.all():
        memory.report_outside(frame, site, ~inside, offset)
    operand_cause = combine(reference.cause, frame.control, *(operand.cause for operand in operands))
    unordered = None
    if memory.accesses is not None:
        target, name = Target(offset, itemsize, ~inside), site.name
        unordered = memory.accesses.atomic(
            frame,
            site,
            target,
            operation,
            writes=name != "OpAtomicLoad",
            reads=name != "OpAtomicStore",
        )
    lanes = np.flatnonzero(inside)
    cells = offset[lanes] // itemsize
    view = memory.view(dtype)
    values = [np.broadcast_to(operand.data, (n,))[lanes] for operand in operands]
    before = np.zeros(n, dtype)
    causes = memory.causes_at(np.where(inside, offset, 0), itemsize) if lanes.size else None
    # Another order is legal, except in a dispatch of one invocation.
    turn = np.full(n, order, np.uint16) if frame.machine.arrangement.invocations > 1 else None
    if site.name == "OpAtomicLoad":
        before[lanes] = view[cells]
        return single(before, combine(causes, reference.cause, turn, _bounds(site, inside)))
    old, contended = _modify(site, view, cells, values)
    before[lanes] = old
    if unordered is not None and unordered.any():
        own = operation % IGNORED
        mixed = (unordered != 0) & ((unordered != own) | ((own <= ROUNDED) & (view[cells] != old)))
        contended = mixed if contended is None else contended | mixed
    _mark(reference, site, offset[lanes], itemsize, lanes, operand_cause, contended, order)
    if site.type is None:
        return None
    return single(before, combine(causes, operand_cause, turn, _bounds(site, inside)))


def _bounds(site: Site, inside: Flags) -> Causes | None:
    if inside.all():
        return None
    number = site.cause("bounds", "an atomic outside of its memory returns an undefined value")
    return marked(~inside, number)


def _mark(
    reference: BytesReference,
    site: Site,
    offset: npt.NDArray[np.int64],
    itemsize: int,
    lanes: npt.NDArray[np.int64],
    cause: Causes | None,
    contended: Flags | None,
    order: int,
) -> None:
    """Set the causes of the memory afterwards."""
    frame, memory = reference.frame, reference.memory
    own = None if cause is None else np.broadcast_to(cause, (frame.count,))[lanes]
    if contended is not None:
        own = combine(own, marked(contended, order))
    overwrites = site.name in ("OpAtomicStore", "OpAtomicExchange")
    if not overwrites:
        # Undefined numbers stay undefined.
        own = combine(own, memory.causes_at(offset, itemsize))
        if own is None:
            return
        if memory.causes is None:
            memory.causes = np.zeros(memory.granules, np.uint16)
        first = offset // memory.granule
        for step in range(max(1, itemsize // memory.granule)):
            np.maximum.at(memory.causes, first + step, own)
    else:
        memory.mark(offset, itemsize, own)
    if own is not None and own.any():
        full = np.zeros(frame.count, np.uint16)
        full[lanes] = own
        memory.record_stored(frame, site, full)


# --- order of changes ---------------------------------------------------------------------------------


def _modify(
    site: Site, view: Data, cells: npt.NDArray[np.int64], values: list[Data]
) -> tuple[Data, Flags | None]:
    """Change `view` at `cells`, in the order of invocations.

    Return the number before each change, and flags of the numbers that depend on the order; None for none.
    """
    name = site.name
    sort = np.argsort(cells, kind="stable")
    sorted_cells = cells[sort]
    starts = np.ones(len(cells), np.bool_)
    starts[1:] = sorted_cells[1:] != sorted_cells[:-1]
    contended = np.zeros(len(cells), np.bool_)
    if not starts.all():
        group = np.cumsum(starts) - 1
        contended[sort] = np.bincount(group)[group] > 1
    arguments = [value[sort] for value in values]
    if name in _FOLDS:
        before, last = _fold(name, view, sorted_cells, starts, arguments)
        ordered = contended if view.dtype.kind == "f" and name == "OpAtomicFAddEXT" else None
    elif name == "OpAtomicCompareExchange":
        before, last = _compare(view, sorted_cells, starts, arguments)
        ordered = np.ones(len(cells), np.bool_)
    else:
        before, last = _exchange(view, sorted_cells, starts, arguments[0])
        # Equal numbers have no order.
        first = np.maximum.accumulate(np.where(starts, np.arange(len(cells)), 0))
        differs = last.view(f"u{last.itemsize}") != last[first].view(f"u{last.itemsize}")
        ordered = np.zeros(len(cells), np.bool_)
        ordered[sort] = np.isin(first, first[differs])
    ends = np.ones(len(cells), np.bool_)
    ends[:-1] = starts[1:]
    view[sorted_cells[ends]] = last[ends]
    result = np.empty_like(before)
    result[sort] = before
    return result, ordered


def _fold(
    name: str, view: Data, cells: npt.NDArray[np.int64], starts: Flags, arguments: list[Data]
) -> tuple[Data, Data]:
    """Return the numbers before and after each change, for operations that use the old number."""
    operation, reading = _FOLDS[name]
    dtype = view.dtype if reading in ("", "f") else np.dtype(f"{reading}{view.dtype.itemsize}")
    old = view[cells].view(dtype)
    if name in ("OpAtomicIIncrement", "OpAtomicIDecrement"):
        argument = np.full(len(cells), 1 if name == "OpAtomicIIncrement" else -1).astype(dtype)
    else:
        argument = arguments[0].astype(view.dtype, copy=False).view(dtype)
        if name == "OpAtomicISub":
            argument = np.negative(argument)
    if starts.all():
        return old.view(view.dtype), operation(old, argument).view(view.dtype)
    left = np.empty_like(argument)
    edges = [*np.flatnonzero(starts).tolist(), len(cells)]
    if len(edges) > 64 and operation is np.add and dtype.kind in "iu":
        total = np.cumsum(argument, dtype=dtype)
        base = np.repeat(total[edges[:-1]] - argument[edges[:-1]], np.diff(edges))
        left = old + (total - base)
    elif len(edges) > 64:
        left = _by_rounds(operation, old, argument, starts)
    else:
        for first, last in pairwise(edges):
            chain = np.concatenate([old[first : first + 1], argument[first:last]])
            left[first:last] = operation.accumulate(chain, dtype=dtype)[1:]
    before = np.empty_like(left)
    before[1:] = left[:-1]
    before[starts] = old[starts]
    return before.view(view.dtype), left.view(view.dtype)


def _by_rounds(operation: np.ufunc, old: Data, argument: Data, starts: Flags) -> Data:
    """Fold many groups at once: the first element of each, then the second of each, and so on."""
    group_start = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
    rank = np.arange(len(starts)) - group_start
    left = np.empty_like(argument)
    by_rank = np.argsort(rank, kind="stable")
    for turns in np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]):
        before = np.where(starts[turns], old[turns], left[np.maximum(turns - 1, 0)])
        left[turns] = operation(before, argument[turns])
    return left


def _exchange(view: Data, cells: npt.NDArray[np.int64], starts: Flags, argument: Data) -> tuple[Data, Data]:
    argument = argument.astype(view.dtype, copy=False)
    before = np.empty_like(argument)
    before[1:] = argument[:-1]
    before[starts] = view[cells[starts]]
    return before, argument


def _compare(
    view: Data, cells: npt.NDArray[np.int64], starts: Flags, arguments: list[Data]
) -> tuple[Data, Data]:
    """Compare and exchange: in each group the first match succeeds, then the next, and so on."""
    value, comparator = (array.astype(view.dtype, copy=False) for array in arguments)
    group = np.cumsum(starts) - 1
    groups = int(group[-1]) + 1 if len(group) else 0
    current = view[cells[starts]].copy()
    before = np.empty_like(value)
    left = np.empty_like(value)
    pending = np.arange(len(cells))
    while pending.size:
        owner = group[pending]
        matches = comparator[pending] == current[owner]
        first = np.full(groups, len(cells))
        np.minimum.at(first, owner[matches], pending[matches])
        now = pending <= first[owner]
        settled = pending[now]
        before[settled] = current[group[settled]]
        left[settled] = current[group[settled]]
        winners = first[first < len(cells)]
        left[winners] = value[winners]
        current[group[winners]] = value[winners]
        pending = pending[~now]
    return before, left
