"""Isolated devices: results and errors of ordinary ones; crashes and hangs end only their worker."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mutants import driver_errors
from process_states import alive
from workers.isolation.planted_openers import BUG, CRASH, HANG, KILL, UNREADABLE, planted

import vkgroup
from vkgroup import HitGroup
from vkgroup.base.errors import (
    CompileError,
    DispatchTimeout,
    DriverCrash,
    DriverError,
    InternalError,
    InvalidDispatch,
    NoDevice,
    Unsupported,
    is_device_error,
)
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver
from vkgroup.workers.isolation import IsolatedDevice
from vkgroup.workers.isolation.session import MethodCall
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import KILL_SECONDS, WorkerProcess

ADD = """#version 450
layout(local_size_x = 64, local_size_x_id = 3) in;
layout(binding = 0) buffer B { uint data[]; };
layout(push_constant) uniform P { uint step; };
void main() { data[gl_GlobalInvocationID.x] += step; }
"""
CALL = {"data": np.arange(64, dtype=np.uint32)}
WHITE = """#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(gl_FragCoord.xy, 0, 1); }
"""
RAYGEN = """#version 460
#extension GL_EXT_ray_tracing : require
layout(binding = 0) uniform accelerationStructureEXT scene;
layout(binding = 1) buffer Hits { uint hits[]; };
layout(location = 0) rayPayloadEXT uint hit;
void main() {
    uint x = gl_LaunchIDEXT.x;
    traceRayEXT(scene, 0u, 0xFFu, 0u, 0u, 0u, vec3(float(x) - 8.5, 0, 0), 0.0, vec3(0, 0, 1), 9.0, 0);
    hits[x] = hit;
}
"""
RETURN = """#version 460
#extension GL_EXT_ray_tracing : require
layout(location = 0) rayPayloadInEXT uint hit;
void main() { hit = %du; }
"""


@pytest.fixture(scope="module")
def isolated(swiftshader: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(swiftshader.name, isolated=True) as device:
        yield device


@pytest.fixture(scope="module")
def faulty(swiftshader: CachedDriver) -> Iterator[Device]:
    with IsolatedDevice(select(swiftshader.name), planted, {}) as device:
        yield device


def run(device: Device, step: int = 1, **options: object) -> list[int]:
    """Return the first elements after one call."""
    result = device.run(ADD, 1, CALL, push=np.array([step], np.uint32), **options)
    return list(result["data"][:3])


def worker_of(device: Device) -> WorkerProcess:
    """Return the worker of a device, which exists."""
    device.memory()
    assert isinstance(device, IsolatedDevice)
    worker = device._base._worker
    assert worker is not None
    return worker


def process_of(device: Device) -> int:
    """Return the process id of the worker, which exists."""
    return worker_of(device)._process.pid


# --- like an ordinary device ------------------------------------------------------------------------------


def test_it_declares_what_the_device_does(isolated: Device, swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name) as plain:
        assert isolated.capabilities == plain.capabilities
        assert isolated.info == plain.info
        assert isolated.name == plain.name
    assert process_of(isolated) != os.getpid()
    assert not isolated.closed
    assert not isolated.lost


def test_run_returns_what_was_written(isolated: Device, tmp_path: Path) -> None:
    assert run(isolated, 5) == [5, 6, 7]
    assert list(CALL["data"][:3]) == [0, 1, 2]
    file = tmp_path / "add.comp"
    file.write_text(ADD)
    compiled = isolated.compile(ADD)
    for source in (file, compiled):
        bindings = {0: np.zeros(64, np.uint32)}
        result = isolated.run(source, 2, bindings, push={"step": 3}, specialization={3: 32})
        assert (result[0] == 3).all()
    assert result.configuration.groups == 2
    assert result.configuration.module == compiled
    assert isolated.run(ADD, 1, CALL, push={"step": 1}, repeat=3)["data"][0] == 3
    isolated.prepare(ADD, CALL)


def test_arrays_of_other_libraries_are_taken(isolated: Device) -> None:
    class Foreign:
        def __dlpack__(self, **options: object) -> object:
            return CALL["data"].__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return CALL["data"].__dlpack_device__()

    assert isolated.run(ADD, 1, {"data": Foreign()}, push={"step": 9})["data"][1] == 10


def test_draw_returns_the_pixels(isolated: Device, swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name) as plain:
        expected = plain.draw(WHITE, (8, 4))["color"]
    assert (isolated.draw(WHITE, (8, 4))["color"] == expected).all()


def test_trace_returns_what_was_written(lavapipe: CachedDriver) -> None:
    triangle = np.array([[[-1, -1, 1], [3, -1, 1], [-1, 3, 1]]], np.float32)
    arrays = {"scene": triangle, "hits": np.zeros(16, np.uint32)}
    with vkgroup.open(lavapipe.name, isolated=True) as device:
        result = device.trace(
            RAYGEN, 16, arrays, miss=RETURN % 1, hit_groups=HitGroup(RETURN % 2), timeout=60
        )
    assert list(result["hits"]) == 8 * [1] + 3 * [2] + 5 * [1]


def test_the_reference_device_can_be_isolated() -> None:
    source = ADD.replace("+= step", "= data[65]")
    with vkgroup.open("reference:16", isolated=True) as device:
        assert device.capabilities.subgroup.size == 16
        result = device.run(source, 1, {"data": np.arange(64, dtype=np.uint32)}, push={"step": 0})
    assert [event.kind for event in result.events] == ["bounds"]
    assert result.defined is not None
    assert not result.defined["data"].any()


def test_options_of_opening_reach_the_worker(swiftshader: CachedDriver) -> None:
    with pytest.raises(Unsupported, match="size"):
        vkgroup.open(swiftshader.name, isolated=True, subgroup_size=64)
    with pytest.raises(NoDevice):
        vkgroup.open("no such device", isolated=True)


def test_threads_share_a_device(isolated: Device) -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda step=step: results.append(run(isolated, step)[0])) for step in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


# --- errors -----------------------------------------------------------------------------------------------


def test_errors_are_those_of_the_device_and_end_no_worker(isolated: Device) -> None:
    process = process_of(isolated)
    with pytest.raises(InvalidDispatch, match="for: B"):
        isolated.run(ADD, 1, {}, push={"step": 1})
    with pytest.raises(CompileError):
        isolated.run("#version 450\nvoid main() { x; }\n", 1, {})
    with pytest.raises(Unsupported) as caught:
        isolated.run(
            ADD.replace("450", "450\n#extension GL_KHR_shader_subgroup_clustered : require").replace(
                "+= step", "+= subgroupClusteredAdd(step, 2)"
            ),
            1,
            CALL,
            push={"step": 1},
        )
    assert caught.value.missing
    with pytest.raises(TypeError, match="no_such_option"):
        isolated.run(ADD, 1, CALL, no_such_option=1)
    assert process_of(isolated) == process
    for value in (lambda: 0, (n for n in ()), ctypes.pointer(ctypes.c_int(1))):
        with pytest.raises(InvalidDispatch, match="cannot be sent"):
            isolated.run(ADD, 1, CALL, push={"step": value})
    assert run(isolated) == [1, 2, 3]


def test_a_class_that_the_worker_cannot_import_is_no_time_out(
    isolated: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("module_of_this_process")
    kind = type("Step", (int,), {"__module__": module.__name__})
    monkeypatch.setattr(module, "Step", kind, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(InternalError, match="module_of_this_process"):
        isolated.run(ADD, 1, CALL, push={"step": kind(1)}, timeout=60)
    assert run(isolated) == [1, 2, 3]


def test_a_call_that_waited_starts_no_worker_on_a_closed_device(swiftshader: CachedDriver) -> None:
    errors: list[Exception] = []

    def late() -> None:
        try:
            run(device)
        except DriverError as error:
            errors.append(error)

    device = vkgroup.open(swiftshader.name, isolated=True)
    assert isinstance(device, IsolatedDevice)
    waiting, closing = threading.Thread(target=late), threading.Thread(target=device.close)
    with device._base._lock:
        waiting.start()
        time.sleep(1.0)  # it compiles the shader, and waits for the lock
        closing.start()
        time.sleep(0.2)
    waiting.join()
    closing.join()
    assert device._base._worker is None
    assert ["closed" in str(error) for error in errors] == [True]


def test_what_needs_the_driver_in_this_process_is_refused(
    isolated: Device, swiftshader: CachedDriver
) -> None:
    module = isolated.compile(ADD)
    process = process_of(isolated)
    calls = [
        lambda: isolated.buffer(64),
        lambda: isolated.empty(64),
        lambda: isolated.image(np.zeros((4, 4), np.float32)),
        lambda: isolated.from_dlpack(CALL["data"]),
        lambda: isolated.pipeline(module),
        lambda: isolated.sequence([]),
        lambda: isolated.launcher([], {}),
        lambda: isolated.submit(ADD, 1, CALL),
    ]
    with vkgroup.open(swiftshader.name) as plain, plain.buffer(CALL["data"]) as buffer:
        for call in (*calls, lambda: isolated.run(ADD, 1, {"data": buffer}, push={"step": 1})):
            with pytest.raises(Unsupported, match="An isolated device has no buffers"):
                call()
    assert process_of(isolated) == process


def test_a_closed_device_has_no_process(swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name, isolated=True) as device:
        process = process_of(device)
        assert alive(process)
    assert not alive(process)
    assert device.closed
    with pytest.raises(DriverError, match="closed"):
        run(device)
    device.close()


def test_a_forgotten_device_has_no_process(swiftshader: CachedDriver) -> None:
    device = vkgroup.open(swiftshader.name, isolated=True)
    process = process_of(device)
    del device
    gc.collect()
    assert not alive(process)


# --- crashes and hangs ------------------------------------------------------------------------------------


def test_a_crash_of_the_driver_is_an_exception(isolated: Device) -> None:
    process = process_of(isolated)
    arrays = {"Inputs": np.zeros(128, np.uint32), "Outputs": np.zeros(128, np.uint32)}
    with pytest.raises(DriverCrash) as caught:
        isolated.run(driver_errors.CRASH, 1, arrays, timeout=60)
    message = str(caught.value)
    assert "SwiftShader" in message
    assert "running a compute shader given as text with 1 workgroups" in message
    assert "it printed: LLVM ERROR: Local variable exceeds stack size limit" in message
    assert is_device_error(caught.value)
    assert run(isolated) == [1, 2, 3]
    assert process_of(isolated) != process


def test_a_dispatch_that_does_not_end_is_a_time_out(isolated: Device) -> None:
    arrays = {"Inputs": np.zeros(128, np.uint32), "Outputs": np.zeros(128, np.uint32)}
    process = process_of(isolated)
    start = time.monotonic()
    with pytest.raises(DispatchTimeout):
        isolated.run(driver_errors.HANG, 1, arrays, timeout=1)
    assert time.monotonic() - start < 20
    assert run(isolated) == [1, 2, 3]
    assert process_of(isolated) != process


def test_a_driver_that_does_not_return_is_ended_from_outside(faulty: Device) -> None:
    assert run(faulty) == [1, 2, 3]
    process = process_of(faulty)
    start = time.monotonic()
    with pytest.raises(DispatchTimeout, match="did not end while running"):
        run(faulty, HANG, timeout=0.5)
    assert 1.0 < time.monotonic() - start < 20
    assert run(faulty) == [1, 2, 3]
    assert not alive(process)


def test_an_emulation_that_does_not_end_is_named(swiftshader: CachedDriver) -> None:
    with IsolatedDevice(select(swiftshader.name), planted, {}) as device:
        device._base._setup.device = replace(device.info, emulated=True)
        with pytest.raises(DispatchTimeout, match=r"The emulation of .*`timeout`"):
            run(device, HANG, timeout=0.5)


def test_a_process_that_the_kernel_holds_is_left(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver of a GPU may take long to free the memory of a killed process."""
    with IsolatedDevice(select(swiftshader.name), planted, {}) as device:
        held = worker_of(device)
        kill = held._process.kill
        monkeypatch.setattr(held._process, "kill", lambda: None)
        start = time.monotonic()
        with pytest.raises(DispatchTimeout):
            run(device, HANG, timeout=0.5)
        # The limit, its grace period, the stack of the worker, one second for its end, and a busy machine.
        assert time.monotonic() - start < 0.5 + 4.0 + 10.0 < KILL_SECONDS
        assert run(device) == [1, 2, 3]
        kill()


