"""Ray-tracing pipelines that are kept, what is bound to them, and how it is freed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ray_shaders import ANY_HIT, CALLABLE, CLOSEST_HIT, INTERSECTION, MISS, RAYGEN, START

import vkgroup
from vkgroup import HitGroup, Instance, Triangles
from vkgroup.base.errors import DriverError
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

SQUARE = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0], [0, 1, 0]]], np.float32)
BOXES = np.array([[[0, 0, 2], [1, 1, 3]], [[0, 0, 1], [1, 1, 2]]], np.float32)


@pytest.fixture(scope="module")
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


def _arrays(count: int, **more: Any) -> dict[str, Any]:
    arrays = {"Counts": np.zeros(6, np.uint32), "Seen": np.zeros(count, np.uint32)}
    return arrays | {"Result": np.zeros((count, 2), np.uint32)} | more


def test_a_pipeline_is_bound_once_and_traced_often(lavapipe_device: Device) -> None:
    raygen = lavapipe_device.compile(
        START
        + """layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint more; };
void main() { atomicAdd(data[gl_LaunchIDEXT.x], more + gl_LaunchSizeEXT.y); }""",
        stage="raygen",
    )
    with (
        lavapipe_device.buffer(np.zeros(64, np.uint32)) as data,
        lavapipe_device.ray_pipeline(raygen) as pipeline,
        pipeline.bind({"data": data}) as traces,
    ):
        for more in (1, 1, 10):
            traces.trace((64, 2), {"more": more})
        traces.trace(64, {"more": 100})
        traces.trace((64, 0), {"more": 1000})
        assert (data.read() == 2 * (3 + 3 + 12) + 101).all()
        assert traces.timed((32, 1), {"more": 0}, repeat=5) is not None
        assert (data.read()[:32] == 137 + 5).all()
        assert traces.timed(0, {"more": 1}) == 0.0
        assert traces.results() == {}
    with pytest.raises(DriverError, match="closed"):
        traces.trace(1, {"more": 1})


def test_repeats_are_of_one_pipeline(lavapipe_device: Device) -> None:
    for repeat in (1, 3):
        options = {"miss": MISS, "hit_groups": HitGroup(CLOSEST_HIT, ANY_HIT, INTERSECTION), "repeat": repeat}
        arrays = _arrays(50, scene=BOXES)
        found = lavapipe_device.trace(RAYGEN, 50, arrays, callable=CALLABLE, **options)
        assert found["Counts"][[0, 5]].tolist() == [50 * repeat, 50 * repeat]
        assert found.seconds is not None


def test_images_and_the_other_bindings_are_there(lavapipe_device: Device) -> None:
    source = (
        START
        + """layout(set = 0, binding = 0, r32ui) uniform uimage2D picture;
layout(set = 0, binding = 1) uniform Add { uint add; };
void main() { imageStore(picture, ivec2(gl_LaunchIDEXT.xy), uvec4(gl_LaunchIDEXT.x + add)); }"""
    )
    arrays = {"picture": np.zeros((3, 5), np.uint32), "add": np.full(4, 2, np.uint32)}
    found = lavapipe_device.trace(source, (5, 3), arrays)
    assert (found["picture"] == np.arange(5) + 2).all()


def test_ray_queries_see_acceleration_structures_in_compute_shaders(lavapipe_device: Device) -> None:
    source = """#version 460
#extension GL_EXT_ray_query : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform accelerationStructureEXT scene;
layout(set = 0, binding = 1) buffer Result { uint result[]; };
void main() {
    rayQueryEXT query;
    vec3 from = vec3((gl_GlobalInvocationID.x % 16u + 0.5) / 8.0 - 0.5, 0.5, -1.0);
    rayQueryInitializeEXT(query, scene, gl_RayFlagsOpaqueEXT, 0xFF, from, 0.0, vec3(0.0, 0.0, 1.0), 10.0);
    while (rayQueryProceedEXT(query)) {}
    result[gl_GlobalInvocationID.x] = rayQueryGetIntersectionTypeEXT(query, true);
}"""
    arrays = {"scene": SQUARE, "result": np.zeros(64, np.uint32)}
    found = lavapipe_device.run(source, 1, arrays)["result"].reshape(4, 16)
    inside = np.zeros(16, np.uint32)
    inside[4:12] = 1
    assert (found == inside).all()


def test_closing_frees_everything(lavapipe: CachedDriver) -> None:
    """The validation layer tells of what is left when a device is closed."""
    device = vkgroup.open(lavapipe.name)
    bottom = device.acceleration_structure(Triangles(SQUARE))
    scene = device.acceleration_structure([Instance(bottom)])
    module = device.compile(RAYGEN, stage="raygen")
    miss = device.compile(MISS, stage="miss")
    callable_ = device.compile(CALLABLE, stage="callable")
    pipeline = device.ray_pipeline(module, miss=[miss], callable=[callable_])
    traces = pipeline.bind(_arrays(8, scene=scene))
    traces.trace(8)
    assert not scene.closed
    bottom.close()
    assert scene.closed
    with pytest.raises(DriverError, match="closed"):
        traces.timed(8)
    device.close()
    assert pipeline.closed
    assert bottom.closed
    scene.close()
