"""The table of hypotheses: what a wrong device may compute instead of the required value.

A row has a name, a sentence about the device, and the change to the reference model. Adding a hypothesis is
adding a row. A change yields *variants*, each with the text that replaces ``{}`` in the sentence and its
prediction: the value of every lane (`Expected`), or for each lane whether the record agrees (`Flags`). It
yields nothing where the hypothesis does not apply to the case.

Rows with less freedom come first: of two hypotheses that explain a case equally well, the first one is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.conformance import barriers
from vkgroup.conformance.arrays import POISON, Array, Flags
from vkgroup.conformance.barriers import BARRIERS, ROUNDS
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.diagnosis import nan_order
from vkgroup.conformance.diagnosis.observation import CaseObservation, required
from vkgroup.conformance.subgroup.operands import choices
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import OPERATORS, identity
from vkgroup.reference.semantics.lanes import first_active
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS, Operation

Prediction = Expected | Flags
Variants = Iterator[tuple[str, Prediction]]


@dataclass(frozen=True)
class Hypothesis:
    """One rule changed."""

    name: str
    sentence: str  # about the device, without a full stop; ``{}`` is the variant
    change: Callable[[CaseObservation], Variants]
    costly: bool = False  # tested only if no other hypothesis explains the case


# Results that do not depend on the operation.


def _unwritten(seen: CaseObservation) -> Variants:
    yield "", seen.unwritten


def _zero(seen: CaseObservation) -> Variants:
    yield "", seen.got == 0


def _ones(seen: CaseObservation) -> Variants:
    if seen.got.dtype == np.bool_:
        yield "true", seen.got
    elif seen.got.dtype.kind in "iu":
        yield "a word with all bits set", seen.got == ~np.zeros((), seen.got.dtype)


def _own_value(seen: CaseObservation) -> Variants:
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


def _value_of_another_lane(seen: CaseObservation) -> Variants:
    if seen.operation is not None and seen.operation.result == "value" and seen.value is not None:
        yield from _moved(seen, seen.value)


def _result_of_another_lane(seen: CaseObservation) -> Variants:
    yield from _moved(seen, seen.expected)


def _previous_execution(seen: CaseObservation) -> Variants:
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


def _inverted(seen: CaseObservation) -> Variants:
    right = seen.expected
    if right.dtype == np.bool_:
        yield "inverted", required(~right)
    elif right.dtype.kind == "f":
        yield "negated", required(-right)
    else:
        yield "inverted bit by bit", required(~right)


def _off_by_one(seen: CaseObservation) -> Variants:
    if seen.expected.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            yield "less", required(seen.expected - seen.expected.dtype.type(1))
            yield "more", required(seen.expected + seen.expected.dtype.type(1))


# Components and types.


def _first_component(seen: CaseObservation) -> Variants:
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


def _components(seen: CaseObservation) -> Variants:
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


def _other_sign(seen: CaseObservation, operation: Operation | None = None) -> Variants:
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


def _smaller_type(seen: CaseObservation) -> Variants:
    for type_ in _NARROWER.get(seen.got.dtype.str[1:], ()):
        bits = f"{8 * int(type_[1])} bits"
        yield f"the result to {bits}", required(_narrow(seen.expected, type_))
        if seen.value is not None and seen.value.dtype == seen.got.dtype:
            changed = seen.evaluate(value=_narrow(seen.value, type_))
            if changed is not None:
                yield f"the inputs to {bits}", changed


def _flushed(seen: CaseObservation) -> Variants:
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


def _nan_propagated(seen: CaseObservation) -> Variants:
    if _operator(seen) not in ("Min", "Max"):
        return
    changed = nan_order.combined(seen, np.minimum if _operator(seen) == "Min" else np.maximum, tree=False)
    if changed is not None:
        yield "", changed


def _nan_dropped(seen: CaseObservation) -> Variants:
    if _operator(seen) not in ("Add", "Mul") or seen.value is None or seen.operation is None:
        return
    neutral = identity(OPERATORS[_operator(seen)], seen.value.dtype)
    changed = seen.evaluate(value=np.where(np.isnan(seen.value), neutral, seen.value))
    if changed is not None:
        yield "", changed


def _nan_by_comparison(seen: CaseObservation) -> Variants:
    if _operator(seen) not in ("Min", "Max"):
        return
    for name, (select, tree) in nan_order.selections(_operator(seen)).items():
        changed = nan_order.combined(seen, select, tree=tree)
        if changed is not None:
            yield name, changed


# The set of lanes that take part.


def _lanes(seen: CaseObservation) -> Variants:
    """Yield the results for other sets of active lanes, in which all lanes of a subgroup agree."""
    active, exists = seen.active, seen.exists
    sets: dict[str, tuple[Flags, Array | None]] = {}
    if (exists & ~active).any():
        sets["inactive lanes also"] = (active | exists, seen.value_of_all)
    if not exists.all():
        zero = (
            None
            if seen.value is None
            else np.where(active[..., None], seen.value, 0).astype(seen.value.dtype)
        )
        sets["lanes without an invocation also, with zero,"] = (active | ~exists, zero)
    if (seen.reached & ~active).any():
        sets["lanes of other branches also"] = (active | seen.reached, seen.value_of_all)
        sets["only the lanes of the other branches"] = (seen.reached & ~active, seen.value_of_all)
    recorded = seen.lanes.instances.recorded
    if (active & ~recorded).any():
        sets["only lanes that are no helper invocations"] = (recorded, None)
    for name, (lanes, value) in sets.items():
        changed = seen.evaluate(active=lanes, value=value)
        if changed is not None:
            yield name, Expected(changed.low, changed.high, changed.defined | active[..., None], changed.bits)


def _split(seen: CaseObservation) -> Variants:
    """Yield the results where parts of the subgroup execute the operation separately."""
    lane = np.arange(seen.size)
    parts = {"odd lanes": lane % 2 == 1, "even lanes": lane % 2 == 0}
    if seen.size > 1:
        parts["the upper half of the lanes"] = lane >= seen.size // 2
        parts["the lower half of the lanes"] = lane < seen.size // 2
    if seen.size > 32:
        parts["lanes from 32 on"] = lane >= 32
    for name, part in parts.items():
        apart = seen.evaluate(active=seen.active & part)
        if apart is not None and apart.low.shape == seen.got.shape:
            inside = part[:, None]
            low = np.where(inside, apart.low, seen.expected)
            high = np.where(inside, apart.high, seen.lanes.expected.high)
            defined = np.where(inside, apart.defined, seen.lanes.expected.defined)
            yield name, Expected(low, low if apart.low is apart.high else high, defined, apart.bits)


# Another operation.


def _row(seen: CaseObservation, **columns: Any) -> Operation | None:
    """Return the operation of the table with other values in these columns; None if there is none."""
    mine = seen.operation
    if mine is None:
        return None
    kind = seen.lanes.entry.case.glsl_type
    wanted = {name: getattr(mine, name) for name in ("operator", "group_operation")} | columns
    for operation in SUBGROUP_OPERATIONS.values():
        fits = operation.operator is not None and kind in operation.types
        if fits and all(getattr(operation, name) == value for name, value in wanted.items()):
            return operation
    return None


def _another_operator(seen: CaseObservation) -> Variants:
    mine = seen.operation
    if mine is None or mine.operator is None:
        return
    for operator in OPERATORS:
        other = _row(seen, operator=operator)
        changed = None if other is None or other is mine else seen.evaluate(operation=other)
        if changed is not None:
            yield operator, changed
        if other is not None and operator in ("Min", "Max"):
            for sign, prediction in _other_sign(seen, other):
                yield f"{operator} of {sign} integers", prediction


_GROUPS = {
    "Reduce": "a reduction over the subgroup",
    "InclusiveScan": "an inclusive scan",
    "ExclusiveScan": "an exclusive scan",
}


def _another_group(seen: CaseObservation) -> Variants:
    mine = seen.operation
    if mine is None or mine.group_operation is None:
        return
    if mine.operator is None:  # subgroupBallotBitCount and its scans
        for name, other in SUBGROUP_OPERATIONS.items():
            if other.group_operation in _GROUPS and other.operator is None and name != mine.name:
                changed = seen.evaluate(operation=other)
                if changed is not None:
                    yield _GROUPS[other.group_operation], changed
        return
    for group, sentence in _GROUPS.items():
        partitioned = f"Partitioned{group}NV"
        for other_group, others, text in (
            (group, [], sentence),
            (partitioned, seen.others, f"{sentence.removesuffix(' over the subgroup')} of the partition"),
        ):
            fits = other_group == group or mine.category is Category.PARTITIONED
            if other_group == mine.group_operation or not fits:
                continue
            row = _row(seen, group_operation=other_group)
            changed = None if row is None else seen.evaluate(operation=row, others=others)
            if changed is not None:
                yield text, changed


def _another_cluster(seen: CaseObservation) -> Variants:
    mine = seen.operation
    if mine is None:
        return
    sizes = [1 << bit for bit in range(seen.size.bit_length()) if 1 << bit <= seen.size]
    if mine.operator is not None and mine.group_operation in ("Reduce", "InclusiveScan", "ExclusiveScan"):
        other = _row(seen, group_operation="ClusteredReduce")
        if other is not None:
            for size in sizes[1:-1]:
                changed = seen.evaluate(operation=other, others=[size])
                if changed is not None:
                    yield f"{size}", changed
    if mine.category in (Category.CLUSTERED, Category.ROTATE_CLUSTERED) and seen.others:
        for size in sizes:
            if size != seen.others[-1]:
                changed = seen.evaluate(others=[*seen.others[:-1], size])
                if changed is not None:
                    yield f"{size}", changed


def _another_partition(seen: CaseObservation) -> Variants:
    mine = seen.operation
    if mine is None or mine.category is not Category.PARTITIONED or not seen.others:
        return
    lane = np.arange(seen.size)
    alone = np.zeros((*seen.active.shape, 4), np.uint32)
    alone[:, lane, lane // 32] = np.uint32(1) << (lane % 32).astype(np.uint32)
    ones = np.full_like(alone, 0xFFFFFFFF)
    for name, ballots in (("all lanes together", ones), ("each lane alone", alone)):
        changed = seen.evaluate(others=[ballots])
        if changed is not None:
            yield name, changed


def _another_operation(seen: CaseObservation) -> Variants:
    """Yield operations without an operator that take the same operands."""
    mine, case = seen.operation, seen.lanes.entry.case
    if mine is None or mine.operator is not None or mine.group_operation is not None:
        return
    for name, other in SUBGROUP_OPERATIONS.items():
        same = (
            other is not mine
            and other.operator is None
            and other.group_operation is None
            and other.result == mine.result
            and len(other.operands) == len(mine.operands)
            and case.glsl_type in other.types
        )
        if same:
            changed = seen.evaluate(operation=other)
            if changed is not None and changed.low.dtype == seen.got.dtype:
                yield name, changed


def _reversed_scan(seen: CaseObservation) -> Variants:
    mine = seen.operation
    if mine is None or mine.operator is None or seen.value is None:
        return
    if mine.group_operation in ("InclusiveScan", "ExclusiveScan"):
        changed = seen.evaluate(value=seen.value[:, ::-1], active=seen.active[:, ::-1])
        if changed is not None:
            yield "", required(np.asarray(changed.low)[:, ::-1], changed.defined[:, ::-1])


def _wrong_identity(seen: CaseObservation) -> Variants:
    mine = seen.operation
    exclusive = mine is not None and mine.operator is not None and "Exclusive" in (mine.group_operation or "")
    if not exclusive or seen.value is None:
        return
    assert mine is not None
    inclusive = _row(seen, group_operation=(mine.group_operation or "").replace("Exclusive", "Inclusive"))
    whole = None if inclusive is None else seen.evaluate(operation=inclusive)
    if whole is None:
        return
    # The first active lane is the one whose inclusive result is its own value and whose result is I().
    right = seen.expected
    first = np.zeros(seen.active.shape, np.bool_)
    first[np.arange(len(first)), first_active(seen.active)] = True
    for name, value in (("zero", np.zeros_like(right)), ("its own value", seen.value)):
        yield name, required(np.where(first[..., None], value, right), seen.lanes.expected.defined)


# Operands.


def _another_operand(seen: CaseObservation) -> Variants:
    mine, case = seen.operation, seen.lanes.entry.case
    if mine is None or not case.operand or not seen.others or mine.category is Category.PARTITIONED:
        return
    if not isinstance(seen.others[0], np.ndarray):
        return
    operand, rest = seen.others[0].astype(np.int64), seen.others[1:]
    limit = QUAD_SIZE if "Quad" in mine.name else seen.size
    first = operand[np.arange(len(operand)), first_active(seen.active)][:, None]
    changes: dict[str, Any] = {
        "one more than given, modulo the limit": (operand + 1) % limit,
        "one less than given, modulo the limit": (operand - 1) % limit,
        "given with the other sign": -operand,
        "taken modulo the subgroup size": operand % seen.size,
        "taken modulo half the subgroup size": operand % max(seen.size // 2, 1),
        "taken modulo 32": operand % 32,
        "that of the first active lane": np.broadcast_to(first, operand.shape),
        "zero": np.zeros_like(operand),
        "one": np.ones_like(operand),
    }
    literal = choices(case.operation)[case.operand].literal
    if literal is not None:
        changes["the constant's default instead of its specialization"] = np.full_like(
            operand, literal(seen.size) ^ 1
        )
    for name, changed_operand in changes.items():
        changed = seen.evaluate(others=[changed_operand, *rest])
        if changed is not None:
            yield name, changed


def _changed_inputs(value: Array) -> dict[str, Array]:
    """Return wrong inputs by their description."""
    with np.errstate(all="ignore"):
        if value.dtype == np.bool_:
            return {"inverted": ~value}
        larger = value + value.dtype.type(1)
        if value.dtype.kind == "f":
            return {"one too large": larger, "negated": -value}
        return {"one too large": larger, "inverted bit by bit": ~value}


def _input_changed(seen: CaseObservation) -> Variants:
    if seen.value is None or seen.operation is None:
        return
    for name, other in _changed_inputs(seen.value).items():
        changed = seen.evaluate(value=other)
        if changed is not None:
            yield name, changed


def _input_of_one_lane(seen: CaseObservation) -> Variants:
    if seen.value is None or seen.operation is None:
        return
    lane = np.arange(seen.size)[:, None]
    for name, other in _changed_inputs(seen.value).items():
        for number in range(seen.size):
            changed = seen.evaluate(value=np.where(lane == number, other, seen.value))
            if changed is not None:
                yield f"lane {number} is {name}", changed


def _ballot_beyond_size(seen: CaseObservation) -> Variants:
    """Yield results of functions on ballots that count bits from gl_SubgroupSize on."""
    mine = seen.operation
    if mine is None or mine.category is not Category.BALLOT or seen.value is None or seen.size == 128:
        return
    if seen.value.shape[-1] != 4 or seen.value.dtype != np.uint32 or seen.others:
        return
    padding = [(0, 0), (0, 128 - seen.size)]
    active = np.pad(seen.active, padding)
    value = np.pad(seen.value, [*padding, (0, 0)])
    lanes = reference_of(mine.name)(value, active)
    yield "", required(lanes.value[:, : seen.size], lanes.defined[:, : seen.size])


# Built-in variables and barriers.


def _another_variable(seen: CaseObservation) -> Variants:
    name = seen.lanes.entry.case.operation
    if name not in BUILTIN_VARIABLES:
        return
    instances = seen.lanes.instances
    for other, variable in BUILTIN_VARIABLES.items():
        if other == name or variable.type != BUILTIN_VARIABLES[name].type:
            continue
        if other == "gl_SubgroupID":
            value = np.broadcast_to(instances.subgroup[:, None, None], seen.got.shape).astype(np.uint32)
        elif other == "gl_NumSubgroups":
            counts = np.array([len(instances.subgroups[group]) for group in instances.group])
            value = np.broadcast_to(counts[:, None, None], seen.got.shape).astype(np.uint32)
        else:
            value = reference_of(other)(seen.active).value
        yield other, required(np.asarray(value))


def _stale_memory(seen: CaseObservation) -> Variants:
    """Yield whether a lane read memory as it was before the other lane's write."""
    case, instances = seen.lanes.entry.case, seen.lanes.instances
    if case.operation not in BARRIERS:
        return
    group = np.broadcast_to(instances.group[:, None], seen.active.shape).astype(np.uint32)
    old = ~seen.lanes.wrong
    for number in range(ROUNDS):
        read = seen.got[..., 2 * number + 1]
        old[..., 2 * number + 1] = read == 0
        for round_ in range(int(instances.slot.max()) * ROUNDS + ROUNDS):
            for cell in range(seen.size):
                cells = (instances.subgroup[:, None] * seen.size + cell).astype(np.uint32)
                written = barriers.value_of(np.broadcast_to(cells, read.shape), round_, group)
                old[..., 2 * number + 1] |= read == written
        if case.operand == "shared":  # uninitialized at first
            old[..., 2 * number + 1] |= number == 0
    yield "", old


