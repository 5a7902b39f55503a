"""Pixels that are wrong, as the lanes of their quad."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.fragment.drawn import Drawn
from vkgroup.conformance.fragment.scenes import GRID
from vkgroup.conformance.instances import hex_of, unpack
from vkgroup.conformance.poison import POISON

Flags = NDArray[np.bool_]
Words = NDArray[np.uint32]

_PLACES = np.arange(4)


def legal_text(values: tuple[NDArray[Any], ...], at: tuple[int, ...]) -> str:
    """Return the legal values of one place in words."""
    return " or ".join(sorted({repr(value[at].item()) for value in values}))


def quad(
    drawn: Drawn,
    got: NDArray[Any],
    legal: tuple[NDArray[Any], ...],
    defined: Flags,
    wrong: Flags,
    code: str = "",
) -> dict[str, Any] | None:
    """Return the evidence of the quad of the first wrong pixel; None where samples are no pixels.

    Parameters
    ----------
    got, defined, wrong : (layers, GRID, GRID) what was found, where anything is required, where it is wrong.
    legal : legal values, arrays of the same shape.
    code : what the shader's line that finds it contains.
    """
    if got.shape != drawn.lane.shape:
        return None
    layer, y, x = np.argwhere(wrong)[0].tolist()
    columns, rows = x // 2 * 2 + (_PLACES & 1), y // 2 * 2 + (_PLACES >> 1)
    pixels = [(layer, int(row), int(column)) for row, column in zip(rows, columns, strict=True)]
    inside = np.array([row < GRID and column < GRID for _, row, column in pixels])
    kept = [at for at, there in zip(pixels, inside.tolist(), strict=True) if there]
    shaded = [bool(drawn.count[at]) for at in kept]
    found: dict[str, list[str | None]] = {"pixel": [f"({at[2]}, {at[1]})" for at in kept]}
    mask = drawn.mask[layer, y, x]
    told = (mask != 0).any() and (mask != POISON).any() and drawn.count[layer, y, x]
    if has_mask := bool(told):
        found["lane"] = [
            str(drawn.lane[at]) if is_shaded else None for at, is_shaded in zip(kept, shaded, strict=True)
        ]
    found["covered"] = ["yes" if drawn.shaded[at] else "no" for at in kept]
    found["expected"] = [legal_text(legal, at) if defined[at] else None for at in kept]
    found["got"] = [
        repr(got[at].item()) if is_shaded or wrong[at] else None
        for at, is_shaded in zip(kept, shaded, strict=True)
    ]
    active = None
    if has_mask:
        first = drawn.lane[layer, y, x] & ~3
        active = unpack(mask[None], 128)[0, first : first + 4]
    of_mask = f", active mask {hex_of(mask)}" if has_mask else ""
    of_layer = f" of layer {layer}" if len(got) > 1 else ""
    return evidence.of_lanes(
        f"the quad of pixel ({x}, {y}){of_layer}{of_mask}",
        _PLACES[inside],
        np.array([bool(wrong[at]) for at in kept]),
        found,
        size=4,
        active=active,
        unit="place in the quad",
        code=code,
    )
