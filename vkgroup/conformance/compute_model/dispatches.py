"""Dispatches one after another: each sees what the ones before wrote.

ARB_compute_shader, section 5.5; OpenGL 4.2, 2.11.13 ("Shared Memory Access Synchronization"). vkgroup puts a
barrier between any two pieces of work, which OpenGL leaves to glMemoryBarrier; what is judged is that the
device keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import drawing, indirect
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.work import compare, dispatch, merged, pipeline_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities

Words = NDArray[np.uint32]

LOCAL, GROUPS = 64, 16
TOTAL = LOCAL * GROUPS
STEPS = 30
"""Dispatches of a case, each on what the one before left."""

_SENTENCES = {
    "swapped_buffers": "Each dispatch reads the buffer that the one before wrote, and writes the other",
    "swapped_images": "Each dispatch reads the image that the one before wrote, and writes the other",
    "one_submission_buffer": "Dispatches submitted together see in a buffer what the ones before wrote",
    "one_submission_image": "Dispatches submitted together see in an image what the ones before wrote",
    "two_pipelines": "Dispatches of different shaders see in a buffer what the ones before wrote",
    "storage_then_uniform": "A dispatch reads as a uniform block the storage block that the one before wrote",
    "image_then_texture": "A dispatch samples the texels that the one before stored",
    "atomics_add_up": "Atomics of many dispatches add up",
}


def _cases() -> Iterator[ModelCase]:
    for name, sentence in _SENTENCES.items():
        yield model_case("dispatches", name, (), f"{sentence}.")
    yield from indirect.cases()
    yield from drawing.cases()


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    return drawing.missing(case, capabilities) if case.axes.test in drawing.SENTENCES else []


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    return [(_JUDGES | indirect.JUDGES | drawing.JUDGES)[case.axes.test](executor) for case in cases]


def _start() -> Words:
    return (np.arange(TOTAL, dtype=np.uint32) * np.uint32(2654435761)) ^ np.uint32(0x5BD1E995)


def _step(values: Words) -> Words:
    """Return what a dispatch makes of the values before it: NumPy's twin of `STEP`."""
    return np.asarray(np.roll(values, -1) * np.uint32(3) + np.arange(TOTAL, dtype=np.uint32), np.uint32)


def _after(steps: int) -> Words:
    values = _start()
    for _ in range(steps):
        values = _step(values)
    return values


_HEAD = f"""#version 430
layout(local_size_x = {LOCAL}) in;
"""

_BUFFERS = (
    _HEAD
    + """// A step from one buffer to the other.
layout(std430, binding = 0) readonly buffer From { uint from[]; };
layout(std430, binding = 1) writeonly buffer To { uint to[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    to[i] = from[(i + 1u) % n] * 3u + i;
}
"""
)

_IMAGES = (
    _HEAD
    + """// A step from one image to the other.
layout(r32ui, binding = 0) readonly uniform uimage2D from;
layout(r32ui, binding = 1) writeonly uniform uimage2D to;
void main() {
    uint i = gl_GlobalInvocationID.x, n = gl_NumWorkGroups.x * gl_WorkGroupSize.x, k = (i + 1u) % n;
    uint value = imageLoad(from, ivec2(int(k % 64u), int(k / 64u))).x * 3u + i;
    imageStore(to, ivec2(int(i % 64u), int(i / 64u)), uvec4(value));
}
"""
)

_TICKETS = (
    _HEAD
    + """// A step from one half of {where} to the other; tickets tell how many dispatches were before.
layout(std430, binding = 0) buffer Tickets {{ uint taken; }};
{declaration}
void main() {{
    uint i = gl_GlobalInvocationID.x, n = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    uint number = atomicAdd(taken, 1u) / n;
    uint from = (number & 1u) * n, to = n - from;
    {body}
}}
"""
)


def _judge_swapped_buffers(executor: Executor) -> Verdict:
    device = executor.device
    with pipeline_of(executor, _BUFFERS) as pipeline:
        first, second = device.buffer(_start()), device.buffer(poisoned(TOTAL))
        there = pipeline.bind({"From": first, "To": second})
        back = pipeline.bind({"From": second, "To": first})
        verdicts = []
        for number in range(STEPS):
            (back if number % 2 else there).dispatch(GROUPS, timeout=executor.timeout)
            if number % 10 == 9:
                recorded = (first if number % 2 else second).read(np.uint32, TOTAL)
                verdicts.append(compare(recorded, _after(number + 1), f"after {number + 1} dispatches"))
        for opened in (there, back, first, second):
            opened.close()
    return merged(verdicts)


def _judge_swapped_images(executor: Executor) -> Verdict:
    device = executor.device
    with pipeline_of(executor, _IMAGES) as pipeline:
        first = device.image(_start().reshape(-1, 64))
        second = device.image(poisoned(TOTAL).reshape(-1, 64))
        there = pipeline.bind({"from": first, "to": second})
        back = pipeline.bind({"from": second, "to": first})
        for number in range(STEPS):
            (back if number % 2 else there).dispatch(GROUPS, timeout=executor.timeout)
        recorded = (second if STEPS % 2 else first).read().reshape(-1)
        for opened in (there, back, first, second):
            opened.close()
    return compare(recorded, _after(STEPS), f"after {STEPS} dispatches")


