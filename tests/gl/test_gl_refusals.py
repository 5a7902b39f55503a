"""Arguments of OpenGL's host that make no sense: each is one of its errors, and never one of Python's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup import gl
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device

SOURCE = """#version 430
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Data { float data[]; };
struct Light { vec3 color; float power; };
uniform Light lights[2];
uniform float scale;

void main() { data[0] += scale + lights[1].power; }"""


@pytest.fixture
def context(device: Device) -> gl.Context:
    return gl.Context(device)


@pytest.fixture
def program(context: gl.Context) -> gl.Program:
    return context.program(compute=SOURCE)


@pytest.fixture
def other() -> Iterator[Device]:
    with vkgroup.open("reference") as opened:
        yield opened


@pytest.mark.parametrize("name", [None, 3, ("scale",), b"scale", "", "lights[2].power", "scale[0"])
def test_names_of_no_uniform(program: gl.Program, name: Any) -> None:
    with pytest.raises(gl.InvalidOperation, match="no active uniform"):
        program[name] = 1.0
    with pytest.raises(gl.InvalidOperation):
        program[name]
    assert program.location(name) == -1
    for ask in (program.binding, lambda key: program.set_binding(key, 0)):
        with pytest.raises(gl.InvalidOperation, match="no active"):
            ask(name)


def test_points_of_blocks_are_numbers(program: gl.Program) -> None:
    for point in (True, 1.0, "1", None, -1):
        with pytest.raises(gl.InvalidValue, match="nonnegative integer"):
            program.set_binding("Data", point)  # type: ignore[arg-type]
    program.set_binding("Data", np.int64(2))  # type: ignore[arg-type]
    assert program.binding("Data") == 2


@pytest.mark.parametrize("name", [None, 1.5, [], "NO_SUCH_THING", 3])
def test_enumerants_that_are_none(context: gl.Context, program: gl.Program, name: Any) -> None:
    for ask in (program.get, context.get, lambda mode: context.begin_conditional_render(1, mode)):
        with pytest.raises(gl.InvalidEnum):
            ask(name)
    with pytest.raises(gl.InvalidValue):
        context.memory_barrier(name if name != 3 else 1 << 20)
    with pytest.raises(gl.InvalidValue):
        context.create_pipeline().use_stages(name if name != 3 else 1 << 20, program)


def test_an_index_is_a_whole_number(context: gl.Context) -> None:
    indices: list[Any] = [1.0, "1", [], 3]
    for index in indices:
        with pytest.raises(gl.InvalidValue):
            context.get("MAX_COMPUTE_WORK_GROUP_COUNT", index)


@pytest.mark.parametrize("given", [3, "program", object()])
def test_what_is_no_program_and_no_pipeline(context: gl.Context, given: Any) -> None:
    for refused in (
        context.use,
        context.bind_pipeline,
        lambda entry: context.create_pipeline().use_stages("COMPUTE_SHADER_BIT", entry),
    ):
        with pytest.raises(gl.InvalidOperation):
            refused(given)


@pytest.mark.parametrize("source", [None, 3, b"#version 430"])
def test_what_is_no_shader(context: gl.Context, source: Any) -> None:
    with pytest.raises(InvalidDispatch, match="A shader must be"):
        context.program(compute=source)


@pytest.mark.parametrize("given", [None, 3, "swiftshader"])
def test_a_context_needs_a_device(given: Any) -> None:
    with pytest.raises(InvalidDispatch, match="open device"):
        gl.Context(given)


def test_nothing_of_another_device_is_taken(context: gl.Context, other: Device) -> None:
    with pytest.raises(gl.InvalidOperation, match="another device"):
        context.use(gl.Context(other).program(compute=SOURCE))
    buffer = other.buffer(np.ones(4, np.uint32))
    with pytest.raises(gl.InvalidOperation, match="another device"):
        context.bind_dispatch_indirect(buffer)
    with pytest.raises(gl.InvalidOperation, match="another device"):
        context.begin_conditional_render(buffer)


@pytest.mark.parametrize("query", [None, "yes", 1.5, np.zeros(2, np.uint32)])
def test_queries_that_are_none(context: gl.Context, query: Any) -> None:
    with pytest.raises(gl.InvalidOperation, match="A query must be"):
        context.begin_conditional_render(query)
    with pytest.raises(gl.InvalidOperation, match="has not begun"):
        context.end_conditional_render()


def test_offsets_of_conditions_are_whole_numbers(context: gl.Context) -> None:
    query = context.device.buffer(np.ones(2, np.uint32))
    for offset in (None, "0", 4.0, 2, 8, -4):
        with pytest.raises(gl.InvalidValue, match="multiple of four"):
            context.begin_conditional_render(query, offset=offset)  # type: ignore[arg-type]


def test_an_error_inside_of_a_condition_ends_it(context: gl.Context, program: gl.Program) -> None:
    context.use(program)
    with pytest.raises(gl.InvalidValue), context.conditional_render(1):
        context.dispatch_compute(-1)
    data = context.bind("shader_storage", 0, np.zeros(1, np.float32))
    program["scale"] = 2
    with context.conditional_render(1):
        context.dispatch_compute(1)
    assert data.read()[0] == 2


def test_draws_take_shaders_and_bindings_from_the_context(context: gl.Context) -> None:
    source = "#version 430\nout vec4 color; void main() { color = vec4(1.0); }"
    context.use(context.program(fragment=source))
    for option in ("bindings", "vertex", "timeout"):
        with pytest.raises(InvalidDispatch, match=option):
            context.draw((2, 2), **{option: None})


@pytest.mark.parametrize("sampler", ["linear", 3])
def test_what_is_no_sampler(context: gl.Context, sampler: Any) -> None:
    with pytest.raises(gl.InvalidOperation, match="A sampler must be"):
        context.bind("texture", 0, np.zeros((2, 2, 4), np.float32), sampler=sampler)
