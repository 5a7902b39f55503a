"""Successive dispatches, direct and indirect: each must see the results of the previous ones.

ARB_compute_shader, section 5.5; OpenGL 4.2, 2.11.13 ("Shared Memory Access Synchronization"). vkgroup puts a
barrier between successive commands, for which OpenGL programs call glMemoryBarrier; the cases test that the
device obeys it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import drawing
from vkgroup.conformance.compute_model.work import (
    ModelCase,
    Words,
    compare,
    dispatch,
    merged,
    model_case,
    pipeline_of,
    topic,
)
from vkgroup.conformance.execute import Executor
from vkgroup.dispatch import Pipeline

# --- one after another --------------------------------------------------------------------------------

LOCAL, GROUPS = 64, 16
TOTAL = LOCAL * GROUPS
STEPS = 30
"""Number of dispatches of a case; each uses the results of the previous one."""


def _start() -> Words:
    return (np.arange(TOTAL, dtype=np.uint32) * np.uint32(2654435761)) ^ np.uint32(0x5BD1E995)


def _step(values: Words) -> Words:
    """Return the values after a dispatch of `_BUFFERS` or `_IMAGES`."""
    return np.asarray(np.roll(values, -1) * np.uint32(3) + np.arange(TOTAL, dtype=np.uint32), np.uint32)


def _after(steps: int) -> Words:
    values = _start()
    for _ in range(steps):
        values = _step(values)
    return values


def _pipeline(executor: Executor, source: str) -> AbstractContextManager[Pipeline]:
    """Return the pipeline of a shader with `LOCAL` invocations; `source` follows version and local size."""
    return pipeline_of(executor, f"#version 430\nlayout(local_size_x = {LOCAL}) in;\n{source}")


_BUFFERS = """// A step from one buffer to the other.
layout(std430, binding = 0) readonly buffer From { uint from[]; };
layout(std430, binding = 1) writeonly buffer To { uint to[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    to[i] = from[(i + 1u) % n] * 3u + i;
}
"""

_IMAGES = """// A step from one image to the other.
layout(r32ui, binding = 0) readonly uniform uimage2D from;
layout(r32ui, binding = 1) writeonly uniform uimage2D to;
void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_NumWorkGroups.x * gl_WorkGroupSize.x, k = (i + 1u) % n;
    uint value = imageLoad(from, ivec2(int(k % 64u), int(k / 64u))).x * 3u + i;
    imageStore(to, ivec2(int(i % 64u), int(i / 64u)), uvec4(value));
}
"""

_TICKETS = """// A step from one half of {where} to the other; tickets count the dispatches before.
layout(std430, binding = 0) buffer Tickets {{ uint taken; }};
{declaration}
void main() {{
    uint i = gl_GlobalInvocationID.x, n = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint number = atomicAdd(taken, 1u) / n;
    uint from = (number & 1u) * n, to = n - from;
    {body}
}}
"""


def _memories(executor: Executor, opened: ExitStack, image: bool) -> list[Any]:
    """Return two buffers, or images with rows of 64 texels: one with the first values, one poisoned."""
    device = executor.device
    return [
        opened.enter_context(device.image(values.reshape(-1, 64)) if image else device.buffer(values))
        for values in (_start(), poisoned(TOTAL))
    ]


def _judge_swapped(image: bool, every: int, executor: Executor) -> Verdict:
    """Run `STEPS` dispatches between two memories; compare the result after each `every` of them."""
    source, names = (_IMAGES, ("from", "to")) if image else (_BUFFERS, ("From", "To"))
    verdicts = []
    with _pipeline(executor, source) as pipeline, ExitStack() as opened:
        memories = _memories(executor, opened, image)
        bounds = [
            opened.enter_context(pipeline.bind(dict(zip(names, order, strict=True))))
            for order in (memories, memories[::-1])
        ]
        for number in range(STEPS):
            bounds[number % 2].dispatch(GROUPS, timeout=executor.timeout)
            if number % every == every - 1:
                memory = memories[1 - number % 2]
                recorded = memory.read().reshape(-1) if image else memory.read(np.uint32, TOTAL)
                verdicts.append(compare(recorded, _after(number + 1), f"after {number + 1} dispatches"))
    return merged(*verdicts)


def _judge_one_submission(image: bool, executor: Executor) -> Verdict:
    """Run `STEPS` dispatches in one submission with barriers between them; return the verdict."""
    halves = np.concatenate([_start(), poisoned(TOTAL)])
    bindings: dict[str, Any] = {"Tickets": np.zeros(1, np.uint32)}
    if image:
        where, declaration = "an image", "layout(r32ui, binding = 1) uniform uimage2D pixels;"
        body = (
            "uint k = from + (i + 1u) % n, j = to + i;\n"
            "    uint value = imageLoad(pixels, ivec2(int(k % 64u), int(k / 64u))).x * 3u + i;\n"
            "    imageStore(pixels, ivec2(int(j % 64u), int(j / 64u)), uvec4(value));"
        )
        bindings["pixels"] = halves.reshape(-1, 64)
    else:
        where, declaration = "a buffer", "layout(std430, binding = 1) buffer Cells { uint cells[]; };"
        body = "cells[to + i] = cells[from + (i + 1u) % n] * 3u + i;"
        bindings["Cells"] = halves
    source = _TICKETS.format(where=where, declaration=declaration, body=body)
    with _pipeline(executor, source) as pipeline, pipeline.bind(bindings) as bound:
        bound.timed(GROUPS, timeout=executor.timeout, repeat=STEPS)
        recorded = bound.results()
    cells = recorded["pixels" if image else "Cells"].reshape(2, TOTAL)
    expected = np.stack([_after(STEPS - STEPS % 2), _after(STEPS - 1 + STEPS % 2)])
    if STEPS % 2:
        expected = expected[::-1]
    return compare(cells, expected, f"the halves after {STEPS} dispatches", ("half", "cell"))


def _judge_two_pipelines(executor: Executor) -> Verdict:
    other = """// Inverts the bits of every cell in place.
