"""Types of Amber's buffers: alignments, formats, and the numbers in bytes."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.amber.elements import element_type


@pytest.mark.parametrize(
    ("name", "std140", "stride", "offsets"),
    [
        ("float", False, 4, (0,)),
        ("float[]", False, 4, (0,)),
        # GLSL 4.60, 7.6.2.2 (std140), rule 4: the stride of an array is rounded up to that of a vec4.
        ("float[]", True, 16, (0,)),
        ("vec2<float>", True, 8, (0, 4)),
        # Rule 3: a vector of three is aligned as one of four.
        ("vec3<float>", False, 16, (0, 4, 8)),
        ("vec3<double>", False, 32, (0, 8, 16)),
        ("mat2x3<float>", False, 32, (0, 4, 8, 16, 20, 24)),
        ("mat2x2<float>", False, 16, (0, 4, 8, 12)),
        # Rule 5: the columns of a matrix are an array.
        ("mat2x2<float>", True, 32, (0, 4, 16, 20)),
        ("R8G8B8A8_UNORM", False, 4, (0, 1, 2, 3)),
        ("A8B8G8R8_SINT_PACK32", False, 4, (0,)),
    ],
)
def test_alignment(name: str, std140: bool, stride: int, offsets: tuple[int, ...]) -> None:
    kind = element_type(name, std140=std140)
    assert kind is not None
    assert (kind.stride, kind.offsets) == (stride, offsets)


@pytest.mark.parametrize("name", ["int", "vec5<float>", "vec2<half>", "R8G8B8_SRGB", "", "D24_UNORM_S8_UINT"])
def test_an_unknown_type_is_none(name: str) -> None:
    assert element_type(name) is None


@pytest.mark.parametrize("name", ["int8", "uint16", "vec3<int64>", "mat3x2<float16>", "double[]"])
def test_numbers_come_back(name: str) -> None:
    kind = element_type(name, std140=True)
    assert kind is not None
    numbers = list(range(1, 2 * kind.count + 1))
    data = kind.pack(numbers)
    assert data.size == 2 * kind.stride
    assert kind.values(data).reshape(-1).tolist() == numbers


def test_integers_are_reduced_to_their_bits() -> None:
    signed, unsigned = element_type("int8"), element_type("uint32")
    assert signed is not None
    assert unsigned is not None
    assert signed.numbers([255, -1, 128]).tolist() == [-1, -1, -128]
    assert unsigned.numbers([-1, 2**32 + 5]).tolist() == [2**32 - 1, 5]


def test_blue_before_red() -> None:
    kind = element_type("B8G8R8A8_UNORM")
    assert kind is not None
    data = kind.pack([255, 0, 0, 51])
    assert kind.texels(data).tolist() == [[0, 0, 255, 51]]
    assert np.array_equal(kind.bytes_of(kind.texels(data)), data)
    # Vulkan 1.4, "Conversion From Normalized Fixed-Point to Floating-Point": c / (2^8 - 1).
    assert kind.colors(data).tolist() == [[0.0, 0.0, 1.0, np.float32(51) / np.float32(255)]]


def test_a_packed_word_is_four_texel_channels() -> None:
    kind = element_type("A8B8G8R8_UINT_PACK32")
    assert kind is not None
    assert kind.colors(kind.pack([0x04030201])).tolist() == [[1, 2, 3, 4]]
