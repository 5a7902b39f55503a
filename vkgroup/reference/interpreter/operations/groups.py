"""Group instructions: the reference function of an operation in all subgroups, causes of undefined values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, leaves_of, single
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import divides, subset_of
from vkgroup.reference.semantics.lanes import Flags, Lanes, Values, Words, first_active, same_in_all
from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import EXTENDED_OPERATIONS, OPERATIONS, OperandKind, Operation
from vkgroup.spirv import grammar


class OperationUse(NamedTuple):
    """One use of an operation: the arguments of its reference function."""

    row: Operation
    value: Values
    active: Flags
    others: tuple[Any, ...]


class OperandRule(NamedTuple):
    """A requirement of an operation on its operands, or a limit of its definition."""

    kind: str  # as in `vkgroup.reference.events.EventCause`; "order" where several results are legal
    sentence: str  # the event, with {name}, {size} and {cluster}
    #: Returns where the rule is broken, as an array that broadcasts to (subgroups, size, components).
    broken: Callable[[OperationUse], Flags]


def _everywhere(use: OperationUse) -> Flags:
    return np.ones((1, 1, 1), dtype=np.bool_)


def _disagrees(use: OperationUse) -> Flags:
    index = [operand.uniform for operand in use.row.operands].index(True)
    operand = (use.value, *use.others)[index]
    return ~same_in_all(operand, use.active)[:, None, None]


def _no_cluster(use: OperationUse) -> Flags:
    return np.full((1, 1, 1), not divides(use.others[-1], use.active.shape[1]))


def _no_such_lane(use: OperationUse) -> Flags:
    """Return where the result is undefined even if all lanes are active and have the first lane's operand."""
    rows, first = np.arange(len(use.active)), first_active(use.active)
    others = tuple(
        np.where(use.active, other, other[rows, first][:, None]) if isinstance(other, np.ndarray) else other
        for other in use.others
    )
    nothing = np.zeros((*use.active.shape, 1), dtype=np.bool_)
    return ~reference_of(use.row.name)(nothing, np.ones_like(use.active), *others).defined


def _zeros_differ(use: OperationUse) -> Flags:
    """Return where the result would be defined if all zeros had the same sign."""
    value = np.where(use.value == 0, use.value.dtype.type(0), use.value)
    return reference_of(use.row.name)(value, use.active, *use.others).defined


_DISAGREES = {
    kind: OperandRule("not_uniform", f"{{name}} takes {words} that differs between active lanes", _disagrees)
    for kind, words in (
        (OperandKind.ID, "an id"),
        (OperandKind.DELTA, "a delta"),
        (OperandKind.BALLOT, "a ballot"),
    )
}
_CLUSTER = OperandRule("cluster", "{name} has clusters of {cluster} in a subgroup of {size}", _no_cluster)
_BEYOND = OperandRule(
    "lane_out_of_range", "{name} reads a lane that a subgroup of {size} does not have", _no_such_lane
)
_QUAD = OperandRule(
    "quad", "{name} reads a lane that a quad of a subgroup of {size} does not have", _no_such_lane
)
_INACTIVE = OperandRule("inactive_lane", "{name} reads an inactive lane", _everywhere)
_PARTITION = OperandRule(
    "partition",
    "{name} takes ballots that are no partition of the active lanes",
    lambda use: ~subset_of(use.others[0], use.active)[1][:, None, None],
)
_SIGN = OperandRule("order", "{name} may choose either of +0.0 and -0.0", _zeros_differ)
_EMPTY = OperandRule("empty_ballot", "{name} finds no bit set in the ballot", _everywhere)
_NAN = OperandRule("nan", "{name} has only NaN to choose from", _everywhere)

_OTHERS = {
    "subgroupAllEqual": OperandRule("nan", "{name} compares a NaN in the only active lane", _everywhere),
    "subgroupPartitionNV": OperandRule("nan", "{name} compares NaN with NaN", _everywhere),
    "subgroupBallotFindLSB": _EMPTY,
    "subgroupBallotFindMSB": _EMPTY,
    "subgroupBallotBitExtract": OperandRule(
        "lane_out_of_range", "{name} takes a bit that a subgroup of {size} does not have", _everywhere
    ),
}