layout(std430, binding = 0) buffer Cells { uint cells[]; };
void main() { cells[gl_GlobalInvocationID.x] = ~cells[gl_GlobalInvocationID.x]; }
"""
    with (
        _pipeline(executor, _BUFFERS) as step,
        _pipeline(executor, other) as flip,
        ExitStack() as opened,
    ):
        first, second = _memories(executor, opened, image=False)
        expected = _start()
        bounds = [
            opened.enter_context(bound)
            for bound in (
                step.bind({"From": first, "To": second}),
                flip.bind({"Cells": second}),
                step.bind({"From": second, "To": first}),
                flip.bind({"Cells": first}),
            )
        ]
        for number in range(4 * (STEPS // 4)):
            bounds[number % 4].dispatch(GROUPS, timeout=executor.timeout)
            expected = ~expected if number % 2 else _step(expected)
        recorded = first.read(np.uint32, TOTAL)
    return compare(recorded, expected, "after steps of two shaders in turn")


_READ_BLOCK = f"""// Reads a uniform block that was a storage block.
layout(std140, binding = 0) uniform Block {{ uvec4 block[{TOTAL // 4}]; }};
layout(std430, binding = 1) writeonly buffer Found {{ uint found[]; }};
void main() {{ uint i = gl_GlobalInvocationID.x; found[i] = block[i / 4u][i % 4u]; }}
"""

_READ_TEXTURE = """// Reads the texels of a texture that was an image.
layout(binding = 0) uniform usampler2D texels;
layout(std430, binding = 1) writeonly buffer Found { uint found[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    found[i] = texelFetch(texels, ivec2(int(i % 64u), int(i / 64u)), 0).x;
}
"""


def _judge_read_only(image: bool, executor: Executor) -> Verdict:
    """Run a dispatch that reads memory as a uniform block or as a texture; return the verdict."""
    writing, reading = (_IMAGES, _READ_TEXTURE) if image else (_BUFFERS, _READ_BLOCK)
    with (
        _pipeline(executor, writing) as write,
        _pipeline(executor, reading) as read,
        ExitStack() as opened,
    ):
        first, second = _memories(executor, opened, image)
        if image:
            dispatch(executor, write, GROUPS, {"from": first, "to": second})
            source: dict[str, Any] = {"texels": (second, executor.device.sampler(filter="nearest"))}
        else:
            dispatch(executor, write, GROUPS, {"From": first, "To": second})
            source = {"Block": second}
        recorded = dispatch(executor, read, GROUPS, {**source, "Found": poisoned(TOTAL)})["Found"]
    return compare(recorded, _after(1), f"what the {'texture' if image else 'uniform block'} held")


def _judge_atomics(executor: Executor) -> Verdict:
    source = """// Adds to a few cells.
layout(std430, binding = 0) buffer Cells { uint cells[]; };
void main() { atomicAdd(cells[gl_GlobalInvocationID.x % 7u], gl_GlobalInvocationID.x); }
"""
    with _pipeline(executor, source) as pipeline, pipeline.bind({"Cells": np.zeros(7, np.uint32)}) as bound:
        bound.timed(GROUPS, timeout=executor.timeout, repeat=STEPS)
        recorded = bound.results()["Cells"]
    numbers = np.arange(TOTAL, dtype=np.uint32)
    expected = np.bincount(numbers % 7, numbers, 7).astype(np.uint32) * np.uint32(STEPS)
    return compare(recorded, expected, f"the totals of {STEPS} dispatches")


# --- indirect and empty dispatches --------------------------------------------------------------------

_NOTHING = ((0, 1, 1), (3, 0, 1), (1, 5, 0), (0, 0, 0))
_SOMETHING = (2, 3, 1)
"""Workgroups of the last dispatch, which shows that the device executes what is not empty."""

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
    """Return the counts that `_COUNT` must make in one dispatch, (512,)."""
    box = np.zeros((8, 8, 8), np.uint32)
    box[: groups[2], : groups[1], : groups[0]] = 4
    return box.reshape(-1)


def _compare_counts(recorded: dict[Any, Any], groups: tuple[int, int, int]) -> Verdict:
    counts = compare(recorded["Counts"], _counted(groups), f"invocations of {groups} workgroups")
    if 0 in groups:
        return merged(counts, compare(recorded["Sizes"], poisoned(3), "a dispatch of nothing wrote"))
    return merged(counts, compare(recorded["Sizes"], np.array(groups, np.uint32), "gl_NumWorkGroups"))


def _counting() -> dict[str, Words]:
    return {"Counts": np.zeros(512, np.uint32), "Sizes": poisoned(3)}


def _judge_counts(runs: tuple[tuple[int | None, tuple[int, int, int]], ...], executor: Executor) -> Verdict:
    """Run indirect dispatches at offsets in a buffer (direct if there is no offset); return the verdict."""
    verdicts = []
    with pipeline_of(executor, _COUNT) as pipeline:
        for offset, groups in runs:
            if offset is None:
                verdicts.append(_compare_counts(dispatch(executor, pipeline, groups, _counting()), groups))
                continue
            words = np.full(offset // 4 + 3 + 5, 0xFFFFFFFF, np.uint32)
            words[offset // 4 : offset // 4 + 3] = groups
            with executor.device.buffer(words) as commands, pipeline.bind(_counting()) as bound:
                bound.dispatch_indirect(commands, offset, timeout=executor.timeout)
                verdicts.append(_compare_counts(bound.results(), groups))
    return merged(*verdicts)


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
        for _ in range(STEPS):
            bound.dispatch_indirect(commands, timeout=executor.timeout)
        taken, last = bound.results()["Tickets"], commands.read(np.uint32, 3)
    expected = np.array([STEPS * (STEPS + 1) // 2, STEPS + 1, 1, 1], np.uint32)
    what = "workgroups in all, then the numbers that the last dispatch wrote"
    return compare(np.concatenate([taken, last]), expected, what)


# --- topic --------------------------------------------------------------------------------------------

_TESTS: dict[str, tuple[Callable[[Executor], Verdict], str]] = {
    "swapped_buffers": (
        partial(_judge_swapped, False, 10),
        "Each dispatch reads the buffer that the one before wrote, and writes the other",
    ),
    "swapped_images": (
        partial(_judge_swapped, True, STEPS),
        "Each dispatch reads the image that the one before wrote, and writes the other",
    ),
    "one_submission_buffer": (
        partial(_judge_one_submission, False),
        "Dispatches submitted together see in a buffer what the ones before wrote",
    ),
    "one_submission_image": (
        partial(_judge_one_submission, True),
        "Dispatches submitted together see in an image what the ones before wrote",
    ),
    "two_pipelines": (
        _judge_two_pipelines,
        "Dispatches of different shaders see in a buffer what the ones before wrote",
    ),
    "storage_then_uniform": (
        partial(_judge_read_only, False),
        "A dispatch reads as a uniform block the storage block that the one before wrote",
    ),
    "image_then_texture": (
        partial(_judge_read_only, True),
        "A dispatch samples the texels that the one before stored",
    ),
    "atomics_add_up": (_judge_atomics, "Atomics of many dispatches add up"),
    "indirect": (
        partial(_judge_counts, ((0, (1, 1, 1)), (4, (7, 1, 1)), (20, (2, 8, 3)), (256, (1, 1, 5)))),
        "An indirect dispatch runs the numbers of workgroups that lie at its offset",
    ),
    "indirect_written": (
        _judge_indirect_written,
        "An indirect dispatch runs the numbers of workgroups that the dispatch before wrote",
    ),
    "indirect_chain": (
        _judge_indirect_chain,
        "Each indirect dispatch writes the numbers of workgroups of the next",
    ),
    "zero_groups": (
        partial(_judge_counts, (*((None, groups) for groups in _NOTHING), (None, _SOMETHING))),
        "A dispatch of zero workgroups in any dimension executes nothing",
    ),
    "zero_groups_indirect": (
        partial(_judge_counts, (*((0, groups) for groups in _NOTHING), (0, _SOMETHING))),
        "An indirect dispatch of zero workgroups in any dimension executes nothing",
    ),
    **drawing.TESTS,
}
"""Function and sentence of each test."""


def _cases() -> Iterator[ModelCase]:
    for name, (_, sentence) in _TESTS.items():
        yield model_case("dispatches", name, (), f"{sentence}.")


DISPATCHES_TOPIC = topic(
    "dispatches", _cases, {name: test for name, (test, _) in _TESTS.items()}, drawing.missing
)
