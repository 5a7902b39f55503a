"""Family of fragments that are demoted, terminated or discarded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags, poisoned
from vkgroup.conformance.comparison import Description, Index, Verdict
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.fragment.scenes import GRID
from vkgroup.conformance.instances import hex_of, pack, unpack
from vkgroup.conformance.reconvergence.family import FEATURES
from vkgroup.conformance.reconvergence.termination import (
    CASES,
    COUNT,
    PLANES,
    SELECTIONS,
    TESTS,
    VALUE,
    VERBS,
    TerminationCase,
    TerminationTest,
    source_of,
)
from vkgroup.conformance.recording import Recorder
from vkgroup.conformance.support import lacking_features, lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.programs.nodes import Promise
from vkgroup.record.record import Status

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]

_LEAST_SIZE = 4


def _missing(case: TerminationCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    test = TESTS[case.axes.test]
    needs = lacking_stages(("fragment",), capabilities)
    features = ["fragmentStoresAndAtomics"]
    if test.promise is not None:
        features.append(FEATURES[test.promise])
    features.append(VERBS[test.verb].feature)
    if case.axes.full_quads:
        features.append("shaderQuadControl")
    needs += lacking_features(filter(None, features), capabilities)
    categories = ["basic", "ballot"] + ["vote"] * (test.probe == "any_left")
    needs += lacking_operations(categories, capabilities)
    if capabilities.subgroup.size < _LEAST_SIZE:
        needs.append(f"a subgroup size of at least {_LEAST_SIZE}, which holds a quad")
    return needs


def _judge(executor: Executor, cases: list[TerminationCase]) -> list[Verdict]:
    """Draw and compare one case after the other; return the verdicts."""
    return [_judge_one(executor, case) for case in cases]


def _judge_one(executor: Executor, case: TerminationCase) -> Verdict:
    scene = case.axes.scene
    module = executor.compile(source_of(case), stage="fragment")
    zeroed = PLANES["started"], PLANES["ended"]
    recorder = Recorder("fragment", COUNT, (GRID, GRID), zeroed, size=(scene.size, scene.size))
    vertices = {name: value for name, value in scene.vertices().items() if name == "position"}
    planes, results = recorder.run(
        executor,
        module,
        {1: np.array([VALUE, 0], np.uint32)},
        vertices=vertices or None,
        colors={"color": poisoned(scene.size, scene.size)},
    )
    color = poisoned(GRID, GRID)
    color[: scene.size, : scene.size] = np.asarray(results["color"]).reshape(scene.size, scene.size)
    size = executor.capabilities.subgroup.size
    return _Record(TESTS[case.axes.test], planes, color, scene.covered[0], size).verdict()


TERMINATED_FRAGMENTS = Family(
    "leaving",
    CASES,
    _missing,
    _judge,
    lambda case: TESTS[case.axes.test].verb,
    batch=8,
)
"""Fragments that are demoted, terminated or discarded, and the masks of the remaining ones."""


@dataclass(frozen=True)
class _Record:
    """The record of a draw, of the pixels that the scene covers."""

    test: TerminationTest
    planes: Words  # (COUNT, GRID, GRID) recorded words; see `PLANES`
    #: `color`, `covered`: (GRID, GRID) color attachment, and whether the scene covers a pixel.
    color: Words
    covered: Flags
    size: int  # subgroup size

    def _at(self, name: str) -> Indices:
        """Return a plane of the covered pixels, (pixels,)."""
        return np.asarray(self.planes[PLANES[name]][self.covered], np.int64)

    def _masks(self, name: str) -> Flags:
        """Return the masks of the covered pixels, (pixels, size)."""
        first = PLANES[name]
        return unpack(np.ascontiguousarray(self.planes[first : first + 4, self.covered].T), self.size)

    @cached_property
    def _leaves(self) -> Flags:
        """Whether each covered pixel leaves, (pixels,)."""
        y, x = np.nonzero(self.covered)
        leaves = SELECTIONS[self.test.selection].flags(x, y, self._at("lane"))
        return leaves & (self._at("elected") == 0) if self.test.flow == "elect" else leaves

    def _of_subgroup(self, flags: Flags) -> Flags:
        """Return the lanes of each pixel's subgroup whose flag is set, (pixels, size)."""
        keys = np.column_stack([self._at("subgroup"), pack(self._masks("before"))])
        _, row = np.unique(keys, axis=0, return_inverse=True)
        row = row.ravel()
        lanes = np.zeros((int(row.max()) + 1, self.size), np.bool_)
        lanes[row[flags], self._at("lane")[flags]] = True
        return lanes[row]

    def verdict(self) -> Verdict:
        """Return the verdict."""
        fault = self._layout_fault()
        if fault is not None:
            return Verdict(Status.FAIL, 0, 0, *fault)
        survivors, certain = ~self._leaves, self._certain()
        fault = (
            self._ending_fault(survivors)
            or self._mask_fault(survivors & certain)
            or self._probe_fault(survivors)
        )
        known = survivors if self.test.probe else survivors & certain
        defined, undefined = int(known.sum()), int((survivors & ~known).sum())
        if fault is not None:
            return Verdict(Status.FAIL, defined, undefined, *fault)
        return Verdict(Status.PASS if defined else Status.UNDEFINED, defined, undefined)

    def _layout_fault(self) -> Fault | None:
        """Check that every covered pixel was shaded, and that lanes and masks are consistent."""
        wrong = (self.planes[PLANES["started"]] == 1) != self.covered
        if wrong.any():
            return Fault(f"{int(wrong.sum())} pixels are covered and were not shaded, or the other way round")
        if (self._at("size") != self.size).any() or (self._at("lane") >= self.size).any():
            return Fault("gl_SubgroupSize and gl_SubgroupInvocationID contradict each other or the device")
        covered = np.ones(int(self.covered.sum()), np.bool_)
        there = self._of_subgroup(covered)
        return self._fault_of_masks(covered, "real", there, there, "masks of fragments before any left")

    def _ending_fault(self, survivors: Flags) -> Fault | None:
        """Check that only the remaining fragments finished and wrote their color."""
        ended, ways = self._at("ended") == 1, np.array(["leaves", "goes on"])
        fault = self._fault(
            ended != survivors,
            ways[survivors.astype(int)],
            ways[ended.astype(int)],
            VERBS[self.test.verb].statement,
        )
        if fault is not None:
            return fault
        expected = poisoned(*self.color.shape)
        y, x = np.nonzero(self.covered)
        expected[y[survivors], x[survivors]] = (y * GRID + x + 1)[survivors]
        wanted, got = expected[self.covered], self.color[self.covered]
        fault = self._fault(wanted != got, wanted, got, "color = index + 1u", about="color")
        outside = (self.color != expected) & ~self.covered
        if fault is None and outside.any():
            index = tuple(np.argwhere(outside)[0].tolist())
            fault = Fault(f"pixel {index[::-1]} is not covered and has color {self.color[index]}")
        return fault

    def _certain(self) -> Flags:
        """Whether the active invocations of each pixel are known afterwards, (pixels,)."""
        if self.test.promise is Promise.SUBGROUP:
            # If one fragment leaves, the others of its subgroup are no longer in uniform control flow.
            return np.asarray(~np.any(self._of_subgroup(self._leaves), axis=1))
        return np.full(int(self.covered.sum()), self.test.promise is Promise.MAXIMAL)

    def _mask_fault(self, judged: Flags) -> Fault | None:
        """Check the masks: all remaining fragments, and only helper invocations that may be active."""
        selection, gone = SELECTIONS[self.test.selection], self._of_subgroup(self._leaves)
        left, most = self._masks("real") & ~gone, self._masks("before")
        if self.test.verb == "terminate":
            most &= ~gone
            if selection.lanes is not None:
                most &= ~np.array([selection.lanes >> lane & 1 == 1 for lane in range(self.size)])
            if selection.helpers:
                most &= self._masks("real")
        return self._fault_of_masks(
            judged, "left", left, left, "masks of fragments that are left"
        ) or self._fault_of_masks(judged, "after", left, most, "masks of active invocations, at most")

    def _probe_fault(self, survivors: Flags) -> Fault | None:
        """Check the values that the remaining fragments probed."""
        expected, got = VALUE if self.test.probe == "read" else 0, self._at("probe")
        wrong = survivors & (got != expected) & bool(self.test.probe)
        return self._fault(wrong, np.where(survivors, str(expected), "any"), got, "uint probe =")

    def _fault_of_masks(
        self, judged: Flags, name: str, least: Flags, most: Flags, about: str
    ) -> Fault | None:
        """Return the fault in the pixels' masks of a name, (pixels, size); None if there is none."""
        got = self._masks(name)
        wrong = judged & ((got & ~most) | (least & ~got)).any(axis=1)
        if not wrong.any():
            return None
        wanted, recorded = (np.array([hex_of(row) for row in pack(sets)]) for sets in (most, got))
        same = self._together(wrong)
        masks = evidence.masks_of(self._at("lane")[same], got[same], least[same], most[same])
        return self._fault(wrong, wanted, recorded, f"uvec4 {name} = ", about, masks)

    def _together(self, wrong: Flags) -> Indices:
        """Return the indices of the covered pixels in the subgroup of the first wrong one."""
        return evidence.together(wrong, self._at("subgroup"), *pack(self._masks("before")).T)

    def _fault(
        self,
        wrong: Flags,
        expected: NDArray[Any],
        got: NDArray[Any],
        code: str,
        about: str = "",
        masks: list[dict[str, str]] | None = None,
    ) -> Fault | None:
        """Return the fault in the values of the covered pixels, (pixels,) each; None if there is none."""
        if not wrong.any():
            return None
        y, x = np.nonzero(self.covered)
        lane, same = self._at("lane"), self._together(wrong)

        def line(index: Index) -> str:
            where = f"pixel ({x[index]}, {y[index]}) lane {lane[index]}"
            return f"{where}: expected {expected[index]} got {got[index]}"

        lanes = evidence.of_lanes(
            f"the subgroup of pixel ({x[wrong][0]}, {y[wrong][0]})",
            lane[same],
            wrong[same],
            {
                "pixel": [f"({x[at]}, {y[at]})" for at in same],
                "then": np.where(self._leaves, "leaves", "goes on")[same].tolist(),
                "expected": map(str, expected[same].tolist()),
                "got": map(str, got[same].tolist()),
            },
            size=self.size,
            active=self._masks("before")[same[0]],
            masks=masks,
            code=code,
        )
        description = Description("pixels", line, lambda _: lanes, about=about)
        return Fault(description.text(wrong, len(wrong)), lanes)
