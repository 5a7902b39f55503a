"""The program of a batch of cases: the GLSL, its input words, and the position of each result.

All cases of a batch share stage, pattern, shape and subgroup size. Each reads separate data and writes
separate results, so one dispatch executes them all.

The inputs (binding 0) are words: the mask of the pattern ``data_mask``, then the operand tables and the data
sets, in planes of 2 × PLACES words, first the values, then the decoys. The outputs (binding 1) are planes of
INVOCATIONS words: lane, subgroup, subgroup size and the other records of the stage; for each slot, whether it
was executed and the four words of the active mask; the results of each case. The next bindings have the
memory of the barrier cases.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from vkgroup.conformance import barriers
from vkgroup.conformance.arrays import Indices, Words
from vkgroup.conformance.barriers import BARRIERS, ROUNDS, BarrierMemory
from vkgroup.conformance.instances import SLOT_PLANES
from vkgroup.conformance.intrinsics import (
    EXTENSION,
    call_of,
    declaration_of,
    float_modes,
    long_vector_declarations,
)
from vkgroup.conformance.patterns import WORKGROUPS, Pattern, patterns_of
from vkgroup.conformance.stages.base import BatchStage
from vkgroup.conformance.stages.pixels import stage_of
from vkgroup.conformance.subgroup import data
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.conformance.subgroup.operands import PARTITION_FUNCTIONS, CaseArgument, OperandChoice, choices
from vkgroup.programs.glsl_types import is_long, planes, putter, reader, to_planes, writer
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS, Operation
from vkgroup.spec.types import TYPES, GlslType, type_named


def result_type(case: Case) -> GlslType:
    """Return the type of the values that a case records."""
    if case.operation in BUILTIN_VARIABLES:
        return BUILTIN_VARIABLES[case.operation].type
    if case.operation in BARRIERS:
        return TYPES["uint"]
    return SUBGROUP_OPERATIONS[case.operation].result_type(case.glsl_type) or case.glsl_type


def _call(case: Case, arguments: Sequence[str]) -> str:
    """Return the expression of a case in the words of the extensions."""
    if case.operation in BUILTIN_VARIABLES:
        return case.operation
    return call_of(SUBGROUP_OPERATIONS[case.operation], case.glsl_type, arguments)


@dataclass(frozen=True)
class Spelling:
    """The spelling of a program's operations: that of KHR_shader_subgroup or a different one."""

    #: Case and arguments in GLSL → an expression of the operation's result.
    call: Callable[[Case, Sequence[str]], str] = _call
    extensions: tuple[str, ...] = ()  # GLSL extensions that it needs
    declarations: str = ""  # GLSL outside of `main` that it needs
    ballot: str = "subgroupBallot(true)"  # an expression of the active mask, a uvec4
    #: The program in GLSL, and its stage → the source that is compiled.
    translate: Callable[[str, BatchStage], str] = lambda source, stage: source
    options: Mapping[str, Any] = field(default_factory=dict)  # of `Executor.compile`
    #: Whether workgroups record numbers of subgroups, and not the index of a subgroup's first invocation.
    numbers: bool = True


KHR = Spelling()
"""The spelling of KHR_shader_subgroup."""


@dataclass(frozen=True)
class BatchEntry:
    """One case of a batch."""

    case: Case
    at: int  # first word of its results in the outputs
    planes: int  # planes of one slot of its results
    feed: data.Feed | None = None  # its data; None if it reads none
    argument: CaseArgument | None = None  # its other operands; None if it has none


