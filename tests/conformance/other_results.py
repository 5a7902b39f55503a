"""Results of another case: each case of a batch of subgroup operations gets the correct results of another.

The device is imagined: it puts invocations into subgroups one after another, and the records of lanes and
active masks are right. Only the results are those of the next case of the batch whose results are other
numbers. A case that passes with them does not test its operation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vkgroup.conformance.arrays import Flags, Words, poisoned
from vkgroup.conformance.barriers import BARRIERS, ROUNDS
from vkgroup.conformance.comparison import Expected
from vkgroup.conformance.instances import Instances, pack
from vkgroup.conformance.patterns import WORKGROUPS
from vkgroup.conformance.subgroup.expectation import expected_of, verdict_on
from vkgroup.conformance.subgroup.shader import BatchEntry, BatchProgram, result_type
from vkgroup.programs.glsl_types import from_planes, to_planes
from vkgroup.record.record import Status
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.types import GlslType


def instances_of(program: BatchProgram) -> Instances:
    """Return dynamic instances that a device may form: full subgroups of the first invocations of groups."""
    stage, size, pattern = program.stage, program.subgroup_size, program.pattern
    places = min(stage.group_places, program.invocations)
    groups = min(program.invocations // places, WORKGROUPS)
    starts = [
        (group, number, group * places + number * size)
        for group in range(groups)
        for number in range(places // size)
    ] or [(0, 0, 0)]
    random = np.random.default_rng(0)
    rows = [(slot, *start) for slot in range(pattern.slots) for start in starts]
    slot, group, number, first = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    inside = min(size, program.invocations)
    member = np.zeros((len(rows), size), np.int64)
    member[:, :inside] = first[:, None] + np.arange(inside)
    active = np.zeros(member.shape, np.bool_)
    active[:, :inside] = True if pattern.uniform else random.random((len(rows), inside)) < 0.7
    if pattern.name == "one_lane":
        active = np.arange(size) == (first % inside)[:, None]
    active[:, 0] |= ~active.any(axis=1)
    return Instances(
        size=size,
        slot=slot,
        group=group,
        subgroup=number,
        number=number,
        subgroups=tuple(np.unique(number[group == one]) for one in range(WORKGROUPS)),
        member=member,
        place=stage.places(group, number, member),
        cell=stage.cell(number, member),
        active=active,
        recorded=active,
        mask=pack(active),
        faults=(),
    )


def results_of(entry: BatchEntry, program: BatchProgram, instances: Instances) -> tuple[Words, Expected]:
    """Return the words of a case's correct results, (recorded lanes, planes), and what is legal."""
    got = np.ones((*instances.member.shape, 2 * ROUNDS), np.uint32)
    expected = expected_of(entry, instances, got)
    right = expected.low if expected.low is expected.high else (expected.low + expected.high) / 2
    values = right[instances.recorded]
    if entry.case.operation in BARRIERS:
        words = values.astype(np.uint32).copy()
        words[:, ::2] = 1
        return words, expected
    type_ = result_type(entry.case)
    return to_planes(values.astype(dtype_of(type_.scalar)), type_).T, expected


def differs(own: Words, other: Words, expected: Expected, type_: GlslType) -> Flags:
    """Return for each lane whether two results differ: in words, or as numbers if these are compared.

    As numbers, the zeros are the same. Of products of many small numbers, only the sign of zero may differ.
    """
    if expected.bits or type_.scalar.kind != "float":
        return np.asarray((own != other).any(axis=1))
    first, second = (from_planes(words.T, type_)[0] for words in (own, other))
    equal = (first == second) | (np.isnan(first) & np.isnan(second))
    return np.asarray(~equal.all(axis=-1))


def outputs_of(entry: BatchEntry, program: BatchProgram, instances: Instances, words: Words) -> Words:
    """Return outputs of a program in which one case has these words as results."""
    n, slots = program.invocations, program.pattern.slots
    outputs = poisoned(program.output_words)
    planes = outputs[entry.at :][: slots * entry.planes * n].reshape(slots, entry.planes, n)
    row, lane = np.nonzero(instances.recorded)
    planes[instances.slot[row], :, instances.member[row, lane]] = words
    return outputs


def judged(program: BatchProgram) -> Iterator[tuple[BatchEntry, BatchEntry | None, Status, Status]]:
    """Yield each case, the case whose results it gets, and its status with its own and with these results.

    None stands for a case to which the batch has no other results; the status then is UNDEFINED.
    """
    instances = instances_of(program)
    results = [results_of(entry, program, instances) for entry in program.entries]
    for number, entry in enumerate(program.entries):
        words, expected = results[number]
        own = verdict_on(entry, program, instances, outputs_of(entry, program, instances, words)).status
        defined = expected.defined.all(axis=-1)[instances.recorded]
        order = [*range(number + 1, len(results)), *range(number)]
        other = next(
            (
                at
                for at in order
                if results[at][0].shape == words.shape
                and differs(words, results[at][0], expected, result_type(entry.case))[defined].any()
            ),
            None,
        )
        if other is None:
            yield entry, None, own, Status.UNDEFINED
            continue
        outputs = outputs_of(entry, program, instances, results[other][0])
        yield entry, program.entries[other], own, verdict_on(entry, program, instances, outputs).status
