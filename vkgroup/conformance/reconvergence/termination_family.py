"""Family of fragments that are demoted, terminated or discarded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Description, Index, Verdict
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.fragment.scenes import GRID
from vkgroup.conformance.instances import hex_of, pack, unpack
from vkgroup.conformance.poison import poisoned
from vkgroup.conformance.reconvergence.termination import (
    SELECTIONS,
    TESTS,
    TerminationCase,
    Test,
    all_cases,
)
from vkgroup.conformance.reconvergence.termination_shader import COUNT, LEAVES, PLANES, VALUE, source_of
from vkgroup.conformance.recording import Recorder
from vkgroup.conformance.support import lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.programs.nodes import Promise
from vkgroup.results.record import Status

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]

_LEAST_SIZE = 4
_FEATURES = {
    Promise.MAXIMAL: "shaderMaximalReconvergence",
    Promise.SUBGROUP: "shaderSubgroupUniformControlFlow",
}
_VERBS = {"demote": "shaderDemoteToHelperInvocation", "terminate": "shaderTerminateInvocation"}


def _missing(case: TerminationCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device does not declare."""
    test = TESTS[case.axes.test]
    needs = lacking_stages(("fragment",), capabilities)
    features = ["fragmentStoresAndAtomics"]
    if test.promise is not None:
        features.append(_FEATURES[test.promise])
    if test.verb in _VERBS:
        features.append(_VERBS[test.verb])
    if case.axes.full_quads:
        features.append("shaderQuadControl")
    needs += [feature for feature in features if feature not in capabilities.features]
    categories = ["basic", "ballot"] + ["vote"] * (test.probe == "any_left")
    needs += lacking_operations(categories, capabilities)
    if capabilities.subgroup.size < _LEAST_SIZE:
        needs.append(f"a subgroup size of at least {_LEAST_SIZE}, which holds a quad")
    return needs


def _judge(executor: Executor, cases: list[TerminationCase]) -> list[Verdict]:
    """Draw and judge one case after the other."""
    return [_judge_one(executor, case) for case in cases]


TERMINATED_FRAGMENTS = TableFamily(
    "leaving",
    all_cases,
    _missing,
    _judge,
    lambda case: TESTS[case.axes.test].verb,
    batch=8,
    category="reconvergence",
)
"""Fragments that are demoted, terminated or discarded, and the masks of the remaining ones."""


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
    return _Record(
        TESTS[case.axes.test], planes, color, scene.covered[0], executor.capabilities.subgroup.size
    ).verdict()


