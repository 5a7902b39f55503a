"""The family of descriptor indexing: kind of descriptor, access, and computation of the index."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.conformance import evidence, marks, support
from vkgroup.conformance.arrays import POISON, Flags, Words, poisoned
from vkgroup.conformance.comparison import Description, Expected, Index, Verdict, compare
from vkgroup.conformance.descriptor_indexing.kinds import (
    CELLS,
    HEIGHT,
    INVOCATIONS,
    KINDS,
    READ_CELL,
    READ_ROW,
    WAYS,
    WIDTH,
    WRITE_ROW,
    DescriptorKind,
    Way,
    cells_of,
)
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.support import lacking_features, lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.record.record import Status
from vkgroup.spec.categories import Category
from vkgroup.spirv import Module
from vkgroup.spirv.editor import Editor
from vkgroup.spirv.grammar import grammar

_OWN_BUFFERS = 2

_AXES, _FOUND = ("invocation",), "found[index] ="
"""Axis of the recorded arrays, and text in the shader line that accesses the descriptor."""


class DescriptorAxes(NamedTuple):
    """The axes: ``"compute"`` or ``"fragment"``, a key of `KINDS`, an access, and a key of `WAYS`.

    An access is ``"read"``, ``"write"`` or ``"atomic"``.
    """

    stage: str
    kind: str
    access: str
    way: str


DescriptorCase = TableCase[DescriptorAxes]


def _sentence(axes: DescriptorAxes) -> str:
    return (
        f"An array of {axes.kind.replace('_', ' ')} descriptors is indexed by {WAYS[axes.way].sentence}, "
        f"and {SENTENCES[axes.access]}, in a {axes.stage} shader: Vulkan 1.4, Descriptor Set Interface; "
        "VUID-RuntimeSpirv-subgroupSize-10149."
    )


_CASES = table(
    "descriptor_indexing",
    DescriptorAxes,
    _sentence,
    kind=KINDS,
    stage=lambda kind: KINDS[kind].stages,
    access=lambda kind, stage: KINDS[kind].accesses,
    way=WAYS,
)


def _missing(case: DescriptorCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    stage, kind, way = case.axes.stage, KINDS[case.axes.kind], WAYS[case.axes.way]
    needs = lacking_stages((stage,), capabilities)
    if not support.has_ballot(capabilities):
        needs.append("VK_SUBGROUP_FEATURE_BALLOT_BIT")
    needs += lacking_operations(way.needs, capabilities)
    if capabilities.subgroup.size < 2 and not way.nonuniform:
        needs.append("a subgroup size of at least 2 (VUID-RuntimeSpirv-subgroupSize-10141 to 10147)")
    how = "NonUniform" if way.nonuniform else "Dynamic"
    features = [f"shader{kind.feature}Array{how}Indexing"]
    if stage == "fragment":
        features.append("fragmentStoresAndAtomics")
    needs += lacking_features(features, capabilities)
    count = kind.count + _OWN_BUFFERS * (kind.name == "storage_buffer")
    limit = f"maxPerStageDescriptor{kind.limit}"
    most = int(capabilities.limits[limit])
    return needs + ([f"{limit} of {count} (it is {most})"] if most < count else [])


GROUPS = 4
"""Workgroups of a compute shader."""

_STAGES = {
    "compute": (
        f"layout(local_size_x = {INVOCATIONS // GROUPS}) in;",
        "uint index = gl_GlobalInvocationID.x;\n    uint turn = gl_SubgroupID + 3u * gl_WorkGroupID.x;",
    ),
    "fragment": (
        "layout(location = 0) out uint color;",
        f"uint index = uint(gl_FragCoord.y) * {WIDTH}u + uint(gl_FragCoord.x);\n"
        "    uint turn = subgroupBroadcastFirst(index) / 4u;\n    color = index;",
    ),
}

_TEMPLATE = """#version 460
// {title}
// binding 0: the descriptor that each invocation wants. binding 1: the descriptor that it used, and the word
// that it read there. binding 2: the descriptors.
{extensions}
{stage}
const uint INVOCATIONS = {invocations}u;
const uint COUNT = {count}u;
layout(std430, binding = 0) readonly buffer Wanted {{ uint wants[]; }};
layout(std430, binding = 1) writeonly buffer Found {{ uvec2 found[]; }};
{declaration}

void main() {{
    {start}
    uint wanted = wants[index];
    {code}
}}
"""

SENTENCES = {
    "read": "what it holds is read",
    "write": "each invocation writes a cell of its own",
    "atomic": "cells are counted up by atomics",
}
"""Accesses through a descriptor by name."""


WRITTEN = "(index * 16u + 5u)"
"""GLSL of the word that an invocation writes; `written` is the same in NumPy."""

COUNTED_CELLS = 64
"""Number of cells that atomics increment."""


def written(place: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the word that each invocation writes."""
    return (place * 16 + 5).astype(np.uint32)


