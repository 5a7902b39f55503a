"""Work that is not waited for: order, reads, closing, errors, threads and several devices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import DeviceLost, InvalidDispatch
from vkgroup.base.formats import FORMATS
from vkgroup.device import vk
from vkgroup.dispatch import Buffer, Device, Dispatch, DrawFormats, Fill, Work
from vkgroup.dispatch.attachments import Attachment
from vkgroup.dispatch.vertices import Vertices
from vkgroup.drivers import CachedDriver

ADD = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Numbers { uint numbers[]; };
layout(push_constant) uniform Amount { uint amount; };
void main() { numbers[gl_GlobalInvocationID.x] = numbers[gl_GlobalInvocationID.x] * 3u + amount; }
"""

WAITS = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) volatile buffer Flag { uint flag[]; };
layout(binding = 1) buffer Result { uint result[]; };
void main() { while (flag[0] == 0u) flag[1] = 1u; result[0] += 5u; }
"""


class Held:
    """Work that is in flight until `release`, because its shader waits for the host."""

    def __init__(self, device: Device) -> None:
        self.flag, self.result = device.buffer(np.zeros(2, np.uint32)), device.buffer(np.zeros(1, np.uint32))
        pipeline = device.pipeline(device.compile(WAITS))
        self.work = pipeline.bind({"flag": self.flag, "result": self.result})
        self._memory: Any = self.flag.memory.mapped  # type: ignore[attr-defined]
        self.submission = self.work.dispatch(1, wait=False)

    def release(self) -> None:
        self._memory[0] = 1


@pytest.fixture
def held(vulkan_device: Device) -> Iterator[Held]:
    """Held work; every test releases it."""
    work = Held(vulkan_device)
    try:
        yield work
    finally:
        work.release()
        work.submission.wait()


def adding(device: Device, buffer: Buffer) -> Work:
    return device.pipeline(device.compile(ADD)).bind({"numbers": buffer})


def test_submissions_run_in_order_and_a_read_waits(device: Device) -> None:
    with device.buffer(np.arange(64, dtype=np.uint32)) as buffer, adding(device, buffer) as work:
        expected = np.arange(64, dtype=np.uint32)
        for amount in range(100):
            work.dispatch(1, {"amount": amount}, wait=False)
            expected = expected * np.uint32(3) + np.uint32(amount)
        assert np.array_equal(buffer.read(), expected)


def test_a_recording_may_be_in_flight_many_times(device: Device) -> None:
    with device.buffer(np.zeros(64, np.uint32)) as buffer, adding(device, buffer) as work:
        sequence = device.sequence([Dispatch(work, 1, {"amount": 1})] * 2)
        submissions = [sequence.run(wait=False) for _ in range(5)]
        submissions[-1].wait()
        assert all(submission.done for submission in submissions)
        assert (buffer.read() == (3**10 - 1) // 2).all()
        sequence.close()


def test_a_submission_is_done_when_its_work_is(held: Held) -> None:
    assert not held.submission.done
    assert "in flight" in repr(held.submission)
    held.release()
    held.submission.wait()
    assert held.submission.done
    assert held.result.read()[0] == 5


def test_reads_wait_only_for_work_that_uses_the_buffer(vulkan_device: Device, held: Held) -> None:
    with vulkan_device.buffer(np.arange(10)) as other:
        assert np.array_equal(other.read(), np.arange(10))
        other.write(np.arange(1, 11))
        assert np.array_equal(other.read(), np.arange(1, 11))
    assert not held.submission.done


def test_memory_in_use_is_not_given_to_others_before_the_work_ends(vulkan_device: Device, held: Held) -> None:
    address = held.result.memory.allocation.offset  # type: ignore[attr-defined]
    held.work.close()
    held.result.close()
    with vulkan_device.buffer(np.zeros(1, np.uint32)) as other:
        other_address = other.memory.allocation.offset  # type: ignore[attr-defined]
        assert other_address != address
        held.release()
        held.submission.wait()
        assert other.read()[0] == 0
    with vulkan_device.buffer(4) as again:
        assert again.memory.allocation.offset in (address, other_address)  # type: ignore[attr-defined]


def test_pipelines_and_sequences_may_be_closed_in_flight(vulkan_device: Device) -> None:
    with vulkan_device.buffer(np.zeros(64, np.uint32)) as buffer:
        # Made before: lavapipe compiles no shader while it executes one.
        parts = []
        for amount in range(1, 4):
            pipeline = vulkan_device.pipeline(vulkan_device.compile(ADD))
            work = pipeline.bind({"numbers": buffer})
            parts.append((vulkan_device.sequence([Dispatch(work, 1, {"amount": amount})]), work, pipeline))
        held = Held(vulkan_device)
        for sequence, work, pipeline in parts:
            sequence.run(wait=False)
            for part in (sequence, work, pipeline):
                part.close()
        assert not held.submission.done
        held.release()
        assert (buffer.read() == (1 * 3 + 2) * 3 + 3).all()


def test_an_exception_between_submission_and_wait_loses_nothing(device: Device) -> None:
    with device.buffer(np.zeros(64, np.uint32)) as buffer, adding(device, buffer) as work:
        work.dispatch(1, {"amount": 4}, wait=False)
        with pytest.raises(InvalidDispatch):
            work.dispatch(-1, {"amount": 4}, wait=False)
        work.dispatch(1, {"amount": 5}, wait=False)
        assert (buffer.read() == 17).all()


def test_an_invalid_timeout_submits_nothing(device: Device) -> None:
    with device.buffer(np.zeros(64, np.uint32)) as buffer, adding(device, buffer) as work:
        for timeout in (0, -1.0, float("nan"), "soon"):
            with pytest.raises(InvalidDispatch):
                work.dispatch(1, {"amount": 4}, timeout)  # type: ignore[arg-type]
        assert (buffer.read() == 0).all()


def test_a_lost_device_names_the_work_that_was_in_flight(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        vkgroup.open(swiftshader.name) as device,
        device.buffer(np.zeros(64, np.uint32)) as buffer,
        adding(device, buffer) as work,
    ):
        work.dispatch(1, {"amount": 1})
        with monkeypatch.context() as patch:
            timeline = device.logical.timeline
            for name in ("_counter", "_wait"):
                patch.setattr(timeline, name, lambda *arguments: vk.VK_ERROR_DEVICE_LOST)
            first = device.sequence([Dispatch(work, 1, {"amount": 1})], "the first of two")
            first.run(wait=False)
            second = work.dispatch(1, {"amount": 2}, wait=False)
            with pytest.raises(DeviceLost, match="waiting for the first of two failed"):
                second.wait()
            with pytest.raises(DeviceLost, match="lost earlier: waiting"):
                work.dispatch(1, {"amount": 2}, wait=False)


def test_closing_a_device_waits_for_its_work(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name)
    held = Held(device)
    threading.Timer(0.3, held.release).start()
    device.close()
    assert held.submission.done
    held.submission.wait()


def test_synchronize_waits_for_everything(vulkan_device: Device, held: Held) -> None:
    threading.Timer(0.2, held.release).start()
    vulkan_device.synchronize()
    assert held.submission.done


def test_draws_are_submitted_without_waiting(device: Device) -> None:
    vertex = """#version 450
    void main() {
        gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
    }"""
    fragment = """#version 450
    layout(location = 0) out vec4 color;
    layout(push_constant) uniform P { float value; };
    void main() { color = vec4(value); }"""
    modules = (device.compile(vertex, stage="vertex"), device.compile(fragment, stage="fragment"))
    color = FORMATS["Rgba32f"]
    pipeline = device.graphics_pipeline(*modules, DrawFormats(colors=((0, color),)))
    attachments = (Attachment("color", 0, color),)
    work = pipeline.bind({}, size=(8, 8), vertices=Vertices(), attachments=attachments)
    submissions = [work.draw({"value": value}, wait=False) for value in (0.25, 0.5)]
    assert (work.results()["color"] == 0.5).all()
    assert all(submission.done for submission in submissions)


def test_threads_and_devices_work_side_by_side(device: Device, swiftshader: CachedDriver) -> None:
    failures: list[BaseException] = []

    def run(opened: Device, seed: int) -> None:
        try:
            with opened.buffer(np.full(64, seed, np.uint32)) as buffer, adding(opened, buffer) as work:
                expected = np.full(64, seed, np.uint32)
                for amount in range(50):
                    work.dispatch(1, {"amount": amount}, wait=amount % 7 == 0)
                    expected = expected * np.uint32(3) + np.uint32(amount)
                assert np.array_equal(buffer.read(), expected)
        except BaseException as error:
            failures.append(error)

    with vkgroup.open(swiftshader.name) as other:
        threads = [
            threading.Thread(target=run, args=(opened, seed))
            for opened in (device, other)
            for seed in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_threads_may_share_bound_work(device: Device) -> None:
    with device.buffer(np.zeros(64, np.uint32)) as buffer:
        work = device.pipeline(device.compile(ADD.replace(" * 3u", ""))).bind({"numbers": buffer})

        def run(amount: int) -> None:
            for _ in range(50):
                work.dispatch(1, {"amount": amount}, wait=False)

        threads = [threading.Thread(target=run, args=(amount,)) for amount in (1, 100, 10_000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (buffer.read() == 50 * 10_101).all()


def test_many_submissions_hold_nothing_afterwards(vulkan_device: Device) -> None:
    timeline, base = vulkan_device.logical.timeline, vulkan_device.logical
    with vulkan_device.buffer(np.zeros(64, np.uint32)) as buffer, adding(vulkan_device, buffer) as work:
        for amount in range(10_000):
            work.dispatch(1, {"amount": amount % 2}, wait=False)
        buffer.read()
        vulkan_device.synchronize()
        assert not timeline._in_flight
        assert not timeline._deferred
        assert len(base.idle_commands) <= 64


def test_work_on_viewed_memory_is_finished_when_it_returns(device: Device) -> None:
    with device.buffer(np.zeros(64, np.uint32)) as buffer, adding(device, buffer) as work:
        view = np.from_dlpack(buffer)
        for amount in range(20):
            submission = work.dispatch(1, {"amount": amount}, wait=False)
            assert submission.done
        assert np.array_equal(view, buffer.read())


def test_fills_and_condition_buffers_follow_the_order(device: Device) -> None:
    with device.buffer(np.ones(64, np.uint32)) as buffer, adding(device, buffer) as work:
        sequence = device.sequence([Fill(buffer, 7)])
        work.dispatch(1, {"amount": 1}, wait=False)
        sequence.run(wait=False)
        work.dispatch(1, {"amount": 1}, wait=False)
        assert (buffer.read() == 22).all()
        sequence.close()


def test_the_reference_device_finishes_at_once() -> None:
    with vkgroup.open("reference") as device, device.buffer(np.zeros(64, np.uint32)) as buffer:
        submission = adding(device, buffer).dispatch(1, {"amount": 3}, wait=False)
        assert submission.done
        submission.wait(1.0)
        device.synchronize()
        assert (buffer.read() == 3).all()


def test_arrays_of_other_libraries_see_finished_work(vulkan_device: Device, held: Held) -> None:
    """The view is made while work is in flight; making it waits for that."""
    timer = threading.Timer(0.2, held.release)
    timer.start()
    view = np.from_dlpack(held.result)
    assert view[0] == 5
    timer.join()
