"""Pipelines that let the subgroup size vary, or demand full subgroups: what goes together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import lacks

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.compiler import TargetEnvironment
from vkgroup.device.limits import subgroup_size_problems
from vkgroup.dispatch import Device
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.drivers import CachedDriver

SIZES = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 128) in;
layout(std430, binding = 0) buffer Sizes { uint sizes[]; };
void main() { sizes[gl_LocalInvocationIndex] = gl_SubgroupSize; }"""

FRAGMENT = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(location = 0) out uint color;
void main() { color = gl_SubgroupSize; }"""

VERTEX = "#version 450\nvoid main() { gl_Position = vec4(0.0); }"

MESH = """#version 460
#extension GL_EXT_mesh_shader : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = %d) in;
layout(triangles, max_vertices = 3, max_primitives = 1) out;
layout(std430, binding = 0) buffer Sizes { uint sizes[]; };
void main() { SetMeshOutputsEXT(0, 0); sizes[gl_LocalInvocationIndex] = gl_SubgroupSize; }"""

BLANK = np.zeros(128, np.uint32)


@pytest.fixture(scope="module")
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_2, TargetEnvironment.VULKAN_1_3])
@pytest.mark.parametrize(
    "control",
    [
        {},
        {"varying_subgroup_size": True},
        {"full_subgroups": True},
        {"varying_subgroup_size": True, "full_subgroups": True},
    ],
)
def test_compute_pipelines_take_the_flags(
    device: Device, target: TargetEnvironment, control: dict[str, Any]
) -> None:
    sizes = device.run(device.compile(SIZES, target=target), 1, {"Sizes": BLANK}, **control)["Sizes"]
    least, most = device.capabilities.size_control.min_size, device.capabilities.size_control.max_size
    assert len(set(sizes.tolist())) == 1
    assert least <= sizes[0] <= most


def test_fragment_shaders_take_the_flag(device: Device) -> None:
    color = device.draw(FRAGMENT, (8, 8), varying_subgroup_size=True)["color"]
    assert set(color.ravel().tolist()) == {device.capabilities.subgroup.size}


def test_mesh_shaders_take_both_flags(lavapipe_device: Device) -> None:
    for control in ({"varying_subgroup_size": True}, {"full_subgroups": True}):
        found = lavapipe_device.draw(FRAGMENT, (4, 4), {"Sizes": BLANK}, mesh=MESH % 32, groups=1, **control)
        assert found["Sizes"][:32].tolist() == [lavapipe_device.capabilities.subgroup.size] * 32


def test_a_size_that_varies_is_not_required(device: Device) -> None:
    size = device.capabilities.subgroup.size
    for run in (
        lambda: device.run(SIZES, 1, {"Sizes": BLANK}, subgroup_size=size, varying_subgroup_size=True),
        lambda: device.draw(FRAGMENT, (4, 4), subgroup_size=size, varying_subgroup_size=True),
    ):
        with pytest.raises(InvalidDispatch, match="leave one out"):
            run()


def test_varying_sizes_overrule_the_size_of_the_device(swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name, subgroup_size=4) as device:
        pipeline = device.pipeline(device.compile(SIZES), varying_subgroup_size=True)
        assert pipeline.subgroup_size is None
        assert pipeline.stages.varying_subgroup_size


def test_full_subgroups_are_of_stages_with_workgroups(device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="task and mesh shaders"):
        device.draw(FRAGMENT, (4, 4), vertex=VERTEX, full_subgroups=True)


def test_full_subgroups_of_mesh_shaders_need_whole_subgroups(lavapipe_device: Device) -> None:
    with lacks("multiple of 8, for full subgroups"):
        lavapipe_device.draw(
            FRAGMENT, (4, 4), {"Sizes": BLANK}, mesh=MESH % 12, groups=1, full_subgroups=True
        )


def test_the_rules_of_sizes() -> None:
    capabilities = capabilities_of(32)
    without = replace(capabilities, size_control=replace(capabilities.size_control, supported=False))
    problems = subgroup_size_problems(None, False, None, without, varying=True, stage="vertex")
    assert problems == ["subgroupSizeControl"]
    assert subgroup_size_problems(None, False, (64, 1, 1), without, varying=True) == ["subgroupSizeControl"]
    assert not subgroup_size_problems(None, True, (32, 1, 1), capabilities)
    # A size that varies may be the largest: 128 on the reference device.
    (problem,) = subgroup_size_problems(None, True, (64, 1, 1), capabilities, varying=True)
    assert "multiple of 128" in problem
    (problem,) = subgroup_size_problems(16, False, (64, 1, 1), replace(
        capabilities, size_control=replace(capabilities.size_control, required_size_stages=("compute",))
    ), stage="mesh")  # fmt: skip
    assert problem == "requiredSubgroupSizeStages with the mesh stage"
