"""The family of split barriers (VK_EXT_shader_split_barrier).

OpControlBarrierWaitEXT "ensures that memory accesses issued before arriving at the split barrier are observed
before memory accesses issued after this instruction" (SPV_EXT_split_barrier, revision 1). So an invocation
that stores, arrives, waits, and loads the cell of another one in the scope must load what that one stored
before it arrived. Each round has a plane of cells; two planes take turns, so that one barrier in each round
is enough. Before the stores and, in some tests, between arrival and wait, invocations work for different
times: some arrive late, and some wait early.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from vkgroup.conformance.arrays import Words, poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, one_by_one, table
from vkgroup.conformance.lane_record import (
    LOCAL,
    TOTAL,
    LaneRecord,
    all_defined,
    compared,
    lane_shader,
    run_recorded,
)
from vkgroup.conformance.support import lacking_operations
from vkgroup.device import Capabilities

ROUNDS = 5
_FEATURE = "shaderSplitBarrier"

SCOPES = {"workgroup": 2, "subgroup": 3}
"""SPIR-V's number of each execution scope (VUID-StandaloneSpirv-OpControlBarrierArriveEXT-13553)."""

MEMORIES = {"shared": 0x100, "buffer": 0x40}
"""SPIR-V's bits of memory semantics: WorkgroupMemory, UniformMemory."""


@dataclass(frozen=True)
class SplitTest:
    """A use of split barriers; ``STORE``, ``ARRIVE``, ``WAIT`` and ``LOAD`` are those of round `k`."""

    sentence: str
    body: str
    rounds: int = 1
    works: bool = False  # whether the result has the work between arrival and wait


_ROUND = "STORE ARRIVE WORK WAIT LOAD"

SPLIT_TESTS: dict[str, SplitTest] = {
    "exchange": SplitTest("Stores before an arrival are visible after the wait", "STORE ARRIVE WAIT LOAD"),
    "work": SplitTest("The same, with work of different lengths between arrival and wait", _ROUND, 1, True),
    "store_between": SplitTest(
        "Stores between an arrival and its wait, which the next barrier orders",
        "STORE ARRIVE k++; STORE k--; WAIT LOAD k++; ARRIVE WAIT LOAD",
        2,
    ),
    "sequence": SplitTest(
        "Several arrivals and waits in sequence", " k++; ".join([_ROUND] * ROUNDS), ROUNDS, True
    ),
    "loop": SplitTest(
        "An arrival and a wait in a loop whose count is read from a buffer",
        f"for (uint end = inputs[TOTAL]; k < end; k++) {{ {_ROUND} }}",
        ROUNDS,
        True,
    ),
    "both_scopes": SplitTest(
        "Barriers of both scopes, of which each has its own arrivals and waits",
        "STORE ARRIVE ARRIVE_OTHER WORK WAIT_OTHER WAIT LOAD",
        1,
        True,
    ),
    "fences": SplitTest(
        "Barriers without memory semantics between two memory barriers", "STORE FENCE ARRIVE WAIT FENCE LOAD"
    ),
}
"""All tests by name."""


class SplitAxes(NamedTuple):
    """Axes of a case."""

    stage: str
    scope: str  # key of `SCOPES`
    memory: str  # key of `MEMORIES`
    test: str  # key of `SPLIT_TESTS`


SplitCase = TableCase[SplitAxes]

_CASES = table(
    "split_barrier",
    SplitAxes,
    lambda axes: (
        f"{SPLIT_TESTS[axes.test].sentence}: {axes.scope} scope, "
        f"{'shared memory' if axes.memory == 'shared' else 'a buffer'}."
    ),
    stage=("compute",),
    scope=SCOPES,
    memory=MEMORIES,
    test=SPLIT_TESTS,
)


def _missing(case: SplitCase, capabilities: Capabilities) -> list[str]:
    needs = lacking_operations(("basic", "ballot", "shuffle"), capabilities)
    return [*needs, *([] if _FEATURE in capabilities.features else [_FEATURE])]


_PARTNERS = {
    "workgroup": "uint other = (local + LOCAL / 2u + 1u) % LOCAL;",
    "subgroup": """uvec4 all_lanes = subgroupBallot(true), above = all_lanes & gl_SubgroupGtMask;
    bool is_last = all(equal(above, uvec4(0u)));
    uint other = subgroupShuffle(local, subgroupBallotFindLSB(is_last ? all_lanes : above));""",
}
"""GLSL of the invocation whose cell is loaded: half a workgroup away, or the next lane."""


