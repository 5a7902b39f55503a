"""Opening, closing and losing devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vkgroup
from vkgroup.device import open_device, vk
from vkgroup.device.instance import shared_instance
from vkgroup.dispatch import Device
from vkgroup.errors import DeviceLost, DriverError, NoDevice, ValidationError

ENDLESS = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint d[]; } b;
void main() { uint n = 0u; while (b.d[0] == 0u) { n++; b.d[1] = n; } }"""


def child(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    prelude = f"import sys, numpy as np, vkgroup\nfrom vkgroup.errors import *\nENDLESS = {ENDLESS!r}\n"
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_opening_leaves_the_environment_as_it_was(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VK_DRIVER_FILES", "/mine.json")
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    before = dict(os.environ)
    with open_device(device.info, validate=False):
        assert dict(os.environ) == before


def test_a_device_opens_again_by_its_info(device: Device) -> None:
    with vkgroup.open(device.info) as again:
        assert again.info == device.info
        assert again.capabilities == device.capabilities
        assert again.logical.instance is device.logical.instance


def test_closing_twice_is_allowed_and_closes_what_was_made(device: Device) -> None:
    again = vkgroup.open(device.info)
    buffer = again.buffer(np.arange(4))
    again.close()
    again.close()
    buffer.close()
    with pytest.raises(DriverError, match="closed"):
        again.buffer(16)


def test_a_driver_has_no_device_of_a_higher_index(device: Device) -> None:
    with pytest.raises(NoDevice, match="number 7"):
        vkgroup.open(replace(device.info, index=7))


def test_a_broken_file_is_no_device(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{")
    with pytest.raises(NoDevice, match="no valid JSON"):
        vkgroup.open(str(path))


def test_a_library_that_does_not_load_is_no_device(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    icd = {"library_path": "/no.so", "api_version": "1.3.0"}
    path.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))
    with pytest.raises(NoDevice, match=r"/no\.so does not load"):
        vkgroup.open(str(path))


def test_what_the_validation_layer_says_becomes_an_exception(device: Device) -> None:
    logical = device.logical
    info = vk.new("VkBufferCreateInfo", size=0, usage=vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
    handle = vk.ffi.new("VkBuffer *")
    code = logical.functions.vkCreateBuffer(logical.handle, info, vk.NULL, handle)
    with pytest.raises(ValidationError, match="VUID-VkBufferCreateInfo-size-00912"):
        logical.instance.raise_validation_errors()
    if code == vk.VK_SUCCESS:
        logical.functions.vkDestroyBuffer(logical.handle, handle[0], vk.NULL)
    logical.instance.raise_validation_errors()


def test_validation_is_an_instance_of_its_own(device: Device) -> None:
    manifest = Path(device.info.manifest)
    assert shared_instance(manifest, validate=True) is device.logical.instance
    assert shared_instance(manifest, validate=False).messages is None


def test_an_endless_shader_is_a_timeout_and_loses_the_device(device: Device) -> None:
    done = child(
        """
        device = vkgroup.open(sys.argv[1])
        data = np.zeros(2, np.uint32)
        try:
            device.run(ENDLESS, 1, {"b": data}, timeout=0.5)
        except DispatchTimeout as error:
            print("timeout:", error)
        try:
            device.buffer(data)
        except DeviceLost as error:
            print("lost:", error)
        device.close()
        print("closed")
        with vkgroup.open(sys.argv[1]) as again:
            data[0] = 1
            print("again:", again.run(ENDLESS, 1, {"b": data})["b"])
        """,
        device.info.manifest,
    )
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["timeout", "lost", "closed", "again"], done.stderr
    assert "within 0.5 s" in lines[0]
    assert "did not finish within 0.5 s" in lines[1]


def test_a_lost_device_says_so_from_then_on(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with vkgroup.open(device.info) as again, again.buffer(np.zeros(4, np.uint32)) as buffer:
        source = ENDLESS.replace("while (b.d[0] == 0u)", "if (b.d[0] == 0u)")
        with again.pipeline(again.compile(source)) as pipeline, pipeline.bind({"b": buffer}) as bound:
            lost = vk.VK_ERROR_DEVICE_LOST
            monkeypatch.setattr(again.logical.timeline, "_submit", lambda *arguments: lost)
            for _ in range(2):
                with pytest.raises(DeviceLost):
                    bound.dispatch(1)
            with pytest.raises(DeviceLost, match="lost earlier"):
                buffer.read()
    with vkgroup.open(device.info) as again, again.buffer(np.arange(4)) as buffer:
        assert np.array_equal(buffer.read(), np.arange(4))


@pytest.mark.parametrize("validation", [False, True])
def test_a_process_may_end_with_everything_open(device: Device, validation: bool) -> None:
    done = child(
        """
        device = vkgroup.open(sys.argv[1], validation=sys.argv[2] == "True")
        module = device.compile(ENDLESS.replace("while (b.d[0] == 0u)", "if (b.d[0] == 0u)"))
        pipeline = device.pipeline(module)
        bound = pipeline.bind({"b": np.zeros(2, np.uint32)})
        bound.timed(1)
        image = device.image(np.zeros((4, 4), np.uint32))
        buffer = device.buffer(100)
        print(bound.results()["b"])
        """,
        device.info.manifest,
        str(validation),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0 1]\n", "")


def test_an_interrupted_wait_loses_nothing(device: Device) -> None:
    done = child(
        """
        import _thread, signal, threading
        # A shell's job in the background begins with interrupts ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        device = vkgroup.open(sys.argv[1])
        # Compiled before the timer starts, so that a slow machine is waiting when it ends.
        shader = ENDLESS.replace("buffer B", "volatile buffer B")
        buffer = device.buffer(np.zeros(2, np.uint32))
        memory = np.from_dlpack(buffer)
        bound = device.pipeline(device.compile(shader)).bind({"b": buffer})
        threading.Timer(0.5, _thread.interrupt_main).start()
        try:
            bound.dispatch(1, timeout=50)
        except KeyboardInterrupt:
            print("interrupted", memory[1] > 0)
        memory[0] = 1  # ends the shader
        device.synchronize()
        print(buffer.read()[0], device.run(shader, 1, {"b": np.uint32([1, 7])})["b"])
        device.close()
        """,
        device.info.manifest,
    )
    assert done.stdout.splitlines() == ["interrupted True", "1 [1 7]"], done.stderr


def test_a_device_with_endless_work_is_closed_after_an_interrupt(device: Device) -> None:
    done = child(
        """
        import _thread, signal, threading
        signal.signal(signal.SIGINT, signal.default_int_handler)
        device = vkgroup.open(sys.argv[1])
        bound = device.pipeline(device.compile(ENDLESS)).bind({"b": np.zeros(2, np.uint32)})
        threading.Timer(0.5, _thread.interrupt_main).start()
        try:
            bound.dispatch(1, timeout=50)
        except KeyboardInterrupt:
            print("interrupted")
        try:
            device.close()
        except DispatchTimeout as error:
            print(error)
        print(device.closed)
        """,
        device.info.manifest,
    )
    lines = done.stdout.splitlines()
    assert (lines[0], lines[2:]) == ("interrupted", ["True"]), done.stderr
    assert "is closed, but its last work did not finish within 1 s" in lines[1]


def test_a_forked_process_gives_its_parents_device_up(device: Device) -> None:
    done = child(
        """
        import os
        shader = ENDLESS.replace("b.d[0] == 0u", "b.d[0] == 5u")
        device = vkgroup.open(sys.argv[1])
        data = np.zeros(2, np.uint32)
        buffer = device.buffer(data)
        child = os.fork()
        if child == 0:
            try:
                device.run(shader, 1, {"b": data})
            except DeviceLost as error:
                print("child:", error)
            buffer.close()
            device.close()
            try:
                vkgroup.open(sys.argv[1])
            except NoDevice as error:
                print("again:", error)
            sys.exit(7)
        print("ended:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print("parent:", device.run(shader, 1, {"b": data})["b"])
        """,
        device.info.manifest,
    )
    lines = done.stdout.splitlines()
    heads = [line.split(":")[0] for line in lines]
    assert heads == ["child", "again", "ended", "parent"], done.stdout + done.stderr
    assert "forked" in lines[0]
    assert "'spawn'" in lines[1]
    assert lines[2] == "ended: 7"
