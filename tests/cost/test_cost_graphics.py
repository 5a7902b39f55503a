"""``vkgroup cost`` of fragment and vertex shaders: the other stage is generated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vkgroup.cli.main import main
from vkgroup.drivers import CachedDriver

_FRAGMENT = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(location = 0) in vec3 normal;
layout(location = 1) flat in uint id;
layout(location = 0) out vec4 color;
layout(location = 1) out uvec2 ids;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(input_attachment_index = 0, set = 0, binding = 1) uniform subpassInput before;
layout(constant_id = 0) const float FACTOR = 1.0;
void main()
{
    color = FACTOR * texture(image, normal.xy) + subpassLoad(before) + normal.z;
    ids = uvec2(id, OPERATION(id));
}
"""

_VERTEX = """#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in uvec2 id;
layout(location = 0) out vec4 passed;
layout(location = 1) flat out uint product;
void main()
{
    gl_Position = vec4(position, 1.0);
    passed = PASSED;
    product = id.x * id.y;
}
"""


def cost(shader: Path, *options: str) -> list[dict[str, Any]]:
    """Return the costs of a shader on Adreno 740."""
    file = shader.parent / "cost.json"
    assert main(["cost", str(shader), "--device", "turnip:740", *options, "--json", str(file)]) == 0
    costs: list[dict[str, Any]] = json.loads(file.read_text())[0]["costs"]
    return costs


@pytest.fixture
def fragment(tmp_path: Path, turnip: CachedDriver) -> Path:
    """A fragment shader with attachments of two types and an input attachment."""
    path = tmp_path / "shader.frag"
    path.write_text(_FRAGMENT)
    return path


def test_a_fragment_shader_with_subgroup_operations_has_all_sizes(fragment: Path) -> None:
    found = cost(fragment, "-D", "OPERATION=subgroupAdd")
    assert [entry["subgroup_size"] for entry in found] == [64, 128]
    for entry in found:
        assert entry["status"] == "Compiled"
        assert entry["quantities"]["instructions"] == entry["statistics"]["Instruction Count"] > 10
        assert "shared_memory" not in entry["quantities"]
        # The statistics are those of the fragment shader: the generated vertex shader interpolates nothing.
        assert entry["statistics"]["Last interpolation instruction"] > 0


def test_without_subgroup_operations_the_driver_chooses_the_size(fragment: Path) -> None:
    (entry,) = cost(fragment, "-D", "OPERATION(x)=x")
    assert entry["status"] == "Compiled"
    larger = cost(fragment, "-D", "OPERATION=subgroupAdd", "--subgroup-size", str(entry["subgroup_size"]))
    assert entry["quantities"]["instructions"] < larger[0]["quantities"]["instructions"]


def test_specialization_constants_of_a_fragment_shader_change_its_code(fragment: Path) -> None:
    (plain,) = cost(fragment, "-D", "OPERATION(x)=x")
    (changed,) = cost(fragment, "-D", "OPERATION(x)=x", "--spec", "FACTOR=0")
    assert changed["quantities"]["instructions"] < plain["quantities"]["instructions"]


def test_no_output_of_a_vertex_shader_is_removed(tmp_path: Path, turnip: CachedDriver) -> None:
    shader = tmp_path / "shader.vert"
    counts = []
    for passed in ("vec4(0.0)", "vec4(position, 1.0)", "sqrt(vec4(position.zyx, float(id.x)))"):
        shader.write_text(_VERTEX.replace("PASSED", passed))
        (entry,) = cost(shader)
        assert entry["status"] == "Compiled"
        counts.append(entry["quantities"]["instructions"])
    assert counts[0] < counts[2]
    assert counts[1] < counts[2]
