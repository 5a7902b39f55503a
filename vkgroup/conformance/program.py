"""A batch of cases as one program: the GLSL, its input words, and the position of each result.

All cases of a batch share stage, pattern, shape and subgroup size. Each reads separate data and writes
separate results, so one dispatch executes them all.

Buffers
-------
binding 0, inputs : words. The mask of the pattern ``data_mask``, then the operand tables, then the data
    sets: planes of 2 × PLACES words, first the values, then the decoys.
binding 1, outputs : planes of INVOCATIONS words. Lane, subgroup, subgroup size and the other records of
    the stage; for each slot, whether it was executed and the four words of the active mask; the results of
    each case.
binding 2 … : memory of the barrier cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from vkgroup.conformance import barriers, data
from vkgroup.conformance.arguments import CaseArgument, ProgramArguments
from vkgroup.conformance.arrays import Array, Words
from vkgroup.conformance.barriers import BARRIERS, ROUNDS, BarrierMemory
from vkgroup.conformance.case import Case
from vkgroup.conformance.intrinsics import (
    EXTENSION,
    float_modes,
    function_of,
    intrinsic_of,
    long_vector_declarations,
)
from vkgroup.conformance.patterns import Pattern, patterns_of
from vkgroup.conformance.shapes import WORKGROUPS
from vkgroup.conformance.stages import BatchStage, stage_of
from vkgroup.programs.glsl_types import is_long, planes, putter, reader, to_planes, writer
from vkgroup.spec.categories import Category
from vkgroup.spec.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.spec.operations import BUILTIN_VARIABLES
from vkgroup.spec.types import TYPES, GlslType, type_named

SLOT_PLANES = 5
"""Planes of one slot: executed, and the active mask's four words."""


def result_type(case: Case) -> GlslType:
    """Return the type of the values that a case records."""
    if case.operation in BUILTIN_VARIABLES:
        return BUILTIN_VARIABLES[case.operation].type
    if case.operation in BARRIERS:
        return TYPES["uint"]
    return SUBGROUP_OPERATIONS[case.operation].result_type(case.glsl_type) or case.glsl_type


@dataclass(frozen=True)
class Feed:
    """The data set that a case reads: its offset in the inputs and its values."""

    at: int  # first word in the inputs
    type: GlslType
    #: `values`, `decoys`: (places, components) in the type's dtype.
    values: Array
    decoys: Array


@dataclass(frozen=True)
class BatchEntry:
    """One case of a batch."""

    case: Case
    at: int  # first word of its results in the outputs
    planes: int  # planes of one slot of its results
    feed: Feed | None = None  # its data; None if it reads none
    argument: CaseArgument | None = None  # its other operands; None if it has none


@dataclass
class BatchProgram:
    """GLSL, inputs, specialization constants and the plan of the outputs of one batch."""

    stage: BatchStage
    pattern: Pattern
    subgroup_size: int
    source: str
    inputs: Words
    output_words: int
    entries: list[BatchEntry]
    memories: dict[int, BarrierMemory] = field(default_factory=dict)
    specialization: dict[int | str, int] = field(default_factory=dict)

    @property
    def invocations(self) -> int:
        """Words of a plane of the outputs."""
        return self.stage.invocations

    @property
    def slots_at(self) -> int:
        """The first word of the record of slots in the outputs."""
        return self.stage.record_planes * self.invocations

    @property
    def planes(self) -> int:
        """All planes of the outputs."""
        return self.output_words // self.invocations


def _call(case: Case, arguments: Sequence[str]) -> str:
    """Return the expression of a case in the words of the extensions."""
    if case.operation in BUILTIN_VARIABLES:
        return case.operation
    intrinsic = intrinsic_of(case.operation)
    if intrinsic is not None and not is_long(case.glsl_type):
        return intrinsic.call(case.operation, arguments)
    return f"{function_of(SUBGROUP_OPERATIONS[case.operation], case.glsl_type)}({', '.join(arguments)})"


@dataclass(frozen=True)
class Spelling:
    """The GLSL spelling of a program's operations: that of KHR_shader_subgroup or a different one."""

    #: Case and arguments in GLSL → an expression of the operation's result.
    call: Callable[[Case, Sequence[str]], str] = _call
    extensions: tuple[str, ...] = ()  # GLSL extensions that it needs
    declarations: str = ""  # GLSL outside of `main` that it needs
    ballot: str = "subgroupBallot(true)"  # an expression of the active mask, a uvec4


_SPELLING = Spelling()


