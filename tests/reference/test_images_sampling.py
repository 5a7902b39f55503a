"""Sampling against loops over texels, and the rules of cubes, comparison and gathering."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain_images
import pytest
from image_frames import (
    BIAS,
    CONST_OFFSET,
    CONST_OFFSETS,
    FLOAT,
    GRAD,
    LOD,
    MIN_LOD,
    SAMPLED,
    VEC4,
    frame_of,
    ivec,
    number,
    run,
    sample,
    vec,
)

from vkgroup.base.choices import COMPARISONS
from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.formats import FORMATS
from vkgroup.base.sampler import ADDRESS_MODES, Sampler
from vkgroup.reference.interpreter.operations.images import ImageMemory, image_of
from vkgroup.reference.interpreter.values.value import HARD, Value, single
from vkgroup.spirv import ScalarType, VectorType

SHAPES = {"1D": (7,), "2D": (5, 8), "3D": (3, 4, 6)}


def mipmapped(dimension: str) -> tuple[ImageMemory, list[np.ndarray]]:
    """An image with all its levels, and the levels."""
    shape, levels = SHAPES[dimension], []
    random = np.random.default_rng(11)
    for level in range(4):
        size = tuple(max(1, n >> level) for n in shape)
        levels.append(random.random((*size, 4), np.float32))
    return image_of(levels, "texture", FORMATS["Rgba32f"], dimension=dimension), levels


def somewhere(axes: int, count: int = 40) -> np.ndarray:
    """Coordinates around an image, and exactly on some of its texels' corners."""
    random = np.random.default_rng(12)
    spread = random.uniform(-2.2, 3.2, (axes, count)).astype(np.float32)
    spread[:, :8] = random.integers(-8, 17, (axes, 8)) / 8
    return spread


@pytest.mark.parametrize("dimension", sorted(SHAPES))
@pytest.mark.parametrize("mode", ADDRESS_MODES)
@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_filters_and_address_modes(dimension: str, mode: str, filter: str) -> None:
    image, levels = mipmapped(dimension)
    sampler = Sampler(filter, address=mode, border_color="float_opaque_black")
    s = somewhere(len(SHAPES[dimension]))
    result = sample(image, sampler, s, number(0))
    for lane in range(s.shape[1]):
        expected = plain_images.sampled(levels, tuple(s[:, lane]), sampler, 0.0, (0, 0, 0, 1))
        assert np.allclose(result[:, lane], expected, rtol=1e-6, atol=1e-6), (lane, s[:, lane])


@pytest.mark.parametrize("mipmap", ["nearest", "linear"])
@pytest.mark.parametrize(("filter", "min_filter"), [("nearest", "linear"), ("linear", "nearest")])
@pytest.mark.parametrize(
    "state", [{}, {"lod_bias": 0.75}, {"min_lod": 0.6, "max_lod": 1.7}, {"max_lod": 0.0}], ids=str
)
def test_levels(mipmap: str, filter: str, min_filter: str, state: dict[str, float]) -> None:
    image, levels = mipmapped("2D")
    sampler = Sampler(filter, min_filter, mipmap, "mirrored_repeat", **state)  # type: ignore[arg-type]
    s = somewhere(2)
    lods = np.concatenate(
        [[-1, 0, 0.5, 1, 1.5, 2.5, 9], np.random.default_rng(13).uniform(-1, 4, 33)]
    ).astype(np.float32)
    result = sample(image, sampler, s, number(lods))
    for lane, lod in enumerate(lods):
        expected = plain_images.sampled(levels, tuple(s[:, lane]), sampler, float(lod))
        assert np.allclose(result[:, lane], expected, rtol=1e-6, atol=1e-6), (lane, lod)


@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_offsets_count_texels_of_the_level(filter: str) -> None:
    image, levels = mipmapped("2D")
    sampler = Sampler(filter, address="repeat")
    s = somewhere(2)
    result = sample(image, sampler, s, number(1), ivec(-3, 2), mask=LOD | CONST_OFFSET)
    for lane in range(s.shape[1]):
        expected = plain_images.sampled(levels, tuple(s[:, lane]), sampler, 1.0, offset=(-3, 2))
        assert np.allclose(result[:, lane], expected, rtol=1e-6, atol=1e-6)


def test_gradients_choose_the_level() -> None:
    image, levels = mipmapped("2D")
    sampler = Sampler("nearest", mipmap="linear")
    s = somewhere(2)
    dx, dy = np.random.default_rng(13).uniform(-0.6, 0.6, (2, 2, s.shape[1])).astype(np.float32)
    result = sample(image, sampler, s, vec(*dx), vec(*dy), mask=GRAD)
    for lane in range(s.shape[1]):
        rho = max(np.hypot(8 * d[0, lane], 5 * d[1, lane]) for d in (dx.astype(float), dy.astype(float)))
        expected = plain_images.sampled(levels, tuple(s[:, lane]), sampler, float(np.log2(rho)))
        assert np.allclose(result[:, lane], expected, rtol=1e-5, atol=1e-5)