def rules_of(row: Operation) -> tuple[OperandRule, ...]:
    """Return the rules of an operation; if several are broken, the first one explains the result."""
    rules = [] if row.uniform_operand is None else [_DISAGREES[row.uniform_operand]]
    if row.operands and row.operands[-1].kind is OperandKind.CLUSTER_SIZE:
        rules.append(_CLUSTER)
    if (row.group_operation or "").startswith("Partitioned"):
        rules.append(_PARTITION)
    if row.operator in ("Min", "Max"):
        rules += [_SIGN, _NAN]
    elif row.result == "value" and row.operator is None:
        rules += [_QUAD if row.category is Category.QUAD else _BEYOND, _INACTIVE]
    return (*rules, _OTHERS[row.name]) if row.name in _OTHERS else tuple(rules)


def explain(site: Site, name: str, use: OperationUse, missing: Flags) -> Causes:
    """Return the number of the cause of each `missing` result, (subgroups, size, components); 0 elsewhere.

    `missing` marks active lanes that the operation leaves undefined. Sentences call the operation `name`.
    """
    causes = np.zeros(missing.shape, dtype=np.uint16)
    cluster = use.others[-1] if use.others else None
    for rule in rules_of(use.row):
        broken = missing & rule.broken(use)
        if broken.any():
            sentence = rule.sentence.format(name=name, size=use.active.shape[1], cluster=cluster)
            number = site.order_cause(sentence) if rule.kind == "order" else site.cause(rule.kind, sentence)
            causes[broken] = number
            missing = missing & ~broken
    return causes


_SUBGROUP = 3

# SPIR-V 3.28; later grammars have another suffix in the last three names.
_GROUP_OPERATIONS = {
    0: "Reduce",
    1: "InclusiveScan",
    2: "ExclusiveScan",
    3: "ClusteredReduce",
    6: "PartitionedReduceNV",
    7: "PartitionedInclusiveScanNV",
    8: "PartitionedExclusiveScanNV",
}

# Instructions of GL_AMD_shader_ballot, for uniform and for any control flow.
_OLDER = ("IAdd", "FAdd", "FMin", "UMin", "SMin", "FMax", "UMax", "SMax")

ALIASES: dict[str, str] = {
    **{f"OpGroup{name}": f"OpGroupNonUniform{name}" for name in _OLDER},
    **{f"OpGroup{name}NonUniformAMD": f"OpGroupNonUniform{name}" for name in _OLDER},
    "OpGroupNonUniformPartitionEXT": "OpGroupNonUniformPartitionNV",
}
"""Instructions that do the same as another."""

# By opcode, group operation, direction and number of operands.
_ROWS: dict[tuple[str, str | None, int | None, int], Operation] = {
    (opcode, row.group_operation, row.direction, len(row.operands) + (row.direction is not None)): row
    for row in (*OPERATIONS.values(), *EXTENDED_OPERATIONS.values())
    if row.result is not None
    for opcode in row.opcodes.values()
}

OPCODES: frozenset[str] = frozenset(opcode for opcode, *_ in _ROWS) | frozenset(ALIASES)
"""Every instruction that has a row."""


def row_of(site: Site) -> Operation:
    """Return the row of an instruction."""
    if site.scopes and site.scopes[0] != _SUBGROUP:
        scope = grammar().enumerant("Scope", site.scopes[0])
        raise Unsupported(f"{site.name} with scope {scope}: the reference device supports Subgroup only")
    opcode = ALIASES.get(site.name, site.name)
    group_operation = _GROUP_OPERATIONS.get(site.literals[0], "") if site.literals else None
    direction = integer(site, 1) if opcode == "OpGroupNonUniformQuadSwap" else None
    row = _ROWS.get((opcode, group_operation, direction, len(site.operand_types)))
    if row is None:
        named = grammar().enumerant("GroupOperation", site.literals[0]) if site.literals else "these operands"
        raise Unsupported(f"{site.name} with {named}: the reference device does not support it")
    return row


def kinds_of(site: Site, row: Operation) -> frozenset[str | None]:
    """Return the kinds of scalar that an instruction takes: "int" for OpGroupNonUniformSMin."""
    return frozenset(kind for kind, name in row.opcodes.items() if name == ALIASES.get(site.name, site.name))


def integer(site: Site, operand: int) -> int:
    """Return the value of an operand, which must come from a constant instruction."""
    value = site.constants[operand]
    if value is None:
        raise Unsupported(f"{site.name}: operand {operand + 1} is not a constant, as SPIR-V requires")
    return int(value.data.reshape(-1)[0])


Flow = Callable[..., Causes]
"""Maps the causes of a value (subgroups, size, components) to those of the result, (subgroups, size, 1 or
components). Further arguments are `active` and the operation's other operands."""