class _Builder:
    """Collects the parts of a batch's program."""

    def __init__(
        self,
        first: Case,
        size: int,
        seed: int,
        denormals: frozenset[int],
        spelling: Spelling,
        stage: BatchStage | None,
    ) -> None:
        self.spelling = spelling
        self.pattern = patterns_of(first.stage)[first.pattern]
        self.stage = stage or stage_of(first.stage, first.shape, self.pattern.partial)
        self.invocations = self.stage.invocations
        self.places = WORKGROUPS * self.stage.group_places
        self.size, self.seed, self.denormals = size, seed, denormals
        self.inputs: list[Words] = []
        self.input_words = 0
        self.output_words = self.invocations * (self.stage.record_planes + SLOT_PLANES * self.pattern.slots)
        self.feeds: dict[tuple[str, str], tuple[str, Feed]] = {}
        self.loads: list[str] = []
        self.observations: list[str] = []
        self.declarations: list[str] = []
        self.resets: list[str] = []
        self.memories: dict[int, BarrierMemory] = {}
        self.types: dict[str, GlslType] = {}
        self.entries: list[BatchEntry] = []
        self.arguments = ProgramArguments(size, self.stage.group_places, self._generator, self._append)
        self.intrinsics: dict[str, None] = {}
        self.mask_base = self._append(
            self._generator("mask").integers(0, 2, self.stage.own_numbers, np.uint32)
        )

    def _generator(self, key: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, crc32(key.encode()), self.size, self.stage.table_seed])

    def _append(self, words: Words) -> int:
        at = self.input_words
        self.inputs.append(self.stage.used_inputs(words.ravel()))
        self.input_words += words.size
        return at

    def feed(self, case: Case) -> tuple[str, Feed]:
        """Return the GLSL variable that holds a case's value, and its data."""
        operation = SUBGROUP_OPERATIONS[case.operation]
        kind = operation.operands[0].kind.value
        recipe = data.recipe_name(case.operation, operation.operator, kind, case.data)
        type_ = case.glsl_type
        key = (recipe, type_.name)
        if key not in self.feeds:
            request = data.RecipeParameters(
                type_, self.stage.group_places, type_.scalar.bits in self.denormals
            )
            values, decoys = data.make(recipe, request, self.seed)
            at = self._append(to_planes(np.concatenate([values, decoys]), type_))
            variable = f"value_{len(self.feeds)}"
            self.types[type_.name] = type_
            self.loads.append(f"{type_.name} {variable} = get_{type_.name}({at}u + row);")
            self.feeds[key] = variable, Feed(at, type_, values, decoys)
        return self.feeds[key]

    def add(self, case: Case) -> None:
        """Add a case to the batch."""
        if case.operation in BARRIERS:
            self._add_barrier(case)
            return
        type_ = result_type(case)
        self.types[type_.name] = type_
        feed = argument = None
        if case.operation in BUILTIN_VARIABLES:
            expression = self.spelling.call(case, ())
        else:
            expression, feed, argument = self._call(case)
        entry = BatchEntry(case, self.output_words, planes(type_), feed, argument)
        self.observations.append(f"{putter(type_)}({self._place(entry)}, {expression});")
        self._finish(entry)

    def _call(self, case: Case) -> tuple[str, Feed | None, CaseArgument | None]:
        operation = SUBGROUP_OPERATIONS[case.operation]
        arguments: list[str] = []
        feed = None
        if operation.operands:
            variable, feed = self.feed(case)
            arguments.append(variable)
        argument = self.arguments.of(case)
        if argument is not None:
            arguments += argument.glsl
        intrinsic = intrinsic_of(case.operation)
        if intrinsic is not None and not is_long(case.glsl_type):
            operands = [case.type, *["uint"] * (len(arguments) - 1)]
            result = result_type(case).name
            self.intrinsics[intrinsic.declaration(case.operation, result, operands)] = None
        return self.spelling.call(case, arguments), feed, argument

    def _add_barrier(self, case: Case) -> None:
        barrier, k = BARRIERS[case.operation], len(self.entries)
        binding = 2 + len(self.memories)
        entry = BatchEntry(case, self.output_words, 2 * ROUNDS)
        planes = barriers.planes(barrier, self.pattern.slots)
        if case.operand != "shared":
            self.memories[binding] = BarrierMemory(
                case.operand, barriers.words(self.stage, self.size, planes)
            )
        self.declarations.append(barriers.declarations(case.operand, k, binding, planes))
        self.resets.append(barriers.reset(barrier, case.operand, k))
        code = barriers.body(barrier, case.operand, k, self._place(entry))
        self.observations.append(f"{{\n        {code}\n        }}")
        self._finish(entry)

    def _place(self, entry: BatchEntry) -> str:
        plane = entry.at // self.invocations
        return f"({plane}u + slot * {entry.planes}u) * INVOCATIONS + index"

    def _finish(self, entry: BatchEntry) -> None:
        self.entries.append(entry)
        self.output_words += entry.planes * self.pattern.slots * self.invocations


def _extensions(cases: list[Case], ballot: bool) -> set[str]:
    """Return the GLSL extensions that a batch needs, except those of the spelling."""
    names = {Category.BASIC.extension, patterns_of(cases[0].stage)[cases[0].pattern].leave.extension} - {""}
    if ballot:
        names.add(Category.BALLOT.extension)
    for case in cases:
        names.add(EXTENSION if intrinsic_of(case.operation) else Category(case.category).extension)
        names.update([EXTENSION] if is_long(case.glsl_type) else [])
        for scalar in {case.glsl_type.scalar, result_type(case).scalar}:
            names.update(scalar.extensions + scalar.subgroup_extensions)
    return names


