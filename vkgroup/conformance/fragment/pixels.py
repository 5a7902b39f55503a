"""Description of wrong pixels: their places, values, and the lanes of the quad of the first one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.comparison import Description, Expected, Flags, Index
from vkgroup.conformance.fragment.drawn import Drawn
from vkgroup.conformance.fragment.scenes import GRID
from vkgroup.conformance.instances import hex_of, unpack
from vkgroup.conformance.poison import POISON

_PLACES = np.arange(4)


def description(drawn: Drawn, got: NDArray[Any], expected: Expected, code: str) -> Description:
    """Return how to describe pixels that are wrong.

    Parameters
    ----------
    got : (layers, GRID, GRID) what was recorded.
    expected : legal values, arrays of the same shape.
    code : what the shader's line contains that makes the values.
    """

    def line(index: Index) -> str:
        layer, y, x = index
        where = f"pixel ({x}, {y})" + (f" of layer {layer}" if len(got) > 1 else "")
        if layer < len(drawn.lane):
            where += f" lane {drawn.lane[index]}"
        return f"{where}: expected {expected.text(index)} got {got[index].item()!r}"

    return Description("pixels", line, lambda wrong: _quad(drawn, got, expected, wrong, code))


def _quad(
    drawn: Drawn, got: NDArray[Any], expected: Expected, wrong: Flags, code: str
) -> dict[str, Any] | None:
    """Return the evidence of the quad of the first wrong pixel; None where samples are no pixels."""
    if got.shape != drawn.lane.shape:
        return None
    layer, y, x = np.argwhere(wrong)[0].tolist()
    columns, rows = x // 2 * 2 + (_PLACES & 1), y // 2 * 2 + (_PLACES >> 1)
    inside = (columns < GRID) & (rows < GRID)
    places = zip(rows[inside].tolist(), columns[inside].tolist(), strict=True)
    pixels: list[Index] = [(layer, row, column) for row, column in places]
    shaded = [bool(drawn.count[pixel]) for pixel in pixels]
    mask = drawn.mask[layer, y, x]
    has_mask = bool((mask != 0).any() and (mask != POISON).any() and drawn.count[layer, y, x])
    table: dict[str, list[str | None]] = {"pixel": [f"({pixel[2]}, {pixel[1]})" for pixel in pixels]}
    if has_mask:
        table["lane"] = [
            str(drawn.lane[pixel]) if there else None for pixel, there in zip(pixels, shaded, strict=True)
        ]
    table["covered"] = ["yes" if drawn.shaded[pixel] else "no" for pixel in pixels]
    table["expected"] = [expected.text(pixel) if expected.defined[pixel] else None for pixel in pixels]
    table["got"] = [
        repr(got[pixel].item()) if there or wrong[pixel] else None
        for pixel, there in zip(pixels, shaded, strict=True)
    ]
    first = drawn.lane[layer, y, x] & ~3
    of_mask = f", active mask {hex_of(mask)}" if has_mask else ""
    of_layer = f" of layer {layer}" if len(got) > 1 else ""
    return evidence.of_lanes(
        f"the quad of pixel ({x}, {y}){of_layer}{of_mask}",
        _PLACES[inside],
        np.array([bool(wrong[pixel]) for pixel in pixels]),
        table,
        size=4,
        active=unpack(mask[None], 128)[0, first : first + 4] if has_mask else None,
        unit="place in the quad",
        code=code,
    )
