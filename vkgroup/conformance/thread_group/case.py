"""Cases of NV_shader_thread_group: axes, names and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vkgroup.conformance.family import TableCase
from vkgroup.conformance.thread_group.flows import FLOWS, Flow
from vkgroup.conformance.thread_group.observations import OBSERVATIONS
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS

STAGES = ("compute", "vertex", "fragment")
"""The stages in which cases run; sources of the document's others (geometry, tessellation) compile."""

COVERAGES = ("whole", "edge")
"""What a fragment case draws: a triangle over all pixels, or one whose edge runs through quads."""


class ThreadGroupAxes(NamedTuple):
    """The axes.

    Attributes
    ----------
    stage : one of `STAGES`.
    operation : a name of `THREAD_GROUP_OPERATIONS` or `OBSERVATIONS`.
    type : of a quadSwizzle's operands; "" for the others.
    operands : ``"one"`` or ``"two"``, the operands of a quadSwizzle; "" for the others.
    flow : a name of `FLOWS`.
    coverage : one of `COVERAGES`; "" outside of fragment shaders.
    """

    stage: str
    operation: str
    type: str
    operands: str
    flow: str
    coverage: str


ThreadGroupCase = TableCase[ThreadGroupAxes]


def _sentence(axes: ThreadGroupAxes) -> str:
    subject = axes.operation
    if axes.operation in OBSERVATIONS:
        subject = OBSERVATIONS[axes.operation].sentence
    elif axes.type:
        operands = {"one": "1 operand", "two": "2 operands"}[axes.operands]
        subject = f"{axes.operation} of {axes.type}, with {operands}"
    where = {"edge": ", at the edge of a triangle", "whole": ""}.get(axes.coverage, "")
    return f"{subject}, in a {axes.stage} shader{where}, is executed {FLOWS[axes.flow].sentence}."


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
                for operands in ("one", "two") if swizzles else ("",):
                    yield from _placed(stage, operation.name, type_, operands)
        for observation in OBSERVATIONS.values():
            if stage in observation.stages:
                yield from _placed(stage, observation.name, "", "")


def _placed(stage: str, operation: str, type_: str, operands: str) -> Iterator[ThreadGroupCase]:
    """Yield a case for each flow and coverage in which it can be observed."""
    only_uniform = operation in OBSERVATIONS and OBSERVATIONS[operation].uniform
    for flow in _flows(stage):
        if only_uniform and not flow.uniform:
            continue
        for coverage in COVERAGES if stage == "fragment" else ("",):
            axes = ThreadGroupAxes(stage, operation, type_, operands, flow.name, coverage)
            yield TableCase("thread_group", axes, _sentence(axes))
