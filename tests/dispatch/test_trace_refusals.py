"""Rays that make no sense, or that a device cannot trace, are refused before a driver sees them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ray_shaders import ANY_HIT, CALLABLE, CLOSEST_HIT, HEAD, INTERSECTION, MISS, RAYGEN
from refusals import lacks

import vkgroup
from vkgroup import AccelerationStructure, Boxes, HitGroup, Instance, Triangles
from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

WALL = np.array([[[-1, -1, 0], [3, -1, 0], [-1, 3, 0]]], np.float32)
BOX = np.array([[[0, 0, 1], [1, 1, 2]]], np.float32)


@pytest.fixture(scope="module")
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


@pytest.fixture(scope="module")
def bottom(lavapipe_device: Device) -> Iterator[AccelerationStructure]:
    with lavapipe_device.acceleration_structure(Triangles(WALL)) as made:
        yield made


def _trace(device: Device, size: Any = 8, **given: Any) -> Any:
    arrays: dict[str, Any] = {"Counts": np.zeros(6, np.uint32), "Seen": np.zeros(64, np.uint32)}
    arrays |= {"Result": np.zeros((64, 2), np.uint32), "scene": WALL} | given.pop("bindings", {})
    raygen = given.pop("raygen", RAYGEN)
    options = {"miss": MISS, "hit_groups": HitGroup(CLOSEST_HIT, ANY_HIT), "callable": CALLABLE}
    return device.trace(raygen, size, arrays, **options | given)


SPECIALIZED = (
    RAYGEN.replace("void main", "layout(constant_id = 0) const uint INDEX = 0u;\nvoid main")
).replace("0xFFu, 0u, 0u, 0u", "0xFFu, 0u, 0u, INDEX")
TRACING = CLOSEST_HIT.replace(
    "void main() {",
    """layout(set = 0, binding = 2) uniform accelerationStructureEXT scene;
