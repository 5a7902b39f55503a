"""Submissions that are collected and passed to the driver together: order, errors, interrupts, ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from alarms import interrupt_often

import vkgroup
from vkgroup import kernels
from vkgroup.base.errors import DeviceLost, OutOfMemory
from vkgroup.device import timeline as module
from vkgroup.device import vk
from vkgroup.device.timeline import Timeline
from vkgroup.dispatch import Buffer, Copy, Device, Dispatch, Fill, Work
from vkgroup.drivers import CachedDriver

ADD = """#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Numbers { uint numbers[]; };
void main() { numbers[gl_GlobalInvocationID.x] += 1u; }
"""

WAITS = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) volatile buffer Flag { uint flag[]; };
void main() { while (flag[0] == 0u) flag[1] = 1u; }
"""

COUNT = 1024


@pytest.fixture(params=["software", "staged"])
def device(request: pytest.FixtureRequest, swiftshader: CachedDriver) -> Iterator[Device]:
    """SwiftShader as it is, and treated as a GPU whose memory the host does not read."""
    with vkgroup.open(swiftshader.name) as opened:
        if request.param == "staged":
            opened.logical.capabilities = replace(opened.capabilities, type="discrete_gpu")
        yield opened


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect without limit of time, and without the thread."""
    monkeypatch.setattr(module, "_LONGEST_COLLECTION", 1e9)
    monkeypatch.setattr(Timeline, "_wake_thread", lambda self: True)


class Busy:
    """Work that is in flight while the context lasts, and the calls of vkQueueSubmit meanwhile."""

    def __init__(self, device: Device) -> None:
        self.timeline = device.logical.timeline
        device.synchronize()
        self._flag = device.buffer(np.zeros(2, np.uint32), host=True)
        pipeline = device.pipeline(device.compile(WAITS))
        pipeline.bind({"Flag": self._flag}).dispatch(1, wait=False)
        self.counts: list[int] = []

    def __enter__(self) -> Busy:
        self._submit = submit = self.timeline._submit

        def counted(queue: Any, count: int, infos: Any, fence: Any) -> int:
            self.counts.append(count)
            return int(submit(queue, count, infos, fence))

        self.timeline._submit = counted
        return self

    def release(self) -> None:
        """Let the work end."""
        if not self._flag.closed:
            self._flag.memory.mapped[0] = 1  # type: ignore[attr-defined]

    def __exit__(self, *error: object) -> None:
        self.release()
        self.timeline._submit = self._submit


def adding(device: Device) -> tuple[Buffer, Work]:
    """Return a buffer of zeros, and work that adds 1 to all of its words."""
    buffer = device.buffer(np.zeros(COUNT, np.uint32))
    return buffer, device.pipeline(device.compile(ADD)).bind({0: buffer})


@pytest.mark.usefixtures("patient")
def test_calls_behind_work_are_passed_on_together(device: Device) -> None:
    buffer, work = adding(device)
    with Busy(device) as busy:
        for _ in range(40):
            work.dispatch(COUNT // 64, wait=False)
        assert busy.counts == [16, 16]
        busy.release()
        assert (buffer.read() == 40).all()
        assert sum(busy.counts) >= 40


def test_a_call_behind_nothing_is_passed_on_at_once(device: Device) -> None:
    buffer, work = adding(device)
    timeline = device.logical.timeline
    for number in range(3):
        device.synchronize()
        work.dispatch(COUNT // 64, wait=False)
        assert timeline._passed == timeline.submitted, number
    assert (buffer.read() == 3).all()


@pytest.mark.usefixtures("patient")
def test_waits_and_queries_pass_on(device: Device) -> None:
    buffer, work = adding(device)
    timeline = device.logical.timeline
    queries: list[Callable[[Any], object]] = [
        lambda submission: submission.done,
        lambda submission: submission.wait(),
        lambda submission: device.synchronize(),
        lambda submission: buffer.read(),
    ]
    for query in queries:
        with Busy(device) as busy:
            submission = work.dispatch(COUNT // 64, wait=False)
            assert timeline._passed < timeline.submitted
            threading.Timer(0.05, busy.release).start()
            query(submission)
            assert timeline._passed == timeline.submitted
    assert (buffer.read() == len(queries)).all()


def test_without_another_call_the_thread_passes_on(device: Device) -> None:
    buffer, work = adding(device)
    timeline = device.logical.timeline
    for _ in range(3):
        with Busy(device):
            work.dispatch(COUNT // 64, wait=False)
            end = time.monotonic() + 30
            while timeline._passed < timeline.submitted and time.monotonic() < end:
                time.sleep(0.001)
            assert timeline._passed == timeline.submitted
    assert (buffer.read() == 3).all()


@pytest.mark.usefixtures("patient")
def test_arrays_may_be_closed_after_a_call(device: Device) -> None:
    values = np.arange(COUNT, dtype=np.uint32)
    with Busy(device) as busy:
        results = []
        for number in range(20):
            with device.buffer(values + np.uint32(number)) as x:
                results.append(kernels.sum(x))
        busy.release()
    expected = [int((values + np.uint32(number)).sum(dtype=np.uint32)) for number in range(20)]
    assert [int(result.read()) for result in results] == expected


@pytest.mark.usefixtures("patient")
def test_what_the_driver_refuses_is_kept_and_the_newest_call_fails(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer, work = adding(device)
    timeline = device.logical.timeline
    with Busy(device) as busy:
        for _ in range(15):
            work.dispatch(COUNT // 64, wait=False)
        with monkeypatch.context() as patch:
            patch.setattr(timeline, "_submit", lambda *arguments: vk.VK_ERROR_OUT_OF_HOST_MEMORY)
            for _ in range(2):
                with pytest.raises(OutOfMemory):
                    work.dispatch(COUNT // 64, wait=False)
            with pytest.raises(OutOfMemory):
                device.synchronize()
        work.dispatch(COUNT // 64, wait=False)
        busy.release()
        assert (buffer.read() == 16).all()
    assert timeline.completed == timeline.submitted


@pytest.mark.usefixtures("patient")
def test_a_device_that_is_lost_names_the_calls(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vkgroup.open(swiftshader.name) as device:
        _, work = adding(device)
        with Busy(device) as busy, monkeypatch.context() as patch:
            for name in ("the first", "the second"):
                device.sequence([Dispatch(work, 16)], name).run(wait=False)
            lost = vk.VK_ERROR_DEVICE_LOST
            patch.setattr(busy.timeline, "_submit", lambda *arguments: lost)
            with pytest.raises(DeviceLost, match="submitting the first, the second failed"):
                device.synchronize()
            with pytest.raises(DeviceLost, match="lost earlier"):
                work.dispatch(1, wait=False)
            busy.release()


def test_random_programs_have_the_results_of_numpy(device: Device) -> None:
    """Dispatches, kernels, fills, copies and transfers in any order, in flight."""
    random = np.random.default_rng(44)
    buffer, work = adding(device)
    other = device.buffer(np.zeros(COUNT, np.uint32))
    state = {"buffer": np.zeros(COUNT, np.uint32), "other": np.zeros(COUNT, np.uint32)}
    recorded = {
        "sequence": device.sequence([Dispatch(work, COUNT // 64), Dispatch(work, COUNT // 64)]),
        "copy": device.sequence([Copy(buffer, other)]),
        "back": device.sequence([Copy(other, buffer), Dispatch(work, COUNT // 64)]),
        "fill": device.sequence([Fill(other, 7)]),
    }
    results: list[tuple[str, Buffer, np.ndarray]] = []
    for step in range(1500):
        name = str(random.choice(["add", "add", "sum", "cumsum", "sort", "write", "read", *recorded]))
        if name == "add":
            work.dispatch(COUNT // 64, wait=False)
            state["buffer"] += 1
        elif name in recorded:
            recorded[name].run(wait=False)
            if name == "sequence":
                state["buffer"] += 2
            elif name == "copy":
                state["other"] = state["buffer"].copy()
            elif name == "back":
                state["buffer"] = state["other"] + np.uint32(1)
            else:
                state["other"][:] = 7
        elif name == "write":
            state["other"] = random.integers(0, 1000, COUNT, np.uint32)
            other.write(state["other"])
        elif name == "read":
            place = str(random.choice(["buffer", "other"]))
            assert np.array_equal((buffer if place == "buffer" else other).read(), state[place]), step
        else:
            numpy = {"sum": np.sum, "cumsum": np.cumsum, "sort": np.sort}[name]
            expected = numpy(state["other"]) if name == "sort" else numpy(state["other"], dtype=np.uint32)  # type: ignore[operator]
            results.append((name, getattr(kernels, name)(other), expected))
    for name, result, expected in results:
        assert np.array_equal(result.read(), expected), name


def test_threads_share_the_collection(device: Device) -> None:
    works = [adding(device) for _ in range(3)]

    def run(work: Work) -> None:
        for _ in range(300):
            work.dispatch(COUNT // 64, wait=False)

    threads = [threading.Thread(target=run, args=(work,)) for _, work in works for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(value) for buffer, _ in works for value in np.unique(buffer.read())] == [600] * 3


def test_ctrl_c_loses_no_call_that_was_counted(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At many places: each time the alarm comes a little later.

    Without the validation layer, because that reports objects that are lost between two calls of Python.
    """
    monkeypatch.setenv("VKGROUP_VALIDATION", "0")
    device = vkgroup.open(swiftshader.name)
    buffer, work = adding(device)
    work.dispatch(COUNT // 64)
    timeline = device.logical.timeline
    first = timeline.submitted
    interrupt_often(lambda: work.dispatch(COUNT // 64, wait=False), 300, 1e-6)
    device.synchronize()
    assert (buffer.read() == 1 + timeline.submitted - first).all()
    device.close()


def test_a_handler_of_a_signal_may_query(swiftshader: CachedDriver) -> None:
    """It runs between any two steps of a submission."""
    with vkgroup.open(swiftshader.name) as device:
        buffer, work = adding(device)
        submission = work.dispatch(COUNT // 64)
        before = signal.signal(signal.SIGALRM, lambda *arguments: submission.done)
        count, end = 1, time.monotonic() + 3
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.00037)
            while time.monotonic() < end:
                submission = work.dispatch(COUNT // 64, wait=False)
                count += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert (buffer.read() == count).all()


def test_a_handler_of_a_signal_may_query_while_others_are_called(swiftshader: CachedDriver) -> None:
    """Each deferred function is called once, and not before the submission that it waits for."""
    with vkgroup.open(swiftshader.name) as device:
        timeline = device.logical.timeline
        called: list[tuple[int, int]] = []
        last = timeline.submitted

        def deferred(number: int) -> Callable[[], None]:
            return lambda: called.append((number, timeline.completed))

        before = signal.signal(signal.SIGALRM, lambda *arguments: timeline._advance(last - 25))
        end = time.monotonic() + 2
        try:
            signal.setitimer(signal.ITIMER_REAL, 5e-5, 5e-5)
            while time.monotonic() < end:
                first, last = last, last + 100
                numbers = range(first + 1, last + 1)
                called.clear()
                for number in numbers:
                    timeline._in_flight.append((number, "a test"))
                    timeline._deferred.append((number, deferred(number)))
                timeline._advance(first + 50)
                timeline._advance(last)
                assert sorted(number for number, _ in called) == list(numbers)
                assert all(number <= completed for number, completed in called)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def test_a_thread_that_waits_for_a_refused_call_goes_on(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, work = adding(device)
    timeline = device.logical.timeline
    inside = threading.Event()

    def refuse(*arguments: object) -> int:
        inside.set()
        time.sleep(0.2)
        return int(vk.VK_ERROR_OUT_OF_HOST_MEMORY)

    def wait() -> None:
        inside.wait()
        device.synchronize()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    with monkeypatch.context() as patch:
        patch.setattr(timeline, "_submit", refuse)
        with pytest.raises(OutOfMemory):
            work.dispatch(COUNT // 64, wait=False)
    waiter.join(30)
    assert not waiter.is_alive()


@pytest.mark.usefixtures("patient")
def test_a_device_whose_calls_are_refused_can_be_closed(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name)
    _, work = adding(device)
    with Busy(device) as busy:
        for _ in range(3):
            work.dispatch(COUNT // 64, wait=False)
        device.logical.timeline._submit = lambda *arguments: vk.VK_ERROR_OUT_OF_HOST_MEMORY
        busy.release()
        with pytest.raises(OutOfMemory):
            device.close()
        assert device.closed


_ENDS = """
import atexit, os, sys

device = None
# Before vkgroup registers that it closes devices, so this runs after that.
atexit.register(lambda: print(device.logical.timeline.completed, device.logical.timeline.submitted))
import numpy as np
import vkgroup
from vkgroup.device import timeline as module

module._LONGEST_COLLECTION = 1e9
module.Timeline._wake_thread = lambda self: True
device = vkgroup.open(sys.argv[1])
buffer = device.buffer(np.zeros(1024, np.uint32))
work = device.pipeline(device.compile(sys.argv[2])).bind({0: buffer})
for _ in range(50):
    work.dispatch(16, wait=False)
if sys.argv[3] == "fork":
    child = os.fork()
    if not child:
        try:
            buffer.read()
        except vkgroup.errors.DriverError as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(set(buffer.read().tolist()))
"""


@pytest.mark.parametrize(("end", "said"), [("exit", ["51 51"]), ("fork", ["DeviceLost", "{50}"])])
def test_ends_of_processes_lose_nothing(end: str, said: list[str], swiftshader: CachedDriver) -> None:
    command = [sys.executable, "-c", _ENDS, swiftshader.name, ADD, end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[: len(said)] == said
    assert done.stderr == ""
