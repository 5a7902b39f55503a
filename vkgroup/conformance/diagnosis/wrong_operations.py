"""Results of another operation, operand or input, of other lanes, of another variable, or of stale memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from vkgroup.conformance import barriers
from vkgroup.conformance.arrays import POISON, Array, Flags
from vkgroup.conformance.barriers import BARRIERS, ROUNDS
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.diagnosis.observation import CaseObservation, Variants, required
from vkgroup.conformance.diagnosis.wrong_results import other_sign
from vkgroup.conformance.subgroup.operands import choices
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import OPERATORS
from vkgroup.reference.semantics.lanes import first_active
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS, Operation
from vkgroup.spec.types import GlslType

# The set of lanes that take part.


def lanes(seen: CaseObservation) -> Variants:
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


def split(seen: CaseObservation) -> Variants:
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
    wanted = {name: getattr(mine, name) for name in ("operator", "group_operation")} | columns
    return _operation_on(seen.lanes.entry.case.glsl_type, **wanted)


@cache
def _operation_on(kind: GlslType, **columns: Any) -> Operation | None:
    """Return the first operation of the table on a type with these values in columns."""
    for operation in SUBGROUP_OPERATIONS.values():
        fits = operation.operator is not None and kind in operation.types
        if fits and all(getattr(operation, name) == value for name, value in columns.items()):
            return operation
    return None


def another_operator(seen: CaseObservation) -> Variants:
    """Predict that the operator is …."""
    mine = seen.operation
    if mine is None or mine.operator is None:
        return
    for operator in OPERATORS:
        other = _row(seen, operator=operator)
        changed = None if other is None or other is mine else seen.evaluate(operation=other)
        if changed is not None:
            yield operator, changed
        if other is not None and operator in ("Min", "Max"):
            for sign, prediction in other_sign(seen, other):
                yield f"{operator} of {sign} integers", prediction


_GROUPS = {
    "Reduce": "a reduction over the subgroup",
    "InclusiveScan": "an inclusive scan",
    "ExclusiveScan": "an exclusive scan",
}


def another_group(seen: CaseObservation) -> Variants:
    """Predict that … is computed."""
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


def another_cluster(seen: CaseObservation) -> Variants:
    """Predict that the clusters have size …."""
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


def another_partition(seen: CaseObservation) -> Variants:
    """Predict that the partition has …."""
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


def another_operation(seen: CaseObservation) -> Variants:
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


def reversed_scan(seen: CaseObservation) -> Variants:
    """Predict that the scan begins at the last lane."""
    mine = seen.operation
    if mine is None or mine.operator is None or seen.value is None:
        return
    if mine.group_operation in ("InclusiveScan", "ExclusiveScan"):
        changed = seen.evaluate(value=seen.value[:, ::-1], active=seen.active[:, ::-1])
        if changed is not None:
            yield "", required(np.asarray(changed.low)[:, ::-1], changed.defined[:, ::-1])


def wrong_identity(seen: CaseObservation) -> Variants:
    """Predict that the first active lane of an exclusive scan has …."""
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


def another_operand(seen: CaseObservation) -> Variants:
    """Predict that the second operand is …."""
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


def input_changed(seen: CaseObservation) -> Variants:
    """Predict that the input is …."""
    if seen.value is None or seen.operation is None:
        return
    for name, other in _changed_inputs(seen.value).items():
        changed = seen.evaluate(value=other)
        if changed is not None:
            yield name, changed


def input_of_one_lane(seen: CaseObservation) -> Variants:
    """Predict that the input of one lane is …."""
    if seen.value is None or seen.operation is None:
        return
    lane = np.arange(seen.size)[:, None]
    for name, other in _changed_inputs(seen.value).items():
        for number in range(seen.size):
            changed = seen.evaluate(value=np.where(lane == number, other, seen.value))
            if changed is not None:
                yield f"lane {number} is {name}", changed


def ballot_beyond_size(seen: CaseObservation) -> Variants:
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


def another_variable(seen: CaseObservation) -> Variants:
    """Predict that the value is that of …."""
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


def stale_memory(seen: CaseObservation) -> Variants:
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
                cells = instances.cell[:, cell : cell + 1].astype(np.uint32)
                written = barriers.value_of(np.broadcast_to(cells, read.shape), round_, group)
                old[..., 2 * number + 1] |= read == written
        if case.operand == "shared":  # uninitialized at first
            old[..., 2 * number + 1] |= number == 0
    yield "", old


def stops(seen: CaseObservation) -> Variants:
    """Yield whether a lane recorded nothing after the first barrier."""
    if seen.lanes.entry.case.operation in BARRIERS:
        yield "", (seen.got == POISON) | ~seen.lanes.wrong
