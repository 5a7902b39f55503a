"""The diagnosis of a failed case as JSON data.

::

    {"kind": "lanes", "wrong": 24, "right": 488,
     "hypotheses": [{"name": "first_component", "variant": "", "sentence": "only component 0 is used",
                     "matched": 24, "open": 0, "contradicted": 0}],
     "compatible": [["another_operand", "zero"]],
     "common": ["…"]}

``wrong`` and ``right`` count defined lanes. ``hypotheses`` has those that match every wrong lane, the best
first; if none does, the one that matches most. Of ``open`` wrong lanes a hypothesis predicts nothing, as
where it reads an inactive lane. ``contradicted`` counts right lanes for which it predicts another value than
was recorded. A hypothesis *explains* a case if no defined lane recorded another value than it predicts.
``compatible`` lists hypotheses, with their variants, that predict nothing for any wrong lane and contradict
no right one. ``common`` lists properties that all wrong lanes share and not all right lanes have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Expected, Verdict
from vkgroup.conformance.diagnosis.hypotheses import HYPOTHESES, Hypothesis
from vkgroup.conformance.diagnosis.masks import diagnose_layout, diagnose_masks, diagnose_paths
from vkgroup.conformance.diagnosis.observation import CaseObservation, Prediction
from vkgroup.conformance.diagnosis.values import diagnose_values
from vkgroup.conformance.evidence import text_of
from vkgroup.conformance.instances import LayoutFault, MaskFault, PathFault
from vkgroup.conformance.subgroup.expectation import JudgedLanes

MOST = 8
"""Hypotheses that are listed at most."""


@dataclass(frozen=True)
class _Match:
    """How one variant of a hypothesis fits a case."""

    hypothesis: Hypothesis
    variant: str
    #: Wrong lanes that recorded what it predicts, and those for which it predicts nothing.
    matched: int
    open: int
    contradicted: int  # right lanes that recorded something else than it predicts
    complete: bool  # whether no wrong lane recorded something else
    prediction: Prediction = field(repr=False)

    @property
    def explains(self) -> bool:
        """Whether no defined lane recorded something else."""
        return self.complete and not self.contradicted

    def to_json(self) -> dict[str, Any]:
        """Return the match as JSON data."""
        return {
            "name": self.hypothesis.name,
            "variant": self.variant,
            "sentence": self.hypothesis.sentence.format(self.variant),
            "matched": self.matched,
            "open": self.open,
            "contradicted": self.contradicted,
        }


def diagnosed(verdict: Verdict) -> Verdict:
    """Return a failed verdict with its diagnosis in the evidence, under ``"diagnosis"``.

    The rows of the evidence get what the best hypothesis that explains the case predicts: ``"hypothesis"``.
    """
    diagnosis = diagnosis_of(verdict)
    if diagnosis is None:
        return verdict
    evidence = dict(verdict.evidence or {})
    predicted = diagnosis.pop("predicted", None)
    if predicted is not None and len(predicted) == evidence.get("size"):
        evidence["rows"] = {**evidence["rows"], "hypothesis": predicted}
    return replace(verdict, evidence={**evidence, "diagnosis": diagnosis})


def diagnosis_of(verdict: Verdict) -> dict[str, Any] | None:
    """Return the diagnosis of a failed case; an internal error does not change the verdict.

    After such an error the diagnosis has the kind ``"internal error"`` and its text.
    """
    try:
        return diagnose(verdict)
    except Exception as error:
        return {"kind": "internal error", "text": f"{type(error).__name__}: {error}"}


def diagnose(verdict: Verdict) -> dict[str, Any] | None:
    """Return the diagnosis of a failed case; None if the verdict has no elements to diagnose."""
    if verdict.lanes is not None:
        return _diagnose_lanes(verdict.lanes)
    if isinstance(verdict.masks, MaskFault):
        return diagnose_masks(verdict.masks)
    if isinstance(verdict.masks, LayoutFault):
        return diagnose_layout(verdict.masks)
    if isinstance(verdict.masks, PathFault):
        return diagnose_paths(verdict.masks)
    return None if verdict.values is None else diagnose_values(verdict.values)


def _diagnose_lanes(lanes: JudgedLanes) -> dict[str, Any]:
    """Return the diagnosis of wrong lanes of a subgroup operation."""
    seen = CaseObservation(lanes)
    wrong: Flags = np.asarray(lanes.wrong.any(axis=-1))
    right = lanes.expected.defined.all(axis=-1) & lanes.instances.recorded & ~wrong
    matches = [match for row in HYPOTHESES if not row.costly for match in _matches(row, seen, wrong, right)]
    if not any(match.explains and match.matched for match in matches):
        matches += [match for row in HYPOTHESES if row.costly for match in _matches(row, seen, wrong, right)]
    supported = [match for match in matches if match.matched]
    complete = sorted(
        (m for m in supported if m.complete), key=lambda match: (match.contradicted, match.open)
    )
    partial = sorted(
        (m for m in supported if not m.complete), key=lambda match: (-match.matched, match.contradicted)
    )
    compatible = [m for m in matches if m.explains and not m.matched]
    best = next((match for match in complete if match.explains), None)
    return {
        "kind": "lanes",
        "wrong": int(wrong.sum()),
        "right": int(right.sum()),
        "hypotheses": [match.to_json() for match in complete[:MOST] or partial[:1]],
        "compatible": [[match.hypothesis.name, match.variant] for match in compatible],
        "common": _common(seen, wrong, right),
        **({} if best is None else {"predicted": _predicted(best.prediction, seen, wrong)}),
    }


def _predicted(prediction: Prediction, seen: CaseObservation, wrong: Flags) -> list[str | None]:
    """Return what a hypothesis predicts for each lane of the first instance with a wrong lane, as text.

    None for lanes without a record, and for those for which it predicts nothing.
    """
    row = int(np.argwhere(wrong)[0][0])
    lanes = range(seen.size)
    recorded = seen.lanes.instances.recorded[row]
    if isinstance(prediction, Expected):
        known = recorded & prediction.defined[row].all(axis=-1)
        return [prediction.text((row, lane)) if known[lane] else None for lane in lanes]
    known = recorded & seen.agrees(prediction)[0][row]
    return [text_of(seen.got[row, lane]) if known[lane] else None for lane in lanes]


def _matches(row: Hypothesis, seen: CaseObservation, wrong: Flags, right: Flags) -> Iterator[_Match]:
    """Yield how the variants of a hypothesis fit, except those that contradict every wrong lane."""
    for variant, prediction in row.change(seen):
        agrees, open_ = seen.agrees(prediction)
        matched, unknown = int((agrees & wrong).sum()), int((open_ & wrong).sum())
        if matched or unknown:
            contradicted = int((~agrees & ~open_ & right).sum())
            complete = matched + unknown == int(wrong.sum())
            yield _Match(row, variant, matched, unknown, contradicted, complete, prediction)


def _common(seen: CaseObservation, wrong: Flags, right: Flags) -> list[str]:
    """Return properties that all wrong lanes share, and that not all right lanes have."""
    instances = seen.lanes.instances
    size = wrong.shape[1]
    lane = np.broadcast_to(np.arange(size), wrong.shape)
    active = seen.active.sum(axis=1)[:, None]
    first = lane == seen.active.argmax(axis=1)[:, None]
    last = lane == size - 1 - seen.active[:, ::-1].argmax(axis=1)[:, None]
    properties: dict[str, Flags] = {}
    for name, values in (
        ("lane", lane),
        ("slot", instances.slot[:, None]),
        ("workgroup", instances.group[:, None]),
    ):
        numbers = np.unique(np.broadcast_to(values, wrong.shape)[wrong])
        if len(numbers) == 1:
            properties[f"{name} {numbers[0]}"] = np.broadcast_to(values == numbers[0], wrong.shape)
    properties |= {
        "the first active lane": first,
        "the last active lane": last,
        "not the first active lane": ~first,
        "odd lanes": lane % 2 == 1,
        "even lanes": lane % 2 == 0,
        "the lower half of the lanes": lane < size // 2,
        "the upper half of the lanes": lane >= size // 2,
        "subgroups with inactive lanes": np.broadcast_to(active < size, wrong.shape),
        "subgroups with all lanes active": np.broadcast_to(active == size, wrong.shape),
        "subgroups with one active lane": np.broadcast_to(active == 1, wrong.shape),
    }
    if seen.value is not None and seen.value.dtype.kind == "f":
        nan: Flags = np.asarray(np.isnan(seen.value).any(axis=-1) & seen.active)
        properties["subgroups in which a lane has NaN"] = np.broadcast_to(
            np.asarray(nan.any(axis=1))[:, None], wrong.shape
        )
        properties["lanes with NaN"] = nan
    return [
        name
        for name, lanes in properties.items()
        if lanes[wrong].all() and not (right.any() and lanes[right].all())
    ]
