"""The cases of subgroup operations: their axes, combined and filtered, with names and sentences.

A case's name is ``category.stage.operation.type.pattern.data[.operand][.shape][.sizeN]``; shape 1-D and the
default subgroup size are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import NamedTuple

from vkgroup.base.lifetime import paused
from vkgroup.conformance.barriers import BARRIERS, Barrier
from vkgroup.conformance.globs import MayBegin, any_name
from vkgroup.conformance.patterns import PATTERNS, SHAPES, patterns_of
from vkgroup.conformance.spelled_sentences import SENTENCES
from vkgroup.conformance.stages.pixels import FRAMEBUFFER, FRAMEBUFFER_STAGES
from vkgroup.conformance.subgroup.operands import choices, represents
from vkgroup.spec import stages
from vkgroup.spec.categories import Category
from vkgroup.spec.limits import QUAD_SIZE, SUBGROUP_SIZES
from vkgroup.spec.operations import (
    BUILTIN_VARIABLES,
    SUBGROUP_OPERATIONS,
    BuiltinVariable,
    OperandKind,
    Operation,
)
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spec.types import LONG_TYPES, GlslType, type_named


@dataclass(frozen=True, slots=True)
class Case:
    """One case: operation, data and active invocations. An axis that does not apply is ""."""

    #: Of `vkgroup.reference`, or ``"hlsl"``, ``"legacy_ballot"`` or ``"quad_control"`` for operations that
    #: are spelled differently; see `vkgroup.conformance.spellings`.
    category: str
    #: `stage`, `operation`, `type`, `pattern`, `data`, `operand`: keys of the tables of this package and of
    #: `vkgroup.reference`, or of the spelling.
    stage: str
    operation: str
    type: str
    pattern: str
    data: str
    operand: str = ""
    #: For workgroups, a key of `SHAPES`; for other stages "1d", or `FRAMEBUFFER` if the shader writes to
    #: no buffer.
    shape: str = "1d"
    subgroup_size: int = 0  # the subgroup size that the pipeline requires, or 0 for the default
    form: str = ""  # for ``"legacy_ballot"``, a key of `FORMS`

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        parts = [self.category, self.stage, self.operation, self.type, self.pattern, self.data]
        parts += [self.operand, self.form]
        if self.shape != "1d":
            parts.append(self.shape)
        if self.subgroup_size:
            parts.append(f"size{self.subgroup_size}")
        return ".".join(filter(None, parts))

    @property
    def is_spelled(self) -> bool:
        """Whether the operation is spelled differently than in KHR_shader_subgroup."""
        return self.category in SENTENCES

    @property
    def glsl_type(self) -> GlslType:
        """The type of the operation's value."""
        return type_named(self.type)

    @property
    def preserved_width(self) -> int:
        """Width of the floats whose special values the module must preserve (execution mode); 0 if none.

        Arithmetic on NaN, infinities and signed zeros is compared only with this mode; moves do not need it.
        """
        operation, scalar = SUBGROUP_OPERATIONS.get(self.operation), self.glsl_type.scalar
        arithmetic = operation is not None and operation.operator is not None
        return scalar.bits if self.data == "special" and scalar.kind == "float" and arithmetic else 0

    @property
    def sentence(self) -> str:
        """What the case tests, in one sentence."""
        executed = f"executed {patterns_of(self.stage)[self.pattern].sentence}" if self.pattern else ""
        where = f"{self.stage.replace('_', ' ')} shader"
        if self.is_spelled:
            return SENTENCES[self.category](self, _phrase, executed, where)
        text = f"{self.operation} of {self.type} on {self.data} data"
        if self.operation in BARRIERS:
            text = f"{self.operation} {BARRIERS[self.operation].sentence} ({self.operand} memory)"
        elif self.operand:
            text += f" with {_phrase(self.operation, self.operand)}"
        where += "s, whose results go to the framebuffer" if self.shape == FRAMEBUFFER else "s"
        if self.shape != FRAMEBUFFER and self.stage == "compute":
            where = f"{self.shape.upper()} workgroups"
        size = f" at a required subgroup size of {self.subgroup_size}" if self.subgroup_size else ""
        return f"{text}, {executed} in {where}{size}."


def _phrase(operation: str, operand: str) -> str:
    """Return the phrase for a choice of an operation's operand; "" for none."""
    choice = choices(operation).get(operand)
    return choice.sentence if choice else ""


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


_MAIN_PATTERNS = ("all", "data_mask")
"""The patterns used for axes that are not combined with all patterns."""

_SOME_TYPES = ("float", "vec3", "int", "uvec2", "uint64_t", "f16vec4", "bool")

