"""``coherent`` variables, and an invocation's own stores.

ARB_compute_shader, "Modify the table of memory control functions": when a memory barrier returns, stores to
coherent variables before it are visible to coherent accesses of all invocations. An invocation sees its own
stores without a barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import work
from vkgroup.conformance.compute_model.work import ModelCase, Words, lacking_invocations
from vkgroup.conformance.execute import Executor
from vkgroup.record.record import Status

LOCAL, GROUPS, ROUNDS = 128, 8, 8
"""Invocations of a workgroup, workgroups, and rounds of a case."""

_ALL_GROUPS = 64
"""Number of workgroups in cases in which the last workgroup reads the stores of all."""

_BARRIERS = {
    "buffer": ("memoryBarrier", "memoryBarrierBuffer", "groupMemoryBarrier"),
    "image": ("memoryBarrier", "memoryBarrierImage", "groupMemoryBarrier"),
}

_SIDES = {
    "before": "in front of barrier()",
    "both": "in front of barrier() and behind it",
}

# memory → declaration, write of h to cell {at}, read of cell {at}
_CELLS = {
    "shared": (f"shared uint cells[{LOCAL}];", "cells[{at}] = h;", "cells[{at}]"),
    "buffer": (
        "layout(std430, binding = 1) {coherent}buffer Cells {{ uint cells[]; }};",
        "cells[{at} + base] = h;",
        "cells[{at} + base]",
    ),
    "image": (
        "layout(r32ui, binding = 2) {coherent}uniform uimage2D pixels;",
        "imageStore(pixels, ivec2(int({at}), int(group)), uvec4(h));",
        "imageLoad(pixels, ivec2(int({at}), int(group))).x",
    ),
}


def _cases() -> Iterator[ModelCase]:
    for memory in _CELLS:
        for coherent in ("coherent", "plain") if memory != "shared" else ("plain",):
            kind = "coherent" if coherent == "coherent" else "no qualifier"
            sentence = f"An invocation reads what it last wrote to {memory} memory; no barriers ({kind})."
            yield work.model_case("coherence", "own_stores", (memory, coherent), sentence)
    for memory, barriers in _BARRIERS.items():
        for barrier in barriers:
            for side, words in _SIDES.items():
                sentence = (
                    f"What a workgroup wrote to a coherent {memory} is there for all of it, with {barrier}()"
                    f" {words}."
                )
                yield work.model_case("coherence", "exchange", (memory, barrier, side), sentence)
        sentence = (
            f"How often an invocation misses what another wrote to a {memory} that is not coherent, with"
            " memoryBarrier() and barrier(); nothing is promised."
        )
        yield work.model_case("coherence", "incoherent_exchange", (memory,), sentence)
        for barrier in barriers[:2]:
            sentence = (
                f"The last workgroup to arrive sees what all others wrote to a coherent {memory} before"
                f" {barrier}() and their arrival."
            )
            yield work.model_case("coherence", "last_workgroup", (memory, barrier), sentence)


def _shader(comment: str, memory: str, coherent: bool, body: str) -> str:
    """Return the GLSL of a shader in which each workgroup has a row of cells."""
    return f"""#version 430
// {comment}
layout(local_size_x = {LOCAL}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
{_CELLS[memory][0].format(coherent="coherent " * coherent)}
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x, base = group * {LOCAL}u;
    for (uint number = 0u; number < {ROUNDS}u; ++number) {{
        uint h = {work.HASH};
        uint at = (group * {ROUNDS}u + number) * {LOCAL}u + index;
{body}
    }}
}}
"""


def _run(executor: Executor, source: str, memory: str, groups: int, each: int, **more: Any) -> Words:
    """Run a shader; return `each` words for each workgroup as a 1-D array."""
    bindings: dict[str, Any] = {"Found": poisoned(groups * each), **more}
    if memory == "buffer":
        bindings["Cells"] = np.zeros(groups * LOCAL, np.uint32)
    elif memory == "image":
        bindings["pixels"] = np.zeros((groups, LOCAL), np.uint32)
    return work.run(executor, source, groups, bindings)["Found"]


def _rounds(executor: Executor, source: str, memory: str) -> Words:
    """Run a shader of `_shader`; return (workgroups, rounds, invocations)."""
    return _run(executor, source, memory, GROUPS, ROUNDS * LOCAL).reshape(GROUPS, ROUNDS, LOCAL)


_AXES = ("workgroup", "round", "invocation")


def _judge_own(executor: Executor, memory: str, coherent: str) -> Verdict:
    """Run stores to an invocation's cells, read back immediately and before the next store."""
    _, write, read = _CELLS[memory]
    body = f"""
        uint cell = (index * 37u + group) % {LOCAL}u;
        uint old = {read.format(at="cell")};
        bool right = number == 0u || old == h - 2891336453u + 7u;
        {write.format(at="cell")}
        uint first = {read.format(at="cell")};
        right = right && first == h;
        h += 7u;
        {write.format(at="cell")}
        found[at] = right ? {read.format(at="cell")} : 0u;"""
    source = _shader("Each invocation reads its own stores.", memory, coherent == "coherent", body)
    group, number, index = np.indices((GROUPS, ROUNDS, LOCAL), dtype=np.uint32)
    expected = work.hashed(index, number, group) + np.uint32(7)
    what = "what an invocation read after its own stores; 0 where an earlier read was wrong"
    return work.compare(_rounds(executor, source, memory), expected, what, _AXES)


