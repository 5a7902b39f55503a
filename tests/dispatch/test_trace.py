"""Tracing rays: each of the six stages, on a driver that has them, watched by the validation layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ray_shaders import ANY_HIT, CALLABLE, CLOSEST_HIT, INTERSECTION, MISS, RAYGEN, SCENE, START

import vkgroup
from vkgroup import Boxes, HitGroup, Instance, Triangles
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

WALL = np.array([[[-1, -1, 0], [3, -1, 0], [-1, 3, 0]]], np.float32)
BOXES = np.array([[[0, 0, 2], [1, 1, 3]], [[0, 0, 1], [1, 1, 2]]], np.float32)


@pytest.fixture(scope="module")
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


def _arrays(count: int, **more: Any) -> dict[str, Any]:
    arrays = {"Counts": np.zeros(6, np.uint32), "Seen": np.zeros(count, np.uint32)}
    return arrays | {"Result": np.zeros((count, 2), np.uint32)} | more


ALL_STAGES = {"miss": MISS, "hit_groups": HitGroup(CLOSEST_HIT, ANY_HIT, INTERSECTION), "callable": CALLABLE}


@pytest.mark.parametrize("size", [(64, 32), (7, 5, 3), 1000, (1, 1, 1)])
def test_every_stage_runs_and_writes(lavapipe_device: Device, size: Any) -> None:
    """Half of the rays go through two boxes; each invocation of each stage knows whose it is."""
    count = int(np.prod(size))
    with (
        lavapipe_device.acceleration_structure(Boxes(BOXES, no_duplicate_any_hit=True)) as bottom,
        lavapipe_device.acceleration_structure(bottom) as scene,
    ):
        found = lavapipe_device.trace(RAYGEN, size, _arrays(count, scene=scene), **ALL_STAGES)
    hits = np.arange(count) % 2 == 0
    raygen, any_hit, closest, miss, intersection, called = found["Counts"].tolist()
    assert (raygen, called) == (count, count)
    assert (closest, miss) == (hits.sum(), (~hits).sum())
    # A box behind an accepted hit may be left out; one is met in any case, and no hit twice.
    assert hits.sum() <= any_hit <= 2 * hits.sum()
    assert intersection >= any_hit
    assert (found["Seen"] == np.where(hits, 0b110111, 0b101001)).all()
    # The second box is the nearer one.
    assert (found["Result"][:, 0] == np.where(hits, 111, 101)).all()
    assert (found["Result"][:, 1] == 3 * np.arange(count)).all()


# --- triangles against NumPy ------------------------------------------------------------------------------

ORTHOGRAPHIC = (
    SCENE
    + """layout(set = 0, binding = 4) buffer Hits { float hits[]; };
layout(location = 0) rayPayloadEXT vec4 hit;
void main() {
    vec2 at = (vec2(gl_LaunchIDEXT.xy) + 0.5) / vec2(gl_LaunchSizeEXT.xy);
    traceRayEXT(scene, 0u, MASK, 0u, STRIDE, 0u, vec3(at, -1.0), 0.0, vec3(0.0, 0.0, 1.0), 100.0, 0);
    uint place = gl_LaunchIDEXT.y * gl_LaunchSizeEXT.x + gl_LaunchIDEXT.x;
    for (uint i = 0u; i < 4u; ++i)
        hits[4u * place + i] = hit[i];
}"""
)
NOTHING = START + "layout(location = 0) rayPayloadInEXT vec4 hit; void main() { hit = vec4(-1.0); }"
WHICH = (
    START
    + """layout(location = 0) rayPayloadInEXT vec4 hit;
hitAttributeEXT vec2 at;
void main() { hit = vec4(gl_PrimitiveID, gl_HitTEXT, at); }"""
)


def _raygen(mask: str = "0xFFu", stride: str = "0u", more: str = "") -> str:
    return f"{START}#define MASK {mask}\n#define STRIDE {stride}\n{more}{ORTHOGRAPHIC}"


def _rays(size: int) -> npt.NDArray[np.float64]:
    """Return the origins of the rays: shape (size, size, 2), with x along the second axis."""
    line = (np.arange(size) + 0.5) / size
    return np.stack(np.meshgrid(line, line), axis=-1)


def _expected(triangles: npt.NDArray[Any], size: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the nearest triangle of each ray with distance and barycentrics, and which rays are clear.

    A ray is clear where it passes no edge too near, whatever its rounding.
    """
    found = np.full((size, size, 4), -1.0)
    nearest, clear = np.full((size, size), np.inf), np.ones((size, size), np.bool_)
    for number, corners in enumerate(triangles.astype(np.float64)):
        origin, u, v = corners[0], corners[1] - corners[0], corners[2] - corners[0]
        area = u[0] * v[1] - u[1] * v[0]
        to = _rays(size) - origin[:2]
        first = (to[..., 0] * v[1] - to[..., 1] * v[0]) / area
        second = (u[0] * to[..., 1] - u[1] * to[..., 0]) / area
        edges = np.stack([first, second, 1 - first - second])
        clear &= (abs(edges) > 1e-4).all(axis=0)
        distance = origin[2] + first * u[2] + second * v[2] + 1.0
        hit = (edges > 0).all(axis=0) & (distance < nearest)
        nearest[hit] = distance[hit]
        found[hit] = np.stack([np.full_like(first, number), distance, first, second], axis=-1)[hit]
    return found, clear