def _access(kind: str, access: str, way: Way) -> str:
    table, i = KINDS[kind], "nonuniformEXT(i)" if way.nonuniform else "i"
    if access == "read":
        word = table.read.format(i=i, k=f"({READ_ROW}u * INVOCATIONS + {READ_CELL})")
        return f"found[index] = uvec2(i, {word});"
    if access == "write":
        done = table.write.format(i=i, k=f"({WRITE_ROW}u * INVOCATIONS + index)", v=WRITTEN)
    else:
        done = table.atomic.format(i=i, k=f"({WRITE_ROW}u * INVOCATIONS + index % {COUNTED_CELLS}u)")
    return f"{done} found[index] = uvec2(i, 0u);"


def source_of(stage: str, kind: str, access: str, name: str) -> str:
    """Return the GLSL of a case, by the keys of its tables."""
    way = WAYS[name]
    extensions = [Category(need).extension for need in sorted({"basic", "ballot", *way.needs})]
    if way.nonuniform:
        extensions.append("GL_EXT_nonuniform_qualifier")
    declarations, start = _STAGES[stage]
    return _TEMPLATE.format(
        title=f"An array of {kind.replace('_', ' ')} descriptors; {SENTENCES[access]}.",
        extensions="\n".join(f"#extension {extension} : require" for extension in extensions),
        stage=declarations,
        invocations=INVOCATIONS,
        count=KINDS[kind].count,
        declaration=KINDS[kind].declaration,
        start=start,
        code=way.code.replace("@ACCESS", _access(kind, access, way)),
    )


def completed(module: Module, kind: DescriptorKind) -> Module:
    """Return a module with the capability of indices that are not uniform, and with images marked.

    For arrays of samplers glslang declares no capability; without it the index would have to be uniform
    (VUID-RuntimeSpirv-SampledImageArrayNonUniformIndexing-10135). It leaves the result of OpSampledImage
    undecorated, though that is the operand through which memory is accessed
    (VUID-RuntimeSpirv-subgroupSize-10149).
    """
    editor = Editor(module)
    number = grammar().number("Decoration", "NonUniform")
    sampled = grammar().opcodes["OpSampledImage"]
    for words in editor.instructions:
        if words[0] & 0xFFFF == sampled:
            editor.decorate(words[2], number)
    name = f"{kind.feature}ArrayNonUniformIndexing"
    instructions = list(editor.instructions)
    if name not in module.reflection.capabilities:
        declared = editor.instruction("OpCapability", grammar().number("Capability", name))
        instructions.insert(0, declared)
    return editor.joined(instructions)


_SEEDS = 4093
"""Number of seeds of the cells' words of which each case has one."""


def _verdicts(executor: Executor, cases: list[DescriptorCase]) -> list[Verdict]:
    """Execute cases with separate shaders, so that a failure can be repeated alone; return the verdicts."""
    size = executor.capabilities.subgroup.size
    verdicts = []
    for case in cases:
        # Other words in the cells of each case.
        seed = executor.seed + 1 + marks.salt_of(case.name) % _SEEDS
        verdicts.append(_verdict(seed, size, case.axes, *_run(executor, case.axes, seed)))
    return verdicts


def _run(executor: Executor, case: DescriptorAxes, seed: int) -> tuple[Words, Words, Words, Words | None]:
    """Run a case's shader; return the wanted descriptors, the records, and the cells before and after.

    A record is the descriptor used and the word read, (invocations, 2). Cells are (descriptors, cells); only
    storage has cells after the run.
    """
    kind = KINDS[case.kind]
    source = source_of(case.stage, case.kind, case.access, case.way)
    # SPIRV-Tools knows the capability of arrays of input attachments from its extension alone.
    target = TargetEnvironment.VULKAN_1_1 if case.kind == "input_attachment" else executor.target
    module = compile_source(source, stage=case.stage, target=target, name="<conformance>")
    if WAYS[case.way].nonuniform:
        module = completed(module, kind)
    module = executor.transform_module(module, source)
    wanted = np.random.default_rng(seed).integers(0, kind.count, INVOCATIONS).astype(np.uint32)
    before = [cells_of(number, seed) for number in range(kind.count)]
    bindings = {0: wanted, 1: poisoned(INVOCATIONS, 2), 2: kind.bound(before), **kind.others}
    if case.stage == "compute":
        result = executor.device.run(module, GROUPS, bindings, timeout=executor.timeout)
    else:
        result = executor.device.draw(module, (WIDTH, HEIGHT), bindings, timeout=executor.timeout)
    recorded, after = result[1].reshape(INVOCATIONS, 2), None
    if case.access != "read":
        after = np.stack([np.asarray(cells).reshape(CELLS) for cells in result[2]])
    return wanted, recorded, np.stack(before), after


