"""Sequences and views of buffers, on every kind of device."""

from __future__ import annotations

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.dispatch import Copy, Device, Dispatch, Fill
from vkgroup.dispatch.reference.buffer import ReferenceBuffer
from vkgroup.reference.interpreter.values.value import HARD

ADD = """#version 450
// Adds a number to every element.
layout(local_size_x = 64) in;
layout(binding = 0) buffer Values { uint values[]; };
layout(push_constant) uniform Push { uint number; };
void main() {
    if (gl_GlobalInvocationID.x < values.length()) values[gl_GlobalInvocationID.x] += number;
}
"""
ALIGNED = 256  # a multiple of every device's minStorageBufferOffsetAlignment (Vulkan allows at most 256)


def test_each_step_sees_what_the_one_before_wrote(device: Device) -> None:
    with device.pipeline(device.compile(ADD)) as pipeline:
        buffer, other = device.buffer(np.arange(200, dtype=np.uint32)), device.empty(200, np.uint32)
        with pipeline.bind({"values": buffer}) as bound:
            steps = [Fill(buffer, 7), Dispatch(bound, 4, {"number": 1}), Copy(buffer, other)]
            with device.sequence([*steps, Dispatch(bound, 4, {"number": 100})]) as work:
                for _ in range(2):
                    work.run()
                    assert np.array_equal(other.read(), np.full(200, 8, np.uint32))
                    assert np.array_equal(buffer.read(), np.full(200, 108, np.uint32))


def test_a_timed_sequence_runs_as_often_as_asked(device: Device) -> None:
    with device.pipeline(device.compile(ADD)) as pipeline:
        buffer = device.buffer(np.zeros(64, np.uint32))
        with (
            pipeline.bind({"values": buffer}) as bound,
            device.sequence([Dispatch(bound, 1, {"number": 3}), Dispatch(bound, 0, {"number": 1})]) as work,
        ):
            seconds = work.timed(repeat=5)
            assert (seconds is None) == (device.info.is_reference)
            assert np.array_equal(buffer.read(), np.full(64, 15, np.uint32))


def test_steps_of_a_tuple_all_run(device: Device) -> None:
    first, second = device.buffer(np.zeros(8, np.uint32)), device.buffer(np.zeros(8, np.uint32))
    with device.sequence([(Fill(first, 1), Fill(second, 2)), Copy(second, first, 4, 0, 8)]) as work:
        work.run()
    assert first.read().tolist() == [2, 2, 1, 1, 1, 1, 1, 1]


def test_a_fill_leaves_what_is_outside_its_range(device: Device) -> None:
    buffer = device.buffer(np.zeros(4, np.uint32))
    with device.sequence([Fill(buffer, 0xFFFFFFFF, offset=4, nbytes=8)]) as work:
        work.run()
    assert buffer.read().tolist() == [0, 0xFFFFFFFF, 0xFFFFFFFF, 0]


def test_a_view_shares_the_memory(device: Device) -> None:
    buffer = device.buffer(np.arange(256, dtype=np.uint32))
    view = buffer.view(np.uint32, 64, ALIGNED)
    assert np.array_equal(view.read(), np.arange(64, 128))
    with device.pipeline(device.compile(ADD)) as pipeline, pipeline.bind({"values": view}) as bound:
        bound.dispatch(1, {"number": 1000})
    expected = np.arange(256, dtype=np.uint32)
    expected[64:128] += 1000
    assert np.array_equal(buffer.read(), expected)
    view.write(np.zeros(1, np.uint32))
    assert buffer.read()[64] == 0


def test_views_of_views_add_their_offsets(device: Device) -> None:
    buffer = device.buffer(np.arange(256, dtype=np.uint32))
    inner = buffer.view(np.uint32, 128, 128).view(np.uint16, (2, 4), 16)
    assert inner.shape == (2, 4)
    assert np.array_equal(inner.read().view(np.uint32).ravel(), np.arange(36, 40))


def test_a_closed_view_leaves_the_buffer_open_and_not_the_other_way_round(device: Device) -> None:
    buffer = device.buffer(np.arange(4, dtype=np.uint32))
    view = buffer.view(np.float32)
    view.close()
    with pytest.raises(DriverError, match="closed"):
        view.read()
    assert buffer.read().tolist() == [0, 1, 2, 3]
    second = buffer.view()
    buffer.close()
    assert second.closed


def test_what_is_undefined_is_so_in_buffer_and_view() -> None:
    with vkgroup.open("reference") as device:
        buffer = device.empty(128, np.uint32)
        view = buffer.view(np.uint32, 64, 256)
        view.write(np.ones(32, np.uint32))
        device.run(ADD, 1, {"values": view}, push={"number": 1})
        assert isinstance(buffer, ReferenceBuffer)
        assert buffer.memory is not None
        assert buffer.memory.causes is not None
        known = (np.repeat(buffer.memory.causes, buffer.memory.granule) < HARD).reshape(128, 4).all(axis=1)
        assert np.array_equal(known, (np.arange(128) >= 64) & (np.arange(128) < 96))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.uint32, 65, 0), "do not fit"),
        ((np.uint32, 1, 256), "do not fit"),
        ((np.uint32, 1, -4), "do not fit"),
        ((np.uint32, 0, 0), "no bytes"),
    ],
)
def test_views_beyond_the_buffer_are_refused(
    device: Device, arguments: tuple[type, int, int], message: str
) -> None:
    with pytest.raises(InvalidDispatch, match=message):
        device.buffer(np.zeros(64, np.uint32)).view(*arguments)


def test_views_that_vulkan_cannot_bind_are_refused(vulkan_device: Device) -> None:
    view = vulkan_device.buffer(np.zeros(64, np.uint32)).view(np.uint32, 4, 4)
    with pytest.raises(InvalidDispatch, match="minStorageBufferOffsetAlignment"):
        vulkan_device.run(ADD, 1, {"values": view}, push={"number": 1})


def test_steps_that_make_no_sense_are_refused(device: Device) -> None:
    buffer = device.buffer(np.zeros(4, np.uint32))
    for step, message in (
        (Fill(buffer, 0, 2), "multiple of 4"),
        (Fill(buffer, 0, 0, 20), "not within"),
        (Fill(buffer, -1), "32 bits"),
        (Copy(buffer, device.empty(2, np.uint32), nbytes=12), "does not fit"),
        (Fill(np.zeros(4)), "Device.buffer"),  # type: ignore[arg-type]
        ("go", "Dispatch, Fill and Copy"),
    ):
        with pytest.raises(InvalidDispatch, match=message):
            device.sequence([step])  # type: ignore[list-item]


def test_a_sequence_notices_what_was_closed(device: Device) -> None:
    buffer = device.buffer(np.zeros(4, np.uint32))
    work = device.sequence([Fill(buffer, 1)])
    work.run()
    buffer.close()
    with pytest.raises(DriverError, match="closed"):
        work.run()
    work.close()
    with pytest.raises(DriverError, match="closed"):
        work.run()
