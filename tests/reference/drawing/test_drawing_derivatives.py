"""Derivatives in quads: fine and coarse ones, quads that are not whole, implicit levels of detail."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import lanes, reference

from vkgroup.reference.interpreter.values.value import HARD

SLOPES = """
layout(location = 0) out uvec4 color;
void main() {
    vec2 p = gl_FragCoord.xy - 0.5;
    float bent = p.x * p.y;
    color = uvec4(%s);
}"""


def slopes(*values: str, size: tuple[int, int] = (4, 4)) -> tuple[np.ndarray, np.ndarray]:
    result, causes, outcome = lanes(SLOPES % ", ".join(values), size)
    assert outcome.events == ()
    return result, causes


@pytest.mark.parametrize("size", [4, 8, 32, 128])
def test_fine_derivatives_are_those_of_the_own_row_and_column(size: int) -> None:
    source = SLOPES % "dFdxFine(bent), dFdyFine(bent), fwidthFine(bent), dFdxFine(p.x + 2.0 * p.y)"
    result, causes, _ = lanes(source, (5, 3), subgroup_size=size)
    y, x = np.mgrid[:3, :5]
    assert np.array_equal(result[..., 0], y)
    assert np.array_equal(result[..., 1], x)
    assert np.array_equal(result[..., 2], x + y)
    assert (result[..., 3] == 1).all()
    assert not causes.any()


@pytest.mark.parametrize("suffix", ["", "Coarse"])
def test_other_derivatives_may_be_those_of_either_row(suffix: str) -> None:
    result, causes = slopes(
        f"dFdx{suffix}(bent)", f"dFdy{suffix}(bent)", f"dFdx{suffix}(p.x)", f"fwidth{suffix}(p.y)"
    )
    y, x = np.mgrid[:4, :4]
    assert np.array_equal(result[..., 0], y // 2 * 2)
    assert np.array_equal(result[..., 1], x // 2 * 2)
    assert (result[..., 2:] == 1).all()
    assert ((causes[..., :2] > 0) & (causes[..., :2] < HARD)).all()
    assert not causes[..., 2:].any()


def test_vectors_have_a_derivative_for_each_component() -> None:
    source = """
    layout(location = 0) out uvec4 color;
    void main() { vec2 p = gl_FragCoord.xy * vec2(2, 3); color = uvec4(dFdxFine(p), dFdyFine(p)); }"""
    assert (lanes(source, (3, 3))[0] == (2, 0, 0, 3)).all()


def test_in_a_divergent_quad_there_is_no_derivative() -> None:
    source = """
    layout(location = 0) out uvec4 color;
    void main() {
        float slope = 0.0;
        if (gl_FragCoord.x < 3.0) slope = dFdxFine(gl_FragCoord.x);
        color = uvec4(slope, 1, 1, 1);
    }"""
    result, causes, _ = lanes(source, (6, 2))
    assert (result[:, :2, 0] == 1).all()
    assert (causes[:, 2, 0] >= HARD).all()
    assert not causes[:, :2].any()
    assert not causes[:, 3:].any()


def test_what_is_undefined_in_a_lane_is_so_in_the_derivatives_that_use_it() -> None:
    source = """
    layout(location = 0) out uvec4 color;
    void main() {
        float unknown;
        float x = gl_FragCoord.x == 0.5 && gl_FragCoord.y == 0.5 ? unknown : gl_FragCoord.x;
        color = uvec4(dFdxFine(x), dFdyFine(x), dFdxCoarse(x), 0);
    }"""
    _, causes, _ = lanes(source, (4, 2))
    hard = causes >= HARD
    assert hard[0, :2, 0].all()
    assert not hard[1, :2, 0].any()
    assert hard[:, 0, 1].all()
    assert not hard[:, 1, 1].any()
    assert hard[:, :2, 2].all()
    assert not hard[:, 2:].any()


LEVELS = """#version 450
layout(binding = 0) uniform sampler2D picture;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { float scale; };
void main() {
    vec2 at = gl_FragCoord.xy * scale / 64.0;
    color = vec4(texture(picture, at).r, texture(picture, at, 1.0).r,
                 textureProj(picture, vec3(at * 2.0, 2.0)).r, textureQueryLod(picture, at).y);
}"""


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_level_of_detail_comes_from_the_quad(level: int) -> None:
    device = reference()
    sizes = [64 >> number for number in range(6)]
    pictures = [np.full((size, size), number, np.float32) for number, size in enumerate(sizes)]
    image = device.image(pictures[0], levels=pictures[1:], sampled=True)
    sampler = device.sampler(filter="nearest", mipmap="nearest", address="repeat")
    result = device.draw(LEVELS, (8, 8), {"picture": (image, sampler)}, push={"scale": float(1 << level)})
    assert (result["color"] == (level, level + 1, level, level)).all()
    assert result.defined["color"].all()
    assert result.ordered["color"].all()


def test_a_divergent_quad_has_no_level_of_detail() -> None:
    device = reference()
    source = """#version 450
    layout(binding = 0) uniform sampler2D picture;
    layout(location = 0) out float color;
    void main() {
        color = 0.0;
        if (gl_FragCoord.x < 1.0) color = texture(picture, gl_FragCoord.xy / 4.0).r;
    }"""
    one = np.ones((4, 4), np.float32)
    several = device.image(one, levels=[np.ones((2, 2), np.float32)], sampled=True)
    for image, known in ((one, True), (several, False)):
        sampler = device.sampler(filter="nearest", mipmap="nearest")
        result = device.draw(source, (4, 4), {"picture": (image, sampler)})
        assert (result["color"][:, 0] == 1).all()
        assert (result.defined["color"][:, 0] == known).all()
        assert result.defined["color"][:, 1:].all()
