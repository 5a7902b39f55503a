"""wgpu-py as a peer for submission overhead, with one encoder per call: command buffers run only once."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

from vkgroup.bench.definition import Arrays, Data, PreparedCandidate
from vkgroup.bench.overhead import COUNT, WGSL, CallWork, only_driver, seconds_of
from vkgroup.dispatch import Device


class _Prepared:
    def __init__(self, wgpu: Any, adapter: Any, work: CallWork) -> None:
        self._work = work
        self._device = device = adapter.request_device_sync()
        usage = wgpu.BufferUsage
        self._buffer = device.create_buffer(
            size=4 * COUNT, usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        )
        module = device.create_shader_module(code=WGSL)
        self._pipeline = device.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        self._group = device.create_bind_group(
            layout=self._pipeline.get_bind_group_layout(0),
            entries=[{"binding": 0, "resource": {"buffer": self._buffer, "offset": 0, "size": 4 * COUNT}}],
        )
        self._wait = self._waiting()

    def _waiting(self) -> Any:
        """Return a function that waits for the work: WebGPU's, or wgpu-py's own if that does not work.

        In version 0.32 `on_submitted_work_done_sync` raises an error about the type of its own callback.
        """
        wait = self._device.queue.on_submitted_work_done_sync
        try:
            wait()
        except TypeError:
            return self._device._poll_wait
        return wait

    def _call(self) -> None:
        encoder = self._device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(self._pipeline)
        compute.set_bind_group(0, self._group)
        for _ in range(self._work.dispatches):
            compute.dispatch_workgroups(1)
        compute.end()
        self._device.queue.submit([encoder.finish()])
        self._wait()

    def overwrite_outputs(self) -> None:
        self._device.queue.write_buffer(self._buffer, 0, np.zeros(COUNT, np.uint32))

    def time(self) -> float:
        return seconds_of(self._call, self._work)

    def outputs(self) -> Arrays:
        return {"numbers": np.frombuffer(self._device.queue.read_buffer(self._buffer), np.uint32)}

    def close(self) -> None:
        self._buffer.destroy()


class _Wgpu:
    name, clock = "wgpu", "wall clock"

    def available(self, device: Device) -> str | None:
        """Return why the package cannot run on the device, or None."""
        if importlib.util.find_spec(self.name) is None:
            return "wgpu is not installed (pip install 'vkgroup[peers]')."
        if device.info.is_reference:
            return "The reference device is no device of Vulkan's."
        if self._adapter(device) is None:
            return f"wgpu does not find {device.name} among the devices of Vulkan."
        return None

    def _adapter(self, device: Device) -> Any:
        with only_driver(device):
            adapters = importlib.import_module(self.name).gpu.enumerate_adapters_sync()
        for adapter in adapters:
            if adapter.info["backend_type"] == "Vulkan" and adapter.info["device"] == device.name:
                return adapter
        return None

    def version(self) -> str:
        """Return the package's version."""
        return str(importlib.import_module(self.name).__version__)

    def prepare(self, device: Device, function: CallWork, data: Data) -> PreparedCandidate:
        """Create the pipeline; nothing can be recorded."""
        return _Prepared(importlib.import_module(self.name), self._adapter(device), function)


PEER = _Wgpu()
