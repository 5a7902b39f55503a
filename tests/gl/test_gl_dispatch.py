"""DispatchCompute and DispatchComputeIndirect: what runs, and each error of ARB_compute_shader."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vkgroup import gl
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device

# Counts workgroups, and writes down how many there are.
_COUNT = """
#version 430
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Found { uint started; uint told[3]; };
void main() {
    atomicAdd(started, 1u);
    told[0] = gl_NumWorkGroups.x;
    told[1] = gl_NumWorkGroups.y;
    told[2] = gl_NumWorkGroups.z;
}
"""

_FRAGMENT = """
#version 430
layout(location = 0) out vec4 color;
void main() { color = vec4(1.0); }
"""


@pytest.fixture
def context(device: Device) -> gl.Context:
    return gl.Context(device)


@pytest.fixture
def found(context: gl.Context) -> Buffer:
    """The buffer that the counting program in use writes."""
    context.use(context.program(compute=_COUNT))
    buffer: Buffer = context.bind("shader_storage", 0, np.zeros(4, np.uint32))
    return buffer


def _indirect(context: gl.Context, *words: int) -> Buffer:
    buffer = context.device.buffer(np.array(words, np.uint32))
    context.bind_dispatch_indirect(buffer)
    return buffer


def test_counts_reach_the_shader(context: gl.Context, found: Buffer) -> None:
    context.dispatch_compute(4, 3, 2)
    assert found.read().tolist() == [24, 4, 3, 2]


@pytest.mark.parametrize("counts", [(0, 1, 1), (1, 0, 1), (3, 2, 0), (0, 0, 0)])
def test_zero_in_any_dimension_runs_nothing(
    context: gl.Context, found: Buffer, counts: tuple[int, int, int]
) -> None:
    context.dispatch_compute(*counts)
    _indirect(context, *counts)
    context.dispatch_compute_indirect(0)
    assert found.read().tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_counts_over_the_limit(context: gl.Context, found: Buffer, dimension: int) -> None:
    """INVALID_VALUE, even where another dimension is zero; nothing is run."""
    counts = [0, 0, 0]
    counts[dimension] = context.get("MAX_COMPUTE_WORK_GROUP_COUNT", dimension) + 1
    with pytest.raises(gl.InvalidValue) as caught:
        context.dispatch_compute(*counts)
    assert caught.value.gl_error == "INVALID_VALUE"
    assert isinstance(caught.value, InvalidDispatch)
    assert found.read().tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("count", [-1, 1.5, None])
def test_counts_that_are_none(context: gl.Context, found: Buffer, count: Any) -> None:
    """The counts are uints."""
    with pytest.raises(gl.InvalidValue):
        context.dispatch_compute(1, count, 1)


def test_no_program_in_use(context: gl.Context) -> None:
    _indirect(context, 1, 1, 1)
    with pytest.raises(gl.InvalidOperation, match="none is in use") as caught:
        context.dispatch_compute(1)
    assert caught.value.gl_error == "INVALID_OPERATION"
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute_indirect(0)


def test_a_program_without_compute_shader(context: gl.Context, device: Device) -> None:
    """It is current for the compute stage, and not active (issue 7)."""
    context.use(context.program(fragment=_FRAGMENT))
    with pytest.raises(gl.InvalidOperation, match="no compute shader"):
        context.dispatch_compute(1)
    _indirect(context, 1, 1, 1)
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute_indirect(0)


def test_a_program_can_be_taken_out_of_use(context: gl.Context, found: Buffer) -> None:
    context.use(None)
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute(1)
    assert found.read().tolist() == [0, 0, 0, 0]


# --- DispatchComputeIndirect ------------------------------------------------------------------------


def test_counts_from_the_bound_buffer(context: gl.Context, found: Buffer) -> None:
    """Three uints, at any offset that is a multiple of four, up to the end."""
    buffer = _indirect(context, 9, 4, 3, 2)
    context.dispatch_compute_indirect(4)
    assert found.read().tolist() == [24, 4, 3, 2]
    assert context.get("DISPATCH_INDIRECT_BUFFER_BINDING") is buffer


def test_no_buffer_is_bound_at_first(context: gl.Context, found: Buffer) -> None:
    assert context.get("DISPATCH_INDIRECT_BUFFER_BINDING") is None
    with pytest.raises(gl.InvalidOperation, match="DISPATCH_INDIRECT_BUFFER"):
        context.dispatch_compute_indirect(0)
    buffer = _indirect(context, 1, 1, 1)
    context.bind_dispatch_indirect(None)
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute_indirect(0)
    context.bind_dispatch_indirect(buffer)
    buffer.close()
    with pytest.raises(gl.InvalidOperation):
        context.dispatch_compute_indirect(0)


def test_only_buffers_can_be_bound(context: gl.Context) -> None:
    with pytest.raises(gl.InvalidOperation, match="open Buffer"):
        context.bind_dispatch_indirect(np.ones(3, np.uint32))  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", [-4, -1, 1, 2, 6])
def test_negative_and_unaligned_offsets(context: gl.Context, found: Buffer, offset: int) -> None:
    """INVALID_VALUE, with a buffer and without."""
    for words in ((), (1, 1, 1, 1, 1)):
        if words:
            _indirect(context, *words)
        with pytest.raises(gl.InvalidValue) as caught:
            context.dispatch_compute_indirect(offset)
        assert caught.value.gl_error == "INVALID_VALUE"
    assert found.read().tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("offset", [4, 8, 12, 4096])
def test_data_beyond_the_buffers_end(context: gl.Context, found: Buffer, offset: int) -> None:
    _indirect(context, 1, 1, 1)
    with pytest.raises(gl.InvalidOperation, match="exceed the buffer") as caught:
        context.dispatch_compute_indirect(offset)
    assert caught.value.gl_error == "INVALID_OPERATION"
    assert found.read().tolist() == [0, 0, 0, 0]


def test_indirect_counts_over_the_limit_are_not_run(context: gl.Context, found: Buffer) -> None:
    """The results are undefined, which is no error of OpenGL's; no driver gets to see them."""
    _indirect(context, 1, 1, context.get("MAX_COMPUTE_WORK_GROUP_COUNT", 2) + 1)
    with pytest.raises(InvalidDispatch, match="undefined") as caught:
        context.dispatch_compute_indirect(0)
    assert not isinstance(caught.value, gl.GLError)
    assert found.read().tolist() == [0, 0, 0, 0]


