"""The cases of subgroup operations as data: axes combined, filtered and named.

A case's name is ``category.stage.operation.type.pattern.data[.operand][.shape][.sizeN]``; shape 1-D and
the default subgroup size are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter

from vkgroup.base.garbage_collection import paused
from vkgroup.conformance.barriers import BARRIERS, Barrier
from vkgroup.conformance.case import Case
from vkgroup.conformance.globs import MayBegin, any_name
from vkgroup.conformance.operands import choices, represents
from vkgroup.conformance.patterns import PATTERNS, patterns_of
from vkgroup.conformance.shapes import SHAPES
from vkgroup.conformance.stages import FRAMEBUFFER, FRAMEBUFFER_STAGES
from vkgroup.spec import stages
from vkgroup.spec.categories import Category
from vkgroup.spec.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.spec.limits import QUAD_SIZE, SUBGROUP_SIZES
from vkgroup.spec.operations import BUILTIN_VARIABLES, BuiltinVariable, OperandKind, Operation
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spec.types import LONG_TYPES, GlslType

REQUIRED_SIZES = SUBGROUP_SIZES
"""Subgroup sizes that a pipeline may require."""

_SPECIAL_MOVE_PATTERNS = ("all", "partial")


@dataclass(frozen=True)
class Axes:
    """Axes of a stage's cases besides operation, type and pattern."""

    #: The patterns in which an operation is combined with every operand; the others have only the
    #: representatives, because divergence is tested more thoroughly in compute shaders.
    all_operands: tuple[str, ...]
    partitions: tuple[str, ...]  # the patterns with partitioned operations
    inexact: tuple[str, ...] | None = None  # the patterns with rounding and special data; None for all
    sized: tuple[str, ...] = ()  # the patterns with cases at each required subgroup size
    shapes: tuple[str, ...] = ()  # workgroups other than 1-D
    least_size: int = 1  # the smallest subgroup size that is required
    #: The types used in the patterns other than `_MAIN_PATTERNS`; empty for all types.
    types: tuple[str, ...] = ()


class _Tails:
    """The axes behind the type, and their part of the name, of the cases of some types."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self.axes = tuple(
            (case.pattern, case.data, case.operand, case.shape, case.subgroup_size) for case in cases
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The ends of the names, in the order of `axes`."""
        return tuple(Case("", "", "", "", *axes).name for axes in self.axes)


@dataclass(frozen=True, slots=True)
class _Block:
    """All cases of an operation on a type in a stage."""

    category: str
    stage: str
    operation: str
    type: str
    tails: _Tails


_MAIN_PATTERNS = ("all", "data_mask")
"""The patterns used for axes that are not combined with all patterns."""

_SOME_TYPES = ("float", "vec3", "int", "uvec2", "uint64_t", "f16vec4", "bool")

_IN_WORKGROUPS = Axes(("all",), _MAIN_PATTERNS, inexact=("all",), sized=("all",), types=_SOME_TYPES)
_OTHER = Axes(("all",), _MAIN_PATTERNS, inexact=("all",), types=_SOME_TYPES)
_SPECIAL_AXES: dict[str, Axes] = {
    "compute": Axes(
        tuple(PATTERNS),
        ("all", "partial", "odd", "data_mask", "nested", "loop"),
        sized=("all", "partial", "data_mask"),
        shapes=tuple(shape for shape in SHAPES if shape != "1d"),
    ),
    "fragment": Axes(
        ("all", "partial"), ("all", "partial", "data_mask", "demote"), sized=("all",), least_size=QUAD_SIZE
    ),
}


# Compute shaders come first and are tested most thoroughly.
_AXES = {
    stage.name: _SPECIAL_AXES.get(stage.name) or (_IN_WORKGROUPS if stage.workgroups else _OTHER)
    for stage in sorted(stages.STAGES, key=lambda stage: stage.name != "compute")
}
STAGES = tuple(_AXES)
"""The shader stages that the suite tests."""

# In other stages: the representatives, and all operands that group lanes.
_WITH_EVERY_OPERAND = ("compute", "fragment")
_SHAPED = (Category.CLUSTERED.value, Category.QUAD.value)

# For long vectors: subgroup sizes of common GPUs; broadcasts use all sizes.
_BROADCASTS = ("subgroupBroadcast", "subgroupBroadcastFirst")
_LONG_SIZES = (8, 32, 64)

# Patterns of `narrow` choices, and of partitions with rounding or special data.
_NARROW_PATTERNS = ("all", "partial", "odd")


