"""Loose uniforms, samplers and images by name: what may be set, what arrives, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vkgroup import Sampler, gl
from vkgroup.dispatch import Device

_SOURCE = """
#version 430
layout(local_size_x = 1) in;
struct Light { vec3 color; float power[2]; };
uniform float scale = 0.5;
uniform int steps;
uniform uvec3 sizes;
uniform bool on;
uniform bvec2 flags;
uniform mat2x3 matrix;
uniform float values[3];
uniform vec2 pairs[2];
uniform Light light;
uniform Light lights[2];
layout(std430, binding = 0) buffer Found { float found[]; };
void main() {
    found[0] = scale;
    found[1] = float(steps);
    found[2] = float(sizes.x + sizes.y * 10u + sizes.z * 100u);
    found[3] = (on ? 1.0 : 0.0) + (flags.x ? 10.0 : 0.0) + (flags.y ? 100.0 : 0.0);
    for (int i = 0; i < 6; ++i) { found[4 + i] = matrix[i / 3][i % 3]; }
    for (int i = 0; i < 3; ++i) { found[10 + i] = values[i]; }
    for (int i = 0; i < 4; ++i) { found[13 + i] = pairs[i / 2][i % 2]; }
    found[17] = light.color.z + light.power[1];
    found[18] = lights[1].color.x + lights[1].power[0];
    found[19] = lights[0].color.y + lights[0].power[1];
}
"""


class Trial:
    """A program with uniforms, and what it sees of them."""

    def __init__(self, device: Device) -> None:
        self.context = gl.Context(device)
        self.program = self.context.program(compute=_SOURCE)
        self.context.use(self.program)
        self._found = self.context.bind("shader_storage", 0, np.zeros(20, np.float32))

    def found(self) -> list[float]:
        self.context.dispatch_compute(1)
        values: list[float] = self._found.read().tolist()
        return values


@pytest.fixture
def trial(device: Device) -> Trial:
    return Trial(device)


def test_initial_values(trial: Trial) -> None:
    """Those of the initialisers, and zeros."""
    assert trial.found() == [0.5] + [0] * 19
    assert trial.program["scale"] == 0.5
    assert trial.program["values"].tolist() == [0, 0, 0]


def test_values_arrive(trial: Trial) -> None:
    """Every type, by OpenGL's names; a matrix is an array of its columns."""
    program = trial.program
    program["scale"] = 2
    program["steps"] = -3
    program["sizes"] = (1, 2, 3)
    program["on"] = True
    program["flags"] = [0, 7]
    program["matrix"] = np.arange(6).reshape(2, 3)
    program["values"] = np.array([1, 2, 3], np.float64)
    program["pairs"] = [[4, 5], [6, 7]]
    program["light.color"] = (0, 0, 1.5)
    program["light.power[1]"] = 20
    program["lights[1].color"] = (3, 0, 0)
    program["lights[1].power"] = [40, 0]
    program["lights[0].color"] = (0, 5, 0)
    assert trial.found() == [2, -3, 321, 101, *range(6), 1, 2, 3, 4, 5, 6, 7, 21.5, 43, 5]


def test_values_can_change_between_dispatches(trial: Trial) -> None:
    for value in (1, 2, 2, 3):
        trial.program["scale"] = value
        assert trial.found()[0] == value