_TEMPLATE = """#version 460
// {title}
// binding 0: inputs (mask, operand tables, data); binding 1: outputs (lanes, active masks, results).
{extensions}
{modes}
layout(std430, binding = 0) readonly buffer Inputs {{ uint inputs[]; }};
{storage}
const uint INVOCATIONS = {invocations}u;
const uint PLACES = {places}u;
const uint INPUT_STRIDE = 2u * PLACES;
const uint MASK_BASE = {mask_base}u;
{declarations}

void main() {{
    uint lane = gl_SubgroupInvocationID;
    uint size = gl_SubgroupSize;
    {start}
    uint chosen_lane = (turn * 5u + group + 2u) % size;
    outputs[index] = lane;
    outputs[index + INVOCATIONS] = subgroup;
    outputs[index + 2u * INVOCATIONS] = size;
    {resets}

    // Invocations that stay inactive feed decoys, which no result may show.
    uint row = ({active}) ? place : place + PLACES;
    {loads}

    {code}
    {finish}
}}
"""


def _observe(builder: _Builder, ballot: bool, slot: str) -> str:
    """Return the code of one mark ``@OBSERVE(slot)``."""
    first = builder.stage.record_planes
    at = f"{first}u * INVOCATIONS + slot * {SLOT_PLANES}u * INVOCATIONS + index"
    lines = [f"uint slot = {slot};", f"uint at = {at};", "outputs[at] = 1u;"]
    if ballot:
        lines.append(f"uvec4 mask = {builder.spelling.ballot};")
        lines += [f"outputs[at + {word + 1}u * INVOCATIONS] = mask.{'xyzw'[word]};" for word in range(4)]
    lines += [*builder.arguments.preparations, *builder.observations]
    return "{\n        " + "\n        ".join(lines) + "\n    }"


def _declarations(builder: _Builder, cases: list[Case]) -> list[str]:
    """Return the GLSL outside of `main`, after the constants of every program."""
    read = {feed.type.name for _, feed in builder.feeds.values()}
    long = [case for case in cases if is_long(case.glsl_type)]
    lines = [builder.stage.declarations, builder.spelling.declarations]
    lines += [*builder.arguments.declarations, *builder.intrinsics]
    lines += long_vector_declarations((SUBGROUP_OPERATIONS[case.operation], case.glsl_type) for case in long)
    lines += [reader(type_named(name)) for name in sorted(read)]
    lines += [writer(type_) for _, type_ in sorted(builder.types.items())]
    if builder.declarations:
        lines += barriers.constants(builder.stage, builder.size) + builder.declarations
    return lines


def build(
    cases: list[Case],
    *,
    size: int,
    seed: int,
    ballot: bool = True,
    denormals: frozenset[int] = frozenset(),
    spelling: Spelling = _SPELLING,
    stage: BatchStage | None = None,
) -> BatchProgram:
    """Build the program of a batch of cases of one stage, pattern, shape and subgroup size.

    Without `ballot`, no active masks are recorded. `denormals` holds the widths of floats for which the
    device supports DenormPreserve. `stage` is a part of the cases' stage; None for the whole one.
    """
    builder = _Builder(cases[0], size, seed, denormals, spelling, stage)
    for case in cases:
        builder.add(case)
    resets = [line for line in builder.resets if line]
    planes_ = builder.output_words // builder.invocations
    extensions = sorted({*_extensions(cases, ballot), *spelling.extensions, *builder.stage.extensions})
    source = _TEMPLATE.format(
        title=f"{len(cases)} conformance cases executed {builder.pattern.sentence}.",
        extensions="\n".join(f"#extension {name} : require" for name in extensions),
        modes="\n".join(float_modes({case.preserved_width for case in cases} - {0}, denormals)),
        declarations="\n".join(_declarations(builder, cases)),
        storage=builder.stage.storage(planes_),
        finish=builder.stage.finish(planes_),
        invocations=builder.stage.stride,
        places=builder.places,
        start=builder.stage.start,
        mask_base=builder.mask_base,
        resets="\n    ".join([*resets, "barrier();"] if resets else []),
        active=builder.pattern.active,
        loads="\n    ".join(builder.loads),
        code=re.sub(
            r"@OBSERVE\((\w+)\)", lambda match: _observe(builder, ballot, match[1]), builder.pattern.code
        ),
    )  # fmt: skip
    return BatchProgram(
        stage=builder.stage,
        pattern=builder.pattern,
        subgroup_size=size,
        source=source,
        inputs=np.concatenate(builder.inputs),
        output_words=builder.output_words,
        entries=builder.entries,
        memories=builder.memories,
        specialization=builder.arguments.specialization,
    )
