"""The cases of subgroup operations: their axes, combined and filtered, with names and sentences.

A case's name is ``category.stage.operation.type.pattern.data[.operand][.shape][.sizeN]``; shape 1-D and the
default subgroup size are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
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

    #: Of `vkgroup.reference`, or, for operations that are spelled differently, ``"hlsl"``, ``"slang"``,
    #: ``"wgsl"``, ``"legacy_ballot"`` or ``"quad_control"``; see `vkgroup.conformance.spellings`.
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
    inexact: tuple[str, ...]  # the patterns with rounding and special data
    sized: tuple[str, ...] = ()  # the patterns with cases at each required subgroup size
    shapes: tuple[str, ...] = ()  # workgroups other than 1-D
    least_size: int = 1  # the smallest subgroup size that is required
    #: The types used in the patterns other than `_MAIN_PATTERNS`; empty for all types.
    types: tuple[str, ...] = ()
    thorough: bool = True  # False if only operands that group lanes have more than the representatives


_MAIN_PATTERNS = ("all", "data_mask")
"""The patterns used for axes that are not combined with all patterns."""

_NARROW_PATTERNS = ("all", "partial", "odd")
"""The patterns of `narrow` choices, and of partitions with rounding or special data."""

STAGES = tuple(sorted((stage.name for stage in stages.STAGES), key=lambda name: name != "compute"))
"""The shader stages that the suite tests; compute shaders come first and are tested most thoroughly."""

_SOME_TYPES = ("float", "vec3", "int", "uvec2", "uint64_t", "f16vec4", "bool")
_OTHER = Axes(("all",), _MAIN_PATTERNS, ("all",), types=_SOME_TYPES, thorough=False)
_AXES = {name: replace(_OTHER, sized=("all",) if name in WORKGROUP_STAGES else ()) for name in STAGES} | {
    "compute": Axes(
        tuple(PATTERNS),
        ("all", "partial", "odd", "data_mask", "nested", "loop"),
        tuple(PATTERNS),
        sized=("all", "partial", "data_mask"),
        shapes=tuple(shape for shape in SHAPES if shape != "1d"),
    ),
    "fragment": Axes(
        ("all", "partial"),
        ("all", "partial", "data_mask", "demote"),
        tuple(patterns_of("fragment")),
        sized=("all",),
        least_size=QUAD_SIZE,
    ),
}

# For long vectors: subgroup sizes of common GPUs; broadcasts use all sizes.
_BROADCASTS = ("subgroupBroadcast", "subgroupBroadcastFirst")
_LONG_SIZES = (8, 32, 64)


def _data_sets(operation: Operation, type_: GlslType) -> tuple[str, ...]:
    """Return the data sets for an operation on a type."""
    kind, operator = type_.scalar.kind, operation.operator
    if operator in ("Add", "Mul"):
        return ("exact", "rounding", "special") if kind == "float" else ("exact",)
    moves = operator is None and operation.result == "value" and kind != "bool"
    return ("exact", "special") if moves or operator in ("Min", "Max") else ("exact",)


def _has(operation: Operation, stage: str, scalar: bool, pattern: str, data: str, operand: str) -> bool:
    """Return whether an operation on a scalar or a vector has cases with this pattern, data and operand."""
    axes, exact, narrow = _AXES[stage], data == "exact", pattern in _NARROW_PATTERNS
    partitioned = operation.category is Category.PARTITIONED
    if partitioned and (pattern not in axes.partitions or not (exact or narrow)):
        return False
    if not exact and pattern not in axes.inexact:
        return False
    # Moves of special values use whole subgroups only.
    moved = data == "special" and operation.operator is None
    if moved and not (axes.thorough and pattern in ("all", "partial")):
        return False
    if represents(operation.name, operand):
        return True
    grouped = exact and operation.category in (Category.CLUSTERED, Category.QUAD)
    if pattern not in axes.all_operands or not (axes.thorough or grouped):
        return False
    # A partition does not depend on the number of components.
    return not choices(operation.name)[operand].narrow or (exact and narrow and (scalar or not partitioned))


class _Tail(NamedTuple):
    """The axes behind the type; a part of the fields of `Case`, in the same order."""

    pattern: str
    data: str = "exact"
    operand: str = ""
    shape: str = "1d"
    subgroup_size: int = 0


_Row = Operation | BuiltinVariable
_Block = tuple[tuple[str, str, str, str], tuple[_Tail, ...]]
"""Category, stage, operation and type; and the other axes of all their cases."""


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
    return tuple(
        tail
        for data in data_sets
        for pattern in (patterns_of(stage) if all_patterns else _MAIN_PATTERNS)
        for operand in choices(name) or ("",)
        if _has(operation, stage, scalar, pattern, data, operand)
        for tail in _varied(operation, stage, _Tail(pattern, data, operand))
    )


@cache
def _long_tails(name: str, stage: str) -> tuple[_Tail, ...]:
    """Return the tails of the cases of vectors of eight components, with representative choices only."""
    operation = SUBGROUP_OPERATIONS[name]
    # Helper invocations vote, too.
    helpers = ["partial"] if stage == "fragment" and operation.category is Category.VOTE else []
    sizes = SUBGROUP_SIZES if name in _BROADCASTS else _LONG_SIZES
    tails: list[_Tail] = []
    for operand in choices(name) or ("",):
        if represents(name, operand):
            tail = _Tail("all", operand=operand)
            tails += (tail._replace(pattern=pattern) for pattern in (*_MAIN_PATTERNS, *helpers))
            tails += _sizes(stage, tail, sizes)
            tails += [tail._replace(shape=FRAMEBUFFER)] if stage in FRAMEBUFFER_STAGES else []
    return tuple(tails)


def _varied(row: _Row, stage: str, tail: _Tail) -> Iterator[_Tail]:
    """Yield a tail, then its variants: other shapes, required subgroup sizes, output to the framebuffer.

    Only one operand and exact data have variants.
    """
    yield tail
    if tail.data != "exact" or not represents(row.name, tail.operand):
        return
    partitioned = row.category is Category.PARTITIONED
    if not partitioned and tail.pattern in _AXES[stage].sized:
        yield from (tail._replace(shape=shape) for shape in _AXES[stage].shapes)
    if not partitioned or tail.pattern == "all":
        yield from _sizes(stage, tail)
    if stage in FRAMEBUFFER_STAGES and tail.pattern in _MAIN_PATTERNS:
        yield tail._replace(shape=FRAMEBUFFER)


def _sizes(stage: str, tail: _Tail, sizes: tuple[int, ...] = SUBGROUP_SIZES) -> Iterator[_Tail]:
    """Yield the tail again at each required subgroup size, if its pattern has such cases."""
    if tail.pattern in _AXES[stage].sized:
        yield from (tail._replace(subgroup_size=size) for size in sizes if size >= _AXES[stage].least_size)


def _barrier_tails(barrier: Barrier, stage: str) -> Iterator[_Tail]:
    for memory in barrier.memories:
        if memory != "shared" or stage in WORKGROUP_STAGES:
            for pattern in patterns_of(stage):
                yield (tail := _Tail(pattern, operand=memory))
                yield from _sizes(stage, tail)


def _blocks_of(row: _Row | Barrier, stage: str, may_begin: MayBegin) -> Iterator[_Block]:
    """Yield the blocks of a row in a stage whose names may be wanted."""
    category, name = "basic" if isinstance(row, Barrier) else row.category.value, row.name
    if not may_begin(f"{category}.{stage}.{name}."):
        return
    if isinstance(row, Barrier):
        yield (category, stage, name, "uint"), tuple(_barrier_tails(row, stage))
    elif name in BARRIERS or (row.stages is not None and stage not in row.stages):
        return
    elif isinstance(row, BuiltinVariable):
        tails = (tail for one in patterns_of(stage) for tail in _varied(row, stage, _Tail(one)))
        yield (category, stage, name, row.type.name), tuple(tails)
    else:
        types, scalars = _AXES[stage].types, {type_.scalar for type_ in row.types}
        has_value = row.operands and row.operands[0].kind is OperandKind.VALUE
        for type_ in (*row.types, *(LONG_TYPES.values() if has_value else ())):
            if type_.scalar in scalars and may_begin(f"{category}.{stage}.{name}.{type_.name}."):
                whole = not types or type_.name in types or len(row.types) == 1
                axes = _data_sets(row, type_), whole, type_.components == 1
                long = type_.name in LONG_TYPES
                all_ = _long_tails(name, stage) if long else _operation_tails(name, stage, *axes)
                yield (category, stage, name, type_.name), all_


def _blocks(may_begin: MayBegin) -> list[_Block]:
    """Return the blocks whose names may be wanted, in the order of the suite."""
    rows: list[_Row | Barrier] = [*BUILTIN_VARIABLES.values(), *BARRIERS.values()]
    rows += SUBGROUP_OPERATIONS.values()
    blocks = [block for stage in STAGES for row in rows for block in _blocks_of(row, stage, may_begin)]
    return sorted(blocks, key=lambda block: block[0][0])


def subgroup_cases(may_begin: MayBegin = any_name) -> tuple[Case, ...]:
    """Return the cases of the family whose names may be wanted, in the order of the suite; needs no device.

    Not every returned case need be wanted. Whole operations and types are left out if no name in them is
    wanted.
    """
    with paused():
        return tuple(
            Case(category, stage, operation, type_, *tail)
            for (category, stage, operation, type_), tails in _blocks(may_begin)
            for tail in tails
        )


def subgroup_names(may_begin: MayBegin = any_name) -> Iterator[str]:
    """Yield the names of `subgroup_cases`, without the cases."""
    for axes, tails in _blocks(may_begin):
        prefix = ".".join(axes)
        yield from [f"{prefix}.{_name_of(tail)}" for tail in tails]
