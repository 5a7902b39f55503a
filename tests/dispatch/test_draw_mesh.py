"""Mesh and task shaders, on a driver that has them with subgroup operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from draw_arguments import with_state
from refusals import lacks

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

SIZE = (8, 4)

HEAD = """#version 460
#extension GL_EXT_mesh_shader : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
"""

# The left half of the image, as two triangles.
MESH = (
    HEAD
    + """layout(local_size_x = 32) in;
layout(triangles, max_vertices = 4, max_primitives = 2) out;
layout(location = 0) out flat uint number[];
layout(location = 1) perprimitiveEXT out flat uint which[];
layout(set = 0, binding = 0) buffer Sums { uint invocations, subgroups; };
layout(constant_id = 3) const uint STEP = 1u;
layout(push_constant) uniform Push { uint more; };
void main() {
    SetMeshOutputsEXT(4, 2);
    uint i = gl_LocalInvocationIndex;
    if (i < 4u) {
        gl_MeshVerticesEXT[i].gl_Position = vec4(float(i & 1u) - 1.0, 2.0 * float(i >> 1) - 1.0, 0.0, 1.0);
        number[i] = 7u;
    }
    if (i < 2u) {
        gl_PrimitiveTriangleIndicesEXT[i] = i == 0u ? uvec3(0, 1, 2) : uvec3(2, 1, 3);
        which[i] = 10u * (i + 1u);
    }
    uint all = subgroupAdd(STEP + more);
    if (subgroupElect()) {
        atomicAdd(invocations, all);
        atomicAdd(subgroups, 1u);
    }
}"""
)

TASK = (
    HEAD
    + """layout(local_size_x = 16) in;
layout(set = 0, binding = 1) buffer Lanes { uint lanes; };
void main() {
    uint all = subgroupBallotBitCount(subgroupBallot(true));
    if (subgroupElect())
        atomicAdd(lanes, all);
    EmitMeshTasksEXT(3, 1, 1);
}"""
)

NUMBER = (
    HEAD
    + """layout(location = 0) in flat uint number;
layout(location = 1) perprimitiveEXT in flat uint which;
layout(location = 0) out uint color;
void main() { color = number + which; }"""
)

VERTEX = "#version 450\nvoid main() { gl_Position = vec4(0.0); }"

SUMS = np.zeros(2, np.uint32)


@pytest.fixture(scope="module")
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


def _draw(device: Device, **given: Any) -> Any:
    bindings = {"Sums": SUMS} | given.pop("bindings", {})
    arguments = with_state({"mesh": MESH, "groups": 1, "push": {"more": 0}, **given})
    return device.draw(NUMBER, SIZE, bindings, **arguments)


def test_a_mesh_is_drawn(lavapipe_device: Device) -> None:
    """The diagonal goes from the lower left to the upper right; each triangle has a different number."""
    found = _draw(lavapipe_device)["color"]
    assert (found[:, 4:] == 0).all()
    assert set(np.unique(found[:, :4]).tolist()) == {17, 27}
    assert found[0, 0] == 17
    assert found[3, 3] == 27


@pytest.mark.parametrize(("groups", "workgroups"), [(5, 5), ((3, 2), 6), ((2, 3, 4), 24), (0, 0)])
def test_subgroups_of_mesh_shaders_hold_every_invocation(
    lavapipe_device: Device, groups: Any, workgroups: int
) -> None:
    found = _draw(lavapipe_device, groups=groups, push={"more": 2}, specialization={"STEP": 3})["Sums"]
    assert found[0] == (3 + 2) * 32 * workgroups
    assert found[1] == 32 // lavapipe_device.capabilities.subgroup.size * workgroups


def test_task_shaders_say_how_many_mesh_shaders_run(lavapipe_device: Device) -> None:
    found = _draw(lavapipe_device, task=TASK, groups=4, bindings={"Lanes": np.zeros((), np.uint32)})
    assert found["Lanes"] == 4 * 16
    assert found["Sums"][0] == 4 * 3 * 32


def test_repeated_draws_of_one_pipeline(lavapipe_device: Device) -> None:
    assert _draw(lavapipe_device, repeat=3)["Sums"][0] == 3 * 32


# --- what does not go together ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"vertex": VERTEX}, "a vertex shader, with tessellation"),
        (
            {"mesh": None, "task": TASK, "vertex": VERTEX, "groups": None},
            "a vertex shader, with tessellation",
        ),
        ({"mesh": None, "vertex": VERTEX}, "groups are of draws with mesh shaders"),
        ({"groups": None}, "need groups"),
        ({"groups": -1}, "three numbers"),
        ({"groups": 1.5}, "three numbers"),
        ({"groups": (1, 2, 3, 4)}, "one to three"),
        ({"groups": ()}, "one to three"),
        ({"count": 3}, "no count"),
        ({"instances": 2}, "no instances"),
        ({"topology": "lines"}, "no topology"),
        ({"vertices": {"at": np.zeros((3, 2), np.float32)}}, "no vertices"),
        ({"mesh": MESH.replace("location = 1) perprimitiveEXT", "location = 1)")}, "per-primitive input"),
        (
            {"mesh": MESH.replace("uint number[]", "float number[]").replace("= 7u", "= 7.0")},
            "different types",
        ),
    ],
)
def test_what_does_not_go_together(lavapipe_device: Device, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        _draw(lavapipe_device, **given)


def test_limits_are_kept(lavapipe_device: Device) -> None:
    limits = lavapipe_device.capabilities.limits
    for groups, name in (
        (limits["maxMeshWorkGroupCount"][0] + 1, "maxMeshWorkGroupCount"),
        ((limits["maxMeshWorkGroupTotalCount"] // 2, 2, 2), "maxMeshWorkGroup"),
    ):
        with lacks(name):
            _draw(lavapipe_device, groups=groups)
    wide = MESH.replace("local_size_x = 32", "local_size_x_id = 9")
    invocations = limits["maxMeshWorkGroupInvocations"] + 1
    with lacks("maxMeshWorkGroupInvocations"):
        _draw(lavapipe_device, mesh=wide, specialization={9: invocations})


def test_devices_without_mesh_shaders_say_so(swiftshader: CachedDriver) -> None:
    for name in (swiftshader.name, "reference"):
        with vkgroup.open(name) as device, lacks("meshShader"):
            _draw(device)