def test_commands_written_by_a_shader(context: gl.Context, found: Buffer) -> None:
    """After COMMAND_BARRIER_BIT the buffer's new contents count."""
    buffer = _indirect(context, 0, 0, 0)
    counting = context.get("CURRENT_PROGRAM")
    context.use(
        context.program(
            compute="""
            #version 430
            layout(local_size_x = 1) in;
            layout(std430, binding = 1) buffer Command { uint groups[3]; };
            void main() { groups[0] = 5u; groups[1] = 2u; groups[2] = 1u; }
            """
        )
    )
    context.bind("shader_storage", 1, buffer)
    context.dispatch_compute(1, 1, 1)
    context.memory_barrier("COMMAND_BARRIER_BIT")
    context.use(counting)
    context.dispatch_compute_indirect(0)
    assert found.read().tolist() == [10, 5, 2, 1]


def test_dispatches_follow_each_other(context: gl.Context, found: Buffer) -> None:
    """Each sees what those before it wrote."""
    for count in (1, 2, 3):
        context.dispatch_compute(count)
        context.memory_barrier("GL_SHADER_STORAGE_BARRIER_BIT", "BUFFER_UPDATE_BARRIER_BIT")
    assert found.read().tolist() == [6, 3, 1, 1]


@pytest.mark.parametrize("barriers", [(), ("COMMAND_BIT",), ("COMMAND_BARRIER_BIT", "")])
def test_barriers_that_do_not_exist(context: gl.Context, barriers: tuple[str, ...]) -> None:
    with pytest.raises(gl.InvalidValue, match="COMMAND_BARRIER_BIT"):
        context.memory_barrier(*barriers)


# --- conditional rendering --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["QUERY_WAIT", "QUERY_NO_WAIT", "GL_QUERY_BY_REGION_WAIT"])
@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("result", [0, 1, 77])
@pytest.mark.parametrize("kind", ["value", "buffer"])
def test_conditions_discard_dispatches(
    context: gl.Context, found: Buffer, kind: str, result: int, inverted: bool, mode: str
) -> None:
    """Both kinds of dispatches have no effect; afterwards they have."""
    words = context.device.buffer(np.array([5, result], np.uint32))
    _indirect(context, 3, 1, 1)
    query, offset = (words, 4) if kind == "buffer" else (result, 0)
    with context.conditional_render(query, mode + "_INVERTED" * inverted, offset=offset):
        context.dispatch_compute(2)
        context.dispatch_compute_indirect(0)
    runs = (result != 0) != inverted
    assert found.read()[0] == (5 if runs else 0)
    context.dispatch_compute(1)
    assert found.read()[0] == (6 if runs else 1)


def test_errors_are_found_where_commands_are_discarded(context: gl.Context, found: Buffer) -> None:
    with context.conditional_render(False), pytest.raises(gl.InvalidValue):
        context.dispatch_compute(-1)
    with context.conditional_render(False), pytest.raises(gl.InvalidOperation):
        context.dispatch_compute_indirect(0)


def test_conditional_rendering_begins_once_and_ends_once(context: gl.Context) -> None:
    with pytest.raises(gl.InvalidOperation):
        context.end_conditional_render()
    context.begin_conditional_render(True)
    with pytest.raises(gl.InvalidOperation):
        context.begin_conditional_render(True)
    context.end_conditional_render()
    with pytest.raises(gl.InvalidOperation):
        context.end_conditional_render()


def test_wrong_conditions(context: gl.Context) -> None:
    words = context.device.buffer(np.zeros(2, np.uint32))
    with pytest.raises(gl.InvalidEnum, match="QUERY_WAIT"):
        context.begin_conditional_render(words, "QUERY")
    for offset in (-4, 2, 8):
        with pytest.raises(gl.InvalidValue):
            context.begin_conditional_render(words, offset=offset)
    context.begin_conditional_render(words)
    words.close()
    context.use(context.program(compute=_COUNT))
    with pytest.raises(gl.InvalidOperation, match="closed"):
        context.dispatch_compute(1)
    context.end_conditional_render()
    with pytest.raises(gl.InvalidOperation):
        context.begin_conditional_render(words)