def test_an_answer_that_comes_while_the_worker_is_asked_counts(
    isolated: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker writes its stack first: here it takes as long as the answer needs."""
    worker = worker_of(isolated)
    call = MethodCall(
        "run", {"module": isolated.compile(ADD), "groups": 1, "bindings": CALL, "push": {"step": 4}}
    )
    monkeypatch.setattr(worker, "_own_code", lambda: time.sleep(5) or "")
    answer = worker.ask(call, 1e-6)
    assert list(answer.result["data"][:3]) == [4, 5, 6]


def test_a_signal_of_the_system_is_no_crash_of_the_driver(faulty: Device) -> None:
    with pytest.raises(InternalError, match="SIGKILL"):
        run(faulty, KILL)
    with pytest.raises(DriverCrash, match="signal 11"):
        run(faulty, CRASH)
    assert run(faulty) == [1, 2, 3]


def test_an_answer_that_cannot_be_read_is_an_internal_error(faulty: Device) -> None:
    with pytest.raises(InternalError, match=r"answer .* cannot be read"):
        run(faulty, UNREADABLE)
    assert run(faulty) == [1, 2, 3]


def test_a_bug_in_the_worker_has_its_traceback(faulty: Device) -> None:
    with pytest.raises(KeyError, match="planted") as caught:
        run(faulty, BUG)
    assert "planted_openers.py" in "".join(caught.value.__notes__)


def test_an_interrupted_call_does_not_change_the_next(
    isolated: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = worker_of(isolated)

    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(isolated, 50)
    assert run(isolated, 7) == [7, 8, 9]
