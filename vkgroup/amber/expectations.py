"""Comparison of a script's buffers with what it expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amber.elements import ElementType
from vkgroup.base.errors import InvalidInput

Flags = npt.NDArray[np.bool_]

_PERCENT = 1e-6
"""Relative error of floats without TOLERANCE, as in Amber."""

_TEXEL = 0.002
"""Error of a color without TOLERANCE, as in Amber."""

_BINS = 256


@dataclass
class Contents:
    """What a buffer contains."""

    type: ElementType
    data: npt.NDArray[np.uint8]  # the bytes
    defined: Flags | None  # which bytes are defined; None where the device cannot tell
    width: int  # pixels in a row
    height: int  # rows of pixels


def difference(contents: Contents, other: Contents | None, arguments: dict[str, Any]) -> str:
    """Return how a buffer differs from what ``EXPECT`` says, in a sentence; empty if it does not.

    `arguments`: of the command; `other`: the other buffer if it names one.

    Raises InvalidInput: what is compared lies outside of the buffer, or the buffers do not fit each other.
    """
    if other is not None:
        return _of_buffers(contents, other, arguments)
    return (_of_pixels if "position" in arguments else _of_values)(contents, arguments)


def undefined(contents: Contents, other: Contents | None, arguments: dict[str, Any]) -> str:
    """Return which compared value no rule of the specifications defines; empty if all are defined."""
    if other is not None and (text := undefined(other, None, {})):
        return text
    if contents.defined is None:
        return ""
    defined, first = contents.defined[: contents.data.size], 0
    if "position" in arguments:
        (x, y), (width, height) = arguments["position"], arguments["size"]
        pixels = defined.reshape(contents.height, contents.width, -1)[y : y + height, x : x + width]
        return "" if pixels.all() else "a pixel, which is compared, is undefined"
    if "offset" in arguments:
        first = arguments["offset"]
        elements = -(-len(arguments["values"]) // contents.type.count)
        defined = defined[first : first + elements * contents.type.stride]
    if defined.all():
        return ""
    return f"byte {first + int(np.argmin(defined))}, which is compared, is undefined"


def _of_values(contents: Contents, arguments: dict[str, Any]) -> str:
    """Compare the numbers from a byte on (``EXPECT B IDX X EQ …``)."""
    kind, values, offset = contents.type, arguments["values"], arguments["offset"]
    nbytes = -(-len(values) // kind.count) * kind.stride
    if offset % kind.stride or offset + nbytes > contents.data.size:
        raise InvalidInput(
            f"IDX {offset} with {len(values)} values is not in the buffer: it has {contents.data.size} bytes,"
            f" and elements of {kind.stride} bytes."
        )
    actual = kind.values(contents.data[offset : offset + nbytes]).reshape(-1)[: len(values)]
    expected = kind.numbers(values)
    right = _compared(arguments["way"], actual, expected, arguments["tolerances"])
    if right.all():
        return ""
    first = int(np.argmin(right))
    return f"value {first} is {_text(actual[first])}, expected {arguments['way']} {_text(expected[first])}"


def _compared(way: str, actual: Any, expected: Any, tolerances: tuple[tuple[float, bool], ...]) -> Flags:
    if way not in ("EQ", "NE"):
        names = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}
        return np.asarray(names[way](actual, expected))
    if actual.dtype.kind == "f" or tolerances:
        size, is_percent = tolerances[0] if tolerances else (_PERCENT, True)
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


def _of_pixels(contents: Contents, arguments: dict[str, Any]) -> str:
    """Compare a rectangle with a color (``EXPECT B IDX X Y SIZE W H EQ_RGBA …``)."""
    (x, y), (width, height) = arguments["position"], arguments["size"]
    if x + width > contents.width or y + height > contents.height:
        raise InvalidInput(
            f"the rectangle is not in the image of {contents.width} x {contents.height} pixels."
        )
    colors = contents.type.colors(contents.data).astype(np.float64)
    colors = colors.reshape(contents.height, contents.width, -1)[y : y + height, x : x + width]
    expected = np.array(arguments["values"])[: colors.shape[-1]]
    tolerances = arguments["tolerances"] or ((_TEXEL, False),)
    if len(tolerances) < 4:
        tolerances = (tolerances[0],) * 4
    right = np.ones(colors.shape[:2], np.bool_)
    for channel, (wanted, (size, percent)) in enumerate(zip(expected, tolerances, strict=False)):
        # A percentage is of the pixel's value, as in Amber's verifier.
        right &= _near(np.float64(wanted), colors[..., channel], size, percent)
    if right.all():
        return ""
    row, column = divmod(int(np.argmin(right)), width)
    scale = 255 if contents.type.format and contents.type.format.numeric in ("unorm", "snorm") else 1
    found = ", ".join(f"{scale * value:g}" for value in colors[row, column][: len(expected)])
    wanted_text = ", ".join(f"{scale * value:g}" for value in expected)
    return (
        f"pixel ({x + column}, {y + row}) is ({found}), expected ({wanted_text});"
        f" {np.count_nonzero(~right)} of {right.size} pixels differ"
    )


def _of_buffers(one: Contents, other: Contents, arguments: dict[str, Any]) -> str:
    """Compare two buffers (``EXPECT A EQ_BUFFER B``, ``RMSE_BUFFER``, ``EQ_HISTOGRAM_EMD_BUFFER``)."""
    if one.data.size != other.data.size or one.type.stride != other.type.stride:
        raise InvalidInput("the buffers have different sizes or types.")
    way = arguments["way"]
    if way == "EQ_BUFFER":
        differ = one.data != other.data
        if not differ.any():
            return ""
        element = int(np.argmax(differ)) // one.type.stride
        numbers = [_text(each.type.values(each.data)[element]) for each in (one, other)]
        count = np.count_nonzero(differ)
        return f"{count} bytes differ; element {element} is {numbers[0]}, expected {numbers[1]}"
    if way == "RMSE_BUFFER":
        values = [each.type.values(each.data).astype(np.float64) for each in (one, other)]
        name, measured = "root mean square error", float(np.sqrt(np.mean((values[0] - values[1]) ** 2)))
    else:
        name, measured = "distance of the histograms", _histogram_distance(one, other)
    if measured <= arguments["tolerance"]:
        return ""
    return f"the {name} is {measured:g}, more than {arguments['tolerance']:g}"


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
    return np.array2string(np.asarray(value), separator=", ", floatmode="unique")