def _triangles(count: int) -> npt.NDArray[np.float32]:
    """Triangles at random positions in different layers, so that no two are equally near."""
    random = np.random.default_rng(7)
    triangles = random.random((count, 3, 3))
    triangles[..., 2] = np.arange(count)[:, None] + 0.5 * triangles[..., 2]
    return triangles.astype(np.float32)


@pytest.mark.parametrize("indexed", [False, True])
def test_the_nearest_triangle_is_hit(lavapipe_device: Device, indexed: bool) -> None:
    triangles, size = _triangles(20), 64
    parts = Triangles(triangles)
    if indexed:
        order = np.random.default_rng(1).permutation(60)
        corners = np.empty((60, 3), np.float32)
        corners[order] = triangles.reshape(60, 3)
        parts = Triangles(corners, order.reshape(20, 3))
    with (
        lavapipe_device.acceleration_structure(parts) as bottom,
        lavapipe_device.acceleration_structure([Instance(bottom)]) as scene,
    ):
        arrays = {"scene": scene, "Hits": np.zeros((size, size, 4), np.float32)}
        found = lavapipe_device.trace(
            _raygen(), (size, size), arrays, miss=NOTHING, hit_groups=HitGroup(WHICH)
        )["Hits"]
    expected, clear = _expected(triangles, size)
    assert clear.mean() > 0.95
    assert 0.1 < (expected[..., 0] >= 0).mean() < 0.95
    assert (found[..., 0] == expected[..., 0])[clear].all()
    np.testing.assert_allclose(found[clear], expected[clear], rtol=1e-3, atol=1e-3)


def test_an_array_is_a_scene(lavapipe_device: Device) -> None:
    arrays = {"scene": _triangles(5), "Hits": np.zeros((16, 16, 4), np.float32)}
    options = {"miss": [NOTHING], "hit_groups": [HitGroup(WHICH)]}
    found = lavapipe_device.trace(_raygen(), (16, 16), arrays, **options)["Hits"]
    expected, clear = _expected(_triangles(5), 16)
    assert (found[..., 0] == expected[..., 0])[clear].all()
    arrays["scene"] = BOXES
    point = START + "void main() { reportIntersectionEXT(7.0 + gl_PrimitiveID, 0u); }"
    where = START + "layout(location = 0) rayPayloadInEXT vec4 hit; void main() { hit = vec4(gl_HitTEXT); }"
    options["hit_groups"] = HitGroup(where, intersection=point)
    assert (lavapipe_device.trace(_raygen(), (16, 16), arrays, **options)["Hits"] == 7.0).all()


# --- instances, groups, several of everything -------------------------------------------------------------

INSTANCE = (
    START
    + """layout(location = 0) rayPayloadInEXT vec4 hit;
void main() { hit = vec4(gl_InstanceID, gl_InstanceCustomIndexEXT, gl_GeometryIndexEXT, GROUP); }"""
)


def _group(number: int) -> HitGroup:
    return HitGroup(INSTANCE.replace("GROUP", str(number)))


def _moved(x: float, y: float) -> npt.NDArray[np.float64]:
    """A transform that makes of the square from 0 to 1 a quarter at x, y."""
    return np.array([[0.5, 0, 0, x], [0, 0.5, 0, y], [0, 0, 1, 0]])


def _square(z: float = 0.0) -> npt.NDArray[np.float32]:
    corners = np.array([[0, 0, z], [1, 0, z], [0, 1, z], [1, 0, z], [1, 1, z], [0, 1, z]], np.float32)
    return corners.reshape(2, 3, 3)