def _exchange(memory: str, barrier: str, side: str, coherent: bool) -> str:
    _, write, read = _CELLS[memory]
    meet = f"""
        {barrier}();
        barrier();
        {f"{barrier}();" if side == "both" else ""}"""
    body = f"""
        {write.format(at="index")}{meet}
        found[at] = {read.format(at=f"((index + 1u + number * 29u) % {LOCAL}u)")};{meet}"""
    return _shader(f"Invocations read each other's cells, with {barrier}().", memory, coherent, body)


def _exchanged() -> Words:
    """Return the values that invocations must read in an exchange."""
    group, number, index = np.indices((GROUPS, ROUNDS, LOCAL), dtype=np.uint32)
    return work.hashed((index + 1 + number * 29) % LOCAL, number, group)


def _judge_exchange(executor: Executor, memory: str, barrier: str, side: str) -> Verdict:
    source = _exchange(memory, barrier, side, True)
    verdict = work.compare(
        _rounds(executor, source, memory), _exchanged(), "what another invocation wrote", _AXES
    )
    if verdict.status == Status.FAIL and side == "before":
        note = "; the document asks for no second memory barrier, the Vulkan memory model does"
        return replace(verdict, detail=verdict.detail + note)
    return verdict


def _judge_incoherent(executor: Executor, memory: str) -> Verdict:
    recorded = _rounds(executor, _exchange(memory, "memoryBarrier", "both", False), memory)
    missed = int(np.count_nonzero(recorded != _exchanged()))
    detail = (
        f"{missed} of {recorded.size} reads missed what another invocation had written; nothing is promised"
    )
    return Verdict(Status.UNDEFINED, 0, recorded.size, detail)


def _judge_last(executor: Executor, memory: str, barrier: str) -> Verdict:
    """Return the verdict on whether the last workgroup reads the stores of all workgroups."""
    declaration, write, read = _CELLS[memory]
    others = read.replace("int(group)", "int(other)").replace("base", f"other * {LOCAL}u").format(at="index")
    source = f"""#version 430
// The last workgroup to arrive collects what all workgroups wrote.
layout(local_size_x = {LOCAL}) in;
layout(std430, binding = 0) buffer Found {{ uint found[]; }};
{declaration.format(coherent="coherent ")}
layout(std430, binding = 3) coherent buffer Arrivals {{ uint arrived[]; }};
shared bool is_last;
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x, base = group * {LOCAL}u;
    const uint number = 0u;
    uint h = {work.HASH};
    {write.format(at="index")}
    {barrier}();
    barrier();
    if (index == 0u) is_last = atomicAdd(arrived[0], 1u) == gl_NumWorkGroups.x - 1u;
    memoryBarrier();
    barrier();
    memoryBarrier();
    if (!is_last) return;
    for (uint other = 0u; other < gl_NumWorkGroups.x; ++other)
        found[other * {LOCAL}u + index] = {others};
}}
"""
    arrivals = np.zeros(1, np.uint32)
    recorded = _run(executor, source, memory, _ALL_GROUPS, LOCAL, Arrivals=arrivals)
    group, index = np.indices((_ALL_GROUPS, LOCAL), dtype=np.uint32)
    expected = work.hashed(index, np.zeros_like(index), group)
    names = ("workgroup", "invocation")
    return work.compare(
        recorded.reshape(expected.shape), expected, "what the last workgroup collected", names
    )


COHERENCE_TOPIC = work.topic(
    "coherence",
    _cases,
    {
        "own_stores": _judge_own,
        "exchange": _judge_exchange,
        "incoherent_exchange": _judge_incoherent,
        "last_workgroup": _judge_last,
    },
    lambda case, capabilities: lacking_invocations(LOCAL, capabilities),
)
