"""Shaders in which each invocation records its lane, its subgroup and one result, and the runs of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.conformance import evidence, marks
from vkgroup.conformance.arrays import Flags, Words, poisoned
from vkgroup.conformance.comparison import Description, Verdict, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableCase
from vkgroup.spirv import Module

LOCAL, GROUPS = 128, 4
TOTAL = LOCAL * GROUPS
_LANES = 256
"""More lanes than a subgroup has; what a wrong device records may be any number."""


@dataclass(frozen=True)
class LaneRecord:
    """The inputs, and what the shader recorded, each (GROUPS, LOCAL)."""

    x: Words
    lane: Words
    subgroup: Words

    def of_lane(self, lane: Words) -> tuple[Words, Flags]:
        """Return the inputs of other lanes of each invocation's subgroup, and whether they exist."""
        group, number = np.arange(GROUPS)[:, None], np.minimum(self.subgroup, LOCAL - 1)
        local = np.full((GROUPS, LOCAL, _LANES), -1)
        local[group, number, np.minimum(self.lane, _LANES - 1)] = np.arange(LOCAL)
        other = local[group, number, np.minimum(lane, _LANES - 1)]
        return np.take_along_axis(self.x, np.maximum(other, 0), axis=1), other >= 0

    def first(self) -> Words:
        """Return the inputs of the first lane of each invocation's subgroup."""
        return self.reduced(lambda lanes, x: x[np.argmin(lanes)])

    def reduced(self, of: Callable[[Words, Words], Any]) -> Words:
        """Return a function of lanes and inputs of each invocation's subgroup."""
        result = np.zeros_like(self.x)
        for group in range(GROUPS):
            for number in np.unique(self.subgroup[group]):
                members = self.subgroup[group] == number
                result[group, members] = of(self.lane[group, members], self.x[group, members])
        return result


Expect = Callable[[LaneRecord], tuple[Words, Flags]]
"""Function that returns the expected results, and which of them are defined."""


def all_defined(values: Words) -> tuple[Words, Flags]:
    """Return results that are all defined."""
    return values.astype(np.uint32), np.ones(values.shape, np.bool_)


def mirrored(recorded: LaneRecord) -> tuple[Words, Flags]:
    """Return the inputs of each workgroup from its last invocation to its first, all defined."""
    return all_defined(recorded.x[:, ::-1])


def lane_shader(case: TableCase[Any], body: str, *, extensions: Iterable[str], declarations: str = "") -> str:
    """Return the GLSL of a case, whose `body` sets `result` from `x`, `local` and `index`."""
    salt = marks.salt_of(case.name)
    required = "\n".join(f"#extension {name} : require" for name in extensions)
    return f"""#version 460
// {case.sentence}
// binding 0: inputs; binding 1: outputs (lane, subgroup, result), with marks; binding 2: cells, if any.
#extension GL_KHR_shader_subgroup_basic : require
{required}
const uint LOCAL = {LOCAL}u, TOTAL = {TOTAL}u;
layout(local_size_x = {LOCAL}) in;
layout(std430, binding = 0) readonly buffer Inputs {{ uint inputs[]; }};
layout(std430, binding = 1) writeonly buffer Outputs {{ uint outputs[]; }};
{declarations}
uint mark(uint place) {{ return {marks.glsl("place", salt)}; }}
void main() {{
    uint index = gl_GlobalInvocationID.x, local = gl_LocalInvocationIndex;
    uint x = inputs[index], result = 0u;
    {body}
    outputs[index] = gl_SubgroupInvocationID ^ mark(index);
    outputs[TOTAL + index] = gl_SubgroupID ^ mark(TOTAL + index);
    outputs[2u * TOTAL + index] = result ^ mark(2u * TOTAL + index);
}}
"""


def random_inputs(executor: Executor) -> Words:
    """Return an input for each invocation, (TOTAL,)."""
    return np.random.default_rng(executor.seed).integers(0, 2**32, TOTAL, np.uint32)


def run_recorded(
    executor: Executor,
    case: TableCase[Any],
    module: Module,
    inputs: Words,
    bindings: Mapping[str, Any],
    **options: Any,
) -> tuple[LaneRecord, Words, Mapping[Any, Any]]:
    """Run a shader; return what it recorded, its results (GROUPS, LOCAL), and the arrays of all bindings.

    `inputs`: one for each invocation; further ones are not recorded.
    `bindings`: besides the inputs and the outputs.
    `options`: of the pipeline.
    """
    arrays: dict[Any, Any] = {"Inputs": inputs, "Outputs": poisoned(3 * TOTAL), **bindings}
    with executor.device.pipeline(module, **options) as pipeline, pipeline.bind(arrays) as bound:
        bound.dispatch(GROUPS, timeout=executor.timeout)
        results = bound.results()
    words = results["Outputs"] ^ marks.marks(np.arange(3 * TOTAL), marks.salt_of(case.name))
    lane, subgroup, result = words.reshape(3, GROUPS, LOCAL)
    return LaneRecord(inputs[:TOTAL].reshape(GROUPS, LOCAL), lane, subgroup), result, results


def compared(recorded: LaneRecord, got: Words, expected: Words, defined: Flags) -> Verdict:
    """Return the verdict on the results of all invocations; all arrays are (GROUPS, LOCAL)."""
    wrong = defined & (got != expected)

    def line(index: tuple[int, ...]) -> str:
        group, local = index
        lane, subgroup = recorded.lane[index], recorded.subgroup[index]
        where = f"workgroup {group} invocation {local}, lane {lane} of subgroup {subgroup}"
        return f"{where}: input {recorded.x[index]} expected {expected[index]} got {got[index]}"

    def shown(wrong: Flags) -> dict[str, Any]:
        values = {"expected": expected, "got": got}
        return evidence.of_values("the result", values, wrong, ("workgroup", "invocation"))

    count = int(defined.sum())
    return verdict_of(wrong, Description("values", line, shown), defined=count, undefined=TOTAL - count)