layout(location = 1) rayPayloadEXT uint inner;
void main() {
    traceRayEXT(scene, 0u, 0u, 0u, 0u, 0u, vec3(0.0), 0.0, vec3(1.0), 1.0, 1);""",
)
RECORD = MISS.replace(
    "void main", "layout(shaderRecordEXT) buffer Record { uint record; };\nvoid main"
).replace("1u; }", "record; }")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        # Stages.
        ({"raygen": MISS}, "not compile|raygen is needed"),
        ({"miss": (), "hit_groups": ()}, "nothing is there that they could start"),
        ({"callable": ()}, "callable shader 0; the number of callable shaders given is 0"),
        ({"hit_groups": CLOSEST_HIT}, "hit_groups are HitGroups"),
        ({"hit_groups": 5}, "one or a list of several"),
        ({"miss": None}, "miss is one or a list"),
        ({"miss": [7]}, "A shader is a Module"),
        # Indices.
        ({"raygen": RAYGEN.replace("0u, 0u, vec3", "0u, 3u, vec3")}, "miss index 3; .* given is 1"),
        (
            {"raygen": RAYGEN.replace("Callable", "Callable", 1).replace("(0u, 1)", "(2u, 1)")},
            "shader 2; the",
        ),
        ({"raygen": SPECIALIZED, "specialization": {"INDEX": 9}}, "miss index 9"),
        ({"specialization": {"INDEX": 9}}, "No stage has a specialization constant 'INDEX'"),
        ({"raygen": RAYGEN.replace("0xFFu, 0u", "0xFFu, 1u")}, "hit group 1; that is none of 1"),
        ({"miss": MISS, "hit_groups": (), "raygen": RAYGEN.replace("0xFFu, 0u", "0xFFu, 2u")}, "none of 0"),
        ({"bindings": {"scene": BOX}}, "which is of boxes, run hit group 0; that is for triangles"),
        ({"hit_groups": HitGroup(CLOSEST_HIT, None, INTERSECTION)}, "of triangles, .* that is for boxes"),
        # Recursion.
        ({"hit_groups": HitGroup(TRACING)}, "closest-hit shader traces rays: give max_recursion, at least 2"),
        ({"hit_groups": HitGroup(TRACING), "max_recursion": 1}, "1 was given"),
        ({"max_recursion": 0}, "raygen shader traces rays"),
        ({"max_recursion": -1}, "max_recursion is a number from 0"),
        ({"max_recursion": True}, "max_recursion is a number from 0"),
        # Data of other types.
        (
            {"miss": MISS.replace("uint payload", "vec2 payload").replace("+= 1u", "+= 1.0")},
            "payload of type vec2",
        ),
        ({"callable": CALLABLE.replace("uint data", "uvec3 data")}, "callable data of type uvec3"),
        ({"hit_groups": HitGroup(CLOSEST_HIT.replace("vec2", "vec3"))}, "hit attribute of type vec3.*: vec2"),
        # Sizes.
        ({"size": -1}, "one to three numbers"),
        ({"size": (1, 2, 3, 4)}, "one to three numbers"),
        ({"size": ()}, "one to three numbers"),
        ({"size": 1.5}, "one to three numbers"),
        ({"size": "8"}, "one to three numbers"),
        ({"size": (True, 2)}, "one to three numbers"),
        ({"repeat": 0}, "repeat must be"),
        ({"push": {"no": 1}}, "Push constants were given"),
        ({"subgroup_size": 3}, "power of two"),
        # What is bound.
        ({"bindings": {"scene": np.zeros((4, 4), np.float32)}}, "an array of triangles"),
        ({"bindings": {"scene": np.zeros((0, 3, 3), np.float32)}}, "n at least 1"),
        ({"bindings": {"scene": "wall"}}, "an array of triangles"),
        ({"bindings": {"scene": [[1, 2], [3]]}}, "an array of triangles"),
        ({"bindings": {"nothing": BOX}}, "no binding 'nothing'"),
    ],
)
def test_what_makes_no_sense(lavapipe_device: Device, given: dict[str, Any], words: str) -> None:
    if given.get("raygen") is MISS:
        given = given | {"raygen": lavapipe_device.compile(MISS, stage="miss")}
    with pytest.raises(InvalidDispatch, match=words):
        _trace(lavapipe_device, **given)


def test_a_scene_must_be_given(lavapipe_device: Device) -> None:
    with pytest.raises(InvalidDispatch, match=r"No array or buffer is given for: .*scene"):
        lavapipe_device.trace(RAYGEN, 8, {"Counts": np.zeros(6, np.uint32)}, miss=MISS, callable=CALLABLE)


def test_shader_records_are_not_there(lavapipe_device: Device) -> None:
    with lacks("shader records") as caught:
        _trace(lavapipe_device, miss=RECORD)
    assert caught.value.missing == ("shader records",)


def test_limits_of_launches(lavapipe_device: Device) -> None:
    limits = lavapipe_device.capabilities.limits
    most = limits["maxRayDispatchInvocationCount"]
    widest = limits["maxComputeWorkGroupCount"][0] * limits["maxComputeWorkGroupSize"][0]
    for size, name in (((1 << 13, most >> 12), "maxRayDispatch"), (widest + 1, "maxComputeWorkGroupCount ×")):
        with lacks(name):
            _trace(lavapipe_device, size)
    deepest = limits["maxRayRecursionDepth"]
    with lacks(f"maxRayRecursionDepth of {deepest + 1} (it is {deepest})"):
        _trace(lavapipe_device, max_recursion=deepest + 1)
    wide = INTERSECTION.replace("vec2 at", "float at[9]").replace("at = vec2(0.5)", "at[8] = 0.5")
    with lacks("maxRayHitAttributeSize of 36"):
        _trace(lavapipe_device, hit_groups=HitGroup(None, None, wide), bindings={"scene": BOX})


def test_stages_without_subgroups_say_so(lavapipe_device: Device) -> None:
    """lavapipe declares no subgroup operations for the stages of ray tracing."""
    source = HEAD.replace(
        "#extension GL_EXT_scalar",
        "#extension GL_KHR_shader_subgroup_ballot : require\n#extension GL_EXT_scalar",
    )
    source += "void main() { counts[0] = subgroupBallot(true).x; ran(0u); }"
    arrays = {"Counts": np.zeros(6, np.uint32), "Seen": np.zeros(8, np.uint32)}
    with lacks("subgroup operations in the raygen stage (supportedStages)"):
        lavapipe_device.trace(source, 8, arrays)


# --- acceleration structures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Triangles(np.zeros((3, 3), np.float32)), r"shape \(n, 3, 3\)"),
        (lambda: Triangles(np.zeros((0, 3, 3), np.float32)), "n at least 1"),
        (lambda: Triangles(np.zeros((1, 3, 3), np.complex64)), "complex64"),
        (lambda: Triangles("walls"), "Triangles have vertices"),
        (lambda: Triangles([[[1, 2], [3]]]), "Triangles have vertices"),
        (lambda: Triangles(np.full((1, 3, 3), 1e39)), "infinite"),
        (lambda: Triangles(WALL[0], [[0, 1, 3]]), "Index 3 is out of range: there are 3"),
        (lambda: Triangles(WALL[0], [[0, -1, 2]]), "Index -1 is out of range"),
        (lambda: Triangles(WALL[0], [0, 1]), "whole numbers of shape"),
        (lambda: Triangles(WALL[0], [[0.0, 1.0, 2.0]]), "whole numbers of shape"),
        (lambda: Triangles(WALL, [[0, 1, 2]]), r"with indices have vertices of shape \(n, 3\)"),
        (lambda: Boxes(WALL), r"shape \(n, 2, 3\)"),
        (lambda: Boxes(BOX[:, ::-1]), "of box 0 it is greater"),
        (lambda: Instance(5), "Instances are of bottom levels"),  # type: ignore[arg-type]
    ],
)
def test_parts_that_make_no_sense(make: Any, words: str) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        make()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"transform": np.eye(4)}, r"shape \(3, 4\)"),
        ({"transform": np.zeros((3, 4))}, "must have an inverse"),
        ({"transform": np.full((3, 4), np.nan)}, r"shape \(3, 4\)"),
        ({"transform": "far"}, r"shape \(3, 4\)"),
        ({"custom_index": 1 << 24}, "custom_index is a number from 0 to 16777215"),
        ({"mask": 256}, "mask is a number from 0 to 255"),
        ({"sbt_offset": -1}, "sbt_offset is a number"),
        ({"mask": 1.0}, "mask is a number"),
    ],
)
def test_instances_that_make_no_sense(
    bottom: AccelerationStructure, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidDispatch, match=words):
        Instance(bottom, **given)


def test_structures_that_make_no_sense(lavapipe_device: Device, bottom: AccelerationStructure) -> None:
    make = lavapipe_device.acceleration_structure
    for parts in ([Triangles(WALL), Boxes(BOX)], [Triangles(WALL), bottom], [Boxes(BOX), 5]):
        with pytest.raises(InvalidDispatch, match="nothing else"):
            make(parts)
    for parts in (WALL, "walls", 7):
        with pytest.raises(InvalidDispatch, match="made of Triangles, Boxes or Instances"):
            make(parts)
    with make([bottom]) as top, pytest.raises(InvalidDispatch):
        make([top])


def test_structures_are_bound_where_they_belong(
    lavapipe: CachedDriver, lavapipe_device: Device, bottom: AccelerationStructure
) -> None:
    make = lavapipe_device.acceleration_structure
    with pytest.raises(InvalidDispatch, match="takes a top level"):
        _trace(lavapipe_device, bindings={"scene": bottom})
    with make(bottom) as top:
        with pytest.raises(InvalidDispatch, match="acceleration structure given"):
            _trace(lavapipe_device, bindings={"Seen": top})
        with pytest.raises(InvalidDispatch), make(Instance(bottom, sbt_offset=3)) as far:
            _trace(lavapipe_device, bindings={"scene": far})
    with (
        lavapipe_device.buffer(np.zeros(4)) as buffer,
        pytest.raises(InvalidDispatch, match="buffer or image"),
    ):
        _trace(lavapipe_device, bindings={"scene": buffer})
    with pytest.raises(InvalidDispatch, match="closed acceleration structure"):
        _trace(lavapipe_device, bindings={"scene": top})
    with vkgroup.open(lavapipe.name) as other:
        with pytest.raises(InvalidDispatch, match="of another device"):
            other.acceleration_structure(bottom)
        with make(bottom) as top, pytest.raises(InvalidDispatch, match="of another device"):
            _trace(other, bindings={"scene": top})
    with pytest.raises(DriverError, match="is closed"):
        other.acceleration_structure(Triangles(WALL))


def test_instances_of_what_is_closed(lavapipe_device: Device) -> None:
    gone = lavapipe_device.acceleration_structure(Triangles(WALL))
    instance = Instance(gone)
    top = lavapipe_device.acceleration_structure(instance)
    gone.close()
    gone.close()
    with pytest.raises(InvalidDispatch, match="bottom level that is closed"):
        lavapipe_device.acceleration_structure([instance])
    with pytest.raises(InvalidDispatch, match="closed parts"):
        _trace(lavapipe_device, bindings={"scene": top})
    top.close()


def test_limits_of_structures(lavapipe_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = lavapipe_device._base
    limits = dict(owner.capabilities.limits) | {"maxPrimitiveCount": 3}
    monkeypatch.setattr(owner, "capabilities", dataclasses.replace(owner.capabilities, limits=limits))
    with lacks("maxPrimitiveCount of 4 (it is 3)"):
        lavapipe_device.acceleration_structure([Triangles(WALL.repeat(2, axis=0))] * 2)


# --- devices without --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["swiftshader", "reference"])
def test_devices_without_ray_tracing_say_so(name: str, swiftshader: CachedDriver) -> None:
    with vkgroup.open(swiftshader.name if name == "swiftshader" else name) as device:
        with lacks("rayTracingPipeline") as caught:
            _trace(device)
        assert caught.value.missing == ("rayTracingPipeline",)
        with lacks("rayTracingPipeline"):
            device.ray_pipeline(device.compile(RAYGEN, stage="raygen"))
        with lacks("accelerationStructure") as caught:
            device.acceleration_structure(Triangles(WALL))
        assert caught.value.missing == ("accelerationStructure",)


def test_pipelines_are_made_of_modules(lavapipe_device: Device) -> None:
    with pytest.raises(InvalidDispatch, match="made of modules"):
        lavapipe_device.ray_pipeline(RAYGEN)  # type: ignore[arg-type]
    module = lavapipe_device.compile(MISS, stage="miss")
    with pytest.raises(InvalidDispatch):
        lavapipe_device.ray_pipeline(module, hit_groups=[HitGroup(module)])
