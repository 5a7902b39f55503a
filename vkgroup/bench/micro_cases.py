"""Cases of the subgroup microbenchmarks: functions with types, operands, and expected results.

The cases are derived from the tables of operations, and the results are those of `vkgroup.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.subgroup.data import RECIPES, DataSource, recipe_name
from vkgroup.programs.glsl_types import to_planes
from vkgroup.reference.dtypes import dtype_of
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import OPERATORS, identity
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.operations import EXTENDED_OPERATIONS, OPERATIONS, OperandKind, Operation
from vkgroup.spec.types import TYPES, GlslType

LaneValues = NDArray[np.uint32]

SUBSETS = 4
"""Number of subsets of the partition for the partitioned functions; a lane's subset is lane modulo it."""

CLUSTERS = (4, 16)
"""Measured cluster sizes, if the subgroup is large enough."""


@dataclass(frozen=True)
class MicroArgument:
    """An operand of a function other than the first."""

    name: str  # its part of the case's name; empty if there is only one choice
    glsl: Callable[[int], str]  # function from the subgroup size to a GLSL expression of ``lane``
    #: Function from the subgroup size to the same values in NumPy, (size, …) uint32, or to an integer for a
    #: cluster size.
    values: Callable[[int], LaneValues | int]
    least_size: int = 1  # the smallest subgroup size that it can be used with


def _constant(value: Callable[[int], int], name: str = "", least_size: int = 1) -> MicroArgument:
    return MicroArgument(
        name, lambda size: f"{value(size)}u", lambda size: np.full(size, value(size), np.uint32), least_size
    )


def _lane(size: int) -> LaneValues:
    return np.arange(size, dtype=np.uint32)


def _partition(size: int) -> LaneValues:
    """Return each lane's subset of the partition as a ballot, (size, 4)."""
    same = _lane(size)[:, None] % SUBSETS == _lane(128)[None, :] % SUBSETS
    same[:, size:] = False
    return np.packbits(same, axis=1, bitorder="little").view(np.uint32)


def _permuted(size: int) -> LaneValues:
    return ((_lane(size) * 5 + 3) % size).astype(np.uint32)


def _cluster(cluster: int) -> MicroArgument:
    return MicroArgument(str(cluster), lambda size: f"{cluster}u", lambda size: cluster, cluster)