def test_instances_have_places_indices_masks_and_groups(lavapipe_device: Device) -> None:
    """Four quarters, of which the rays' mask leaves one out; the others are of three groups."""
    raygen, seen = _raygen("0x02u"), np.zeros((8, 8, 4), np.float32)
    with lavapipe_device.acceleration_structure(Triangles(_square())) as bottom:
        instances = [
            Instance(bottom, _moved(0.0, 0.0), custom_index=5, mask=0x03),
            Instance(bottom, _moved(0.5, 0.0), custom_index=(1 << 24) - 1, mask=0x02, sbt_offset=1),
            Instance(bottom, _moved(0.0, 0.5), custom_index=7, mask=0x01),
            Instance(bottom, _moved(0.5, 0.5), custom_index=9, sbt_offset=2),
        ]
        with lavapipe_device.acceleration_structure(instances) as scene:
            found = lavapipe_device.trace(
                raygen,
                (8, 8),
                {"scene": scene, "Hits": seen},
                miss=NOTHING,
                hit_groups=[_group(10), _group(11), _group(12)],
            )["Hits"]
    assert (found[:4, :4] == [0, 5, 0, 10]).all()
    assert (found[:4, 4:] == [1, (1 << 24) - 1, 0, 11]).all()
    assert (found[4:, :4] == -1).all()
    assert (found[4:, 4:] == [3, 9, 0, 12]).all()


def test_geometries_of_one_bottom_level_have_groups_of_their_own(lavapipe_device: Device) -> None:
    """The stride of the ray counts them; the nearer square is the second geometry, half as wide."""
    half = _square(-0.5) * np.float32([0.5, 1, 1])
    hits = np.zeros((4, 4, 4), np.float32)
    with (
        lavapipe_device.acceleration_structure([Triangles(_square()), Triangles(half)]) as bottom,
        lavapipe_device.acceleration_structure([bottom]) as scene,
    ):
        options = {"miss": NOTHING, "hit_groups": [_group(20), _group(21)]}
        found = lavapipe_device.trace(
            _raygen(stride="1u"), (4, 4), {"scene": scene, "Hits": hits}, **options
        )["Hits"]
    assert (found[:, :2, 2:] == [1, 21]).all()
    assert (found[:, 2:, 2:] == [0, 20]).all()


MANY = (
    START
    + """layout(set = 0, binding = 0) uniform accelerationStructureEXT scenes[2];
layout(set = 1, binding = 3) buffer Results { uvec4 results[]; };
layout(push_constant) uniform Push { uint first, second; };
layout(constant_id = 4) const uint STEP = 1u;
struct Data { uint value[2]; float more; };
layout(location = 0) rayPayloadEXT Data data;
layout(location = 3) callableDataEXT uvec2 called;
void main() {
    uint i = gl_LaunchIDEXT.x;
    data = Data(uint[2](i, first), 0.5);
    vec3 origin = vec3(0.25, 0.25, -1.0);
    traceRayEXT(scenes[i % 2u], 0u, 0xFFu, 0u, 0u, i % 3u, origin, 0.0, vec3(0.0, 0.0, 1.0), 9.0, 0);
    called = uvec2(data.value[0], data.value[1]);
    executeCallableEXT(i % 2u, 3);
    results[i] = uvec4(called, uint(data.more * 2.0), STEP + second);
}"""
)
MANY_MISS = (
    START
    + """struct Told { uint numbers[2]; float half_; };
layout(location = 0) rayPayloadInEXT Told told;
layout(constant_id = 4) const uint STEP = 1u;
layout(push_constant) uniform Push { layout(offset = 4) uint second; };
void main() { told.numbers[1] += NUMBER * STEP + second; told.half_ *= 2.0; }"""
)
MANY_CALLABLE = START + "layout(location = 1) callableDataInEXT uvec2 data; void main() { data.x += NUMBER; }"


def test_several_miss_shaders_callables_scenes_and_constants(lavapipe_device: Device) -> None:
    """Scene 0 is empty, scene 1 has a wall that runs nothing. Indices are known at run time alone."""
    count = 600
    with (
        lavapipe_device.acceleration_structure([]) as empty,
        lavapipe_device.acceleration_structure(Triangles(WALL)) as bottom,
        lavapipe_device.acceleration_structure([bottom]) as wall,
    ):
        found = lavapipe_device.trace(
            MANY,
            count,
            {(0, 0): [empty, wall], "results": np.zeros((count, 4), np.uint32)},
            miss=[MANY_MISS.replace("NUMBER", f"{10**n}u") for n in range(3)],
            hit_groups=[HitGroup()],
            callable=[MANY_CALLABLE.replace("NUMBER", f"{n}u") for n in (1000, 2000)],
            push={"first": 7, "second": 5},
            specialization={"STEP": 4},
        )[1, 3]
    i = np.arange(count)
    missed = i % 2 == 0
    assert (found[:, 0] == i + np.where(missed, 1000, 2000)).all()
    assert (found[:, 1] == 7 + np.where(missed, 10 ** (i % 3) * 4 + 5, 0)).all()
    assert (found[:, 2] == np.where(missed, 2, 1)).all()
    assert (found[:, 3] == 9).all()