def _combined(
    category: str, stage: str, operation: str, scalar: bool, pattern: str, data: str, operand: str
) -> bool:
    """Return whether an operand is combined with a type (scalar or vector), a pattern and data."""
    if represents(operation, operand):
        return True
    patterns = _AXES[stage].all_operands
    if stage not in _WITH_EVERY_OPERAND and (category not in _SHAPED or data != "exact"):
        return False
    if not choices(operation)[operand].narrow:
        return pattern in patterns
    # A partition does not depend on the number of components.
    fits = category != Category.PARTITIONED.value or scalar
    return fits and data == "exact" and pattern in patterns and pattern in _NARROW_PATTERNS


def _data_sets(operation: Operation, type_: GlslType) -> tuple[str, ...]:
    """Return the data sets for an operation on a type."""
    kind = type_.scalar.kind
    if operation.operator in ("Add", "Mul"):
        return ("exact", "rounding", "special") if kind == "float" else ("exact",)
    if operation.operator in ("Min", "Max"):
        return ("exact", "special")
    moves = operation.operator is None and operation.result == "value"
    return ("exact", "special") if moves and kind != "bool" else ("exact",)


def _has_data(operation: Operation, stage: str, data: str, pattern: str) -> bool:
    """Whether a data set is combined with a pattern; moves of special values use whole subgroups only."""
    inexact = _AXES[stage].inexact
    if operation.category is Category.PARTITIONED and pattern not in _AXES[stage].partitions:
        return False
    if data == "special" and operation.operator is None and stage not in _WITH_EVERY_OPERAND:
        return False
    if data != "exact" and inexact is not None and pattern not in inexact:
        return False
    if operation.category is Category.PARTITIONED and data != "exact" and pattern not in _NARROW_PATTERNS:
        return False
    return data != "special" or operation.operator is not None or pattern in _SPECIAL_MOVE_PATTERNS


def _in_stage(operation: Operation | BuiltinVariable, stage: str) -> bool:
    return operation.stages is None or stage in operation.stages


@cache
def _operation_tails(
    name: str, stage: str, data_sets: tuple[str, ...], all_patterns: bool, scalar: bool
) -> _Tails:
    """Return the tails of the cases of an operation on a type; many types have the same tails."""
    operation = SUBGROUP_OPERATIONS[name]
    category = operation.category.value
    cases: list[Case] = []
    for data in data_sets:
        for pattern in patterns_of(stage):
            if not all_patterns and pattern not in _MAIN_PATTERNS:
                continue
            if not _has_data(operation, stage, data, pattern):
                continue
            for operand in choices(name) or ("",):
                if _combined(category, stage, name, scalar, pattern, data, operand):
                    case = Case(category, stage, name, "", pattern, data, operand)
                    cases += [case, *_variations(case)]
    return _Tails(cases)


def _operation_blocks(operation: Operation, stage: str, may_begin: MayBegin) -> Iterator[_Block]:
    category, axes, name = operation.category.value, _AXES[stage], operation.name
    for type_ in operation.types:
        if may_begin(f"{category}.{stage}.{name}.{type_.name}."):
            all_patterns = not axes.types or type_.name in axes.types or len(operation.types) == 1
            data_sets = _data_sets(operation, type_)
            tails = _operation_tails(name, stage, data_sets, all_patterns, type_.components == 1)
            yield _Block(category, stage, name, type_.name, tails)
    if not operation.operands or operation.operands[0].kind is not OperandKind.VALUE:
        return
    scalars = {type_.scalar for type_ in operation.types}
    for type_ in LONG_TYPES.values():
        if type_.scalar in scalars and may_begin(f"{category}.{stage}.{name}.{type_.name}."):
            yield _Block(category, stage, name, type_.name, _long_tails(name, stage))


@cache
def _long_tails(name: str, stage: str) -> _Tails:
    """Return the tails of the cases of vectors of eight components, with representative choices only."""
    operation = SUBGROUP_OPERATIONS[name]
    cases: list[Case] = []
    for operand in choices(operation.name) or ("",):
        case = Case(operation.category.value, stage, operation.name, "", "all", "exact", operand)
        if not represents(case.operation, case.operand):
            continue
        # Helper invocations vote, too.
        helpers = ("partial",) if stage == "fragment" and operation.category is Category.VOTE else ()
        cases += (_variant(case, pattern=pattern) for pattern in (*_MAIN_PATTERNS, *helpers))
        if _AXES[stage].sized:
            sizes = REQUIRED_SIZES if operation.name in _BROADCASTS else _LONG_SIZES
            least = _AXES[stage].least_size
            cases += (_variant(case, size=size) for size in sizes if size >= least)
        if stage in FRAMEBUFFER_STAGES:
            cases.append(_variant(case, shape=FRAMEBUFFER))
    return _Tails(cases)


