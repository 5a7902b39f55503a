"""Stages between vertices and fragments: tessellation and geometry shaders, on a driver that has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from draw_arguments import with_state
from refusals import lacks

import vkgroup
from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Device, DrawState
from vkgroup.drivers import CachedDriver

SIZE = (16, 8)

WHITE = "#version 450\nlayout(location = 0) out vec4 color; void main() { color = vec4(1.0); }"

VERTEX = """#version 450
layout(location = 0) in vec2 at;
layout(location = 0) out flat uint number;
void main() { gl_Position = vec4(at, 0.0, 1.0); number = gl_VertexIndex + 1u; }"""

CONTROL = """#version 450
layout(vertices = 4) out;
layout(location = 0) in flat uint number[];
layout(location = 0) out flat uint own[];
layout(location = 3) patch out uint total;
void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    own[gl_InvocationID] = number[gl_InvocationID];
    if (gl_InvocationID == 0) {
        total = gl_PatchVerticesIn;
        gl_TessLevelOuter = float[](1.0, 1.0, 1.0, 1.0);
        gl_TessLevelInner = float[](1.0, 1.0);
    }
}"""

EVALUATION = """#version 450
layout(quads) in;
layout(location = 0) in flat uint own[];
layout(location = 3) patch in uint total;
layout(location = 0) out flat uint result;
void main() {
    vec4 low = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_TessCoord.x);
    vec4 high = mix(gl_in[2].gl_Position, gl_in[3].gl_Position, gl_TessCoord.x);
    gl_Position = mix(low, high, gl_TessCoord.y);
    result = 100u * total + own[0] + own[3];
}"""

GEOMETRY = """#version 450
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in flat uint number[];
layout(location = 0) out flat uint result;
void main() {
    for (int i = 0; i < 3; ++i) {
        result = number[0] + 10u * number[1] + 100u * number[2] + 1000u * uint(gl_PrimitiveIDIn);
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
    EndPrimitive();
}"""

NUMBER = """#version 450
layout(location = 0) in flat uint result;
layout(location = 0) out uint color;
void main() { color = result; }"""

LEFT_HALF = np.array([[-1, -1], [0, -1], [-1, 1], [0, 1]], np.float32)
TRIANGLES = np.array([[-1, -1], [0, -1], [-1, 1], [-1, 1], [0, -1], [0, 1]], np.float32)


@pytest.fixture(scope="module")
def lavapipe_device(lavapipe: CachedDriver) -> Iterator[Device]:
    with vkgroup.open(lavapipe.name) as device:
        yield device


def _halves(value: int) -> Any:
    expected = np.zeros((SIZE[1], SIZE[0]), np.uint32)
    expected[:, : SIZE[0] // 2] = value
    return expected


def test_tessellation_draws_patches(lavapipe_device: Device) -> None:
    found = lavapipe_device.draw(
        NUMBER,
        SIZE,
        vertex=VERTEX,
        tessellation=(CONTROL, EVALUATION),
        vertices={"at": LEFT_HALF},
        state=DrawState(patch_vertices=4),
    )
    assert np.array_equal(found["color"], _halves(100 * 4 + 1 + 4))


def test_geometry_gets_whole_primitives(lavapipe_device: Device) -> None:
    found = lavapipe_device.draw(NUMBER, SIZE, vertex=VERTEX, geometry=GEOMETRY, vertices={"at": TRIANGLES})[
        "color"
    ]
    numbers = {1 + 20 + 300, 4 + 50 + 600 + 1000, 0}
    assert set(np.unique(found).tolist()) == numbers
    assert np.array_equal(found != 0, _halves(1) != 0)


def test_geometry_takes_what_tessellation_makes(lavapipe_device: Device) -> None:
    geometry = GEOMETRY.replace("flat uint number[]", "flat uint result_of[]").replace(
        "number[0] + 10u * number[1] + 100u * number[2]", "result_of[0]"
    )
    found = lavapipe_device.draw(
        NUMBER,
        SIZE,
        vertex=VERTEX,
        tessellation=(CONTROL, EVALUATION),
        geometry=geometry,
        vertices={"at": LEFT_HALF},
        state=DrawState(patch_vertices=4),
    )["color"]
    assert np.array_equal(found % 1000, _halves(405))


def test_geometry_sees_neighbours(lavapipe_device: Device) -> None:
    geometry = """#version 450
layout(lines_adjacency) in;
layout(points, max_vertices = 1) out;
layout(set = 0, binding = 0) buffer Seen { uint seen[]; };
layout(location = 0) in flat uint number[];
void main() {
    for (int i = 0; i < 4; ++i)
        seen[4 * gl_PrimitiveIDIn + i] = number[i];
    gl_Position = gl_in[0].gl_Position;
    gl_PointSize = 1.0;
    EmitVertex();
}"""
    found = lavapipe_device.draw(
        WHITE,
        SIZE,
        {"seen": np.zeros(8, np.uint32)},
        vertex=VERTEX,
        geometry=geometry,
        vertices={"at": np.zeros((8, 2), np.float32)},
        state=DrawState(topology="lines_adjacency"),
    )
    assert found["seen"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("stage", ["tessellation_control", "tessellation_evaluation", "geometry"])
def test_every_stage_writes_buffers_and_takes_constants(lavapipe_device: Device, stage: str) -> None:
    declarations = (
        "layout(set = 0, binding = 0) buffer Count { uint count; };\n"
        "layout(constant_id = 5) const uint STEP = 1u;\nlayout(push_constant) uniform Push { uint more; };\n"
    )
    sources = {"tessellation_control": CONTROL, "tessellation_evaluation": EVALUATION, "geometry": GEOMETRY}
    changed = sources[stage].replace(
        "void main() {", declarations + "void main() { atomicAdd(count, STEP + more);"
    )
    given: dict[str, Any] = {"vertices": {"at": TRIANGLES}, "geometry": changed}
    if stage != "geometry":
        pair = (changed, EVALUATION) if stage.endswith("control") else (CONTROL, changed)
        given = {"vertices": {"at": LEFT_HALF}, "tessellation": pair, "state": DrawState(patch_vertices=4)}
    found = lavapipe_device.draw(
        NUMBER,
        SIZE,
        {"count": np.zeros((), np.uint32)},
        vertex=VERTEX,
        specialization={"STEP": 7},
        push={"more": 3},
        **given,
    )
    times = {"tessellation_control": 4, "geometry": 2}.get(stage)
    # Vulkan lets the evaluation shader run more than once for a vertex (1.4, 23.1); there are four of them.
    assert found["count"] % 10 == 0
    assert found["count"] == 10 * times if times else found["count"] >= 40


def test_a_stage_without_subgroup_operations_refuses_them(lavapipe_device: Device) -> None:
    assert "geometry" not in lavapipe_device.capabilities.subgroup.supported_stages
    head = "#version 450\n#extension GL_KHR_shader_subgroup_basic : require\n"
    geometry = GEOMETRY.replace("#version 450\n", head).replace(
        "number[0] +", "gl_SubgroupSize + number[0] +"
    )
    with lacks("geometry"):
        lavapipe_device.draw(NUMBER, SIZE, vertex=VERTEX, geometry=geometry, vertices={"at": TRIANGLES})


# --- what does not go together ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topology": "patches"}, "belongs to both"),
        ({"tessellation": (CONTROL, EVALUATION), "topology": "triangles"}, "belongs to both"),
        ({"tessellation": CONTROL}, "pair of shaders"),
        ({"tessellation": (EVALUATION, CONTROL)}, "is needed"),
        ({"geometry": WHITE}, "is needed"),
        ({"geometry": GEOMETRY, "topology": "lines"}, "takes triangles, and gets lines"),
        (
            {"geometry": GEOMETRY.replace("(triangles)", "(triangles_adjacency)")},
            "takes triangles_adjacency, and gets triangles",
        ),
        (
            {"geometry": GEOMETRY.replace("triangle_strip", "points")},
            "the geometry shader writes none: gl_PointSize",
        ),
        ({"geometry": GEOMETRY.replace("location = 0) in", "location = 1) in")}, "no output of the vertex"),
        ({"tessellation": (CONTROL, EVALUATION.replace("location = 3", "location = 4"))}, "patch input"),
        ({"tessellation": (CONTROL, EVALUATION), "patch_vertices": 0}, "at least one vertex"),
        ({"topology": "cubes"}, "topology is one of"),
    ],
)
def test_what_does_not_go_together(lavapipe_device: Device, given: dict[str, Any], words: str) -> None:
    sources = {"vertex": VERTEX, "vertices": {"at": LEFT_HALF}, **given}
    for key in ("tessellation", "geometry"):
        stages = {
            "tessellation": ("tessellation_control", "tessellation_evaluation"),
            "geometry": ("geometry",),
        }
        if isinstance(sources.get(key), str) and key == "geometry":
            source = sources[key]
            stage = "fragment" if source is WHITE else stages[key][0]
            sources[key] = lavapipe_device.compile(source, stage=stage)
        elif isinstance(sources.get(key), tuple):
            sources[key] = tuple(
                lavapipe_device.compile(
                    source, stage="tessellation_evaluation" if "quads" in source else "tessellation_control"
                )
                for source in sources[key]
            )
    with pytest.raises(InvalidDispatch, match=words):
        lavapipe_device.draw(
            NUMBER if "tessellation" in given or "geometry" in given else WHITE, SIZE, **with_state(sources)
        )


def test_limits_are_kept(lavapipe_device: Device) -> None:
    most = lavapipe_device.capabilities.limits["maxTessellationPatchSize"]
    with lacks("maxTessellationPatchSize"):
        lavapipe_device.draw(
            NUMBER,
            SIZE,
            vertex=VERTEX,
            tessellation=(CONTROL, EVALUATION),
            vertices={"at": np.zeros((most + 1, 2), np.float32)},
            state=DrawState(patch_vertices=most + 1),
        )
    limits = lavapipe_device.capabilities.limits
    vertices, components = limits["maxGeometryOutputVertices"], limits["maxGeometryTotalOutputComponents"]
    wide = "layout(location = 1) out vec4 wide[20];\nvoid main() { wide[0] = vec4(1.0);"
    many = GEOMETRY.replace("max_vertices = 3", f"max_vertices = {min(vertices, 1 + components // 84)}")
    with lacks("maxGeometryTotalOutputComponents"):
        lavapipe_device.draw(
            NUMBER,
            SIZE,
            vertex=VERTEX,
            geometry=many.replace("void main() {", wide),
            vertices={"at": TRIANGLES},
        )


def test_devices_without_these_stages_say_so(swiftshader: CachedDriver) -> None:
    for name in (swiftshader.name, "reference"):
        with (
            vkgroup.open(name) as device,
            lacks("geometry"),
        ):
            device.draw(NUMBER, SIZE, vertex=VERTEX, geometry=GEOMETRY, vertices={"at": TRIANGLES})
