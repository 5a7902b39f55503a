"""Attachments: formats, depth tests, texels that are written and texels that are not."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import reference, triangles

from vkgroup.base.choices import COMPARISONS
from vkgroup.dispatch import DrawState

FULL = ((-1, -1), (3, -1), (-1, 3))

BOTH = """#version 450
layout(location = 0) out vec4 color;
layout(location = 3) out ivec2 numbers;
layout(location = 1) out uint bits;
void main() {
    color = vec4(gl_FragCoord.xy / 4.0, -1.0, 2.0);
    numbers = ivec2(-3, 70000);
    bits = 300u;
}"""


def test_outputs_are_converted_to_their_formats() -> None:
    colors = {"color": "rgba8", "numbers": "rg16i", "bits": "r8ui"}
    result = reference().draw(BOTH, (4, 4), colors=colors)
    # 0.125, 0.375, … in 255ths; values outside are out of range.
    ramp = np.rint((np.arange(4) + 0.5) / 4 * 255)
    assert np.array_equal(result["color"][0, :, 0], ramp)
    assert np.array_equal(result["color"][:, 0, 1], ramp)
    assert (result["color"][..., 2:] == (0, 255)).all()
    assert result.defined["color"].all()
    assert (result["numbers"][..., 0] == -3).all()
    assert (result.defined["numbers"] == (True, False)).all()
    assert not result.defined["bits"].any()


def test_what_the_shader_does_not_write_is_undefined_and_what_nothing_covers_is_not() -> None:
    source = """#version 450
    layout(location = 0) out vec4 color;
    layout(location = 1) out vec2 narrow;
    void main() { if (gl_FragCoord.x > 2.0) color = vec4(1); narrow = vec2(2); }"""
    left = triangles((-1, -1), (0.5, -1), (-1, 3))
    result = reference().draw(
        source, (4, 2), vertices={"position": left}, colors={"narrow": "rgba16f", "color": "rgba8"}
    )
    known = result.defined["color"].all(axis=2)
    assert not known[0, :2].any()
    assert known[0, 2:].all()
    assert result["color"][0].max(axis=1).tolist() == [0, 0, 255, 0]
    assert result.defined["narrow"][0].tolist() == [[True, True, False, False]] * 3 + [[True] * 4]
    assert {event.memory for event in result.events} == {"color", "narrow"}


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("format_", ["d32f", "d16"])
def test_depths_are_compared(compare: str, format_: str) -> None:
    """Before: 0.25, 0.5 and 0.75 in three columns; drawn at 0.5."""
    before = np.array([[0.25, 0.5, 0.75]], np.float32)
    if format_ == "d16":
        before = np.rint(before * 65535).astype(np.uint16)
    result = reference().draw(
        "#version 450\nlayout(location = 0) out float one; void main() { one = 1.0; }",
        (3, 1),
        vertices={"position": triangles(*FULL, depth=0.5)},
        depth=before,
        state=DrawState(depth_compare=compare),
    )
    half = before[0, 1]
    passes = {
        "never": [0, 0, 0], "less": [0, 0, 1], "equal": [0, 1, 0], "less_or_equal": [0, 1, 1],
        "greater": [1, 0, 0], "not_equal": [1, 0, 1], "greater_or_equal": [1, 1, 0], "always": [1, 1, 1],
    }[compare]  # fmt: skip
    assert result["one"][0].tolist() == passes
    assert np.array_equal(result["depth"], np.where(passes, half, before))


LAYERS = """#version 450
layout(location = 0) flat in uint number;
layout(location = 0) out uint color;
layout(binding = 0) buffer Data { uint shaded; };
%s
void main() { color = number; atomicAdd(shaded, 1u); %s }"""


def layers(*depths: float, mode: str = "", last: str = "", **options: object) -> tuple[object, object]:
    positions = np.concatenate([triangles(*FULL, depth=depth) for depth in depths])
    result = reference().draw(
        LAYERS % (mode, last),
        (4, 4),
        {0: np.zeros(1, np.uint32)},
        vertices={
            "position": positions,
            "number": np.repeat(np.arange(1, len(depths) + 1), 3).astype(np.uint32),
        },
        **options,
    )
    return result, int(result[0][0])


def test_without_depths_the_last_primitive_is_seen_and_with_them_the_nearest() -> None:
    assert (layers(0.5, 0.25, 0.75)[0]["color"] == 3).all()
    result, shaded = layers(0.5, 0.25, 0.75, depth="d32f")
    assert (result["color"] == 2).all()
    assert (result["depth"] == 0.25).all()
    assert shaded == 48
    result, _ = layers(0.5, 0.25, 0.75, depth="d32f", state=DrawState(depth_write=False))
    assert (result["color"] == 3).all()
    assert (result["depth"] == 1).all()


def test_with_early_tests_hidden_fragments_are_not_shaded() -> None:
    result, shaded = layers(0.5, 0.25, 0.75, depth="d32f", mode="layout(early_fragment_tests) in;")
    assert (result["color"] == 2).all()
    assert shaded == 32
    # What is discarded has left its depth all the same.
    result, _ = layers(0.5, mode="layout(early_fragment_tests) in;", last="discard;", depth="d32f")
    assert not result["color"].any()
    assert (result["depth"] == 0.5).all()


def test_a_shader_may_choose_the_depth() -> None:
    result, _ = layers(0.5, 0.25, last="gl_FragDepth = number == 1u ? 0.125 : 7.0;", depth="d32f")
    assert (result["color"] == 1).all()
    assert (result["depth"] == 0.125).all()
    result, _ = layers(0.5, last="if (gl_FragCoord.x < 1.0) gl_FragDepth = 0.25;", depth="d32f")
    assert result.defined["depth"][:, 0].all()
    assert not result.defined["depth"][:, 1:].any()
    assert not result.defined["color"][:, 1:].any()


def test_contents_before_a_draw_stay_where_nothing_is_drawn() -> None:
    before = np.arange(8, dtype=np.uint32).reshape(2, 4)
    left = triangles((-1, -1), (0, -1), (-1, 3))
    source = "#version 450\nlayout(location = 0) out uint c; void main() { c = 99u; }"
    result = reference().draw(source, (4, 2), vertices={"position": left}, colors={"c": before})["c"]
    assert result[0].tolist() == [99, 99, 2, 3]
    image = reference().image(before)
    reference().draw(source, (4, 2), vertices={"position": left}, colors={"c": image})
    assert np.array_equal(image.read(), result)


def test_drawing_again_clears_again() -> None:
    source = """#version 450
    layout(location = 0) out uint c;
    layout(binding = 0) buffer Data { uint rounds; };
    void main() { c = rounds; if (gl_FragCoord.x > 1.0 && rounds > 1u) discard; atomicAdd(rounds, 1u); }"""
    result = reference().draw(source, (2, 1), {0: np.zeros(1, np.uint32)}, repeat=3)
    assert result["c"].tolist() == [[3, 0]]


@pytest.mark.parametrize("samples", [1, 4])
def test_nothing_at_all_can_be_drawn(samples: int) -> None:
    source = "#version 450\nlayout(location = 0) out uint c; void main() { c = 99u; }"
    result = reference().draw(source, (4, 2), count=0, state=DrawState(samples=samples))
    assert not result["c"].any()
    assert result.defined["c"].all()
