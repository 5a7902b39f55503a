"""Wrong results of any operation: unwritten, constant, of another lane, in another type, NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Array
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.diagnosis import nan_order
from vkgroup.conformance.diagnosis.observation import CaseObservation, Variants, required
from vkgroup.reference.semantics.groups import OPERATORS, identity
from vkgroup.reference.semantics.lanes import first_active
from vkgroup.spec.operations import Operation

# Results that do not depend on the operation.


def unwritten(seen: CaseObservation) -> Variants:
    """Predict that nothing is written: the output keeps its fill pattern."""
    yield "", seen.unwritten


def zero(seen: CaseObservation) -> Variants:
    """Predict that the result is zero."""
    yield "", seen.got == 0


def ones(seen: CaseObservation) -> Variants:
    """Predict that the result is …."""
    if seen.got.dtype == np.bool_:
        yield "true", seen.got
    elif seen.got.dtype.kind in "iu":
        yield "a word with all bits set", seen.got == ~np.zeros((), seen.got.dtype)


def own_value(seen: CaseObservation) -> Variants:
    """Predict that each lane returns its own value."""
    if seen.operation is not None and seen.operation.result == "value" and seen.value is not None:
        yield "", required(seen.value, bits=True)


_NEIGHBOURS: dict[str, Callable[[Any], Any]] = {
    "the lane below": lambda lane: lane - 1,
    "the lane above": lambda lane: lane + 1,
    "the other lane of its pair": lambda lane: lane ^ 1,
    "the first active lane": lambda lane: lane,
}


def _moved(seen: CaseObservation, values: Array) -> Variants:
    """Yield values of other lanes: of neighbours, and of the first active lane."""
    lane = np.arange(seen.size)
    for name, source in _NEIGHBOURS.items():
        if name == "the first active lane":
            rows = np.arange(len(values))
            moved = np.broadcast_to(values[rows, first_active(seen.active)][:, None], values.shape)
            yield name, required(moved, bits=True)
        else:
            yield name, required(values[:, source(lane) % seen.size], bits=True)


def value_of_another_lane(seen: CaseObservation) -> Variants:
    """Predict that each lane returns the value of …."""
    if seen.operation is not None and seen.operation.result == "value" and seen.value is not None:
        yield from _moved(seen, seen.value)


def result_of_another_lane(seen: CaseObservation) -> Variants:
    """Predict that each lane returns the result of …."""
    yield from _moved(seen, seen.expected)


def previous_execution(seen: CaseObservation) -> Variants:
    """Yield the result that the lane had to record in the last execution before this one."""
    instances = seen.lanes.instances
    earlier = np.zeros(seen.expected.shape, seen.expected.dtype)
    known = np.zeros(seen.active.shape, np.bool_)
    keys = np.column_stack([instances.group, instances.subgroup])
    for row in np.argsort(instances.slot, kind="stable"):
        before = (keys == keys[row]).all(axis=1) & (instances.slot < instances.slot[row])
        for other in np.flatnonzero(before)[np.argsort(instances.slot[before], kind="stable")]:
            lanes = instances.active[other]
            earlier[row, lanes], known[row, lanes] = seen.expected[other, lanes], True
    if known.any():
        yield "", required(earlier, known[..., None])


def inverted(seen: CaseObservation) -> Variants:
    """Predict that the result is …."""
    right = seen.expected
    if right.dtype == np.bool_:
        yield "inverted", required(~right)
    elif right.dtype.kind == "f":
        yield "negated", required(-right)
    else:
        yield "inverted bit by bit", required(~right)


def off_by_one(seen: CaseObservation) -> Variants:
    """Predict that the result is one … than required."""
    if seen.expected.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            yield "less", required(seen.expected - seen.expected.dtype.type(1))
            yield "more", required(seen.expected + seen.expected.dtype.type(1))


# Components and types.


def first_component(seen: CaseObservation) -> Variants:
    """Predict that only component 0 is compared."""
    operation, value = seen.operation, seen.value
    if operation is None or operation.result != "bool" or value is None or value.shape[-1] == 1:
        return
    changed = seen.evaluate(value=np.ascontiguousarray(value[..., :1]))
    if changed is not None:
        shape = seen.got.shape
        low, high, defined = (
            np.broadcast_to(array, shape) for array in (changed.low, changed.high, changed.defined)
        )
        same = changed.low is changed.high
        yield "", Expected(low, low if same else high, defined, bits=changed.bits)


def components(seen: CaseObservation) -> Variants:
    """Predict that the components of the result are …."""
    count = seen.expected.shape[-1]
    if count == 1:
        return
    orders = {
        "rotated by one": [*range(1, count), 0],
        "rotated by one the other way": [count - 1, *range(count - 1)],
        "reversed": [*reversed(range(count))],
        "right but for the last, which repeats the first": [*range(count - 1), 0],
    }
    if count == 4:
        orders |= {"swapped in pairs": [1, 0, 3, 2], "swapped in halves": [2, 3, 0, 1]}
    for name, order in orders.items():
        yield name, required(seen.expected[..., order], seen.lanes.expected.defined[..., order])


def other_sign(seen: CaseObservation, operation: Operation | None = None) -> Variants:
    """Predict that the inputs are treated as … integers."""
    value = seen.value
    if value is None or value.dtype.kind not in "iu" or seen.operation is None:
        return
    other = np.dtype(f"{'u' if value.dtype.kind == 'i' else 'i'}{value.dtype.itemsize}")
    changed = seen.evaluate(operation=operation, value=np.ascontiguousarray(value).view(other))
    if changed is not None and changed.low.dtype == other:
        low = np.ascontiguousarray(changed.low).view(value.dtype)
        yield "unsigned" if other.kind == "u" else "signed", required(low, changed.defined)


_NARROWER = {
    **{"f8": ("f4",), "f4": ("f2",)},
    **{"i8": ("i4",), "i4": ("i2", "i1"), "i2": ("i1",)},
    **{"u8": ("u4",), "u4": ("u2", "u1"), "u2": ("u1",)},
}


def _narrow(value: Array, type_: str) -> Array:
    with np.errstate(all="ignore"):
        return value.astype(type_).astype(value.dtype)


def smaller_type(seen: CaseObservation) -> Variants:
    """Predict that the device rounds …."""
    for type_ in _NARROWER.get(seen.got.dtype.str[1:], ()):
        bits = f"{8 * int(type_[1])} bits"
        yield f"the result to {bits}", required(_narrow(seen.expected, type_))
        if seen.value is not None and seen.value.dtype == seen.got.dtype:
            changed = seen.evaluate(value=_narrow(seen.value, type_))
            if changed is not None:
                yield f"the inputs to {bits}", changed


def flushed(seen: CaseObservation) -> Variants:
    """Predict that denormal inputs and results are flushed to zero."""
    if seen.got.dtype.kind != "f":
        return
    tiny = np.finfo(seen.got.dtype).tiny

    def flush(value: Array) -> Array:
        return np.where(np.abs(value) < tiny, np.copysign(np.zeros((), value.dtype), value), value)

    if seen.value is not None and seen.value.dtype == seen.got.dtype:
        changed = seen.evaluate(value=flush(seen.value))
        if changed is not None:
            yield "", required(flush(np.asarray(changed.low)), changed.defined)


# NaN in minima, maxima, sums and products.


def _operator(seen: CaseObservation) -> str:
    """Return the operator of an operation on floats that has NaN among its inputs; else ""."""
    operation, value = seen.operation, seen.value
    if operation is None or operation.operator is None or value is None or value.dtype.kind != "f":
        return ""
    return operation.operator if np.isnan(value).any() else ""


def nan_propagated(seen: CaseObservation) -> Variants:
    """Predict that the result is NaN if any input is NaN."""
    if _operator(seen) not in ("Min", "Max"):
        return
    changed = nan_order.combined(seen, np.minimum if _operator(seen) == "Min" else np.maximum, tree=False)
    if changed is not None:
        yield "", changed


def nan_dropped(seen: CaseObservation) -> Variants:
    """Predict that NaN among the inputs is ignored."""
    if _operator(seen) not in ("Add", "Mul") or seen.value is None or seen.operation is None:
        return
    neutral = identity(OPERATORS[_operator(seen)], seen.value.dtype)
    changed = seen.evaluate(value=np.where(np.isnan(seen.value), neutral, seen.value))
    if changed is not None:
        yield "", changed


def nan_by_comparison(seen: CaseObservation) -> Variants:
    """Predict that NaN is handled by a comparison: …."""
    if _operator(seen) not in ("Min", "Max"):
        return
    for name, (select, tree) in nan_order.selections(_operator(seen)).items():
        changed = nan_order.combined(seen, select, tree=tree)
        if changed is not None:
            yield name, changed
