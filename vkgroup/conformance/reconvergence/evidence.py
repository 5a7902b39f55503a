"""A failure of reconvergence lane by lane: who recorded which mask at one place, and who had to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.instances import unpack
from vkgroup.programs.invocation_sets import Layout

Words = NDArray[np.uint32]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


def where(layout: Layout, invocation: int) -> str:
    """Return an invocation's subgroup in words."""
    return f"workgroup {invocation // layout.local} subgroup {layout.subgroup[invocation]}"


def ballots(
    layout: Layout,
    invocation: Indices,
    number: Indices,
    wrong: Flags,
    masks: tuple[Words, Words, Words],
    sound: Flags,
    texts: tuple[list[str], list[str]],
    code: str,
) -> dict[str, Any]:
    """Return the evidence of one execution of an observation by a subgroup.

    Parameters
    ----------
    invocation, number : (rows,) who had to record it, and as which entry of the log.
    wrong : (rows,) whose entry is wrong.
    masks : (rows, words) each: what was got, and what a mask must and may name; no words where elections
        tell and not masks.
    sound : (rows,) who recorded a mask at that place.
    texts : (rows,) each: what was expected, and what was got.
    code : what the line of the observation contains.
    """
    lane, size = layout.lane[invocation], layout.size
    active = np.zeros(size, np.bool_)
    active[lane] = True
    shown = []
    if masks[0].shape[1] and sound.any():
        got, least, most = (unpack(_four(words[sound]), size) for words in masks)
        shown = evidence.masks_of(lane[sound], got, least, most)
    return evidence.of_lanes(
        where(layout, int(invocation[0])),
        lane,
        wrong,
        {
            "invocation": map(str, (invocation % layout.local).tolist()),
            "entry": map(str, number.tolist()),
            "expected": texts[0],
            "got": texts[1],
        },
        size=size,
        active=active,
        masks=shown,
        code=code,
    )


def counts(layout: Layout, got: Indices, expected: Indices, what: str) -> dict[str, Any]:
    """Return the evidence of numbers of something that invocations counted, (invocations,)."""
    wrong = got != expected
    members = evidence.together(wrong, layout.field)
    return evidence.of_lanes(
        f"{where(layout, int(members[0]))}, {what}",
        layout.lane[members],
        wrong[members],
        {
            "invocation": map(str, (members % layout.local).tolist()),
            "expected": map(str, expected[members].tolist()),
            "got": map(str, got[members].tolist()),
        },
        size=layout.size,
    )


def _four(words: Words) -> Words:
    """Return masks of fewer words as those of four, (rows, 4)."""
    return np.pad(words, ((0, 0), (0, 4 - words.shape[1])))
