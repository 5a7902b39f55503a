"""The family of descriptor indexing: a kind of descriptor, an access, and a way to choose the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.compiler import Target, compile_source
from vkgroup.conformance import evidence, support
from vkgroup.conformance.comparison import Description, Flags, Index, Verdict, verdict_of
from vkgroup.conformance.declared import lacking_operations, lacking_stages
from vkgroup.conformance.descriptor_indexing.kinds import (
    CELLS,
    HEIGHT,
    INVOCATIONS,
    KINDS,
    WIDTH,
    WRITE_ROW,
    Kind,
    cells_of,
)
from vkgroup.conformance.descriptor_indexing.nonuniform import completed
from vkgroup.conformance.descriptor_indexing.shader import (
    COUNTED_CELLS,
    GROUPS,
    SENTENCES,
    source_of,
    written,
)
from vkgroup.conformance.descriptor_indexing.ways import WAYS, Way
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableCase, TableFamily
from vkgroup.conformance.poison import POISON, poisoned
from vkgroup.device import Capabilities
from vkgroup.results.record import Status

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]

_OWN_BUFFERS = 2

_AXES, _FOUND = ("invocation",), "found[index] ="
"""What an array of what was found counts, and what the line contains that accesses the descriptor."""


class DescriptorAxes(NamedTuple):
    """The axes: ``"compute"`` or ``"fragment"``, a key of `KINDS`, an access, and a key of `WAYS`.

    An access is ``"read"``, ``"write"`` or ``"atomic"``.
    """

    stage: str
    kind: str
    access: str
    way: str


DescriptorCase = TableCase[DescriptorAxes]


def _cases() -> Iterator[DescriptorCase]:
    for kind in KINDS.values():
        for stage in kind.stages:
            for access in kind.accesses:
                for way in WAYS:
                    axes = DescriptorAxes(stage, kind.name, access, way)
                    yield TableCase("descriptor_indexing", axes, _sentence(axes))


def _sentence(axes: DescriptorAxes) -> str:
    return (
        f"An array of {axes.kind.replace('_', ' ')} descriptors is indexed by {WAYS[axes.way].sentence}, "
        f"and {SENTENCES[axes.access]}, in a {axes.stage} shader: Vulkan 1.4, Descriptor Set Interface; "
        "VUID-RuntimeSpirv-subgroupSize-10149."
    )


def _missing(case: DescriptorCase, capabilities: Capabilities) -> list[str]:
    """Return what the device does not declare."""
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
    needs += [feature for feature in features if feature not in capabilities.features]
    return needs + _missing_limits(kind, capabilities)


def _judge(executor: Executor, cases: list[DescriptorCase]) -> list[Verdict]:
    """Judge cases, each with a separate shader, so that a failure can be repeated alone."""
    return [_judge_one(executor, case.axes) for case in cases]


def _judge_one(executor: Executor, case: DescriptorAxes) -> Verdict:
    """Run the shader of a case, and judge what its invocations found and left."""
    kind = KINDS[case.kind]
    source = source_of(case.stage, case.kind, case.access, case.way)
    # SPIRV-Tools knows the capability of arrays of input attachments from its extension alone.
    target = Target.VULKAN_1_1 if case.kind == "input_attachment" else executor.target
    module = compile_source(source, stage=case.stage, target=target, name="<conformance>")
    if WAYS[case.way].nonuniform:
        module = completed(module, kind)
    module = executor.transform_module(module, source)
    wanted = np.random.default_rng(executor.seed).integers(0, kind.count, INVOCATIONS).astype(np.uint32)
    before = [cells_of(number, executor.seed) for number in range(kind.count)]
    recorded, after = _run(executor, case, module, wanted, before)
    return _verdict(executor.seed, case, wanted, recorded, np.stack(before), after)


def _missing_limits(kind: Kind, capabilities: Capabilities) -> list[str]:
    name = f"maxPerStageDescriptor{kind.limit}"
    count = kind.count + _OWN_BUFFERS * (kind.name == "storage_buffer")
    most = int(capabilities.limits[name])
    return [f"{name} of {count} (it is {most})"] if most < count else []


def _run(
    executor: Executor, case: DescriptorAxes, module: Any, wanted: Words, before: list[Words]
) -> tuple[Words, Words | None]:
    """Run a shader; return what was found, (invocations, 2), and the cells after it of storage."""
    kind = KINDS[case.kind]
    bindings = {0: wanted, 1: poisoned(INVOCATIONS, 2), 2: kind.bound(before), **kind.others}
    if case.stage == "compute":
        result = executor.device.run(module, GROUPS, bindings, timeout=executor.timeout)
    else:
        result = executor.device.draw(module, (WIDTH, HEIGHT), bindings, timeout=executor.timeout)
    recorded = result[1].reshape(INVOCATIONS, 2)
    if case.access == "read":
        return recorded, None
    return recorded, np.stack([np.asarray(cells).reshape(CELLS) for cells in result[2]])


def _verdict(
    seed: int, case: DescriptorAxes, wanted: Words, recorded: Words, before: Words, after: Words | None
) -> Verdict:
    """Judge the descriptors that invocations used, and what they read or left there."""
    kind = KINDS[case.kind]
    chosen = recorded[:, 0]
    if (fault := _choice_fault(WAYS[case.way], chosen, wanted, kind.count)) is not None:
        return Verdict(Status.FAIL, INVOCATIONS, 0, *fault)
    place, index = np.arange(INVOCATIONS), chosen.astype(np.int64)
    if after is None:
        expected, got = kind.expected(index, place, seed), recorded[:, 1]
        read = {"descriptor": chosen, "expected": expected, "got": got}
        return _compared(
            expected,
            got,
            lambda at: f"invocation {at[0]}, descriptor {index[at]}",
            lambda wrong: evidence.of_values("words that were read", read, wrong, _AXES, _FOUND),
        )
    cells = before.copy()
    row = WRITE_ROW * INVOCATIONS
    if case.access == "write":
        cells[index, row + place] = written(place)
    else:
        np.add.at(cells, (index, row + place % COUNTED_CELLS), np.uint32(1))
    held = {"expected": cells, "got": after}
    return _compared(
        cells,
        after,
        lambda at: f"descriptor {at[0]}, cell {at[1]}",
        lambda wrong: evidence.of_values("", held, wrong, ("descriptor", "cell"), _FOUND),
    )


def _choice_fault(way: Way, chosen: Words, wanted: Words, count: int) -> Fault | None:
    """Return what is wrong with the descriptors that invocations used; None where nothing is."""
    if way.wants and not np.array_equal(chosen, wanted):
        first = int(np.flatnonzero(chosen != wanted)[0])
        got = "none" if chosen[first] == POISON else chosen[first]
        words = f"invocation {first} wants descriptor {wanted[first]} and came to {got}"
        lanes = _of_choice(chosen, wanted, chosen != wanted)
        return Fault(words, lanes)
    if (wrong := chosen >= count).any():
        below = np.full(INVOCATIONS, f"below {count}")
        lanes = _of_choice(chosen, below, wrong)
        return Fault(f"{int(wrong.sum())} invocations came to no descriptor", lanes)
    return None


def _of_choice(got: Words, expected: NDArray[Any], wrong: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the evidence of the descriptors that invocations used."""
    rows = {"expected": expected, "got": np.where(got == POISON, "none", got.astype(str))}
    return evidence.of_values("numbers of descriptors", rows, wrong, _AXES, _FOUND)


def _compared(
    expected: Words, got: Words, line: Callable[[Index], str], shown: Callable[[Flags], dict[str, Any]]
) -> Verdict:
    """Compare the words that were read, or those that descriptors hold afterwards."""

    def described(index: Index) -> str:
        return f"{line(index)}: expected {expected[index]} got {got[index]}"

    return verdict_of(got != expected, Description("words", described, shown), defined=got.size)


DESCRIPTOR_INDEXING = TableFamily("descriptor_indexing", _cases, _missing, _judge, batch=1)
"""Arrays of every kind of descriptor, indexed by values that are uniform in a subgroup."""
