"""Indirect dispatches, and dispatches of nothing (ARB_compute_shader, section 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.work import compare, dispatch, merged, pipeline_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.poison import poisoned

Words = NDArray[np.uint32]

_STEPS = 30
"""Dispatches of the chain."""

_SENTENCES = {
    "indirect": "An indirect dispatch runs the numbers of workgroups that lie at its offset",
    "indirect_written": "An indirect dispatch runs the numbers of workgroups that the dispatch before wrote",
    "indirect_chain": "Each indirect dispatch writes the numbers of workgroups of the next",
    "zero_groups": "A dispatch of zero workgroups in any dimension executes nothing",
    "zero_groups_indirect": "An indirect dispatch of zero workgroups in any dimension executes nothing",
}


def cases() -> Iterator[ModelCase]:
    """Yield the cases of indirect dispatches and of zero workgroups."""
    for name, sentence in _SENTENCES.items():
        yield model_case("dispatches", name, (), f"{sentence}.")


_COUNT = """#version 430
// Counts the invocations of each workgroup, in the order x, y, z of a box of 8 by 8 by 8.
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Counts { uint counts[]; };
layout(std430, binding = 1) buffer Sizes { uint sizes[]; };
void main() {
    uvec3 id = gl_WorkGroupID;
    atomicAdd(counts[id.x + 8u * (id.y + 8u * id.z)], 1u);
    for (int k = 0; k < 3; ++k) sizes[k] = gl_NumWorkGroups[k];
}
"""


def _counted(groups: tuple[int, int, int]) -> Words:
    """Return what `_COUNT` must count for one dispatch, (512,)."""
    box = np.zeros((8, 8, 8), np.uint32)
    box[: groups[2], : groups[1], : groups[0]] = 4
    return box.reshape(-1)


def _compare_counts(recorded: dict[Any, Any], groups: tuple[int, int, int]) -> Verdict:
    counts = compare(recorded["Counts"], _counted(groups), f"invocations of {groups} workgroups")
    if 0 in groups:
        return merged([counts, compare(recorded["Sizes"], poisoned(3), "a dispatch of nothing wrote")])
    return merged([counts, compare(recorded["Sizes"], np.array(groups, np.uint32), "gl_NumWorkGroups")])


def _counting() -> dict[str, Words]:
    return {"Counts": np.zeros(512, np.uint32), "Sizes": poisoned(3)}


def _judge_indirect(executor: Executor) -> Verdict:
    verdicts = []
    with pipeline_of(executor, _COUNT) as pipeline:
        for offset, groups in ((0, (1, 1, 1)), (4, (7, 1, 1)), (20, (2, 8, 3)), (256, (1, 1, 5))):
            words = np.full(offset // 4 + 3 + 5, 0xFFFFFFFF, np.uint32)
            words[offset // 4 : offset // 4 + 3] = groups
            with executor.device.buffer(words) as commands, pipeline.bind(_counting()) as bound:
                bound.dispatch_indirect(commands, offset, timeout=executor.timeout)
                verdicts.append(_compare_counts(bound.results(), groups))
    return merged(verdicts)


_COMMAND = """#version 430
// Writes the numbers of workgroups of the next dispatch.
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Command { uint command[]; };
void main() {
    if (gl_LocalInvocationIndex < 3u) command[gl_LocalInvocationIndex] = 3u + 2u * gl_LocalInvocationIndex;
}
"""


def _judge_indirect_written(executor: Executor) -> Verdict:
    with (
        pipeline_of(executor, _COMMAND) as write,
        pipeline_of(executor, _COUNT) as count,
        executor.device.buffer(np.ones(3, np.uint32)) as commands,
        count.bind(_counting()) as bound,
    ):
        dispatch(executor, write, 1, {"Command": commands})
        bound.dispatch_indirect(commands, timeout=executor.timeout)
        return _compare_counts(bound.results(), (3, 5, 7))


def _judge_indirect_chain(executor: Executor) -> Verdict:
    source = """#version 430
// Takes a ticket a workgroup, and makes the next dispatch one workgroup larger.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Command { uint command[]; };
layout(std430, binding = 1) buffer Tickets { uint taken[]; };
void main() {
    if (gl_LocalInvocationIndex != 0u) return;
    atomicAdd(taken[0], 1u);
    if (gl_WorkGroupID.x == gl_NumWorkGroups.x - 1u) command[0] = gl_NumWorkGroups.x + 1u;
}
"""
    device = executor.device
    with (
        pipeline_of(executor, source) as pipeline,
        device.buffer(np.ones(3, np.uint32)) as commands,
        pipeline.bind({"Command": commands, "Tickets": np.zeros(1, np.uint32)}) as bound,
    ):
        for _ in range(_STEPS):
            bound.dispatch_indirect(commands, timeout=executor.timeout)
        taken, last = bound.results()["Tickets"], commands.read(np.uint32, 3)
    expected = np.array([_STEPS * (_STEPS + 1) // 2, _STEPS + 1, 1, 1], np.uint32)
    what = "workgroups in all, then the numbers that the last dispatch wrote"
    return compare(np.concatenate([taken, last]), expected, what)


_NOTHING = ((0, 1, 1), (3, 0, 1), (1, 5, 0), (0, 0, 0))


def _judge_zero(executor: Executor) -> Verdict:
    verdicts = []
    with pipeline_of(executor, _COUNT) as pipeline:
        for groups in _NOTHING:
            recorded = dispatch(executor, pipeline, groups, _counting())
            verdicts.append(_compare_counts(recorded, groups))
    return merged(verdicts)


def _judge_zero_indirect(executor: Executor) -> Verdict:
    verdicts = []
    with pipeline_of(executor, _COUNT) as pipeline:
        for groups in _NOTHING:
            commands = executor.device.buffer(np.array(groups, np.uint32))
            with commands, pipeline.bind(_counting()) as bound:
                bound.dispatch_indirect(commands, timeout=executor.timeout)
                verdicts.append(_compare_counts(bound.results(), groups))
    return merged(verdicts)


JUDGES: dict[str, Callable[[Executor], Verdict]] = {
    "indirect": _judge_indirect,
    "indirect_written": _judge_indirect_written,
    "indirect_chain": _judge_indirect_chain,
    "zero_groups": _judge_zero,
    "zero_groups_indirect": _judge_zero_indirect,
}
"""How each case is judged."""