# --- what any-hit shaders decide --------------------------------------------------------------------------

LAYERS = (
    SCENE
    + """layout(set = 0, binding = 1) buffer Result { uvec2 result[]; };
layout(location = 0) rayPayloadEXT uvec2 payload;
void main() {
    payload = uvec2(0u, 99u);
    traceRayEXT(scene, FLAGS, 0xFFu, 0u, 0u, 0u, vec3(0.25, 0.25, -1.0), 0.0, vec3(0.0, 0.0, 1.0), 100.0, 0);
    result[gl_LaunchIDEXT.x] = payload;
}"""
)
COUNT_ALL = (
    START
    + """layout(location = 0) rayPayloadInEXT uvec2 payload;
void main() { payload.x += 1u; if (gl_PrimitiveID != 3) ignoreIntersectionEXT; }"""
)
CLOSEST = (
    START + "layout(location = 0) rayPayloadInEXT uvec2 payload; void main() { payload.y = gl_PrimitiveID; }"
)


@pytest.mark.parametrize(
    ("opaque", "flags", "least", "most", "nearest"),
    [
        # All layers but one are ignored, so each before it is looked at; those behind may be.
        (False, "gl_RayFlagsNoneEXT", 4, 6, 3),
        (True, "gl_RayFlagsNoneEXT", 0, 0, 0),
        (True, "gl_RayFlagsNoOpaqueEXT", 4, 6, 3),
        (False, "gl_RayFlagsOpaqueEXT", 0, 0, 0),
        (False, "gl_RayFlagsSkipClosestHitShaderEXT", 4, 6, 99),
    ],
)
def test_any_hit_shaders_ignore_hits(
    lavapipe_device: Device, opaque: bool, flags: str, least: int, most: int, nearest: int
) -> None:
    layers = np.concatenate([WALL + np.float32([0, 0, z]) for z in range(6)])
    part = Triangles(layers, opaque=opaque, no_duplicate_any_hit=True)
    with (
        lavapipe_device.acceleration_structure(part) as bottom,
        lavapipe_device.acceleration_structure([bottom]) as scene,
    ):
        found = lavapipe_device.trace(
            f"{START}#define FLAGS {flags}\n{LAYERS}",
            2000,
            {"scene": scene, "result": np.zeros((2000, 2), np.uint32)},
            hit_groups=HitGroup(CLOSEST, COUNT_ALL),
        )["result"]
    assert ((found[:, 0] >= least) & (found[:, 0] <= most)).all()
    assert (found[:, 1] == nearest).all()


def test_rays_start_rays(lavapipe_device: Device) -> None:
    """A ray that is reflected by a wall hits the other, and back, as often as its payload says."""
    raygen = (
        START
        + SCENE
        + """layout(set = 0, binding = 1) buffer Result { uvec2 result[]; };
layout(location = 0) rayPayloadEXT uvec2 payload;
void main() {
    payload = uvec2(gl_LaunchIDEXT.x % 4u, 0u);
    traceRayEXT(scene, 0u, 0xFFu, 0u, 0u, 0u, vec3(0.25, 0.25, 0.5), 0.0, vec3(0.0, 0.0, 1.0), 100.0, 0);
    result[gl_LaunchIDEXT.x] = payload;
}"""
    )
    bounce = (
        START
        + SCENE
        + """layout(location = 0) rayPayloadInEXT uvec2 payload;
layout(location = 1) rayPayloadEXT uvec2 inner;
void main() {
    payload.y = payload.y * 10u + uint(gl_PrimitiveID) + 1u;
    if (payload.x == 0u)
        return;
    inner = uvec2(payload.x - 1u, payload.y);
    vec3 at = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
    traceRayEXT(scene, 0u, 0xFFu, 0u, 0u, 0u, at, 0.001, -gl_WorldRayDirectionEXT, 100.0, 1);
    payload.y = inner.y;
}"""
    )
    walls = np.concatenate([WALL, WALL + np.float32([0, 0, 1])])
    found = lavapipe_device.trace(
        raygen,
        400,
        {"scene": walls, "result": np.zeros((400, 2), np.uint32)},
        hit_groups=HitGroup(bounce),
        max_recursion=4,
    )["result"]
    assert (found[:, 1].reshape(100, 4) == [2, 21, 212, 2121]).all()