# The cause of a reduction or scan is the largest of its values: the same kind of operation with Max.
_LARGEST = {
    row.group_operation: row
    for row in (*OPERATIONS.values(), *EXTENDED_OPERATIONS.values())
    if row.operator == "Max"
}


def _of(row: Operation) -> Flow:
    """Return a flow that applies an operation to causes instead of values."""

    def flow(causes: Causes, active: Flags, *others: Any) -> Causes:
        lanes = reference_of(row.name)(causes, active, *others)
        return np.where(lanes.defined, lanes.value, np.uint16(0))

    return flow


def of_all(causes: Causes, active: Flags, *others: Any) -> Causes:
    """Return the largest cause in any component of any active lane, (subgroups, size, 1)."""
    return reference_of("subgroupMax")(causes.max(axis=2, keepdims=True), active).value


def _of_quad(causes: Causes, active: Flags, *others: Any) -> Causes:
    """Return the largest cause in the active lanes of each lane's quad."""
    return reference_of("subgroupClusteredMax")(causes, active, min(QUAD_SIZE, active.shape[1])).value


def of_lane(causes: Causes, active: Flags, *others: Any) -> Causes:
    """Return the largest cause in any component of the lane itself."""
    return np.asarray(causes.max(axis=2, keepdims=True))


def flow_of(row: Operation) -> Flow:
    """Return the flow of causes from an operation's first operand to its result."""
    if row.operator is not None:
        return _of(_LARGEST[row.group_operation])
    if row.result == "value":
        return _of(row)
    if row.category is ExtendedCategory.QUAD_CONTROL:
        return _of_quad
    if row.operands[0].kind is OperandKind.BALLOT:
        return of_lane
    return of_all


_LARGEST_WORD = 2**32 - 1
_ROTATES = (Category.ROTATE, Category.ROTATE_CLUSTERED)
_READ_FIRST = ("subgroupBroadcastFirst", "readFirstInvocationARB")
_READS_HELPER = "reads a helper invocation, which a device may leave out of group operations"
_WITH_HELPERS = "depends on helper invocations, which a device may leave out of group operations"