_MIDDLE = _constant(lambda size: size // 2)
_ONE = _constant(lambda size: 1, least_size=2)
# 5 is odd, so every lane is read exactly once. Hardware has no fast path for such a permutation.
_PERMUTED = MicroArgument("", lambda size: f"((lane * 5u + 3u) & {size - 1}u)", _permuted)

#: Choices of an operand by its meaning.
_CHOICES: dict[OperandKind, tuple[MicroArgument, ...]] = {
    OperandKind.ID: (_PERMUTED,),
    OperandKind.INDEX: (MicroArgument("", lambda size: "lane", _lane),),
    # Some hardware has fast paths between neighboring lanes, but not between distant lanes.
    OperandKind.MASK: (
        _constant(lambda size: 1, "1", 2),
        _constant(lambda size: size // 2, "half", 4),
    ),
    OperandKind.DELTA: (_ONE,),
    OperandKind.BALLOT: (MicroArgument("", lambda size: "subsets", _partition),),
    OperandKind.CLUSTER_SIZE: tuple(_cluster(cluster) for cluster in CLUSTERS),
}

#: Choices for functions with additional requirements: constants, or one value for all lanes.
_CHOICES_OF = {
    "subgroupBroadcast": (_MIDDLE,),
    "subgroupQuadBroadcast": (_constant(lambda size: 2, least_size=4),),
    "readInvocationARB": (_MIDDLE,),
}


@dataclass(frozen=True)
class MicroCase:
    """One function with one type of its first operand, and one choice of the other operands."""

    operation: Operation
    type: GlslType
    arguments: tuple[MicroArgument, ...] = ()

    @property
    def name(self) -> str:
        """Function, type and choice, separated by dots: ``"subgroupClusteredAdd.float.4"``."""
        parts = (self.operation.name, self.type.name, *(argument.name for argument in self.arguments))
        return ".".join(part for part in parts if part)

    @property
    def result(self) -> GlslType:
        """The type of the result."""
        result = self.operation.result_type(self.type)
        assert result is not None, "barriers give nothing, and are measured elsewhere"
        return result

    @property
    def least_size(self) -> int:
        """The smallest subgroup size that the case can be run with."""
        quads = self.operation.category in (Category.QUAD, ExtendedCategory.QUAD_CONTROL)
        return max((argument.least_size for argument in self.arguments), default=4 if quads else 1)

    def with_components(self, components: int) -> MicroCase:
        """Return the case with a number of components of its scalar, or itself if its type is fixed."""
        name = self.type.scalar.name
        if components > 1:
            name = f"{self.type.scalar.vector_prefix}{components}"
        fixed = len(self.operation.types) == 1
        return self if fixed else MicroCase(self.operation, TYPES[name], self.arguments)


def _cases(operation: Operation) -> Iterator[MicroCase]:
    types = [type_ for type_ in operation.types if type_.components == 1 or len(operation.types) == 1]
    if operation.category is ExtendedCategory.ARB_BALLOT:
        # SPV_KHR_shader_ballot: values of OpSubgroupReadInvocationKHR and similar instructions have 32 bits.
        types = [type_ for type_ in types if type_.scalar.bits == 32]
    # For subgroupClusteredRotate, the distance has one choice and the cluster size two.
    choices: list[tuple[MicroArgument, ...]] = [()]
    for operand in operation.operands[1:]:
        values = _CHOICES_OF.get(operation.name) or _CHOICES[operand.kind]
        choices = [(*before, argument) for before in choices for argument in values]
    for type_ in types:
        yield from (MicroCase(operation, type_, arguments) for arguments in choices)


@cache
def all_cases() -> tuple[MicroCase, ...]:
    """Return every function with a result, for every scalar type that it accepts."""
    rows = (*OPERATIONS.values(), *EXTENDED_OPERATIONS.values())
    return tuple(case for row in rows if row.result is not None for case in _cases(row))


Array = NDArray[Any]

_LEAST_INVOCATIONS = 16
"""Minimum workgroup size of the data recipes."""

_UNDEFINED_ENDS = ("subgroupShuffleUp", "subgroupShuffleDown")
"""Functions with an undefined lane, which would make further lanes undefined along a chain."""


def operands(case: MicroCase, size: int, chains: int, generator: np.random.Generator) -> Array:
    """Return the operands of a case: data whose sums and products are exact in any order.

    Returns
    -------
    (chains, size, components) in the type's dtype; each chain has different data.
    """
    operation, type_ = case.operation, case.type
    shape = (chains, size, type_.components)
    if not operation.operands:
        return np.ones(shape, np.bool_)
    recipe = RECIPES[recipe_name(operation)]
    source = DataSource(generator, type_, max(size, _LEAST_INVOCATIONS))
    values = np.empty(shape, dtype_of(type_.scalar))
    for chain in range(chains):
        # Each of the recipe's four workgroups has data of another kind.
        values[chain] = recipe(source)[0][(chain + 2) % 4, :size]
    return values


def input_words(case: MicroCase, values: Array) -> NDArray[np.uint32]:
    """Return the input words of a case: the planes of its operands, and its identity."""
    name = "And" if case.operation.name == "subgroupQuadAll" else case.operation.operator or "Or"
    operator = OPERATORS[name]
    dtype = dtype_of(case.type.scalar)
    neutral = identity(operator, dtype) if dtype.kind in operator.kinds else dtype.type(0)
    last = np.full((1, case.type.components), neutral, dtype)
    return to_planes(np.concatenate([values.reshape(-1, case.type.components), last]), case.type).ravel()


def applied(case: MicroCase, values: Array) -> Lanes:
    """Apply a case's function once to the operands of each chain: (chains, size, components)."""
    chains, size, _ = values.shape
    active = np.ones((chains, size), np.bool_)
    arguments: list[Any] = [active]
    if case.operation.operands:
        arguments.insert(0, values)
    for argument in case.arguments:
        given = argument.values(size)
        if isinstance(given, np.ndarray):
            given = np.broadcast_to(given, (chains, *given.shape))
        arguments.append(given)
    with np.errstate(all="ignore"):
        return reference_of(case.operation.name)(*arguments)


def can_step(case: MicroCase) -> bool:
    """Return whether `stepped` determines the results of every device.

    Floats would become NaN and denormal numbers, which a device may change. Clusters and partitions are
    defined for all operands; the unused bits of a ballot operand are not.
    """
    operation = case.operation
    fixed = operation.name in _UNDEFINED_ENDS or operation.name == "subgroupInverseBallot"
    return (
        not fixed
        and bool(operation.operands)
        and case.type.scalar.kind != "float"
        and (case.type == case.result or case.result.scalar.name in ("uint", "bool"))
        and operation.operands[0].kind is not OperandKind.BALLOT
    )


def stepped(case: MicroCase, values: Array, steps: int) -> Lanes:
    """Apply a case's function `steps` times; each operand is `next_operand` of the previous result."""
    result = applied(case, values)
    for _ in range(steps - 1):
        result = applied(case, next_operand(values, result.value))
    return result


def next_operand(base: Array, result: Array) -> Array:
    """Return the operand that follows a result with all bits of `zero` set; see `micro_shader`.

    `base`, `result`: (subgroups, size, components) in the types' dtypes.
    """
    if base.dtype == result.dtype and base.shape == result.shape:
        return np.asarray(base ^ result)
    following = base.copy()
    first = result[..., 0]
    following[..., 0] ^= (first != 0) if base.dtype == np.bool_ else first.astype(base.dtype)
    return following


def wrong_mask(case: MicroCase, results: Array, valid: Array, expected: Lanes) -> Array:
    """Return a mask of wrong results; float results of operators are compared as numbers.

    `results`, `valid`: (…, chains, size, components) results of a device, and whether each is a valid value
    of its type.
    """
    value, defined = expected
    if results.dtype.kind != "f":
        differs = results != value
    elif case.operation.operator is not None:
        differs = ~((results == value) | (np.isnan(results) & np.isnan(value)))
    else:
        bits = f"u{results.dtype.itemsize}"
        differs = results.view(bits) != np.ascontiguousarray(value).view(bits)
    return np.asarray((differs | ~valid) & defined)
