"""Ctrl-C while something is closed leaves nothing that is freed twice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.dispatch.vulkan.pipeline import VulkanPipeline
from vkgroup.drivers import CachedDriver

SOURCE = """#version 460
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Values { uint values[]; };
void main() { values[gl_GlobalInvocationID.x] += 1u; }
"""


def test_descriptors_are_destroyed_once(swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt comes right after the pool is destroyed; the second close() is that of the collector."""
    with vkgroup.open(swiftshader.name) as device, device.buffer(np.zeros(4, np.uint32)) as buffer:
        bound: Any = device.pipeline(device.compile(SOURCE)).bind({"values": buffer})
        functions, destroyed = bound.device.functions, []

        def destroy(handle: Any, pool: Any, allocator: Any) -> None:
            destroyed.append(pool)
            if len(destroyed) == 1:
                functions.vkDestroyDescriptorPool(handle, pool, allocator)
                raise KeyboardInterrupt

        class Watched(SimpleNamespace):
            vkDestroyDescriptorPool = staticmethod(destroy)  # noqa: N815

            def __getattr__(self, name: str) -> Any:
                return getattr(functions, name)

        monkeypatch.setattr(bound.device, "functions", Watched())
        with pytest.raises(KeyboardInterrupt):
            bound.close()
        bound.close()
        assert len(destroyed) == 1


def test_a_pipeline_that_was_not_made_closes(
    swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes before the pipeline has layouts."""
    made: list[VulkanPipeline] = []

    def create(pipeline: VulkanPipeline) -> None:
        made.append(pipeline)
        raise KeyboardInterrupt

    with vkgroup.open(swiftshader.name) as device:
        module = device.compile(SOURCE)
        monkeypatch.setattr(VulkanPipeline, "_create", create)
        with pytest.raises(KeyboardInterrupt):
            device.pipeline(module)
        (pipeline,) = made
        pipeline.close()
        assert pipeline.closed