def test_implicit_levels_are_those_of_the_bias_alone() -> None:
    image, levels = mipmapped("2D")
    sampler = Sampler("nearest", mipmap="linear", lod_bias=0.5)
    s = somewhere(2, 9)
    for mask, operands, lod, least in (
        (None, (), 0.0, 0.0),
        (BIAS, (number(0.75),), 0.75, 0.0),
        (MIN_LOD, (number(1.25),), 0.0, 1.25),
    ):
        result = run(
            frame_of(9, (image, sampler)),
            "OpImageSampleImplicitLod",
            VEC4,
            SAMPLED,
            vec(*s),
            *operands,
            mask=mask,
        )
        for lane in range(9):
            expected = plain_images.sampled(
                levels, tuple(s[:, lane]), Sampler("nearest", mipmap="linear"), max(lod + 0.5, least)
            )
            assert np.allclose(result.data[:, lane], expected, rtol=1e-6, atol=1e-6)
    result = run(frame_of(1, (image, sampler)), "OpImageQueryLod", VectorType(FLOAT, 2), SAMPLED, vec(0, 0))
    assert result.data[:, 0].tolist() == [0.5, 0.5]


def test_projection_divides() -> None:
    image, levels = mipmapped("2D")
    sampler = Sampler("linear", address="repeat")
    s, q = somewhere(2), np.random.default_rng(13).choice([0.5, 2.0, 4.0], 40).astype(np.float32)
    result = run(
        frame_of(40, (image, sampler)),
        "OpImageSampleProjExplicitLod",
        VEC4,
        SAMPLED,
        vec(*(s * q), q),
        number(0),
        mask=LOD,
    )
    for lane in range(40):
        expected = plain_images.sampled(levels, tuple(s[:, lane]), sampler, 0.0)
        assert np.allclose(result.data[:, lane], expected, rtol=1e-6, atol=1e-6)


def test_unnormalized_coordinates_count_texels() -> None:
    image, levels = mipmapped("2D")
    sampler = Sampler("linear", unnormalized=True)
    where = np.array([[0.5, 3.25, 7.75, -4], [0.5, 2.5, 4.9, 9]], np.float32)
    result = sample(image, sampler, where, number(0))
    for lane in range(4):
        expected = plain_images.in_level(
            levels[0], tuple(where[:, lane].tolist()), "linear", sampler, [0] * 4
        )
        assert np.allclose(result[:, lane], expected)


def test_layers_are_rounded_to_even_and_clamped() -> None:
    texels = np.arange(4, dtype=np.float32).reshape(4, 1, 1)
    image = image_of([texels], "layers", FORMATS["R32f"], arrayed=True)
    layers = np.array([-5, 0.4, 0.5, 1.5, 2.5, 2.6, 99, np.nan], np.float32)
    result = sample(image, Sampler(), np.stack([layers * 0, layers * 0, layers]), number(0))
    assert result[0].tolist() == [0, 0, 0, 2, 2, 3, 3, 0]


def test_integers_are_sampled_as_they_are() -> None:
    big = np.array([[2**31 + 1, 7]], np.uint32)
    image = image_of([big], "numbers", FORMATS["R32ui"])
    kind = VectorType(ScalarType("uint", 32), 4)
    result = run(
        frame_of(2, (image, Sampler())),
        "OpImageSampleExplicitLod",
        kind,
        SAMPLED,
        vec([0.2, 0.9], 0.5),
        number(0),
        mask=LOD,
    )
    assert result.data[0].tolist() == [2**31 + 1, 7]


@pytest.mark.parametrize(
    ("color", "expected"), [("float_transparent_black", [0, 1]), ("float_opaque_white", [1, 1])]
)
def test_borders_take_missing_channels_from_the_format(color: str, expected: list[float]) -> None:
    image = image_of([np.full((1, 1), 0.5, np.float32)], "red", FORMATS["R32f"])
    sampler = Sampler(address="clamp_to_border", border_color=color)
    result = sample(image, sampler, np.array([[-1.0], [0.5]], np.float32), number(0))
    assert result[:, 0].tolist() == [expected[0], 0, 0, expected[1]]


def test_borders_of_another_kind_are_undefined() -> None:
    image = image_of([np.full((1, 1), 0.5, np.float32)], "red", FORMATS["R32f"])
    sampler = Sampler(address="clamp_to_border", border_color="int_opaque_white")
    result = run(
        frame_of(2, (image, sampler)),
        "OpImageSampleExplicitLod",
        VEC4,
        SAMPLED,
        vec([0.5, 2.0], 0.5),
        number(0),
        mask=LOD,
    )
    assert result.cause is not None
    assert (result.cause[0] >= HARD).tolist() == [False, True]


# --- comparison ---------------------------------------------------------------------------------------

