"""Evidence of a reconvergence failure: expected and recorded masks of each lane at one observation."""

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


def subgroup_of(layout: Layout, invocation: int) -> str:
    """Return a description of an invocation's subgroup."""
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
    invocation, number : (rows,) the invocation that had to record it, and the number of the entry in its log.
    wrong : (rows,) whether the entry is wrong.
    masks : (rows, words) each: the recorded mask, and the lanes that it must and may name; no words if
        elections are recorded instead of masks.
    sound : (rows,) whether a mask was recorded at that observation.
    texts : (rows,) each: expected and recorded values.
    code : text that the source line of the observation contains.
    """
    lane, size = layout.lane[invocation], layout.size
    active = np.zeros(size, np.bool_)
    active[lane] = True
    mask_texts = []
    if masks[0].shape[1] and sound.any():
        got, least, most = (unpack(_four(words[sound]), size) for words in masks)
        mask_texts = evidence.masks_of(lane[sound], got, least, most)
    return evidence.of_lanes(
        subgroup_of(layout, int(invocation[0])),
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
        masks=mask_texts,
        code=code,
    )


def counts(layout: Layout, got: Indices, expected: Indices, what: str) -> dict[str, Any]:
    """Return the evidence of wrong counts, (invocations,)."""
    wrong = got != expected
    members = evidence.together(wrong, layout.field)
    return evidence.of_lanes(
        f"{subgroup_of(layout, int(members[0]))}, {what}",
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
    """Return masks padded to four words, (rows, 4)."""
    return np.pad(words, ((0, 0), (0, 4 - words.shape[1])))
