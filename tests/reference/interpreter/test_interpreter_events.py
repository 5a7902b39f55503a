"""Events of the interpreter: undefined values, races, barriers, hangs, bounds; and programs without any."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpret, kinds, line, program

from vkgroup.base.errors import DispatchTimeout, Unsupported
from vkgroup.reference.interpreter import Event, Memory, execute

DATA = """
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
shared uint part[64];
"""

#: Body of main, what is found, and the marked line of the source.
WRONG: dict[str, tuple[str, str, str]] = {
    "uninitialised variable": (
        "undefined",
        "uninitialised",
        """uint v; if (i > 60u) v = 1u;
        data[i] = v; //<""",
    ),
    "uninitialised shared memory": (
        "undefined",
        "uninitialised",
        """if (i < 32u) part[i] = i;
        barrier();
        data[i] = part[i]; //<""",
    ),
    "branch on an undefined value": (
        "undefined",
        "uninitialised",
        """uint v; if (i > 60u) v = 1u;
        if (v == 1u) //<
            data[i] = 2u;""",
    ),
    "inactive lane": (
        "undefined",
        "lane_out_of_range",
        """uint v = subgroupShuffleDown(i, 1u);
        data[i] = v; //<""",
    ),
    "missing barrier": (
        "race",
        "",
        """part[i] = data[i];
        data[i] = part[63u - i]; //<""",
    ),
    "everybody writes one place": (
        "race",
        "",
        """if (data[i] == 0u)
            data[63] = 1u; //<""",
    ),
    "read and written in one step": (
        "race",
        "",
        """part[i] = i; barrier();
        part[i] = part[i] + part[(i + 1u) % 64u]; //<
        barrier(); data[i] = part[i];""",
    ),
    "two workgroups": (
        "race",
        "",
        """data[i] = //<
            gl_WorkGroupID.x;""",
    ),
    "barrier in a branch": (
        "barrier",
        "",
        """part[i] = i;
        if (i < 7u)
            barrier(); //<
        data[i] = 1u;""",
    ),
    "barrier after a return": (
        "barrier",
        "",
        """if (i == 5u) return;
        barrier(); //<
        data[i] = 1u;""",
    ),
    "endless loop": (
        "hang",
        "",
        """uint k = 0u;
        while (data[0] == 0u) k++; //<
        data[i] = k;""",
    ),
    "beyond the buffer": ("bounds", "", "data[i + 60u] = 1u; //<"),
    "beyond shared memory": ("bounds", "", "part[i + data[i]] = 1u; //<"),
    "beyond a local array": (
        "bounds",
        "",
        """uint local[4] = uint[4](1u, 2u, 3u, 4u);
        data[i] = local[i / 8u]; //<""",
    ),
}


def _source(body: str) -> str:
    return DATA + "void main() { uint i = gl_LocalInvocationIndex;\n" + body + "\n}"


@pytest.mark.parametrize("name", WRONG)
def test_found_where_it_is(name: str) -> None:
    kind, cause, body = WRONG[name]
    source = _source(body)
    data = np.zeros(64, np.uint32)
    if name == "beyond shared memory":
        data[:] = 40
    chosen = program(source)
    groups = 2 if name == "two workgroups" else 1
    outcome = interpret(chosen, groups, data, races=True, step_limit=100)
    result = [event for event in outcome.events if event.kind == kind]
    assert result, outcome.events
    marked = source[: source.index("//<")].count("\n") + 1
    assert marked in [line(source, event.position, chosen) for event in result]
    if cause:
        assert cause in [event.cause.kind for event in result if event.cause is not None]


RIGHT: dict[str, str] = {
    "barrier between": "part[i] = data[i]; barrier(); data[i] = part[63u - i];",
    "tree": """part[i] = data[i];
        for (uint k = 32u; k > 0u; k >>= 1u) { barrier(); if (i < k) part[i] += part[i + k]; }
        barrier(); if (i == 0u) data[0] = part[0];""",
    "subgroup barrier": """part[i] = data[i]; subgroupMemoryBarrierShared(); subgroupBarrier();
        uint mate = i ^ 1u; data[i] = part[mate];""",
    "atomics only": "atomicAdd(part[0], 1u); atomicOr(data[0], 1u << (i & 31u));",
    "everybody reads": "if (i == 3u) part[0] = data[3]; barrier(); data[i] = part[0] + part[0];",
    "undefined but unused": """uint v = subgroupShuffleDown(i, 1u);
        data[i] = i != 63u && gl_SubgroupInvocationID + 1u < gl_SubgroupSize ? v : 0u;""",
    "undefined in one component": "uvec2 v; v.y = i; data[i] = v.y;",
    "buffer ordered by the barrier": """data[i] = i; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();
        uint v = data[63u - i]; memoryBarrierBuffer(); barrier(); memoryBarrierBuffer(); data[i] = v;""",
    "loop with a uniform barrier": "for (uint k = 0u; k < 5u; k++) { part[i] = k; barrier(); }",
    "early return of whole workgroups": """if (gl_WorkGroupID.x > 0u) return;
        part[i] = i; barrier(); data[i] = part[63u - i];""",
}


@pytest.mark.parametrize("subgroup_size", [1, 4, 32, 128])
@pytest.mark.parametrize("name", RIGHT)
def test_silent_where_nothing_is_wrong(name: str, subgroup_size: int) -> None:
    if name == "atomics only":
        source = _source("if (i == 0u) part[0] = 0u; barrier(); " + RIGHT[name])
    else:
        source = _source(RIGHT[name])
    groups = 3 if "workgroups" in name else 1
    data = np.arange(64, dtype=np.uint32)
    outcome = interpret(source, groups, data, races=True, subgroup_size=subgroup_size, step_limit=100)
    if name == "subgroup barrier" and subgroup_size == 1:
        # The two are in different subgroups then, and nothing orders them.
        assert set(kinds(outcome)) == {"race"}
    else:
        assert outcome.events == ()