def _judge_one_submission(executor: Executor, image: bool) -> Verdict:
    """Judge `STEPS` dispatches of one submission, with a barrier between each two."""
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
    with pipeline_of(executor, source) as pipeline, pipeline.bind(bindings) as bound:
        bound.timed(GROUPS, timeout=executor.timeout, repeat=STEPS)
        recorded = bound.results()
    cells = recorded["pixels" if image else "Cells"].reshape(2, TOTAL)
    expected = np.stack([_after(STEPS - STEPS % 2), _after(STEPS - 1 + STEPS % 2)])
    if STEPS % 2:
        expected = expected[::-1]
    return compare(cells, expected, f"the halves after {STEPS} dispatches", ("half", "cell"))


def _judge_two_pipelines(executor: Executor) -> Verdict:
    other = (
        _HEAD
        + """// Turns the bits of every cell over, in place.
layout(std430, binding = 0) buffer Cells { uint cells[]; };
void main() { cells[gl_GlobalInvocationID.x] = ~cells[gl_GlobalInvocationID.x]; }
"""
    )
    with pipeline_of(executor, _BUFFERS) as step, pipeline_of(executor, other) as flip:
        first, second = (executor.device.buffer(values) for values in (_start(), poisoned(TOTAL)))
        expected = _start()
        bounds = [
            step.bind({"From": first, "To": second}),
            flip.bind({"Cells": second}),
            step.bind({"From": second, "To": first}),
            flip.bind({"Cells": first}),
        ]
        for number in range(4 * (STEPS // 4)):
            bounds[number % 4].dispatch(GROUPS, timeout=executor.timeout)
            expected = ~expected if number % 2 else _step(expected)
        recorded = first.read(np.uint32, TOTAL)
        for opened in (*bounds, first, second):
            opened.close()
    return compare(recorded, expected, "after steps of two shaders in turn")


def _judge_storage_then_uniform(executor: Executor) -> Verdict:
    reading = (
        _HEAD
        + f"""// Reads a uniform block that was a storage block.
layout(std140, binding = 0) uniform Block {{ uvec4 block[{TOTAL // 4}]; }};
layout(std430, binding = 1) writeonly buffer Found {{ uint found[]; }};
void main() {{ uint i = gl_GlobalInvocationID.x; found[i] = block[i / 4u][i % 4u]; }}
"""
    )
    with pipeline_of(executor, _BUFFERS) as write, pipeline_of(executor, reading) as read:
        first, second = (executor.device.buffer(values) for values in (_start(), poisoned(TOTAL)))
        dispatch(executor, write, GROUPS, {"From": first, "To": second})
        recorded = dispatch(executor, read, GROUPS, {"Block": second, "Found": poisoned(TOTAL)})["Found"]
        first.close()
        second.close()
    return compare(recorded, _after(1), "what the uniform block held")


def _judge_image_then_texture(executor: Executor) -> Verdict:
    reading = (
        _HEAD
        + """// Reads the texels of a texture that was an image.
layout(binding = 0) uniform usampler2D texels;
layout(std430, binding = 1) writeonly buffer Found { uint found[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    found[i] = texelFetch(texels, ivec2(int(i % 64u), int(i / 64u)), 0).x;
}
"""
    )
    device = executor.device
    with pipeline_of(executor, _IMAGES) as write, pipeline_of(executor, reading) as read:
        first = device.image(_start().reshape(-1, 64))
        second = device.image(poisoned(TOTAL).reshape(-1, 64))
        dispatch(executor, write, GROUPS, {"from": first, "to": second})
        nearest = device.sampler(filter="nearest")
        bindings = {"texels": (second, nearest), "Found": poisoned(TOTAL)}
        recorded = dispatch(executor, read, GROUPS, bindings)["Found"]
        first.close()
        second.close()
    return compare(recorded, _after(1), "what the texture held")


def _judge_atomics(executor: Executor) -> Verdict:
    source = (
        _HEAD
        + """// Adds to a few cells.
layout(std430, binding = 0) buffer Cells { uint cells[]; };
void main() { atomicAdd(cells[gl_GlobalInvocationID.x % 7u], gl_GlobalInvocationID.x); }
"""
    )
    with pipeline_of(executor, source) as pipeline, pipeline.bind({"Cells": np.zeros(7, np.uint32)}) as bound:
        bound.timed(GROUPS, timeout=executor.timeout, repeat=STEPS)
        recorded = bound.results()["Cells"]
    numbers = np.arange(TOTAL, dtype=np.uint32)
    expected = np.bincount(numbers % 7, numbers, 7).astype(np.uint32) * np.uint32(STEPS)
    return compare(recorded, expected, f"the totals of {STEPS} dispatches")


_JUDGES: dict[str, Callable[[Executor], Verdict]] = {
    "swapped_buffers": _judge_swapped_buffers,
    "swapped_images": _judge_swapped_images,
    "one_submission_buffer": lambda executor: _judge_one_submission(executor, False),
    "one_submission_image": lambda executor: _judge_one_submission(executor, True),
    "two_pipelines": _judge_two_pipelines,
    "storage_then_uniform": _judge_storage_then_uniform,
    "image_then_texture": _judge_image_then_texture,
    "atomics_add_up": _judge_atomics,
}

DISPATCHES_TOPIC = TableFamily("dispatches", _cases, _missing, _judge)