@dataclass
class BatchProgram:
    """GLSL, inputs, specialization constants and the plan of the outputs of one batch."""

    stage: BatchStage
    pattern: Pattern
    subgroup_size: int
    seed: int
    denormals: frozenset[int]
    spelling: Spelling
    output_words: int
    source: str = ""
    #: For each own number, whether the pattern "data_mask" selects the invocation.
    mask: Words = field(default_factory=lambda: np.zeros(1, np.uint32))
    inputs: Words = field(default_factory=lambda: np.zeros(0, np.uint32))
    entries: list[BatchEntry] = field(default_factory=list)
    memories: dict[int, BarrierMemory] = field(default_factory=dict)
    specialization: dict[int | str, int] = field(default_factory=dict)
    #: Variables and their data, by recipe and type.
    feeds: dict[tuple[str, str], tuple[str, data.Feed]] = field(default_factory=dict)
    tables: dict[str, tuple[int, Words]] = field(default_factory=dict)  # with their first input word
    types: dict[str, GlslType] = field(default_factory=dict)  # the types that are read or written
    #: Lines of GLSL, each once: "constants", "intrinsics" and "cells" outside of `main`, "resets" and "loads"
    #: at its beginning; "partitions" and "observations" at each mark ``@OBSERVE``.
    glsl: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def invocations(self) -> int:
        """Words of a plane of the outputs."""
        return self.stage.invocations

    @property
    def slots_at(self) -> int:
        """The first word of the record of slots in the outputs."""
        return self.stage.record_planes * self.invocations

    def turn_of(self, subgroup: Indices) -> Indices:
        """Return the turns of the recorded subgroups of workgroups; see `BatchStage.start`."""
        return subgroup if self.spelling.numbers else subgroup // self.subgroup_size

    @property
    def planes(self) -> int:
        """All planes of the outputs."""
        return self.output_words // self.invocations

    def generator(self, key: str) -> np.random.Generator:
        """Return the generator of a table."""
        numbers = [self.seed, crc32(key.encode()), self.subgroup_size, self.stage.table_seed]
        return np.random.default_rng(numbers)

    def append(self, words: Words) -> int:
        """Add words to the inputs; return the index of the first one."""
        at = self.inputs.size
        self.inputs = np.concatenate([self.inputs, self.stage.used_inputs(words.ravel())])
        return at

    def _entry(self, case: Case, planes_: int, *inputs: Any) -> str:
        """Add the entry of a case; return the GLSL of the index of its first word in the outputs."""
        at = f"({self.planes}u + slot * {planes_}u) * INVOCATIONS + index"
        self.entries.append(BatchEntry(case, self.output_words, planes_, *inputs))
        self.output_words += planes_ * self.pattern.slots * self.invocations
        return at

    def add(self, case: Case) -> None:
        """Add a case to the batch."""
        if case.operation in BARRIERS:
            self._add_barrier(case)
            return
        type_ = self.types[result_type(case).name] = result_type(case)
        operation = SUBGROUP_OPERATIONS.get(case.operation)  # None for variables
        variable, feed = self._feed(case, operation) if operation and operation.operands else ("", None)
        argument = self._argument(case)
        glsl = [*filter(None, [variable]), *(argument.glsl if argument is not None else ())]
        if operation is not None and (line := declaration_of(operation, case.glsl_type, len(glsl))):
            self.glsl["intrinsics"][line] = None
        at = self._entry(case, planes(type_), feed, argument)
        self.glsl["observations"][f"{putter(type_)}({at}, {self.spelling.call(case, glsl)});"] = None

    def _feed(self, case: Case, operation: Operation) -> tuple[str, data.Feed]:
        """Return the GLSL variable that holds a case's value, and its data."""
        type_ = self.types[case.type] = case.glsl_type
        key = data.recipe_name(operation, case.data), case.type
        if key not in self.feeds:
            places, denormals = self.stage.group_places, type_.scalar.bits in self.denormals
            feed = data.make(key[0], type_, places, self.seed, denormals)
            at, variable = self.append(to_planes(np.concatenate(feed), type_)), f"value_{len(self.feeds)}"
            self.glsl["loads"][f"{case.type} {variable} = get_{case.type}({at}u + row);"] = None
            self.feeds[key] = variable, feed
        return self.feeds[key]

    def _argument(self, case: Case) -> CaseArgument | None:
        """Return a case's argument; None if its operation has no operand after the value."""
        if not case.operand:
            return None
        operand = choices(case.operation)[case.operand]
        word, table = self._table(operand, case.operation) if operand.table else ("", None)
        if operand.labels is not None:
            # All cases of the program share the variable with a partition.
            self.glsl["constants"][PARTITION_FUNCTIONS] = None
            glsl = f"partition_{operand.name}"
            self.glsl["partitions"][f"uvec4 {glsl} = {str(operand.expression).format(word=word)};"] = None
        elif operand.literal is not None:
            glsl = self._literal(operand.literal(self.subgroup_size), operand.specialized)
        else:
            glsl = operand.expression or word
        size = [f"{operand.cluster}u"] if operand.cluster and case.category != "clustered" else []
        return CaseArgument(operand, (glsl, *size), table)

    def _literal(self, value: int, specialized: bool) -> str:
        """Return the GLSL of a constant; the default of a specialization constant is wrong."""
        constants = self.specialization
        if specialized and value not in constants.values():
            declared = f"const uint SPECIALIZED_{value} = {value ^ 1}u;"
            self.glsl["constants"][f"layout(constant_id = {len(constants)}) {declared}"] = None
            constants[len(constants)] = value
        return f"SPECIALIZED_{value}" if specialized else f"{value}u"

    def _table(self, operand: OperandChoice, operation: str) -> tuple[str, Words]:
        """Return the GLSL that reads an operand from its table, and the table, one word for each place."""
        kind = Category.PARTITIONED.value if operand.labels is not None else operation
        key, places = f"{kind}:{operand.name}", self.stage.group_places
        if key not in self.tables:
            count = WORKGROUPS if operand.uniform else WORKGROUPS * places
            assert operand.table is not None
            words = operand.table(self.generator(key), self.subgroup_size, count)
            self.tables[key] = self.append(words), words
        at, words = self.tables[key]
        if operand.uniform:
            return f"inputs[{at}u + group]", np.repeat(words, places)
        word = f"inputs[{at}u + place]"
        return f"subgroupBroadcastFirst({word})" if operand.leader else word, words

    def _add_barrier(self, case: Case) -> None:
        barrier, slots = BARRIERS[case.operation], self.pattern.slots
        k, binding = len(self.entries), 2 + len(self.memories)
        if case.operand != "shared":
            words = barriers.words(barrier, self.stage, self.subgroup_size, slots)
            self.memories[binding] = BarrierMemory(case.operand, words)
        at = self._entry(case, 2 * ROUNDS)
        for part, line in barriers.parts(barrier, case.operand, k, binding, slots, at, self.stage).items():
            self.glsl[part][line] = None

    def declarations(self) -> list[str]:
        """Return the GLSL outside of `main`, after the constants of every program."""
        glsl, long = self.glsl, [entry.case for entry in self.entries if is_long(entry.case.glsl_type)]
        return [
            *(self.stage.declarations, self.spelling.declarations, *glsl["constants"], *glsl["intrinsics"]),
            *long_vector_declarations((SUBGROUP_OPERATIONS[case.operation], case.glsl_type) for case in long),
            *(reader(type_named(name)) for name in sorted({name for _, name in self.feeds})),
            *(writer(type_) for _, type_ in sorted(self.types.items())),
            *(barriers.constants(self.stage, self.subgroup_size) if glsl["cells"] else ()),
            *glsl["cells"],
        ]

    def observe(self, slot: str, ballot: bool) -> str:
        """Return the code of one mark ``@OBSERVE(slot)``."""
        first = self.stage.record_planes
        at = f"{first}u * INVOCATIONS + slot * {SLOT_PLANES}u * INVOCATIONS + index"
        lines = [f"uint slot = {slot};", f"uint at = {at};", "outputs[at] = 1u;"]
        if ballot:
            lines.append(f"uvec4 mask = {self.spelling.ballot};")
            lines += [f"outputs[at + {word + 1}u * INVOCATIONS] = mask.{'xyzw'[word]};" for word in range(4)]
        lines += [*self.glsl["partitions"], *self.glsl["observations"]]
        return "{\n        " + "\n        ".join(lines) + "\n    }"


