"""Work: each kind of pipeline has its command, and a draw state is a value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from vkgroup import DrawState
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device, DrawFormats
from vkgroup.dispatch.vertices import Vertices

COMPUTE = """#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[0] += 1u; }"""
VERTEX = "#version 450\nvoid main() { gl_Position = vec4(gl_VertexIndex % 2, gl_VertexIndex / 2, 0.5, 1); }"
FRAGMENT = "#version 450\nvoid main() {}"


def test_compute_work_dispatches_and_does_not_draw_or_trace(device: Device) -> None:
    data = np.zeros(1, np.uint32)
    with device.pipeline(device.compile(COMPUTE)) as pipeline, pipeline.bind({"data": data}) as work:
        for call in (work.draw, lambda: work.trace(1)):
            with pytest.raises(InvalidDispatch, match="method is `dispatch`"):
                call()
        work.dispatch(1)
        work.timed(1, repeat=2)
        assert work.run_result(None)["data"].tolist() == [3]
        with pytest.raises(InvalidDispatch, match="Only graphics pipelines take a size"):
            pipeline.bind({"data": data}, size=(4, 4))


def test_graphics_work_draws_and_does_not_dispatch(device: Device) -> None:
    modules = device.compile(VERTEX, stage="vertex"), device.compile(FRAGMENT, stage="fragment")
    with (
        device.graphics_pipeline(*modules, DrawFormats()) as pipeline,
        pipeline.bind({}, size=(4, 4), vertices=Vertices({}, 3)) as work,
    ):
        with pytest.raises(InvalidDispatch, match="method is `draw`"):
            work.dispatch(1)
        with pytest.raises(InvalidDispatch, match="leave out the size"):
            work.timed(1)
        work.draw()
        assert work.results() == {}
        assert pipeline.statistics() == {}


def test_a_draw_state_is_a_value() -> None:
    state = DrawState(samples=np.int64(4), depth_write=np.False_)  # type: ignore[arg-type]
    assert state == DrawState(samples=4, depth_write=False)
    assert hash(state) == hash(DrawState(samples=4, depth_write=False))
    assert state.changes() == {"samples": 4, "depth_write": False}
    assert DrawState().changes() == {}
    with pytest.raises(FrozenInstanceError):
        state.samples = 8  # type: ignore[misc]
