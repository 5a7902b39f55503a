"""Reading and writing texels by integer coordinates, in every format."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from image_frames import IMAGE, INT, LOD, SAMPLE, SAMPLED, UINT, VEC4, frame_of, ivec, number, run, vec

from vkgroup.base.formats import FORMATS, TexelFormat
from vkgroup.reference.interpreter.operations.images import ImageMemory, image_of, texel_offset
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import HARD, CauseTable, single
from vkgroup.spirv import ScalarType, VectorType

SHAPES = {"1D": (5,), "2D": (3, 4), "3D": (2, 3, 4), "Cube": (6, 3, 3), "Buffer": (7,)}


def vec4_of(format: TexelFormat) -> VectorType:
    bits = 64 if format.dtype.itemsize == 8 else 32
    return VectorType(ScalarType(format.kind, bits), 4)


def small_float(bits: int, mantissa: int) -> float:
    """Value of an unsigned float with five bits of exponent."""
    exponent, fraction = bits >> mantissa, bits & ((1 << mantissa) - 1)
    if exponent == 31:
        return float("nan") if fraction else float("inf")
    if exponent == 0:
        return 2.0**-14 * fraction / 2**mantissa
    return 2.0 ** (exponent - 15) * (1 + fraction / 2**mantissa)


def expected_channels(format: TexelFormat, raw: bytes) -> list[float]:
    """Decode one texel with Python's integers."""
    word = int.from_bytes(raw, "little")
    widths = format.packed or (format.dtype.itemsize * 8,) * format.components
    result: list[float] = []
    for bits in widths:
        value = word & ((1 << bits) - 1)
        word >>= bits
        signed = value - (1 << bits) if value >> (bits - 1) else value
        if format.numeric == "unorm":
            result.append(value / ((1 << bits) - 1))
        elif format.numeric == "snorm":
            result.append(max(signed / ((1 << (bits - 1)) - 1), -1.0))
        elif format.numeric == "float" and bits in (16, 32):
            code = "e" if bits == 16 else "f"
            result.append(struct.unpack(f"<{code}", value.to_bytes(bits // 8, "little"))[0])
        elif format.numeric == "float":
            result.append(small_float(value, bits - 5))
        else:
            result.append(signed if format.numeric == "int" else value)
    return result + [0, 0, 0, 1][len(result) :]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_read(name: str) -> None:
    format = FORMATS[name]
    data = np.random.default_rng(3).integers(0, 256, 64 * format.nbytes, np.uint8)
    image = ImageMemory(data, "image", format, dimension="1D", extent=(64, 1, 1))
    result = run(frame_of(64, image), "OpImageRead", vec4_of(format), IMAGE, number(range(64), np.int32))
    for at in range(64):
        expected = expected_channels(format, data[at * format.nbytes : (at + 1) * format.nbytes].tobytes())
        got = result.data[:, at]
        assert np.array_equal(got, np.array(expected, got.dtype), equal_nan=True), (at, got, expected)
    assert result.cause is None


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_written_as_it_is_read(name: str) -> None:
    format = FORMATS[name]
    data = np.random.default_rng(4).integers(0, 256, 64 * format.nbytes, np.uint8)
    source = ImageMemory(data, "image", format, dimension="1D", extent=(64, 1, 1))
    target = ImageMemory(np.zeros_like(data), "copy", format, dimension="1D", extent=(64, 1, 1))
    frame = frame_of(64, source, target)
    place = number(range(64), np.int32)
    texels = run(frame, "OpImageRead", vec4_of(format), IMAGE, place)
    run(frame, "OpImageWrite", None, number(1, np.int32), place, texels)
    again = run(frame, "OpImageRead", vec4_of(format), number(1, np.int32), place)
    assert np.array_equal(again.data, texels.data, equal_nan=format.kind == "float")
    assert target.causes is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("R8", [-1.0, 0.1, 0.5, 2.0, 0.999], [0, 26, 128, 255, 255]),
        ("R8Snorm", [-2.0, -0.5, 0.0, 0.1, 2.0], [-127, -64, 0, 13, 127]),
        ("R16", [0.25, 1.0], [16384, 65535]),
        ("R16f", [1e6, 1.0, -2.5], [np.inf, 1.0, -2.5]),
    ],
)
def test_floats_are_converted_when_written(name: str, value: list[float], expected: list[float]) -> None:
    format = FORMATS[name]
    count = len(value)
    image = ImageMemory(
        np.zeros(count * format.nbytes, np.uint8), "image", format, dimension="1D", extent=(count, 1, 1)
    )
    run(
        frame_of(count, image),
        "OpImageWrite",
        None,
        IMAGE,
        number(range(count), np.int32),
        vec(value, 0, 0, 0),
    )
    assert image.texels().reshape(-1).tolist() == expected


def test_small_floats_are_rounded_when_written() -> None:
    values = [0.0, 1.0, 1 / 3, 65024.0, 1e9, -4.0, 2.0**-20, float("inf"), float("-inf"), float("nan")]
    count = len(values)
    image = ImageMemory(
        np.zeros(count * 4, np.uint8), "image", FORMATS["R11fG11fB10f"], dimension="1D", extent=(count, 1, 1)
    )
    run(
        frame_of(count, image),
        "OpImageWrite",
        None,
        IMAGE,
        number(range(count), np.int32),
        vec(values, values, values, 1),
    )
    for at, value in enumerate(values):
        word = int(image.texels().reshape(-1)[at])
        for shift, mantissa in ((0, 6), (11, 6), (22, 5)):
            got = small_float((word >> shift) & ((1 << (mantissa + 5)) - 1), mantissa)
            if np.isnan(value):
                assert np.isnan(got)
            elif value <= 0 or np.isinf(value):
                assert got == max(value, 0.0)
            else:
                every = [small_float(bits, mantissa) for bits in range(31 << mantissa)]
                assert abs(got - value) == min(abs(entry - value) for entry in every)


def test_integers_that_do_not_fit_are_undefined() -> None:
    image = image_of([np.zeros(4, np.uint8)], "image", FORMATS["R8ui"], dimension="1D")
    frame = frame_of(4, image)
    texels = vec([1, 255, 256, 7], 0, 0, 0, dtype=np.uint32)
    run(frame, "OpImageWrite", None, IMAGE, number(range(4), np.int32), texels)
    assert image.causes is not None
    assert (image.causes >= HARD).tolist() == [False, False, True, False]
    assert image.texels().reshape(-1)[[0, 1, 3]].tolist() == [1, 255, 7]


@pytest.mark.parametrize(
    ("dimension", "arrayed"),
    [*((dimension, False) for dimension in SHAPES), ("1D", True), ("2D", True), ("Cube", True)],
)
def test_coordinates_find_texels(dimension: str, arrayed: bool) -> None:
    shape = SHAPES[dimension]
    if arrayed:
        shape = (12, *shape[1:]) if dimension == "Cube" else (3, *shape)
    texels = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
    image = image_of([texels], "image", FORMATS["R32ui"], dimension=dimension, arrayed=arrayed)
    indices = np.array(list(np.ndindex(*shape)))
    layered = arrayed or dimension == "Cube"
    order = [*range(len(shape) - 1, int(layered) - 1, -1), *([0] if layered else [])]
    place = ivec(*(indices[:, axis] for axis in order)) if len(order) > 1 else number(indices[:, 0], np.int32)
    result = run(frame_of(len(indices), image), "OpImageRead", VectorType(UINT, 4), IMAGE, place)
    assert np.array_equal(result.data[0], texels.reshape(-1))
    assert np.array_equal(result.data[1:], np.repeat([[0], [0], [1]], len(indices), 1))


def test_reads_outside_are_reported_and_undefined() -> None:
    image = image_of([np.full((2, 3), 7, np.uint32)], "picture", FORMATS["R32ui"])
    frame = frame_of(5, image)
    result = run(frame, "OpImageRead", VectorType(UINT, 4), IMAGE, ivec([0, 3, -1, 2, 0], [0, 0, 0, 1, 2]))
    assert result.data[0].tolist() == [7, 0, 0, 7, 0]
    assert result.cause is not None
    assert (result.cause[0] >= HARD).tolist() == [False, True, True, False, True]
    (event,) = frame.machine.events
    assert event[:2] == ("bounds", [1, 2, 4])
    assert "picture" in event[2]


def test_writes_outside_are_reported_and_dropped() -> None:
    image = image_of([np.zeros((2, 2), np.uint32)], "picture", FORMATS["R32ui"])
    frame = frame_of(3, image)
    run(
        frame,
        "OpImageWrite",
        None,
        IMAGE,
        ivec([1, 2, 0], [0, 0, -1]),
        vec([5, 6, 7], 0, 0, 0, dtype=np.uint32),
    )
    assert image.texels().reshape(-1).tolist() == [0, 5, 0, 0]
    assert frame.machine.events[0][:2] == ("bounds", [1, 2])


def test_undefined_texels_read_as_undefined() -> None:
    image = ImageMemory(
        np.zeros(16, np.uint8), "image", FORMATS["Rg8ui"], dimension="1D", extent=(8, 1, 1), defined=False
    )
    frame = frame_of(8, image)
    run(frame, "OpImageWrite", None, IMAGE, number(3, np.int32), vec(1, 2, 0, 0, dtype=np.uint32))
    result = run(frame, "OpImageRead", VectorType(UINT, 4), IMAGE, number(range(8), np.int32))
    assert result.cause is not None
    undefined = np.broadcast_to(result.cause, (4, 8)) >= HARD
    assert undefined[0].tolist() == undefined[1].tolist() == [at != 3 for at in range(8)]
    assert not undefined[2:].any(), "channels that the format does not have are 0 and 1"


def test_fetches_choose_levels_and_samples() -> None:
    levels = [
        np.arange(16, dtype=np.float32).reshape(4, 4),
        np.arange(4, dtype=np.float32).reshape(2, 2) + 100,
    ]
    image = image_of(levels, "image", FORMATS["R32f"])
    frame = frame_of(4, image)
    result = run(frame, "OpImageFetch", VEC4, IMAGE, ivec(1, 1), number([0, 1, 2, -1], np.int32), mask=LOD)
    assert result.data[0].tolist() == [5, 103, 0, 0]
    assert frame.machine.events[0][1] == [2, 3]
    data = np.arange(8, dtype=np.float32).view(np.uint8)
    many = ImageMemory(data, "image", FORMATS["R32f"], extent=(2, 1, 1), samples=4)
    result = run(
        frame_of(5, many), "OpImageFetch", VEC4, IMAGE, ivec(1, 0), number(range(5), np.int32), mask=SAMPLE
    )
    assert result.data[0].tolist() == [4, 5, 6, 7, 0]


@pytest.mark.parametrize(("mask", "kind", "expected"), [(0x1000, INT, -2), (0x2000, UINT, 0xFE)])
def test_sign_and_zero_extension(mask: int, kind: ScalarType, expected: int) -> None:
    for stored in ("R8ui", "R8i"):
        texels = np.array([0xFE], np.uint8).view(FORMATS[stored].dtype)
        image = image_of([texels], "image", FORMATS[stored], dimension="1D")
        result = run(
            frame_of(1, image), "OpImageRead", VectorType(kind, 4), IMAGE, number(0, np.int32), mask=mask
        )
        assert result.data[0].tolist() == [expected]


def test_each_invocation_may_have_its_own_image() -> None:
    images = [
        image_of([np.full(4, 10 * n, np.uint32)], f"image {n}", FORMATS["R32ui"], dimension="1D")
        for n in range(3)
    ]
    frame = frame_of(5, *images)
    numbers = number([2, 0, 1, 0, 2], np.int32)
    run(
        frame,
        "OpImageWrite",
        None,
        numbers,
        number([0, 1, 2, 3, 1], np.int32),
        vec([1, 2, 3, 4, 5], 0, 0, 0, dtype=np.uint32),
    )
    assert [image.texels().reshape(-1).tolist() for image in images] == [
        [0, 2, 0, 4],
        [10, 10, 3, 10],
        [1, 5, 20, 20],
    ]
    result = run(frame, "OpImageRead", VectorType(UINT, 4), numbers, number([0, 1, 2, 9, 1], np.int32))
    assert result.data[0].tolist() == [1, 2, 3, 0, 5]
    assert frame.machine.events[0][:2] == ("bounds", [3])
    site = Site("OpImageTexelPointer", None, (), (), (), (), 0, CauseTable())
    offset = texel_offset(frame, site, numbers, number([0, 1, 2, 9, 3], np.int32), number(0, np.int32))
    assert offset.tolist() == [0, 4, 8, 16, 12]
    assert [entry[:2] for entry in frame.machine.events] == [("bounds", [3])] * 2


@pytest.mark.parametrize(
    ("dimension", "arrayed", "shape", "place", "level", "message", "needed"),
    [
        ("1D", False, (5,), [7], 0, "texel 7 of image is outside its extent 5", [1, 8, 0, 0]),
        ("2D", False, (3, 4), [16, 3], 0, "texel (16, 3) of image is outside its extent 4×3", [1, 17, 4, 0]),
        ("2D", False, (3, 4), [-1, 3], 0, "texel (-1, 3) of image is outside its extent 4×3", [0, 0, 0, 0]),
        (
            *("2D", False, (3, 4), [2, 1], 3),
            *("texel (2, 1) of level 3 of image is outside its extent 4×3 with 2 levels", [1, 24, 16, 0]),
        ),
        (
            *("2D", True, (2, 3, 4), [0, 1, 5], 1),
            *("texel (0, 1) of layer 5 of level 1 of image is outside its extent 2×1 with 2 layers",),
            [6, 2, 4, 0],
        ),
        (
            "3D",
            False,
            (2, 3, 4),
            [0, 1, 9],
            0,
            "texel (0, 1, 9) of image is outside its extent 4×3×2",
            [1, 1, 2, 10],
        ),
        (
            *("Cube", False, (6, 3, 3), [0, 1, 6], 0),
            *("texel (0, 1) of face 6 of image is outside its extent 3×3 with 6 faces", [7, 1, 2, 0]),
        ),
    ],
)
def test_an_access_outside_of_an_image_names_the_texel(
    dimension: str,
    arrayed: bool,
    shape: tuple[int, ...],
    place: list[int],
    level: int,
    message: str,
    needed: list[int],
) -> None:
    layers = shape[: int(arrayed or dimension == "Cube")]
    halves = (*layers, *(max(1, size // 2) for size in shape[len(layers) :]))
    arrays = [np.zeros(part, np.uint32) for part in (shape, halves)]
    image = image_of(arrays, "image", FORMATS["R32ui"], dimension=dimension, arrayed=arrayed)
    frame = frame_of(2, image)
    coordinate = ivec(*place) if len(place) > 1 else number(place[0], np.int32)
    run(frame, "OpImageFetch", VectorType(UINT, 4), IMAGE, coordinate, number(level, np.int32), mask=LOD)
    assert frame.machine.events == [("bounds", [0, 1], message)]
    assert image.needed.tolist() == needed


def test_an_undefined_place_is_reported() -> None:
    image = image_of([np.zeros(4, np.uint32)], "image", FORMATS["R32ui"], dimension="1D")
    frame = frame_of(2, image)
    place = single(np.array([1, 2], np.int32), np.array([0, HARD + 5], np.uint16))
    result = run(frame, "OpImageRead", VectorType(UINT, 4), IMAGE, place)
    assert result.cause is not None
    assert (np.broadcast_to(result.cause, (4, 2))[0] >= HARD).tolist() == [False, True]
    assert frame.machine.events[0][:2] == ("undefined", [1])


@pytest.mark.parametrize(
    ("dimension", "arrayed", "shape", "level", "expected"),
    [
        ("1D", False, (9,), 1, [4]),
        ("2D", False, (8, 6), 0, [6, 8]),
        ("2D", False, (8, 6), 2, [1, 2]),
        ("2D", True, (5, 8, 6), 1, [3, 4, 5]),
        ("3D", False, (4, 8, 6), 1, [3, 4, 2]),
        ("Cube", True, (12, 8, 8), 1, [4, 4, 2]),
        ("Buffer", False, (9,), 0, [9]),
    ],
)
def test_sizes(dimension: str, arrayed: bool, shape: Any, level: int, expected: list[int]) -> None:
    layered = int(arrayed or dimension == "Cube")
    arrays = [
        np.zeros((*shape[:layered], *(max(1, n >> number) for n in shape[layered:])), np.float32)
        for number in range(3)
    ]
    image = image_of(
        arrays if dimension != "Buffer" else arrays[:1],
        "image",
        FORMATS["R32f"],
        dimension=dimension,
        arrayed=arrayed,
    )
    frame = frame_of(2, image)
    kind = VectorType(INT, len(expected)) if len(expected) > 1 else INT
    result = run(frame, "OpImageQuerySizeLod", kind, IMAGE, number(level, np.int32))
    assert result.data.reshape(-1).tolist() == expected
    assert result.cause is None
    if level == 0:
        assert run(frame, "OpImageQuerySize", kind, IMAGE).data.reshape(-1).tolist() == expected
    levels = run(frame, "OpImageQueryLevels", INT, IMAGE)
    assert levels.data.tolist() == [image.levels]
    assert run(frame, "OpImageQuerySamples", INT, IMAGE).data.tolist() == [1]
    beyond = run(frame, "OpImageQuerySizeLod", kind, IMAGE, number(9, np.int32))
    assert beyond.cause is not None
    assert (beyond.cause >= HARD).all()


def test_sampled_images_are_put_together_and_taken_apart() -> None:
    frame = frame_of(3)
    pair = run(frame, "OpSampledImage", None, number([4, 5, 6], np.int32), number(9, np.int32))
    assert pair.data.tolist() == [[4, 5, 6], [9, 9, 9]]
    assert run(frame, "OpImage", None, pair).data.tolist() == [4, 5, 6]
    assert run(frame, "OpImage", None, SAMPLED).data.tolist() == [0]