def _variations(case: Case) -> Iterator[Case]:
    """Yield variants of the case: other shapes, required subgroup sizes, and output to the framebuffer.

    Only for one operand and exact data.
    """
    axes = _AXES[case.stage]
    if case.data != "exact" or not represents(case.operation, case.operand):
        return
    partitioned = case.category == Category.PARTITIONED.value
    if case.pattern in axes.sized and not (partitioned and case.pattern != "all"):
        yield from (_variant(case, shape=shape) for shape in axes.shapes if not partitioned)
        yield from _sizes(case)
    if case.stage in FRAMEBUFFER_STAGES and case.pattern in _MAIN_PATTERNS:
        yield _variant(case, shape=FRAMEBUFFER)


def _variant(case: Case, *, pattern: str = "", shape: str = "1d", size: int = 0) -> Case:
    """Return a case with another pattern, shape or required size; faster than `dataclasses.replace`."""
    axes = (case.category, case.stage, case.operation, case.type, pattern or case.pattern)
    return Case(*axes, case.data, case.operand, shape, size)


def _sizes(case: Case) -> Iterator[Case]:
    """Yield the case again at each required subgroup size."""
    for size in REQUIRED_SIZES:
        if size >= _AXES[case.stage].least_size:
            yield _variant(case, size=size)


def _barrier_cases(barrier: Barrier, stage: str) -> Iterator[Case]:
    for memory in barrier.memories:
        if memory == "shared" and stage not in WORKGROUP_STAGES:
            continue
        for pattern in patterns_of(stage):
            case = Case("basic", stage, barrier.name, "uint", pattern, "exact", memory)
            yield case
            if pattern in _AXES[stage].sized:
                yield from _sizes(case)


def _variable_cases(variable: BuiltinVariable, stage: str) -> Iterator[Case]:
    for pattern in patterns_of(stage):
        case = Case(variable.category.value, stage, variable.name, variable.type.name, pattern, "exact")
        yield case
        yield from _variations(case)


def _stage_blocks(stage: str, may_begin: MayBegin) -> Iterator[_Block]:
    for variable in BUILTIN_VARIABLES.values():
        category, type_ = variable.category.value, variable.type.name
        if _in_stage(variable, stage) and may_begin(f"{category}.{stage}.{variable.name}.{type_}."):
            yield _Block(category, stage, variable.name, type_, _Tails(_variable_cases(variable, stage)))
    for barrier in BARRIERS.values():
        if may_begin(f"basic.{stage}.{barrier.name}.uint."):
            yield _Block("basic", stage, barrier.name, "uint", _Tails(_barrier_cases(barrier, stage)))
    for operation in SUBGROUP_OPERATIONS.values():
        if operation.name in BARRIERS or not _in_stage(operation, stage):
            continue
        if may_begin(f"{operation.category.value}.{stage}.{operation.name}."):
            yield from _operation_blocks(operation, stage, may_begin)


def _blocks(may_begin: MayBegin) -> list[_Block]:
    """Return the blocks whose names may be wanted, in the order of the suite."""
    categories = [category.value for category in Category]
    stages = [stage for stage in STAGES if any(may_begin(f"{category}.{stage}.") for category in categories)]
    blocks = [block for stage in stages for block in _stage_blocks(stage, may_begin)]
    blocks.sort(key=attrgetter("category"))
    return blocks


def subgroup_cases(may_begin: MayBegin = any_name) -> tuple[Case, ...]:
    """Return the cases of the family whose names may be wanted, in the order of the suite; needs no device.

    Not every returned case need be wanted. Whole stages, operations and types are left out if no name in them
    is wanted.
    """
    with paused():
        return tuple(
            Case(block.category, block.stage, block.operation, block.type, *tail)
            for block in _blocks(may_begin)
            for tail in block.tails.axes
        )


def subgroup_names(may_begin: MayBegin = any_name) -> Iterator[str]:
    """Yield the names of `subgroup_cases`, without the cases."""
    for block in _blocks(may_begin):
        prefix = f"{block.category}.{block.stage}.{block.operation}.{block.type}."
        yield from [prefix + name for name in block.tails.names]