def source_of(case: SplitCase) -> str:
    """Return the GLSL of a case."""
    _, scope, memory, name = case.axes
    test, bits = SPLIT_TESTS[name], 0 if name == "fences" else MEMORIES[memory]
    other = next(number for key, number in SCOPES.items() if key != scope)
    is_shared = memory == "shared"
    cells = (
        "shared uint cells[2u * LOCAL];"
        if is_shared
        else "layout(std430, binding = 2) coherent buffer Cells { uint cells[]; };"
    )
    statements = {
        "ARRIVE_OTHER": f"arrive({other}, {other}, 0);",
        "WAIT_OTHER": f"wait({other}, {other}, 0);",
        "ARRIVE": f"arrive({SCOPES[scope]}, {SCOPES[scope]}, {bits and bits | 4});",
        "WAIT": f"wait({SCOPES[scope]}, {SCOPES[scope]}, {bits and bits | 2});",
        "FENCE": f"memoryBarrier{'Shared' if is_shared else 'Buffer'}();",
        "WORK": "work = worked(work, x >> 8 & 63u);",
        "STORE": "cells[base + (k & 1u) * LOCAL + local] = value(worked(x, x >> k & 63u), k);",
        "LOAD": "result = result * 31u + cells[base + (k & 1u) * LOCAL + other];",
    }
    body = " ".join(statements.get(word, word) for word in test.body.split())
    base = "0u" if is_shared else "gl_WorkGroupID.x * 2u * LOCAL"
    return lane_shader(
        case,
        f"uint base = {base}, work = x, k = 0u;\n    {_PARTNERS[scope]}\n    {body}"
        + ("\n    result ^= work;" if test.works else ""),
        extensions=_EXTENSIONS,
        declarations=_DECLARATIONS + cells,
    )


_EXTENSIONS = (
    "GL_EXT_spirv_intrinsics",
    "GL_KHR_shader_subgroup_ballot",
    "GL_KHR_shader_subgroup_shuffle",
)
_DECLARATIONS = """// The last input is the number of rounds.
spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6142)
void arrive(int execution, int memory, int semantics);
spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6143)
void wait(int execution, int memory, int semantics);
uint worked(uint y, uint count) {
    for (uint i = 0u; i < count; i++) y = y * 1664525u + 1013904223u;
    return y;
}
uint value(uint y, uint round) { return y * 747796405u + round * 2891336453u + 1u; }
"""


def _worked(y: Words, count: Words) -> Words:
    for step in range(64):
        y = np.where(step < count, y * np.uint32(1664525) + np.uint32(1013904223), y)
    return y


def _of_next_lane(lanes: Words, values: Words) -> Words:
    """Return the value of the next lane of a subgroup, of the first one for the last."""
    order = np.argsort(lanes)
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    return values[following]


def expected(case: SplitCase, recorded: LaneRecord) -> Words:
    """Return the results that all invocations must have: (GROUPS, LOCAL)."""
    test, x = SPLIT_TESTS[case.axes.test], recorded.x
    result, work = np.zeros_like(x), x
    for number in range(test.rounds):
        y = _worked(x, x >> np.uint32(number) & np.uint32(63))
        stored = y * np.uint32(747796405) + np.uint32(number * 2891336453 % 2**32) + np.uint32(1)
        if case.axes.scope == "workgroup":
            loaded = np.roll(stored, -(LOCAL // 2 + 1), axis=1)
        else:
            loaded = replace(recorded, x=stored).reduced(_of_next_lane)
        result = result * np.uint32(31) + loaded
        work = _worked(work, x >> np.uint32(8) & np.uint32(63))
    return result ^ work if test.works else result


def _verdict(executor: Executor, case: SplitCase) -> Verdict:
    inputs = np.random.default_rng(executor.seed).integers(0, 2**32, TOTAL + 1, np.uint32)
    inputs[TOTAL] = ROUNDS
    bindings = {"Cells": poisoned(2 * TOTAL)} if case.axes.memory == "buffer" else {}
    module = executor.compile(source_of(case), stage="compute")
    recorded, result, _ = run_recorded(executor, case, module, inputs, bindings)
    return compared(recorded, result, *all_defined(expected(case, recorded)))


SPLIT_BARRIERS = Family("split_barrier", _CASES, _missing, one_by_one(_verdict))
"""Arrivals and waits."""