def _verdict(
    seed: int,
    size: int,
    case: DescriptorAxes,
    wanted: Words,
    recorded: Words,
    before: Words,
    after: Words | None,
) -> Verdict:
    """Compare the descriptors that invocations used, and the words that they read or wrote."""
    kind = KINDS[case.kind]
    chosen = recorded[:, 0]
    if (fault := _choice_fault(WAYS[case.way], chosen, wanted, kind.count)) is not None:
        return Verdict(Status.FAIL, INVOCATIONS, 0, *fault)
    place, index = np.arange(INVOCATIONS), chosen.astype(np.int64)
    names: tuple[str, ...]
    alternatives = {}
    if after is None:
        got, expected, rows = recorded[:, 1], kind.expected(index, place, seed), {"descriptor": chosen}
        sentence = "all invocations of a subgroup use the descriptor of one of them"
        shared = _agrees_with_one(kind, index, got, seed, _subgroups(case.stage, size))
        alternatives = {"one_descriptor": (sentence, shared)}
        where, names, unit = "words that were read", _AXES, "invocation {0}, descriptor {1}"
    else:
        row = WRITE_ROW * INVOCATIONS
        got, expected, rows = after, before.copy(), {}
        if case.access == "write":
            expected[index, row + place] = written(place)
        else:
            np.add.at(expected, (index, row + place % COUNTED_CELLS), np.uint32(1))
        where, names, unit = "", ("descriptor", "cell"), "descriptor {0}, cell {1}"
    rows |= {"expected": expected, "got": got}

    def line(at: Index) -> str:
        numbers = at if after is not None else (at[0], chosen[at])
        return f"{unit.format(*numbers)}: expected {expected[at]} got {got[at]}"

    description = Description(
        "words", line, lambda wrong: evidence.of_values(where, rows, wrong, names, _FOUND)
    )
    every = Expected(expected, expected, np.ones(got.shape, np.bool_))
    return compare(got, every, description, alternatives=alternatives)


def _subgroups(stage: str, size: int) -> NDArray[np.int64]:
    """Return the invocations in the order in which subgroups of a size take them, (subgroups, size).

    In fragment shaders each four of them are a quad. The order is an assumption, for the diagnosis alone.
    """
    index = np.arange(INVOCATIONS)
    if stage == "fragment":
        index = index.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).transpose(0, 2, 1, 3).reshape(-1)
    return index.reshape(-1, min(size, INVOCATIONS))


def _agrees_with_one(
    kind: DescriptorKind, chosen: NDArray[np.int64], got: Words, seed: int, subgroups: NDArray[np.int64]
) -> Flags:
    """Return whether an invocation and all others of its subgroup read through the same descriptor."""
    agrees = np.zeros(INVOCATIONS, np.bool_)
    place = np.arange(INVOCATIONS)
    for lane in range(subgroups.shape[1]):
        of_lane = np.empty(INVOCATIONS, np.int64)
        of_lane[subgroups] = chosen[subgroups[:, lane]][:, None]
        same = (kind.expected(of_lane, place, seed) == got)[subgroups].all(axis=1)
        agrees[subgroups[same]] = True
    return agrees


def _choice_fault(way: Way, chosen: Words, wanted: Words, count: int) -> Fault | None:
    """Return the fault in the descriptors that invocations used; None if there is none."""
    expected: NDArray[Any]
    if way.wants and not np.array_equal(chosen, wanted):
        expected, wrong = wanted, chosen != wanted
        first = int(np.flatnonzero(wrong)[0])
        got = "none" if chosen[first] == POISON else chosen[first]
        words = f"invocation {first} wants descriptor {wanted[first]} and came to {got}"
    elif (wrong := chosen >= count).any():
        expected = np.full(INVOCATIONS, f"below {count}")
        words = f"{int(wrong.sum())} invocations came to no descriptor"
    else:
        return None
    rows = {"expected": expected, "got": np.where(chosen == POISON, "none", chosen.astype(str))}
    return Fault(words, evidence.of_values("numbers of descriptors", rows, wrong, _AXES, _FOUND))


DESCRIPTOR_INDEXING = Family("descriptor_indexing", _CASES, _missing, _verdicts, batch=1)
"""Arrays of every kind of descriptor, indexed by values that are uniform in a subgroup."""