def test_parts_of_arrays(trial: Trial) -> None:
    """An element; the first elements; the components one after the other, as Uniform…v takes them."""
    trial.program["values[2]"] = 9
    trial.program["values"] = [7, 8]
    trial.program["pairs"] = [1, 2, 3, 4]
    trial.program["pairs[1]"] = (5, 6)
    trial.program["matrix"] = range(6)
    found = trial.found()
    assert found[10:17] == [7, 8, 9, 1, 2, 5, 6]
    assert found[4:10] == [0, 1, 2, 3, 4, 5]
    assert trial.program["values[1]"] == 8
    assert trial.program["pairs[1]"].tolist() == [5, 6]
    assert trial.program["matrix"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_structures_as_mappings(trial: Trial) -> None:
    trial.program["light"] = {"color": (1, 2, 3), "power": [4, 5]}
    trial.program["lights"] = [{"color": (0, 6, 0)}, {"power[0]": 7}]
    assert trial.found()[17:] == [8, 7, 6]


def test_truth_values(trial: Trial) -> None:
    """Zero is false, everything else true."""
    for value, expected in ((0.5, True), (0, False), (-1, True), (np.uint8(0), False)):
        trial.program["on"] = value
        assert trial.program["on"] is expected
    trial.program["flags"] = (True, False)
    assert trial.found()[3] == 10


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("scale", [1, 2], "a float"),
        ("scale", "two", "a float"),
        ("steps", 1.5, "an? int"),
        ("steps", 2**31, "an? int"),
        ("sizes", (1, 2), "uvec3"),
        ("sizes", (-1, 0, 0), "uvec3"),
        ("matrix", np.zeros((3, 2)), r"mat2x3.*\(2, 3\)"),
        ("values", [1, 2, 3, 4], r"float\[3\]"),
        ("values", [], r"float\[3\]"),
        ("values[3]", 1, "There are"),
        ("pairs[0]", 1, "vec2"),
        ("light", 1, "structure"),
        ("light.size", 1, r"light\.color"),
        ("lights[2].color", (1, 1, 1), "There are"),
        ("scal", 1, "Did you mean 'scale'"),
        ("", 1, "There are"),
    ],
)
def test_what_does_not_fit_is_refused(trial: Trial, name: str, value: Any, words: str) -> None:
    """INVALID_OPERATION, with what there is; nothing changes."""
    with pytest.raises(gl.InvalidOperation, match=words) as caught:
        trial.program[name] = value
    assert caught.value.gl_error == "INVALID_OPERATION"
    assert trial.found() == [0.5] + [0] * 19


def test_names_that_are_not_there(trial: Trial) -> None:
    with pytest.raises(gl.InvalidOperation, match="There are"):
        trial.program["nothing"]
    assert trial.program.location("nothing") == -1


def test_uniforms_can_be_listed(trial: Trial) -> None:
    found = trial.program.uniforms
    assert found["values"] == "float[3]"
    assert found["lights[1].color"] == "vec3"
    assert found["matrix"] == "mat2x3"
    locations = [trial.program.location(name) for name in ("values", "values[0]", "values[2]")]
    assert locations == [locations[0], locations[0], locations[0] + 2]


# --- samplers and images ----------------------------------------------------------------------------

_UNITS = """
#version 430
layout(local_size_x = 1) in;
uniform sampler2D one;
layout(binding = 3) uniform sampler2D several[2];
layout(r32f) uniform image2D target;
layout(std430, binding = 0) buffer Found { float found[3]; };
void main() {
    found[0] = texture(one, vec2(0.5)).x;
    found[1] = texture(several[0], vec2(0.5)).x;
    found[2] = texture(several[1], vec2(0.5)).x;
    imageStore(target, ivec2(0), vec4(found[0] + 1.0));
}
"""


def test_units_are_values_of_samplers_and_images(device: Device) -> None:
    """From the layout, else 0; set like any other uniform."""
    context = gl.Context(device)
    program = context.program(compute=_UNITS)
    context.use(program)
    assert (program["one"], program["several"], program["target"]) == (0, [3, 4], 0)
    program["one"] = 8
    program["several"] = [5, 6]
    program["several[1]"] = 7
    program["target"] = 2
    assert (program["one"], program["several"], program["target"]) == (8, [5, 7], 2)
    linear = Sampler(filter="linear")
    for unit, value in ((8, 1), (5, 2), (7, 3)):
        context.bind("texture", unit, np.full((2, 2), value, np.float32), sampler=linear)
    target = context.bind("image", "target", np.zeros((1, 1), np.float32))
    assert context.bound("image", 2) is target
    found = context.bind("shader_storage", 0, np.zeros(3, np.float32))
    context.dispatch_compute(1)
    assert found.read().tolist() == [1, 2, 3]
    assert target.read().tolist() == [[2]]


def test_units_that_make_no_sense(device: Device) -> None:
    program = gl.Context(device).program(compute=_UNITS)
    with pytest.raises(gl.InvalidValue):
        program["one"] = -1
    for name, value in (("one", 0.5), ("one", [1, 2]), ("several", [1, 2, 3]), ("several[2]", 0)):
        with pytest.raises(gl.InvalidOperation):
            program[name] = value


def test_samplers_belong_to_textures(device: Device) -> None:
    context = gl.Context(device)
    with pytest.raises(gl.InvalidOperation, match="samplers"):
        context.bind("image", 0, np.zeros((1, 1), np.float32), sampler=Sampler())
    with pytest.raises(gl.InvalidOperation, match="cannot be bound to uniform"):
        context.bind("uniform", 0, device.image(np.zeros((1, 1), np.float32)))
    with pytest.raises(gl.InvalidOperation, match="no options"):
        context.bind("uniform", 0, np.zeros(4, np.float32), format="r32f")