class GroupInstruction:
    """One group instruction, computed by the reference function of its row.

    Called with the `Subgroups` that execute it and its operands, in their order in the instruction.

    Raises Unsupported: on construction: the scope is not Subgroup, or the instruction has no such variant.
    """

    def __init__(self, site: Site) -> None:
        assert site.type is not None
        self._site = site
        self._row = row_of(site)
        self._name = site.name if site.name in ALIASES else f"{self._row.name}()"
        self._kinds = kinds_of(site, self._row)
        self._constants = {
            number: integer(site, number)
            for number, operand in enumerate(self._row.operands)
            if operand.kind is OperandKind.CLUSTER_SIZE
        }
        (self._leaf,) = leaves_of(site.type)
        self._flows = _flows_of(self._row)

    def __call__(self, subgroups: Subgroups, *operands: Value) -> Value:
        """Return the result in the active invocations."""
        operands = operands[: len(self._row.operands)]
        arguments = [
            self._argument(subgroups, number, operand.data) for number, operand in enumerate(operands)
        ]
        active = subgroups.active
        lanes = reference_of(self._row.name)(*arguments[:1], active, *arguments[1:])
        dtype = self._leaf.scalar.dtype
        result = lanes.value if lanes.value.dtype == dtype else lanes.value.view(dtype)
        causes = combine(
            self._undefined(subgroups, lanes, arguments),
            self._optional(subgroups, arguments),
            *(
                self._carried(subgroups, flow, operand.cause, arguments)
                for flow, operand in zip(self._flows, operands, strict=False)
                if operand.cause is not None
            ),
        )
        return single(subgroups.collect(result, self._leaf.dims), causes)

    def _argument(self, subgroups: Subgroups, number: int, data: Data) -> Any:
        """Return an operand as the reference function takes it."""
        if number in self._constants:
            return self._constants[number]
        kind = self._row.operands[number].kind
        if number == 0:
            return _seen_as(self._kinds, subgroups.spread(data))
        if kind is OperandKind.BALLOT:
            return subgroups.spread(data).view(np.uint32)
        words = _words(data, wraps=self._row.category in _ROTATES)
        if len(words) == 1:
            return np.broadcast_to(words, subgroups.active.shape)
        return subgroups.spread(words)[:, :, 0]

    def _undefined(self, subgroups: Subgroups, lanes: Lanes, arguments: list[Any]) -> Causes | None:
        """Return the causes of results that the operation leaves undefined."""
        defined = lanes.defined
        if defined.strides[2] == 0:
            defined = defined[:, :, :1]
        if np.count_nonzero(defined) == subgroups.count * defined.shape[2]:
            return None
        use = OperationUse(self._row, arguments[0], subgroups.active, tuple(arguments[1:]))
        missing: Flags = subgroups.active[:, :, None] & ~defined
        return self._collected(subgroups, explain(self._site, self._name, use, missing))

    def _optional(self, subgroups: Subgroups, arguments: list[Any]) -> Causes | None:
        """Return the causes of results that change when a device leaves helper invocations out.

        It may do so in all group operations except those of quads (Vulkan 1.4, "Helper Invocations"). A read
        from a helper is then a read from an inactive lane; other operations have several legal results.
        """
        optional, row = subgroups.optional, self._row
        if optional is None or row.category in (Category.QUAD, ExtendedCategory.QUAD_CONTROL):
            return None
        if not row.operands:
            return self._elected(subgroups, optional)
        if row.operands[0].kind is OperandKind.BALLOT:
            return None
        reads = row.result == "value" and row.operator is None and row.name not in _READ_FIRST
        sentence = f"{self._name} {_READS_HELPER if reads else _WITH_HELPERS}"
        number = self._site.cause("helper", sentence) if reads else self._site.order_cause(sentence)
        causes = np.where(optional, number, 0).astype(np.uint16)[:, :, None]
        return self._collected(subgroups, self._flows[0](causes, subgroups.active, *arguments[1:]))

    def _elected(self, subgroups: Subgroups, optional: Flags) -> Causes | None:
        """Return the causes of subgroupElect(), in lanes up to the first that is no optional helper."""
        certain = np.logical_or.accumulate(subgroups.active & ~optional, axis=1)
        before = np.zeros_like(certain)
        before[:, 1:] = certain[:, :-1]
        first_may_be_left_out = (optional & ~before).any(axis=1, keepdims=True)
        ambiguous = subgroups.active & ~before & first_may_be_left_out
        if not ambiguous.any():
            return None
        number = self._site.order_cause(f"{self._name} {_WITH_HELPERS}")
        return self._collected(subgroups, np.where(ambiguous, number, 0).astype(np.uint16)[:, :, None])

    def _carried(
        self, subgroups: Subgroups, flow: Flow, cause: Causes, arguments: list[Any]
    ) -> Causes | None:
        """Return the causes of the result that come from an operand."""
        return self._collected(subgroups, flow(subgroups.spread(cause), subgroups.active, *arguments[1:]))

    def _collected(self, subgroups: Subgroups, causes: Causes) -> Causes | None:
        """Return causes (subgroups, size, 1 or components) of the active lanes."""
        return subgroups.collect(causes, () if causes.shape[2] == 1 else self._leaf.dims)


def _flows_of(row: Operation) -> list[Flow]:
    """Return the flow of causes from each operand to the result."""
    # A partition is valid or not for all lanes together.
    shared = (row.uniform_operand, OperandKind.BALLOT)
    flows = [of_all if operand.kind in shared else of_lane for operand in row.operands]
    if row.operands and row.operands[0].kind is not row.uniform_operand:
        flows[0] = flow_of(row)
    return flows


def _seen_as(kinds: frozenset[str | None], value: Values) -> Values:
    """Return integers with the signedness of the instruction: OpGroupNonUniformSMin reads uint as int."""
    if value.dtype.kind in "iu" and len(kinds) == 1 and kinds <= {"int", "uint"}:
        return value.view(f"{'i' if kinds == {'int'} else 'u'}{value.itemsize}")
    return value


def _words(data: Data, *, wraps: bool) -> Words:
    """Return ids, masks and deltas of any integer type as uint.

    Numbers that do not fit become the largest, which is also out of range, unless their low bits matter.
    """
    if data.dtype == np.uint32:
        return data
    if not wraps:
        data = np.where(data < 0, _LARGEST_WORD, np.minimum(data, _LARGEST_WORD))
    return data.astype(np.uint32)


GROUPS: dict[str, Callable[[Site], GroupInstruction]] = dict.fromkeys(sorted(OPCODES), GroupInstruction)
"""By name: the factory of an instruction's function, which takes `Subgroups` before its operands."""