ORDER = {
    "never": lambda a, b: False,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "less_or_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "not_equal": lambda a, b: a != b,
    "greater_or_equal": lambda a, b: a >= b,
    "always": lambda a, b: True,
}


@pytest.mark.parametrize("compare", COMPARISONS)
def test_depths_are_compared_before_they_are_filtered(compare: str) -> None:
    depths = np.array([[0.25, 0.5], [0.5, 0.75]], np.float32)
    image = image_of([depths], "shadow", FORMATS["D32f"])
    s = np.array([[0.25, 0.75, 0.5, 0.4], [0.25, 0.75, 0.5, 0.6]], np.float32)
    references = np.array([0.25, 0.5, 0.5, 0.6], np.float32)
    for filter in ("nearest", "linear"):
        sampler = Sampler(filter, compare=compare)
        result = run(
            frame_of(4, (image, sampler)),
            "OpImageSampleDrefExplicitLod",
            FLOAT,
            SAMPLED,
            vec(*s),
            number(references),
            number(0),
            mask=LOD,
        )
        for lane, reference in enumerate(references):
            passed = np.array([[float(ORDER[compare](reference, d)) for d in row] for row in depths])
            level = np.repeat(passed[..., None], 4, -1)
            expected = plain_images.sampled([level], tuple(s[:, lane]), sampler, 0.0)[0]
            assert result.data[lane] == pytest.approx(expected)


def test_references_are_divided_and_clamped() -> None:
    image = image_of([np.full((1, 1), 0xFFFF, np.uint16)], "shadow", FORMATS["D16"])
    sampler = Sampler(compare="equal")
    result = run(
        frame_of(3, (image, sampler)),
        "OpImageSampleProjDrefExplicitLod",
        FLOAT,
        SAMPLED,
        vec(0, 0, 2),
        number([2, 5, 1]),
        number(0),
        mask=LOD,
    )
    assert result.data.tolist() == [1, 1, 0]


@pytest.mark.parametrize("compare", [None, "less"])
def test_samplers_and_instructions_must_agree_about_comparing(compare: str | None) -> None:
    image = image_of([np.zeros((1, 1), np.float32)], "shadow", FORMATS["D32f"])
    frame = frame_of(1, (image, Sampler(compare=compare)))
    name, reference = (
        ("OpImageSampleExplicitLod", ()) if compare else ("OpImageSampleDrefExplicitLod", (number(0),))
    )
    kind = VEC4 if compare else FLOAT
    result = run(frame, name, kind, SAMPLED, vec(0, 0), *reference, number(0), mask=LOD)
    assert result.cause is not None
    assert (result.cause >= HARD).all()


# --- gathering ----------------------------------------------------------------------------------------


def gathered(*more: Value, mask: int | None = None, component: Any = 1) -> np.ndarray:
    texels = np.arange(12, dtype=np.float32).reshape(3, 4)
    image = image_of([np.stack([texels, texels + 100], -1)], "image", FORMATS["Rg32f"])
    result = run(
        frame_of(2, (image, Sampler(address="clamp_to_border"))),
        "OpImageGather",
        VEC4,
        SAMPLED,
        vec([0.5, 1.0], [0.5, 0.5]),
        number(component, np.int32),
        *more,
        mask=mask,
    )
    return result.data


def test_gathers() -> None:
    assert gathered().T.tolist() == [[109, 110, 106, 105], [111, 0, 0, 107]]
    assert gathered(component=[0, 3]).T.tolist() == [[9, 10, 6, 5], [1, 1, 1, 1]]
    assert gathered(ivec(-1, -1), mask=CONST_OFFSET).T.tolist() == [
        [104, 105, 101, 100],
        [106, 107, 103, 102],
    ]
    offsets = single(np.array([[0, 0], [1, 0], [-1, 1], [0, -1]], np.int32)[:, :, None])
    assert gathered(offsets, mask=CONST_OFFSETS).T.tolist() == [[105, 106, 108, 101], [107, 0, 110, 103]]


def test_comparisons_are_gathered() -> None:
    image = image_of([np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)], "shadow", FORMATS["D32f"])
    result = run(
        frame_of(1, (image, Sampler(compare="less"))),
        "OpImageDrefGather",
        VEC4,
        SAMPLED,
        vec(0.5, 0.5),
        number(0.25),
    )
    assert result.data[:, 0].tolist() == [1, 1, 0, 0]


# --- states -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"filter": "cubic"}, "filter must be one of"),
        ({"address": "wrap"}, "address must be one of"),
        ({"address": ("repeat", "repeat")}, "one address mode or three"),
        ({"border_color": "red"}, "border_color must be one of"),
        ({"compare": "lower"}, "compare must be one of"),
        ({"min_lod": 2.0, "max_lod": 1.0}, "greater than max_lod"),
        ({"unnormalized": True, "address": "repeat"}, "unnormalized coordinates"),
    ],
)
def test_states_that_make_no_sense_are_refused(state: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidDispatch, match=reason):
        Sampler(**state)
