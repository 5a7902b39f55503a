"""Copies beside the work of the main queue.

Software drivers have no family that can only copy, so the second queue is the main one here: it has its own
semaphore and command buffers, and the waits between the two are real.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import vkgroup
from vkgroup.base.errors import OutOfMemory
from vkgroup.device import logical, transfers, vk
from vkgroup.device.transfer_queue import TransferQueue
from vkgroup.dispatch import Device
from vkgroup.dispatch.pipeline import Work
from vkgroup.drivers import CachedDriver

PIECE_BYTES = 1 << 20

ADD_SLOWLY = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint d[]; } b;
layout(push_constant) uniform P { uint times; } p;
void main() {
    uint x = b.d[gl_GlobalInvocationID.x];
    for (uint n = 0; n < p.times; n++)
        x = x * 1664525u + 1013904223u;
    b.d[gl_GlobalInvocationID.x] = x;
}"""
WORDS = 64 * 1024
SLOW = 2000
LONG = 10 * SLOW
"""Rounds of work that is still in flight if the calls that follow are delayed."""


def added(data: np.ndarray, times: int) -> np.ndarray:
    factor, term = 1, 0
    for _ in range(times):
        factor, term = factor * 1664525 % 2**32, (term * 1664525 + 1013904223) % 2**32
    return data * np.uint32(factor) + np.uint32(term)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The submissions after which copies of the second queue began."""
    monkeypatch.setattr(transfers, "PIECE_BYTES", PIECE_BYTES)
    begun: list[int] = []
    copy = TransferQueue.copy

    def counted(self: TransferQueue, source, target, nbytes: int, after: int) -> int:  # type: ignore[no-untyped-def]
        begun.append(after)
        return copy(self, source, target, nbytes, after)

    monkeypatch.setattr(TransferQueue, "copy", counted)
    return begun


@pytest.fixture(params=["swiftshader", "lavapipe"])
def two_queues(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, copies: list[int]
) -> Iterator[Device]:
    """A device treated as a GPU with memory of its own and a family for copies."""
    driver: CachedDriver = request.getfixturevalue(request.param)
    monkeypatch.setattr(logical, "transfer_family", lambda functions, physical: 0)
    with vkgroup.open(driver.name) as device:
        device.logical.capabilities = replace(device.capabilities, type="discrete_gpu")
        device.logical.__dict__["window_type"] = None  # else the host writes by itself
        yield device


@pytest.fixture
def busy(two_queues: Device) -> Iterator[Work]:
    """Work on a buffer of its own that takes long enough for a few calls."""
    pipeline = two_queues.pipeline(two_queues.compile(ADD_SLOWLY))
    with two_queues.buffer(np.zeros(WORDS, np.uint32)) as other, pipeline.bind({"b": other}) as work:
        yield work


def words(seed: int, count: int = WORDS) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, count, np.uint32)


def test_a_read_waits_for_the_work_on_its_buffer_alone(
    two_queues: Device, busy: Work, copies: list[int]
) -> None:
    data = words(1)
    pipeline = two_queues.pipeline(two_queues.compile(ADD_SLOWLY))
    with two_queues.buffer(data) as buffer, pipeline.bind({"b": buffer}) as work:
        two_queues.synchronize()
        copies.clear()
        number = work.dispatch(WORDS // 64, push={"times": 7}, wait=False)
        used = buffer.memory.used
        busy.dispatch(WORDS // 64, push={"times": LONG}, wait=False)
        assert np.array_equal(buffer.read(), added(data, 7)), number
        assert copies == [used]


def test_a_write_beside_work_is_seen_by_later_work(two_queues: Device, busy: Work, copies: list[int]) -> None:
    data = words(2, 3 * PIECE_BYTES // 4 + 64)
    pipeline = two_queues.pipeline(two_queues.compile(ADD_SLOWLY))
    busy.dispatch(WORDS // 64, push={"times": LONG}, wait=False)
    with two_queues.buffer(data) as buffer, pipeline.bind({"b": buffer}) as work:
        assert len(copies) >= 3, "one for each piece"
        data_before = data.copy()
        data[:] = 0
        work.dispatch(data.size // 64, push={"times": 3}, wait=False)
        assert np.array_equal(buffer.read(), added(data_before, 3))


def test_a_write_waits_for_work_that_reads_the_buffer(two_queues: Device, busy: Work) -> None:
    data, later = words(3), words(4)
    pipeline = two_queues.pipeline(two_queues.compile(ADD_SLOWLY))
    with two_queues.buffer(data) as buffer, pipeline.bind({"b": buffer}) as work:
        for _ in range(3):
            work.dispatch(WORDS // 64, push={"times": SLOW}, wait=False)
            busy.dispatch(WORDS // 64, push={"times": SLOW}, wait=False)
            buffer.write(later)
            work.dispatch(WORDS // 64, push={"times": 2}, wait=False)
            assert np.array_equal(buffer.read(), added(later, 2))


def test_pinned_arrays_are_copied_beside_work(two_queues: Device, busy: Work, copies: list[int]) -> None:
    source, target = two_queues.host_array(WORDS, np.uint32), two_queues.host_array(WORDS, np.uint32)
    source[:] = words(5)
    with two_queues.buffer(source) as buffer:
        # The upload may itself have been beside that of the work's buffer.
        two_queues.synchronize()
        copies.clear()
        busy.dispatch(WORDS // 64, push={"times": LONG}, wait=False)
        buffer.read(out=target)
        source[:] = words(6)
        busy.dispatch(WORDS // 64, push={"times": LONG}, wait=False)
        buffer.write(source)
        assert len(copies) == 2
        source[:] = 0
        assert np.array_equal(target, words(5))
        assert np.array_equal(buffer.read(), words(6))


def test_small_writes_and_idle_devices_use_the_main_queue(
    two_queues: Device, busy: Work, copies: list[int]
) -> None:
    two_queues.synchronize()
    with two_queues.buffer(words(7)) as buffer:
        assert np.array_equal(buffer.read(), words(7))
        busy.dispatch(WORDS // 64, push={"times": SLOW}, wait=False)
        buffer.write(words(8, 100))
        assert not copies
        assert np.array_equal(buffer.read(shape=100), words(8, 100))


def test_buffers_are_not_recycled_while_a_copy_uses_them(two_queues: Device, busy: Work) -> None:
    for seed in range(8):
        busy.dispatch(WORDS // 64, push={"times": SLOW}, wait=False)
        two_queues.buffer(words(seed)).close()
        with two_queues.buffer(words(seed + 100)) as buffer:
            assert np.array_equal(buffer.read(), words(seed + 100))


def test_closing_the_device_waits_for_copies(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch, copies: list[int]
) -> None:
    monkeypatch.setattr(logical, "transfer_family", lambda functions, physical: 0)
    for _ in range(5):
        with vkgroup.open(swiftshader.name) as device:
            device.logical.capabilities = replace(device.capabilities, type="discrete_gpu")
            device.logical.__dict__["window_type"] = None
            pipeline = device.pipeline(device.compile(ADD_SLOWLY))
            work = pipeline.bind({"b": device.buffer(words(1))})
            work.dispatch(WORDS // 64, push={"times": SLOW}, wait=False)
            device.buffer(words(2))
    assert len(copies) == 5


def test_ctrl_c_after_a_submission_recycles_nothing_early(
    two_queues: Device, busy: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline_class = type(two_queues.logical.timeline)
    submit = timeline_class.submit_after

    def interrupted(self, commands, count, what: str, *after) -> int:  # type: ignore[no-untyped-def]
        number = submit(self, commands, count, what, *after)
        if what == "a transfer" and self is not two_queues.logical.timeline:
            raise KeyboardInterrupt
        return number

    with two_queues.buffer(words(9)) as buffer:
        busy.dispatch(WORDS // 64, push={"times": SLOW}, wait=False)
        with monkeypatch.context() as patch:
            patch.setattr(timeline_class, "submit_after", interrupted)
            with pytest.raises(KeyboardInterrupt):
                buffer.write(words(10))
        assert buffer.memory.used == two_queues.logical.timeline.submitted
        assert np.array_equal(buffer.read(), words(10))


def test_threads_copy_beside_each_others_work(two_queues: Device) -> None:
    failures: list[BaseException] = []
    pipeline = two_queues.pipeline(two_queues.compile(ADD_SLOWLY))

    def work(seed: int) -> None:
        try:
            data = words(seed)
            with two_queues.buffer(data) as buffer, pipeline.bind({"b": buffer}) as bound:
                for times in range(6):
                    buffer.write(data)
                    bound.dispatch(WORDS // 64, push={"times": 100 * times}, wait=False)
                    assert np.array_equal(buffer.read(), added(data, 100 * times))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_after_a_refused_copy_others_go_on(
    two_queues: Device, busy: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = two_queues.logical.transfers._queue
    assert queue is not None
    with two_queues.buffer(words(11)) as buffer:
        two_queues.synchronize()
        for refused in (True, False, False):
            busy.dispatch(WORDS // 64, push={"times": LONG}, wait=False)
            with monkeypatch.context() as patch:
                if refused:
                    patch.setattr(
                        queue.timeline, "_submit", lambda *arguments: vk.VK_ERROR_OUT_OF_HOST_MEMORY
                    )
                    with pytest.raises(OutOfMemory):
                        buffer.read()
                else:
                    assert np.array_equal(buffer.read(), words(11))
            two_queues.synchronize()