def _stops(seen: CaseObservation) -> Variants:
    """Yield whether a lane recorded nothing after the first barrier."""
    if seen.lanes.entry.case.operation in BARRIERS:
        yield "", (seen.got == POISON) | ~seen.lanes.wrong


HYPOTHESES = (
    Hypothesis("unwritten", "nothing is written: the output keeps its fill pattern", _unwritten),
    Hypothesis("stops", "invocations end at a barrier, and record nothing after it", _stops),
    Hypothesis("stale_memory", "memory is read as it was before the other lane's write", _stale_memory),
    Hypothesis("zero", "the result is zero", _zero),
    Hypothesis("ones", "the result is {}", _ones),
    Hypothesis("first_component", "only component 0 is compared", _first_component),
    Hypothesis("own_value", "each lane returns its own value", _own_value),
    Hypothesis("result_of_another_lane", "each lane returns the result of {}", _result_of_another_lane),
    Hypothesis("value_of_another_lane", "each lane returns the value of {}", _value_of_another_lane),
    Hypothesis("other_sign", "the inputs are treated as {} integers", _other_sign),
    Hypothesis("nan_by_comparison", "NaN is handled by a comparison: {}", _nan_by_comparison),
    Hypothesis("nan_propagated", "the result is NaN if any input is NaN", _nan_propagated),
    Hypothesis("nan_dropped", "NaN among the inputs is ignored", _nan_dropped),
    Hypothesis("flushed", "denormal inputs and results are flushed to zero", _flushed),
    Hypothesis("lanes", "{} take part", _lanes),
    Hypothesis("another_operator", "the operator is {}", _another_operator),
    Hypothesis("another_group", "{} is computed", _another_group),
    Hypothesis("another_cluster", "the clusters have size {}", _another_cluster),
    Hypothesis("another_partition", "the partition has {}", _another_partition),
    Hypothesis("another_operation", "{} is computed", _another_operation),
    Hypothesis("another_variable", "the value is that of {}", _another_variable),
    Hypothesis("another_operand", "the second operand is {}", _another_operand),
    Hypothesis("reversed_scan", "the scan begins at the last lane", _reversed_scan),
    Hypothesis("wrong_identity", "the first active lane of an exclusive scan has {}", _wrong_identity),
    Hypothesis("previous_execution", "the result is that of the previous execution", _previous_execution),
    Hypothesis("components", "the components of the result are {}", _components),
    Hypothesis("smaller_type", "the device rounds {}", _smaller_type),
    Hypothesis("split", "{} execute the operation among themselves", _split),
    Hypothesis("ballot_beyond_size", "ballot bits beyond the subgroup size count", _ballot_beyond_size),
    Hypothesis("off_by_one", "the result is one {} than required", _off_by_one),
    Hypothesis("inverted", "the result is {}", _inverted),
    Hypothesis("input_changed", "the input is {}", _input_changed),
    Hypothesis("input_of_one_lane", "the input of {}", _input_of_one_lane, costly=True),
)
"""All hypotheses, in the order in which they are preferred."""