_OTHER = Axes(("all",), _MAIN_PATTERNS, inexact=("all",), types=_SOME_TYPES)
# Compute shaders come first and are tested most thoroughly.
_AXES: dict[str, Axes] = {
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
STAGES = tuple(sorted((stage.name for stage in stages.STAGES), key=lambda name: name != "compute"))
"""The shader stages that the suite tests."""
_AXES |= {
    name: replace(_OTHER, sized=("all",) if name in WORKGROUP_STAGES else ())
    for name in STAGES
    if name not in _AXES
}

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
    return data != "special" or operation.operator is not None or pattern in ("all", "partial")


class _Tail(NamedTuple):
    """The axes behind the type; a part of the fields of `Case`, in the same order."""

    pattern: str
    data: str = "exact"
    operand: str = ""
    shape: str = "1d"
    subgroup_size: int = 0


class _Block(NamedTuple):
    """All cases of an operation on a type in a stage."""

    category: str
    stage: str
    operation: str
    type: str
    tails: tuple[_Tail, ...]


@cache
def _name_of(tail: _Tail) -> str:
    """Return the end of the names with these axes; far fewer tails than cases exist."""
    return Case("", "", "", "", *tail).name


@cache
def _operation_tails(
    name: str, stage: str, data_sets: tuple[str, ...], all_patterns: bool, scalar: bool
) -> tuple[_Tail, ...]:
    """Return the tails of the cases of an operation on a type; many types have the same tails."""
    operation = SUBGROUP_OPERATIONS[name]
    category = operation.category.value
    return tuple(
        tail
        for data in data_sets
        for pattern in (patterns_of(stage) if all_patterns else _MAIN_PATTERNS)
        if _has_data(operation, stage, data, pattern)
        for operand in choices(name) or ("",)
        if _combined(category, stage, name, scalar, pattern, data, operand)
        for tail in _varied(category, stage, name, _Tail(pattern, data, operand))
    )


@cache
def _long_tails(name: str, stage: str) -> tuple[_Tail, ...]:
    """Return the tails of the cases of vectors of eight components, with representative choices only."""
    # Helper invocations vote, too.
    helpers = stage == "fragment" and SUBGROUP_OPERATIONS[name].category is Category.VOTE
    tails: list[_Tail] = []
    for operand in choices(name) or ("",):
        if represents(name, operand):
            tail = _Tail("all", operand=operand)
            patterns = (*_MAIN_PATTERNS, *(("partial",) if helpers else ()))
            tails += (tail._replace(pattern=pattern) for pattern in patterns)
            if _AXES[stage].sized:
                tails += _sizes(stage, tail, SUBGROUP_SIZES if name in _BROADCASTS else _LONG_SIZES)
            if stage in FRAMEBUFFER_STAGES:
                tails.append(tail._replace(shape=FRAMEBUFFER))
    return tuple(tails)


def _varied(category: str, stage: str, operation: str, tail: _Tail) -> Iterator[_Tail]:
    """Yield a tail, then its variants: other shapes, required subgroup sizes, output to the framebuffer.

    Only one operand and exact data have variants.
    """
    yield tail
    axes = _AXES[stage]
    if tail.data != "exact" or not represents(operation, tail.operand):
        return
    partitioned = category == Category.PARTITIONED.value
    if tail.pattern in axes.sized and not (partitioned and tail.pattern != "all"):
        yield from (tail._replace(shape=shape) for shape in axes.shapes if not partitioned)
        yield from _sizes(stage, tail)
    if stage in FRAMEBUFFER_STAGES and tail.pattern in _MAIN_PATTERNS:
        yield tail._replace(shape=FRAMEBUFFER)


def _sizes(stage: str, tail: _Tail, sizes: tuple[int, ...] = SUBGROUP_SIZES) -> Iterator[_Tail]:
    """Yield the tail again at each required subgroup size."""
    return (tail._replace(subgroup_size=size) for size in sizes if size >= _AXES[stage].least_size)


def _barrier_tails(barrier: Barrier, stage: str) -> Iterator[_Tail]:
    for memory in barrier.memories:
        if memory != "shared" or stage in WORKGROUP_STAGES:
            for pattern in patterns_of(stage):
                tail = _Tail(pattern, operand=memory)
                yield tail
                if pattern in _AXES[stage].sized:
                    yield from _sizes(stage, tail)


def _operation_blocks(operation: Operation, stage: str, may_begin: MayBegin) -> Iterator[_Block]:
    category, axes, name = operation.category.value, _AXES[stage], operation.name
    for type_ in operation.types:
        if may_begin(f"{category}.{stage}.{name}.{type_.name}."):
            all_patterns = not axes.types or type_.name in axes.types or len(operation.types) == 1
            data_sets = _data_sets(operation, type_)
            tails = _operation_tails(name, stage, data_sets, all_patterns, type_.components == 1)
            yield _Block(category, stage, name, type_.name, tails)
    scalars = {type_.scalar for type_ in operation.types}
    has_value = operation.operands and operation.operands[0].kind is OperandKind.VALUE
    for type_ in LONG_TYPES.values() if has_value else ():
        if type_.scalar in scalars and may_begin(f"{category}.{stage}.{name}.{type_.name}."):
            yield _Block(category, stage, name, type_.name, _long_tails(name, stage))


def _stage_blocks(stage: str, may_begin: MayBegin) -> Iterator[_Block]:
    rows: list[BuiltinVariable | Barrier | Operation] = [*BUILTIN_VARIABLES.values(), *BARRIERS.values()]
    for row in (*rows, *SUBGROUP_OPERATIONS.values()):
        category, name = "basic" if isinstance(row, Barrier) else row.category.value, row.name
        if not may_begin(f"{category}.{stage}.{name}."):
            continue
        if isinstance(row, Barrier):
            yield _Block(category, stage, name, "uint", tuple(_barrier_tails(row, stage)))
        elif name in BARRIERS or (row.stages is not None and stage not in row.stages):
            continue
        elif isinstance(row, Operation):
            yield from _operation_blocks(row, stage, may_begin)
        else:
            tails = (
                tail for one in patterns_of(stage) for tail in _varied(category, stage, name, _Tail(one))
            )
            yield _Block(category, stage, name, row.type.name, tuple(tails))


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
            for tail in block.tails
        )


def subgroup_names(may_begin: MayBegin = any_name) -> Iterator[str]:
    """Yield the names of `subgroup_cases`, without the cases."""
    for *axes, tails in _blocks(may_begin):
        prefix = ".".join(axes)
        yield from [f"{prefix}.{_name_of(tail)}" for tail in tails]
