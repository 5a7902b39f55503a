"""A dispatch then a draw, and a draw then a dispatch: the second must see the stores of the first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import work
from vkgroup.conformance.compute_model.work import ModelCase, Words
from vkgroup.conformance.execute import Executor
from vkgroup.device import Capabilities
from vkgroup.dispatch.reference.capabilities import DRIVER_NAME

WIDTH, HEIGHT = 32, 24
ROUNDS = 5
"""Number of pairs of a dispatch and a draw, each with different values."""


def missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    """Return the features that a case with draws needs and the device lacks."""
    if case.axes.test not in TESTS:
        return []
    needs = []
    if capabilities.driver_name == DRIVER_NAME and "fragment" not in capabilities.subgroup.supported_stages:
        needs.append("the fragment stage (the reference device draws with quads in one subgroup)")
    stores = case.axes.test.startswith("dispatch_reads")
    if stores and "fragmentStoresAndAtomics" not in capabilities.features:
        needs.append("fragmentStoresAndAtomics")
    return needs


def _values(number: int) -> Words:
    """Return the values that a round stores, (height, width)."""
    pixels = np.arange(WIDTH * HEIGHT, dtype=np.uint32).reshape(HEIGHT, WIDTH)
    return pixels * np.uint32(40503) + np.uint32(number * 1000003)


_VALUE = f"(y * {WIDTH}u + x) * 40503u + number * 1000003u"

# kind of access → declaration, store of value, load
_MEMORY = {
    "buffer": (
        "layout(std430, binding = 0) {access} buffer Memory {{ uint memory[]; }};",
        f"memory[y * {WIDTH}u + x] = value;",
        f"memory[y * {WIDTH}u + x]",
    ),
    "image": (
        "layout(r32ui, binding = 0) {access} uniform uimage2D pixels;",
        "imageStore(pixels, ivec2(int(x), int(y)), uvec4(value));",
        "imageLoad(pixels, ivec2(int(x), int(y))).x",
    ),
    "texture": (
        "layout(binding = 0) uniform usampler2D texels;",
        "",
        "texelFetch(texels, ivec2(int(x), int(y)), 0).x",
    ),
}

_NUMBER = "layout(std430, binding = 1) readonly buffer Number { uint number; };"


def _compute(memory: str, *, write: bool) -> str:
    """Return the dispatch's shader, which fills memory or copies it into a buffer."""
    declaration, store, load = _MEMORY[memory]
    access = "writeonly" if write else "readonly"
    body = f"uint value = {_VALUE}; {store}"
    return f"""#version 430
// {"Fills" if write else "Copies"} a memory of {WIDTH} by {HEIGHT}.
layout(local_size_x = 8, local_size_y = 8) in;
{declaration.format(access=access)}
{_NUMBER if write else "layout(std430, binding = 1) writeonly buffer Found { uint found[]; };"}
void main() {{
    uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;
    {body if write else f"found[y * {WIDTH}u + x] = {load};"}
}}
"""


def _fragment(memory: str, *, write: bool) -> str:
    """Return the draw's fragment shader, which fills memory or writes its content as color."""
    declaration, store, load = _MEMORY[memory]
    value = f"uint value = {_VALUE}; {store} color = value;"
    return f"""#version 430
// {"Fills" if write else "Shows"} a memory of {WIDTH} by {HEIGHT}.
{declaration.format(access="writeonly" if write else "readonly")}
{_NUMBER if write else ""}
layout(location = 0) out uint color;
void main() {{
    uint x = uint(gl_FragCoord.x), y = uint(gl_FragCoord.y);
    {value if write else f"color = {load};"}
}}
"""


def _memory_of(executor: Executor, memory: str) -> tuple[str, Any]:
    """Return the memory's name in shaders, and a buffer or an image."""
    if memory == "buffer":
        return "Memory", executor.device.buffer(poisoned(WIDTH * HEIGHT))
    return "pixels", executor.device.image(poisoned(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH))


_GROUPS = (WIDTH // 8, HEIGHT // 8)


def _judge_draw(kind: str, executor: Executor) -> Verdict:
    """Run draws that read the stores of dispatches; return the verdict."""
    device, verdicts = executor.device, []
    memory = "buffer" if kind == "buffer" else "image"
    name, resource = _memory_of(executor, memory)
    fragment = work.compiled(executor, _fragment(kind, write=False), "fragment")
    read = {"texels": (resource, device.sampler(filter="nearest"))} if kind == "texture" else {name: resource}
    with resource, work.pipeline_of(executor, _compute(memory, write=True)) as pipeline:
        for number in range(ROUNDS):
            bindings = {name: resource, "Number": np.array([number], np.uint32)}
            work.dispatch(executor, pipeline, _GROUPS, bindings)
            colors = device.draw(fragment, (WIDTH, HEIGHT), read, timeout=executor.timeout)["color"]
            verdicts.append(work.compare(colors, _values(number), f"the image of draw {number}", ("y", "x")))
    return work.merged(*verdicts)


def _judge_dispatch(memory: str, executor: Executor) -> Verdict:
    """Run dispatches that read the stores of fragments; return the verdict."""
    device, verdicts = executor.device, []
    name, resource = _memory_of(executor, memory)
    fragment = work.compiled(executor, _fragment(memory, write=True), "fragment")
    with resource, work.pipeline_of(executor, _compute(memory, write=False)) as pipeline:
        for number in range(ROUNDS):
            bindings = {name: resource, "Number": np.array([number], np.uint32)}
            device.draw(fragment, (WIDTH, HEIGHT), bindings, timeout=executor.timeout)
            bindings = {name: resource, "Found": poisoned(WIDTH * HEIGHT)}
            copied = work.dispatch(executor, pipeline, _GROUPS, bindings)["Found"].reshape(HEIGHT, WIDTH)
            verdicts.append(
                work.compare(copied, _values(number), f"the copy after draw {number}", ("y", "x"))
            )
    return work.merged(*verdicts)


TESTS: dict[str, tuple[Callable[[Executor], Verdict], str]] = {
    "draw_reads_buffer": (
        partial(_judge_draw, "buffer"),
        f"A fragment shader reads from a storage buffer what the dispatch before wrote, {ROUNDS} times",
    ),
    "draw_reads_image": (
        partial(_judge_draw, "image"),
        f"A fragment shader loads from an image what the dispatch before stored, {ROUNDS} times",
    ),
    "draw_reads_texture": (
        partial(_judge_draw, "texture"),
        f"A fragment shader samples the texels that the dispatch before stored, {ROUNDS} times",
    ),
    "dispatch_reads_buffer": (
        partial(_judge_dispatch, "buffer"),
        f"A dispatch reads from a storage buffer what the fragment shader before wrote, {ROUNDS} times",
    ),
    "dispatch_reads_image": (
        partial(_judge_dispatch, "image"),
        f"A dispatch loads from an image what the fragment shader before stored, {ROUNDS} times",
    ),
}
"""Function and sentence of each test."""
