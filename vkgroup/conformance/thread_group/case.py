"""A case of NV_shader_thread_group as data, and every case there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vkgroup.conformance.thread_group.flows import FLOWS, Flow
from vkgroup.conformance.thread_group.observations import OBSERVATIONS
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS

STAGES = ("compute", "vertex", "fragment")
"""The stages in which cases run; sources of the document's others (geometry, tessellation) compile."""

COVERAGES = ("whole", "edge")
"""What a fragment case draws: a triangle over all pixels, or one whose edge runs through quads."""


@dataclass(frozen=True)
class ThreadGroupCase:
    """One case.

    Attributes
    ----------
    stage : one of `STAGES`.
    operation : a name of `THREAD_GROUP_OPERATIONS` or `OBSERVATIONS`.
    type : of a quadSwizzle's operands; empty for the others.
    operands : how many a quadSwizzle is given.
    flow : a name of `FLOWS`.
    coverage : one of `COVERAGES`; empty outside of fragment shaders.
    """

    stage: str
    operation: str
    type: str
    operands: int
    flow: str
    coverage: str

    @property
    def category(self) -> str:
        """The first part of the name."""
        return "thread_group"

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        swizzle = (self.type, {1: "one", 2: "two"}[self.operands]) if self.type else ()
        parts = (self.category, self.stage, self.operation, *swizzle, self.flow, self.coverage)
        return ".".join(part for part in parts if part)

    @property
    def sentence(self) -> str:
        """What the case tests."""
        if self.operation in OBSERVATIONS:
            what = OBSERVATIONS[self.operation].sentence
        elif self.type:
            what = f"{self.operation} of {self.type}, with {self.operands} operand{'s' * (self.operands - 1)}"
        else:
            what = self.operation
        where = {"edge": ", at the edge of a triangle", "whole": ""}.get(self.coverage, "")
        return f"{what}, in a {self.stage} shader{where}, is executed {FLOWS[self.flow].sentence}."


def _flows(stage: str) -> Iterator[Flow]:
    for flow in FLOWS.values():
        if not (flow.fragment and stage != "fragment") and not (flow.partial and stage != "compute"):
            yield flow


def all_cases() -> Iterator[ThreadGroupCase]:
    """Yield every case: stage by stage, each operation in each flow."""
    for stage in STAGES:
        for operation in THREAD_GROUP_OPERATIONS.values():
            if stage not in operation.stages:
                continue
            swizzles = operation.result is None
            for type_ in (kind.name for kind in operation.types) if swizzles else ("",):
                for operands in (1, 2) if swizzles else (1,):
                    yield from _placed(stage, operation.name, type_, operands)
        for observation in OBSERVATIONS.values():
            if stage in observation.stages:
                yield from _placed(stage, observation.name, "", 1)


def _placed(stage: str, operation: str, type_: str, operands: int) -> Iterator[ThreadGroupCase]:
    """Yield a case for each flow and coverage in which it can be observed."""
    only_uniform = operation in OBSERVATIONS and OBSERVATIONS[operation].uniform
    for flow in _flows(stage):
        if only_uniform and not flow.uniform:
            continue
        for coverage in COVERAGES if stage == "fragment" else ("",):
            yield ThreadGroupCase(stage, operation, type_, operands, flow.name, coverage)
