"""The cases of subgroup operations as data: axes combined, filtered and named.

A case's name is ``category.stage.operation.type.pattern.data[.operand][.shape][.sizeN]``; shape 1-D and
the device's own subgroup size are not written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.operands import choices
from vkgroup.conformance.patterns import PATTERNS
from vkgroup.conformance.shapes import SHAPES
from vkgroup.reference.operations import BUILTIN_VARIABLES, OPERATIONS, Operation
from vkgroup.reference.types import TYPES, GlslType

REQUIRED_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Subgroup sizes that a pipeline may require: the powers of two up to 128."""

_VARIED_PATTERNS = ("all", "partial", "data_mask")
_SPECIAL_MOVE_PATTERNS = ("all", "partial")

# The choices that stand for their operation where not all are combined: one constant, one dynamic.
_REPRESENTATIVES = {
    "subgroupBroadcast": ("last", "dynamic"),
    "subgroupShuffle": ("data",),
    "subgroupShuffleXor": ("by1", "dynamic"),
    "subgroupShuffleUp": ("by1", "dynamic"),
    "subgroupShuffleDown": ("by1", "dynamic"),
    "subgroupBallotBitExtract": ("data",),
    "subgroupQuadBroadcast": ("q2", "dynamic"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is executed, on what data, by which invocations.

    Attributes
    ----------
    category, stage, operation, type, pattern, data, operand, shape : keys of the tables of this package and
        of `vkgroup.reference`; operand is "" where the operation has no second one.
    subgroup_size : the size that the pipeline requires, or 0 for the device's own.
    """

    category: str
    stage: str
    operation: str
    type: str
    pattern: str
    data: str
    operand: str = ""
    shape: str = "1d"
    subgroup_size: int = 0

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        parts = [self.category, self.stage, self.operation, self.type, self.pattern, self.data]
        if self.operand:
            parts.append(self.operand)
        if self.shape != "1d":
            parts.append(self.shape)
        if self.subgroup_size:
            parts.append(f"size{self.subgroup_size}")
        return ".".join(parts)

    @property
    def glsl_type(self) -> GlslType:
        """The type of the operation's value."""
        return TYPES[self.type]

    @property
    def preserved_width(self) -> int:
        """Width of the floats whose special values the module must ask to be preserved; 0 if none.

        Arithmetic on NaN, infinities and signed zeros is judged under that promise alone; moves need none.
        """
        operation, scalar = OPERATIONS.get(self.operation), self.glsl_type.scalar
        arithmetic = operation is not None and operation.operator is not None
        return scalar.bits if self.data == "special" and scalar.kind == "float" and arithmetic else 0

    @property
    def sentence(self) -> str:
        """What the case tests, in one sentence."""
        text = f"{self.operation} of {self.type} on {self.data} data"
        if self.operation in BARRIERS:
            text = f"{self.operation} {BARRIERS[self.operation].sentence} ({self.operand} memory)"
        elif self.operand:
            text += f" with {choices(self.operation)[self.operand].sentence}"
        text += f", executed {PATTERNS[self.pattern].sentence} in {self.shape.upper()} workgroups"
        if self.subgroup_size:
            text += f" at a required subgroup size of {self.subgroup_size}"
        return text + "."


def _representatives(operation: str) -> tuple[str, ...]:
    return ("", *_REPRESENTATIVES.get(operation, ("c4",)))


def _data_sets(operation: Operation, type_: GlslType) -> tuple[str, ...]:
    """Return the data sets that apply to an operation on a type."""
    kind = type_.scalar.kind
    if operation.operator in ("Add", "Mul"):
        return ("exact", "rounding", "special") if kind == "float" else ("exact",)
    if operation.operator in ("Min", "Max"):
        return ("exact", "special")
    moves = operation.operator is None and operation.result == "value"
    return ("exact", "special") if moves and kind != "bool" else ("exact",)


def _has_data(operation: Operation, data: str, pattern: str) -> bool:
    """Whether a data set is combined with a pattern: special values are only moved by whole subgroups."""
    return data != "special" or operation.operator is not None or pattern in _SPECIAL_MOVE_PATTERNS


def _operation_cases(operation: Operation) -> Iterator[Case]:
    category = operation.category.value
    for type_ in operation.types:
        for data in _data_sets(operation, type_):
            for pattern in PATTERNS:
                if not _has_data(operation, data, pattern):
                    continue
                for operand in choices(operation.name) or ("",):
                    case = Case(category, "compute", operation.name, type_.name, pattern, data, operand)
                    yield case
                    yield from _variations(case)


def _variations(case: Case) -> Iterator[Case]:
    """Yield the case again in other shapes and at required subgroup sizes, for one operand and exact data."""
    if case.data != "exact" or case.operand not in _representatives(case.operation):
        return
    base = (case.category, case.stage, case.operation, case.type, case.pattern, case.data, case.operand)
    if case.pattern in _VARIED_PATTERNS:
        for shape in SHAPES:
            if shape != "1d":
                yield Case(*base, shape=shape)
    if case.pattern in _VARIED_PATTERNS:
        for size in REQUIRED_SIZES:
            yield Case(*base, subgroup_size=size)


def _variable_cases() -> Iterator[Case]:
    for variable in BUILTIN_VARIABLES.values():
        for pattern in PATTERNS:
            case = Case(
                variable.category.value, "compute", variable.name, variable.type.name, pattern, "exact"
            )
            yield case
            yield from _variations(case)


def _barrier_cases() -> Iterator[Case]:
    for barrier in BARRIERS.values():
        for memory in barrier.memories:
            for pattern in PATTERNS:
                case = Case("basic", "compute", barrier.name, "uint", pattern, "exact", memory)
                yield case
                if pattern in _VARIED_PATTERNS:
                    base = ("basic", "compute", barrier.name, "uint", pattern, "exact", memory)
                    yield from (Case(*base, subgroup_size=size) for size in REQUIRED_SIZES)


@cache
def subgroup_cases() -> tuple[Case, ...]:
    """Return every case of the family, in the order in which they are listed; needs no device."""
    cases = [*_variable_cases(), *_barrier_cases()]
    for operation in OPERATIONS.values():
        if operation.name not in BARRIERS:
            cases.extend(_operation_cases(operation))
    return tuple(sorted(cases, key=lambda case: case.category))