def test_the_last_workgroup_reads_what_all_have_written() -> None:
    source = """
    layout(local_size_x = 32) in;
    layout(std430, binding = 0) coherent buffer Data { uint done; uint total; uint parts[64]; };
    shared bool last;
    void main() {
        uint i = gl_LocalInvocationIndex;
        if (i == 0u) {
            parts[gl_WorkGroupID.x] = gl_WorkGroupID.x * 3u;
            memoryBarrierBuffer();
            last = atomicAdd(done, 1u) == gl_NumWorkGroups.x - 1u;
            memoryBarrierBuffer();
        }
        barrier();
        if (last && i == 0u) {
            memoryBarrierBuffer();
            uint sum = 0u;
            for (uint k = 0u; k < gl_NumWorkGroups.x; k++) sum += parts[k];
            total = sum;
        }
    }
    """
    data = np.zeros(66, np.uint32)
    outcome = interpret(source, 64, data, races=True)
    assert kinds(outcome) == []
    assert data[1] == 3 * sum(range(64))
    without = source.replace("memoryBarrierBuffer();", "")
    assert "race" in kinds(interpret(without, 64, np.zeros(66, np.uint32), races=True))


def test_a_lane_that_waits_for_a_lane_of_its_own_subgroup() -> None:
    body = """bool done = false;
        while (atomicCompSwap(data[0], 0u, 1u) != 0u) { }
        data[1] += 1u;
        atomicExchange(data[0], 0u);"""
    data = np.zeros(64, np.uint32)
    outcome = interpret(_source(body), 1, data, step_limit=300)
    hangs = [event for event in outcome.events if event.kind == "hang"]
    assert len(hangs) == 1
    assert "same subgroup" in hangs[0].message


def test_events_name_an_invocation_and_count() -> None:
    outcome = interpret(_source("data[i + 60u] = 1u;"), 1, np.zeros(64, np.uint32), subgroup_size=8)
    (event,) = outcome.events
    assert isinstance(event, Event)
    assert event.count == 60
    assert event.invocation is not None
    assert event.invocation.local == (4, 0, 0)
    assert (event.invocation.subgroup, event.invocation.lane) == (0, 4)
    assert event.memory == "binding 0"


def test_undefined_memory_before_the_dispatch() -> None:
    source = _source("data[i] = data[i ^ 1u] + 1u;")
    memory = Memory(np.zeros(256, np.uint8), "data", defined=False)
    execute(program(source), (1, 1, 1), {(0, 0): [memory]})
    assert memory.causes is not None
    assert (memory.causes >= 0x8000).all()


def test_trace_shows_every_instruction_of_an_invocation() -> None:
    source = _source("uint v = i * 2u; for (uint k = 0u; k < i; k++) v += k; data[i] = v;")
    data = np.zeros(64, np.uint32)
    outcome = interpret(source, 1, data, watch=[((0, 0, 0), (3, 0, 0)), ((0, 0, 0), (5, 0, 0))])
    three, five = (outcome.trace[(0, 0, 0), (k, 0, 0)] for k in (3, 5))
    assert three[-1].value == (9,)
    assert five[-1].value == (20,)
    assert len(three) < len(five)


def test_deadline() -> None:
    source = _source("uint k = 0u; while (data[0] == 0u) k++; data[i] = k;")
    with pytest.raises(DispatchTimeout):
        interpret(source, 1, np.zeros(64, np.uint32), deadline=0.2)


def test_unknown_instructions_are_named_before_anything_runs() -> None:
    source = """
    #extension GL_EXT_ray_query : require
    layout(local_size_x = 1) in;
    layout(binding = 0) uniform accelerationStructureEXT scene;
    void main() {
        rayQueryEXT query;
        rayQueryInitializeEXT(query, scene, 0u, 0u, vec3(0), 0.0, vec3(1), 1.0);
    }
    """
    with pytest.raises(Unsupported, match="rayQuery"):
        program(source)


def test_instructions_for_tools_are_left_out() -> None:
    source = "#extension GL_EXT_debug_printf : require\n" + _source(
        """debugPrintfEXT("%d", i); data[i] = i;"""
    )
    data = np.zeros(64, np.uint32)
    assert interpret(source, 1, data).events == ()
    assert data.tolist() == list(range(64))


def test_shuffled_lanes_keep_results_that_do_not_depend_on_them() -> None:
    source = _source("part[i] = i * i; barrier(); data[i] = part[63u - i] + gl_SubgroupSize;")
    linear, shuffled = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    interpret(source, 1, linear, subgroup_size=8)
    interpret(source, 1, shuffled, subgroup_size=8, shuffle=11)
    np.testing.assert_array_equal(linear, shuffled)
    lanes = _source("data[i] = gl_SubgroupID * 100u + gl_SubgroupInvocationID;")
    interpret(lanes, 1, linear, subgroup_size=8)
    interpret(lanes, 1, shuffled, subgroup_size=8, shuffle=11)
    assert linear.tolist() == [i // 8 * 100 + i % 8 for i in range(64)]
    assert linear.tolist() != shuffled.tolist()
    assert sorted(linear.tolist()) == sorted(shuffled.tolist())


def test_a_barrier_behind_a_loop_that_hangs_is_not_blamed() -> None:
    body = """while (atomicCompSwap(data[0], 0u, 1u) != 0u) { }
        data[1] += 1u;
        barrier();"""
    outcome = interpret(_source(body), 1, np.zeros(64, np.uint32), step_limit=100)
    assert kinds(outcome) == ["hang"]