def _extensions(cases: list[Case]) -> Iterator[str]:
    """Yield the GLSL extensions that cases need, except those of the spelling."""
    for case in cases:
        row = SUBGROUP_OPERATIONS.get(case.operation)
        yield EXTENSION if row is not None and row.by_instruction else Category(case.category).extension
        yield EXTENSION if is_long(case.glsl_type) else ""
        for scalar in {case.glsl_type.scalar, result_type(case).scalar}:
            yield from scalar.extensions + scalar.subgroup_extensions


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


def build(
    cases: list[Case],
    *,
    size: int,
    seed: int,
    ballot: bool = True,
    denormals: frozenset[int] = frozenset(),
    spelling: Spelling = KHR,
    stage: BatchStage | None = None,
) -> BatchProgram:
    """Build the program of a batch of cases of one stage, pattern, shape and subgroup size.

    Without `ballot`, no active masks are recorded. `denormals` holds the widths of floats for which the
    device supports DenormPreserve. `stage` is a part of the cases' stage; None for the whole one.
    """
    pattern = patterns_of(cases[0].stage)[cases[0].pattern]
    stage = stage or stage_of(cases[0].stage, cases[0].shape, pattern.partial)
    record = (stage.record_planes + SLOT_PLANES * pattern.slots) * stage.invocations
    program = BatchProgram(stage, pattern, size, seed, denormals, spelling, record)
    program.mask = program.generator("mask").integers(0, 2, stage.own_numbers, np.uint32)
    mask_base = program.append(program.mask)
    for case in cases:
        program.add(case)
    extensions = {Category.BASIC.extension, pattern.leave.extension, *spelling.extensions, *stage.extensions}
    extensions |= {*_extensions(cases), *([Category.BALLOT.extension] if ballot else [])}
    source = _TEMPLATE.format(
        title=f"{len(cases)} conformance cases executed {pattern.sentence}.",
        extensions="\n".join(f"#extension {name} : require" for name in sorted(extensions - {""})),
        modes="\n".join(float_modes({case.preserved_width for case in cases} - {0}, denormals)),
        declarations="\n".join(program.declarations()),
        storage=stage.storage(program.planes),
        finish=stage.finish(program.planes),
        invocations=stage.stride,
        places=WORKGROUPS * stage.group_places,
        start=stage.start,
        mask_base=mask_base,
        resets="\n    ".join([*resets, "barrier();"] if (resets := program.glsl["resets"]) else []),
        active=pattern.active,
        loads="\n    ".join(program.glsl["loads"]),
        code=re.sub(r"@OBSERVE\((\w+)\)", lambda match: program.observe(match[1], ballot), pattern.code),
    )
    program.source = spelling.translate(source, stage)
    return program
