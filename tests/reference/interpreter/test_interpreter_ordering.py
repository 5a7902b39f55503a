"""Order between accesses of different invocations: barriers of subgroups, and releases through them."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpret, kinds

from vkgroup.reference.interpreter import Memory

DATA = """
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { uint data[32]; uint flag; uint result[32]; };
void main() {
    uint i = gl_LocalInvocationIndex;
"""
SEMANTICS = "gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease"
RELEASE = "atomicStore(flag, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);"
ACQUIRE = "while (atomicLoad(flag, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire) == 0u) { }"

#: Number of workgroups, body of main.
ORDERED: dict[str, tuple[int, str]] = {
    "one lane passes another barrier alone": (
        1,
        "data[i] = i; subgroupBarrier(); if (i == 0u) { subgroupBarrier(); result[0] = data[1]; }",
    ),
    "one lane releases what its subgroup wrote": (
        2,
        f"""if (gl_WorkGroupID.x == 0u) {{
            data[i] = i; subgroupBarrier(); if (subgroupElect()) {RELEASE}
        }} else if (i == 0u) {{ {ACQUIRE} result[0] = data[5]; }}""",
    ),
    "a barrier of the workgroup releases to the device": (
        2,
        f"""if (gl_WorkGroupID.x == 0u) {{
            data[i] = i;
            controlBarrier(gl_ScopeWorkgroup, gl_ScopeDevice, {SEMANTICS});
            if (i == 0u) atomicStore(flag, 1u, gl_ScopeDevice, 0, 0);
        }} else if (i == 0u) {{ {ACQUIRE} result[0] = data[5]; }}""",
    ),
    "one lane acquires what its subgroup reads": (
        2,
        f"""if (gl_WorkGroupID.x == 0u) {{ if (i == 0u) {{ data[0] = 7u; {RELEASE} }} }}
        else {{ if (i == 0u) {{ {ACQUIRE} }} subgroupBarrier(); result[i] = data[0]; }}""",
    ),
}


@pytest.mark.parametrize("name", ORDERED)
def test_ordered(name: str) -> None:
    groups, body = ORDERED[name]
    assert kinds(interpret(DATA + body + "}", groups, np.zeros(65, np.uint32), races=True)) == []


@pytest.mark.parametrize("name", ORDERED)
def test_a_race_without_the_barrier(name: str) -> None:
    groups, body = ORDERED[name]
    # The first barrier goes, or has no meaning for memory.
    body = body.replace("subgroupBarrier();", "", 1).replace(SEMANTICS, "0, 0")
    assert "race" in kinds(interpret(DATA + body + "}", groups, np.zeros(65, np.uint32), races=True))


def test_a_barrier_that_the_writer_did_not_pass() -> None:
    body = "data[i] = i; if (i == 0u) { subgroupBarrier(); result[0] = data[1]; }"
    assert "race" in kinds(interpret(DATA + body + "}", 1, np.zeros(65, np.uint32), races=True))


def test_a_number_of_64_bits_whose_upper_half_races() -> None:
    source = """
    #extension GL_EXT_shader_explicit_arithmetic_types : require
    layout(local_size_x = 2) in;
    layout(std430, binding = 0) buffer Data { uvec2 halves; uint64_t copy; };
    layout(std430, binding = 0) buffer Whole { uint64_t whole; };
    void main() {
        if (gl_LocalInvocationIndex == 0u) halves.y = 1u;
        else copy = whole;
    }
    """
    data = np.zeros(4, np.uint32)
    memory = Memory(data.view(np.uint8), "data")
    outcome = interpret(source, 1, memory, races=True)
    assert kinds(outcome) == ["race"]
    assert memory.causes is not None
    assert (memory.causes[2:] > 0).all()


def test_a_race_within_and_between_subgroups_is_not_one_of_lockstep() -> None:
    source = """
    layout(local_size_x = 64) in;
    shared uint data[64];
    layout(std430, binding = 0) buffer Result { uint result[64]; };
    void main() {
        uint i = gl_LocalInvocationIndex, sum = 0u;
        for (uint step = 1u; step < 64u; step *= 2u) {
            data[i] = i + step;
            sum += data[i ^ step];
            barrier();
        }
        result[i] = sum;
    }"""
    outcome = interpret(source, 1, np.zeros(64, np.uint32), races=True)
    assert {"race"} <= set(kinds(outcome))
    assert all("lockstep" not in event.message for event in outcome.events if event.kind == "race")


def test_a_barrier_that_does_not_order_a_buffer_is_named() -> None:
    source = """
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Data { uint data[64]; uint found[64]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        data[i] = i;
        barrier();
        found[i] = data[i ^ 1u];
    }"""
    outcome = interpret(source, 1, np.zeros(128, np.uint32), races=True)
    (race,) = outcome.events
    assert race.kind == "race"
    assert "barrier() between them does not order accesses to buffers" in race.message
    assert "lockstep" not in race.message
    without_barrier = interpret(source.replace("barrier();", ""), 1, np.zeros(128, np.uint32), races=True)
    (race,) = without_barrier.events
    assert "lockstep" in race.message
    assert "barrier()" not in race.message
