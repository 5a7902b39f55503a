"""Comparison of a script's buffers with what it expects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.amber.elements import ElementType
from vkgroup.base.errors import InvalidInput

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_RELATIVE = 1e-8
"""Relative error of floats without TOLERANCE; Amber's is 1e-6 percent."""

_TEXEL = 0.002
"""Error of a color without TOLERANCE, as in Amber."""

_BINS = 256


class Contents:
    """What a buffer contains: its type, its bytes, and which of them are defined."""

    def __init__(
        self, type: ElementType, data: Bytes, defined: Flags | None, width: int, height: int
    ) -> None:
        self.type, self.data, self.defined = type, data, defined
        self.width, self.height = width, height

    def undefined(self, offset: int, nbytes: int) -> str:
        """Return a sentence if one of some bytes is undefined."""
        if self.defined is None or self.defined[offset : offset + nbytes].all():
            return ""
        first = offset + int(np.argmin(self.defined[offset : offset + nbytes]))
        return f"byte {first}, which is compared, is undefined"


class Comparison(NamedTuple):
    """The result of a comparison, each in a sentence or empty.

    `undefined`: which compared value no rule of the specifications defines.
    """

    difference: str
    undefined: str


def check_values(contents: Contents, arguments: dict[str, Any]) -> Comparison:
    """Compare the numbers from a byte on (``EXPECT B IDX X EQ …``)."""
    kind, values, offset = contents.type, arguments["values"], arguments["offset"]
    elements = -(-len(values) // kind.count)
    if offset % kind.stride or offset + elements * kind.stride > contents.data.size:
        raise InvalidInput(
            f"IDX {offset} with {len(values)} values is not in the buffer: it has {contents.data.size} bytes,"
            f" and elements of {kind.stride} bytes."
        )
    undefined = contents.undefined(offset, elements * kind.stride)
    actual = kind.values(contents.data[offset : offset + elements * kind.stride]).reshape(-1)[: len(values)]
    expected = kind.numbers(values)
    tolerance = arguments["tolerances"][0] if arguments["tolerances"] else None
    right = _compared(arguments["way"], actual, expected, tolerance)
    if right.all():
        return Comparison("", undefined)
    first = int(np.argmin(right))
    text = f"value {first} is {_text(actual[first])}, expected {arguments['way']} {_text(expected[first])}"
    return Comparison(text, undefined)


def _compared(way: str, actual: Any, expected: Any, tolerance: tuple[float, bool] | None) -> Flags:
    if way not in ("EQ", "NE"):
        names = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}
        return np.asarray(names[way](actual, expected))
    if actual.dtype.kind == "f" or tolerance is not None:
        size, is_percent = tolerance or (100 * _RELATIVE, True)
        equal = _near(actual.astype(np.float64), expected.astype(np.float64), size, is_percent)
    else:
        equal = actual == expected
    return equal if way == "EQ" else ~equal


def _near(actual: Any, expected: Any, tolerance: float, is_percent: bool) -> Flags:
    """Whether numbers are equal within a tolerance; NaN is equal to NaN."""
    with np.errstate(invalid="ignore"):
        most = tolerance / 100 * np.abs(expected) if is_percent else tolerance
        near = (np.abs(actual - expected) <= most) | (actual == expected)
    return np.asarray(near | (np.isnan(actual) & np.isnan(expected)))


def check_pixels(contents: Contents, arguments: dict[str, Any]) -> Comparison:
    """Compare a rectangle with a color (``EXPECT B IDX X Y SIZE W H EQ_RGBA …``)."""
    (x, y), (width, height) = arguments["position"], arguments["size"]
    if x + width > contents.width or y + height > contents.height:
        raise InvalidInput(
            f"the rectangle is not in the image of {contents.width} x {contents.height} pixels."
        )
    shape = contents.height, contents.width
    part = slice(y, y + height), slice(x, x + width)
    undefined = ""
    if contents.defined is not None and not contents.defined.reshape(*shape, -1)[part].all():
        undefined = "a pixel, which is compared, is undefined"
    colors = contents.type.colors(contents.data).astype(np.float64).reshape(*shape, -1)[part]
    expected = np.array(arguments["values"])[: colors.shape[-1]]
    tolerances = arguments["tolerances"] or ((_TEXEL, False),)
    if len(tolerances) < 4:
        tolerances = (tolerances[0],) * 4
    right = np.ones(colors.shape[:2], np.bool_)
    for channel, (wanted, (size, percent)) in enumerate(zip(expected, tolerances, strict=False)):
        right &= _near(np.float64(wanted), colors[..., channel], size, percent)
    if right.all():
        return Comparison("", undefined)
    row, column = divmod(int(np.argmin(right)), width)
    scale = 255 if contents.type.format and contents.type.format.numeric in ("unorm", "snorm") else 1
    found = ", ".join(f"{scale * value:g}" for value in colors[row, column][: len(expected)])
    wanted = ", ".join(f"{255 * value:g}" for value in expected)
    text = (
        f"pixel ({x + column}, {y + row}) is ({found}), expected ({wanted});"
        f" {np.count_nonzero(~right)} of {right.size} pixels differ"
    )
    return Comparison(text, undefined)


def check_buffers(one: Contents, other: Contents, arguments: dict[str, Any]) -> Comparison:
    """Compare two buffers (``EXPECT A EQ_BUFFER B``, ``RMSE_BUFFER``, ``EQ_HISTOGRAM_EMD_BUFFER``)."""
    if one.data.size != other.data.size or one.type.stride != other.type.stride:
        raise InvalidInput("the buffers have different sizes or types.")
    way = arguments["way"]
    undefined = one.undefined(0, one.data.size) or other.undefined(0, other.data.size)
    if way == "EQ_BUFFER":
        if np.array_equal(one.data, other.data):
            return Comparison("", undefined)
        first = int(np.argmax(one.data != other.data))
        element = first // one.type.stride
        numbers = [_text(each.type.values(each.data)[element]) for each in (one, other)]
        count = np.count_nonzero(one.data != other.data)
        text = f"{count} bytes differ; element {element} is {numbers[0]}, expected {numbers[1]}"
        return Comparison(text, undefined)
    values = [each.type.values(each.data).astype(np.float64) for each in (one, other)]
    measured = (
        float(np.sqrt(np.mean((values[0] - values[1]) ** 2)))
        if way == "RMSE_BUFFER"
        else _histogram_distance(one, other)
    )
    if measured <= arguments["tolerance"]:
        return Comparison("", undefined)
    name = "root mean square error" if way == "RMSE_BUFFER" else "distance of the histograms"
    return Comparison(f"the {name} is {measured:g}, more than {arguments['tolerance']:g}", undefined)


def _histogram_distance(one: Contents, other: Contents) -> float:
    """Return the greatest earth mover's distance of the histograms of a channel, from 0 to 1."""
    if one.type.dtype != np.uint8 or one.type.count != 4:
        raise InvalidInput("EQ_HISTOGRAM_EMD_BUFFER is for four channels of 8 bits.")
    histograms = [
        [np.bincount(channel, minlength=_BINS) / len(channel) for channel in each.type.values(each.data).T]
        for each in (one, other)
    ]
    return max(
        float(np.abs(np.cumsum(first - second)).sum() / _BINS)
        for first, second in zip(*histograms, strict=True)
    )


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value), separator=", ")
