"""Built-in variables of compute shaders, and their arithmetic (ARB_compute_shader, section 7.1).

Each invocation takes a ticket from an atomic counter of the dispatch and writes down all its built-in
variables there, so that no wrong variable can hide by misplacing what it wrote.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.shapes import DISPATCHES, Shape, exceeded, local_size
from vkgroup.conformance.compute_model.work import compare, pipeline_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities
from vkgroup.results.record import Status

Record = NDArray[np.uint32]

SENTENCES = {
    "every_invocation_once": "Each invocation of each workgroup is executed exactly once",
    "gl_NumWorkGroups": "gl_NumWorkGroups holds the numbers of workgroups of the dispatch",
    "gl_WorkGroupSize": "gl_WorkGroupSize holds the local size of the shader",
    "gl_WorkGroupID": "gl_WorkGroupID ranges over all workgroups, the same in all invocations of one",
    "gl_LocalInvocationID": "gl_LocalInvocationID ranges over the local size in every workgroup",
    "gl_GlobalInvocationID": "gl_GlobalInvocationID is gl_WorkGroupID * gl_WorkGroupSize + the local id",
    "gl_LocalInvocationIndex": "gl_LocalInvocationIndex numbers a workgroup's invocations by x, y, z",
}
"""What is tested of each variable."""

_INDIRECT = (
    ("1x1x1", "1_group"),
    ("31x3x1", "5x7_groups"),
    ("3x5x7", "3x4x5_groups"),
    ("max_all", "13_groups"),
    ("1x1x1", "65535_groups"),
)
"""Shapes that are dispatched indirectly too."""

COLUMNS = {
    "gl_WorkGroupID": slice(0, 3),
    "gl_LocalInvocationIndex": slice(3, 4),
    "gl_LocalInvocationID": slice(4, 7),
    "gl_GlobalInvocationID": slice(7, 10),
    "gl_NumWorkGroups": slice(10, 13),
    "gl_WorkGroupSize": slice(13, 16),
}
"""Where each variable stands in a record."""
_WORDS = 16

_SOURCE = """#version 430
// Every invocation writes down its built-in variables, wherever its ticket sends it.
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) buffer Tickets {{ uint taken; }};
layout(std430, binding = 1) writeonly buffer Records {{ uint records[]; }};
void main() {{
    uint at = atomicAdd(taken, 1u) * {words}u;
    if (at + {words}u > uint(records.length())) return;
    for (int i = 0; i < 3; ++i) {{
        records[at + uint(i)] = gl_WorkGroupID[i];
        records[at + 4u + uint(i)] = gl_LocalInvocationID[i];
        records[at + 7u + uint(i)] = gl_GlobalInvocationID[i];
        records[at + 10u + uint(i)] = gl_NumWorkGroups[i];
        records[at + 13u + uint(i)] = gl_WorkGroupSize[i];
    }}
    records[at + 3u] = gl_LocalInvocationIndex;
}}
"""


def _cases() -> Iterator[ModelCase]:
    for groups, (counts, locals_) in DISPATCHES.items():
        for local in locals_:
            for name, words in SENTENCES.items():
                shape = "x".join(map(str, counts))
                size = f"a local size of {local}" if "x" in local else f"the largest local size ({local})"
                sentence = f"{words}: {shape} workgroups with {size.replace('_', ' ')}."
                yield model_case("builtins", name, (local, groups), sentence)
                if (local, groups) in _INDIRECT:
                    sentence = f"{words}: {shape} workgroups from a buffer, with {size.replace('_', ' ')}."
                    yield model_case("builtins", name, (local, groups, "indirect"), sentence)


def _shape(case: ModelCase, capabilities: Capabilities) -> Shape:
    local, groups = case.axes.variant[:2]
    return Shape(local_size(local, capabilities.limits), DISPATCHES[groups][0])


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    shape = _shape(case, capabilities)
    return exceeded(shape.local, shape.groups, capabilities.limits)


def _batch_key(case: ModelCase) -> Hashable:
    return case.axes.variant


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    shape = _shape(cases[0], executor.capabilities)
    x, y, z = shape.local
    bindings = {"Tickets": np.zeros(1, np.uint32), "Records": poisoned(shape.total * _WORDS)}
    with (
        pipeline_of(executor, _SOURCE.format(x=x, y=y, z=z, words=_WORDS)) as pipeline,
        pipeline.bind(bindings) as bound,
    ):
        if "indirect" in cases[0].axes.variant:
            with executor.device.buffer(np.array([0, *shape.groups], np.uint32)) as commands:
                bound.dispatch_indirect(commands, 4, timeout=executor.timeout)
        else:
            bound.dispatch(shape.groups, timeout=executor.timeout)
        recorded = bound.results()
    taken, records = int(recorded["Tickets"][0]), recorded["Records"].reshape(-1, _WORDS)
    return judge_records([case.axes.test for case in cases], shape, taken, records)


def judge_records(tests: list[str], shape: Shape, taken: int, records: Record) -> list[Verdict]:
    """Judge what the invocations of a dispatch wrote down.

    Parameters
    ----------
    tests : keys of `SENTENCES`.
    taken : tickets that were taken.
    records : (invocations, 16): workgroup, index, local and global id, numbers of workgroups, local size.
    """
    if taken != shape.total:
        detail = f"{taken} invocations were executed, must be {shape.total}"
        return [Verdict(Status.FAIL, shape.total, 0, detail) for _ in tests]
    # By workgroup and index, that failures name the same places each time.
    group, index = records[:, 0:3].astype(np.int64), records[:, 3].astype(np.int64)
    order = np.lexsort((index, group[:, 0], group[:, 1], group[:, 2]))
    return [_judge_one(test, shape, records[order]) for test in tests]


def _judge_one(test: str, shape: Shape, records: Record) -> Verdict:
    """Judge one variable; the records are sorted by workgroup and index."""
    expected = expected_records(shape)
    if test == "every_invocation_once":
        pairs = [0, 1, 2, 4, 5, 6]
        recorded = np.unique(records[:, pairs], axis=0)
        if len(recorded) < shape.total:
            detail = f"only {len(recorded)} of {shape.total} pairs of workgroup and local id are different"
            return Verdict(Status.FAIL, shape.total, 0, detail)
        must = np.unique(expected[:, pairs], axis=0)
        return compare(recorded, must, "the pairs of workgroup and local id, sorted", ("pair", "component"))
    if test == "gl_GlobalInvocationID":
        # From the variables themselves, as the formula has them, and as a whole.
        formula = records[:, 0:3] * records[:, 13:16] + records[:, 4:7]
        what = "not the formula's value of the other variables"
        by_formula = compare(records[:, 7:10], formula, what, ("record", "component"))
        if by_formula.status == Status.FAIL:
            return by_formula
    columns = COLUMNS[test]
    return compare(records[:, columns], expected[:, columns], test, ("record", "component"))


def expected_records(shape: Shape) -> Record:
    """Return the record of every invocation, by workgroup and index."""
    gx, gy, gz = shape.groups
    lx, ly, lz = shape.local
    z, y, x, c, b, a = (part.reshape(-1) for part in np.indices((gz, gy, gx, lz, ly, lx)))
    group, local = np.stack([x, y, z], axis=1), np.stack([a, b, c], axis=1)
    index = c * lx * ly + b * lx + a
    counts = np.broadcast_to(shape.groups, group.shape)
    size = np.broadcast_to(shape.local, group.shape)
    parts = [group, index[:, None], local, group * size + local, counts, size]
    return np.concatenate(parts, axis=1).astype(np.uint32)


BUILTINS_TOPIC = TableFamily("builtins", _cases, _missing, _judge, _batch_key)