@dataclass(frozen=True)
class _Record:
    """The record of a draw, of the pixels that the scene covers.

    Attributes
    ----------
    planes : (COUNT, GRID, GRID) recorded words; see `PLANES`.
    color, covered : (GRID, GRID) color attachment, and whether the scene covers a pixel.
    size : subgroup size.
    """

    test: Test
    planes: Words
    color: Words
    covered: Flags
    size: int

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
        survivors = ~self._leaves
        certain = self._certain()
        fault = (
            self._ending_fault(survivors)
            or self._mask_fault(survivors & certain)
            or self._probe_fault(survivors)
        )
        defined = int((survivors & certain).sum()) if not self.test.probe else int(survivors.sum())
        undefined = int((survivors & ~certain).sum()) if not self.test.probe else 0
        if fault is not None:
            return Verdict(Status.FAIL, defined, undefined, *fault)
        return Verdict(Status.PASS if defined else Status.UNDEFINED, defined, undefined)

    def _layout_fault(self) -> Fault | None:
        """Check that every covered pixel was shaded, and that lanes and masks are consistent."""
        started = self.planes[PLANES["started"]] == 1
        if (started != self.covered).any():
            wrong = int((started != self.covered).sum())
            return Fault(f"{wrong} pixels are covered and were not shaded, or the other way round")
        if (self._at("size") != self.size).any() or (self._at("lane") >= self.size).any():
            return Fault("gl_SubgroupSize and gl_SubgroupInvocationID contradict each other or the device")
        there, real = self._of_subgroup(np.ones(int(self.covered.sum()), np.bool_)), self._masks("real")
        wrong = (real != there).any(axis=1)
        return self._of_masks(wrong, "real", real, there, there, "masks of fragments before any left")

    def _ending_fault(self, survivors: Flags) -> Fault | None:
        """Check that only the remaining fragments finished and wrote their color."""
        ended = self._at("ended") == 1
        ways = np.array(["leaves", "goes on"])
        fault = self._fault(
            ended != survivors,
            ways[survivors.astype(int)],
            ways[ended.astype(int)],
            LEAVES[self.test.verb],
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
            # If one leaves, the others of its subgroup are no longer in uniform control flow.
            return np.asarray(~np.any(self._of_subgroup(self._leaves), axis=1))
        return np.full(int(self.covered.sum()), self.test.promise is Promise.MAXIMAL)

    def _mask_fault(self, judged: Flags) -> Fault | None:
        """Check the masks: all remaining fragments, and only helper invocations that may be active."""
        selection, gone = SELECTIONS[self.test.selection], self._of_subgroup(self._leaves)
        left, recorded = self._masks("real") & ~gone, self._masks("left")
        wrong = judged & (recorded != left).any(axis=1)
        if wrong.any():
            return self._of_masks(wrong, "left", recorded, left, left, "masks of fragments that are left")
        most = self._masks("before")
        if self.test.verb == "terminate":
            most &= ~gone
            if selection.lanes is not None:
                most &= ~np.array([selection.lanes >> lane & 1 == 1 for lane in range(self.size)])
            if selection.helpers:
                most &= self._masks("real")
        after = self._masks("after")
        wrong = judged & ((after & ~most) | (left & ~after)).any(axis=1)
        return self._of_masks(wrong, "after", after, left, most, "masks of active invocations, at most")

    def _probe_fault(self, survivors: Flags) -> Fault | None:
        """Check the values that the remaining fragments probed."""
        expected, got = VALUE if self.test.probe == "read" else 0, self._at("probe")
        wrong = survivors & (got != expected) & bool(self.test.probe)
        return self._fault(wrong, np.where(survivors, str(expected), "any"), got, "uint probe =")

    def _fault(
        self,
        wrong: Flags,
        expected: NDArray[Any],
        got: NDArray[Any],
        code: str,
        about: str = "",
        masks: list[dict[str, str]] | None = None,
    ) -> Fault | None:
        """Return the fault in the values of the covered pixels, (pixels,) each; None if there is none.

        Parameters
        ----------
        code : text in the shader line that computes the values.
        about : description of the values.
        masks : masks for the evidence.
        """
        if not wrong.any():
            return None
        y, x = np.nonzero(self.covered)
        lane = self._at("lane")

        def line(index: Index) -> str:
            where = f"pixel ({x[index]}, {y[index]}) lane {lane[index]}"
            return f"{where}: expected {expected[index]} got {got[index]}"

        description = Description(
            "pixels", line, lambda flags: self._lanes(flags, expected, got, code, masks), about=about
        )
        return Fault(description.text(wrong, len(wrong)), description.evidence(wrong))

    def _of_masks(
        self, wrong: Flags, name: str, got: Flags, least: Flags, most: Flags, about: str
    ) -> Fault | None:
        """Return the fault of the masks of a name, (pixels, size); None if there is none."""
        if not wrong.any():
            return None
        wanted, recorded = (np.array([hex_of(row) for row in pack(sets)]) for sets in (most, got))
        same = self._together(wrong)
        masks = evidence.masks_of(self._at("lane")[same], got[same], least[same], most[same])
        return self._fault(wrong, wanted, recorded, f"uvec4 {name} = ", about, masks)

    def _together(self, wrong: Flags) -> Indices:
        """Return the indices of the covered pixels in the subgroup of the first wrong one."""
        return evidence.together(wrong, self._at("subgroup"), *pack(self._masks("before")).T)

    def _lanes(
        self,
        wrong: Flags,
        expected: NDArray[Any],
        got: NDArray[Any],
        code: str,
        masks: list[dict[str, str]] | None = None,
    ) -> dict[str, Any]:
        """Return the evidence of the first wrong pixel's subgroup; all arrays are of the covered pixels."""
        y, x = np.nonzero(self.covered)
        same = self._together(wrong)
        return evidence.of_lanes(
            f"the subgroup of pixel ({x[wrong][0]}, {y[wrong][0]})",
            self._at("lane")[same],
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
