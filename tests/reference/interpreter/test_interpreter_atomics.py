"""Atomics: each against a loop over the invocations in their order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from interpreting import interpret, program

from vkgroup.reference.interpreter import Memory, execute

BITS = 0xFFFFFFFF


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


OPERATIONS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("atomicAdd(cells[where[i]], what[i])", lambda old, x: (old + x) & BITS),
    "min": ("atomicMin(cells[where[i]], what[i])", min),
    "max": ("atomicMax(cells[where[i]], what[i])", max),
    "and": ("atomicAnd(cells[where[i]], what[i])", lambda old, x: old & x),
    "or": ("atomicOr(cells[where[i]], what[i])", lambda old, x: old | x),
    "xor": ("atomicXor(cells[where[i]], what[i])", lambda old, x: old ^ x),
    "exchange": ("atomicExchange(cells[where[i]], what[i])", lambda old, x: x),
    "compare": (
        "atomicCompSwap(cells[where[i]], what[i] & 3u, what[i] >> 2u)",
        lambda old, x: x >> 2 if old == x & 3 else old,
    ),
}
SOURCE = """
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Cells {{ {scalar} cells[]; }};
layout(std430, binding = 1) readonly buffer Where {{ uint where[]; }};
layout(std430, binding = 2) readonly buffer What {{ {scalar} what[]; }};
layout(std430, binding = 3) writeonly buffer Found {{ {scalar} found[]; }};
void main() {{ uint i = gl_GlobalInvocationID.x; found[i] = {expression}; }}
"""


@pytest.mark.parametrize("places", [1, 5, 100, 2000])
@pytest.mark.parametrize("name", OPERATIONS)
def test_turns_are_taken_in_order(name: str, places: int) -> None:
    expression, step = OPERATIONS[name]
    rng = np.random.default_rng(places)
    count = 640
    cells = rng.integers(0, 4, places).astype(np.uint32)
    where = rng.integers(0, places, count).astype(np.uint32)
    what = rng.integers(0, 16, count).astype(np.uint32)
    if name in ("min", "max", "add"):
        what = rng.integers(0, 1 << 32, count).astype(np.uint32)
    expected, seen = cells.tolist(), []
    for place, value in zip(where.tolist(), what.tolist(), strict=True):
        seen.append(expected[place])
        expected[place] = step(expected[place], value)
    result = np.zeros(count, np.uint32)
    interpret(SOURCE.format(scalar="uint", expression=expression), 10, cells, where, what, result)
    assert result.tolist() == seen
    assert cells.tolist() == expected


@pytest.mark.parametrize("name", ["min", "max"])
def test_signed_comparison(name: str) -> None:
    rng = np.random.default_rng(1)
    cells = np.zeros(3, np.int32)
    where = rng.integers(0, 3, 64).astype(np.uint32)
    what = rng.integers(-50, 50, 64).astype(np.int32)
    expected = [0, 0, 0]
    for place, value in zip(where.tolist(), what.tolist(), strict=True):
        expected[place] = (min if name == "min" else max)(expected[place], value)
    result = np.zeros(64, np.int32)
    expression = OPERATIONS[name][0]
    interpret(SOURCE.format(scalar="int", expression=expression), 1, cells, where, what, result)
    assert cells.tolist() == expected


def test_64_bit_and_float_atomics() -> None:
    source = """
    #extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
    #extension GL_EXT_shader_atomic_int64 : require
    #extension GL_EXT_shader_atomic_float : require
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Wide { uint64_t wide[]; };
    layout(std430, binding = 1) buffer Floats { float floats[]; };
    void main() {
        uint i = gl_GlobalInvocationID.x;
        atomicAdd(wide[i & 1u], uint64_t(i) << 30);
        atomicMax(wide[2], uint64_t(i) << 33);
        atomicAdd(floats[i % 3u], float(i));
    }
    """
    wide, floats = np.zeros(3, np.uint64), np.zeros(3, np.float32)
    outcome = interpret(source, 2, wide, floats)
    assert wide.tolist() == [
        sum(i << 30 for i in range(0, 128, 2)),
        sum(i << 30 for i in range(1, 128, 2)),
        127 << 33,
    ]
    assert floats.tolist() == [sum(range(k, 128, 3)) for k in range(3)]
    assert outcome.events == ()


def test_shared_memory_atomics_by_workgroup() -> None:
    source = """
    layout(local_size_x = 48) in;
    layout(std430, binding = 0) buffer Data { uint data[]; };
    shared uint bins[8];
    void main() {
        if (gl_LocalInvocationIndex < 8u) bins[gl_LocalInvocationIndex] = 0u;
        barrier();
        atomicAdd(bins[data[gl_GlobalInvocationID.x] & 7u], 1u);
        barrier();
        data[gl_GlobalInvocationID.x] = bins[gl_LocalInvocationIndex & 7u];
    }
    """
    data = np.random.default_rng(0).integers(0, 1000, 48 * 4).astype(np.uint32)
    bins = [np.bincount(part & 7, minlength=8) for part in data.reshape(4, 48)]
    outcome = interpret(source, 4, data, races=True)
    assert outcome.events == ()
    np.testing.assert_array_equal(data.reshape(4, 6, 8), np.array(bins)[:, None, :].repeat(6, 1))


def test_what_depends_on_the_order_is_marked_and_what_does_not_is_not() -> None:
    source = """
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Data { uint count; uint total; uint taken[64]; uint mine[64]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        uint place = atomicAdd(count, 1u);
        atomicAdd(total, i);
        taken[place] = i;
        mine[i] = i * 2u;
    }
    """
    memory = Memory(np.zeros(130 * 4, np.uint8), "data")
    execute(program(source), (1, 1, 1), {(0, 0): [memory]})
    assert memory.causes is not None
    assert (memory.causes[2:66] > 0).all()
    assert (memory.causes < 0x8000).all()
    assert not memory.causes[:2].any()
    assert not memory.causes[66:].any()


@pytest.mark.parametrize(
    ("between", "depends"), [("", True), ("barrier();", False)], ids=["unordered", "in two phases"]
)
def test_rounded_additions_at_two_places_depend_on_the_order(between: str, depends: bool) -> None:
    source = f"""
    #extension GL_EXT_shader_atomic_float : require
    #extension GL_KHR_memory_scope_semantics : require
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Data {{ float total; float unchanged; }};
    void main() {{
        uint i = gl_LocalInvocationIndex;
        if (i == 0u) {{ atomicAdd(total, 0.1); atomicAdd(unchanged, 0.0); }}
        {between}
        if (i == 63u) {{ atomicAdd(total, 0.2); atomicAdd(unchanged, 0.0); }}
    }}
    """
    memory = Memory(np.zeros(8, np.uint8), "data")
    execute(program(source), (1, 1, 1), {(0, 0): [memory]}, races=True)
    causes = [0, 0] if memory.causes is None else memory.causes.tolist()
    assert [cause > 0 for cause in causes] == [depends, False]


def test_a_spin_lock_between_workgroups_ends() -> None:
    # Every workgroup waits for the one before it: decoupled look-back at its plainest.
    source = """
    layout(local_size_x = 32) in;
    layout(std430, binding = 0) coherent buffer Data { uint flags[64]; uint sums[64]; };
    shared uint before;
    void main() {
        uint g = gl_WorkGroupID.x;
        if (gl_LocalInvocationIndex == 0u) {
            before = 0u;
            if (g > 0u) {
                while (atomicAdd(flags[g - 1u], 0u) == 0u) { }
                memoryBarrierBuffer();
                before = sums[g - 1u];
            }
            sums[g] = before + g;
            memoryBarrierBuffer();
            atomicExchange(flags[g], 1u);
        }
        barrier();
    }
    """
    data = np.zeros(128, np.uint32)
    outcome = interpret(source, 64, data, races=True)
    assert [event.kind for event in outcome.events] == []
    assert data[64:].tolist() == np.cumsum(np.arange(64)).tolist()


@pytest.mark.slow
def test_a_lock_that_many_want_is_no_hang() -> None:
    # The last of 100 subgroups waits for 99 others, each of which lets the rest go round for a while.
    source = """
    layout(local_size_x = 100) in;
    layout(std430, binding = 0) coherent buffer Data { uint lock; uint total; };
    void main() {
        while (atomicCompSwap(lock, 0u, 1u) != 0u) { }
        memoryBarrierBuffer();
        total += gl_LocalInvocationIndex;
        memoryBarrierBuffer();
        atomicExchange(lock, 0u);
    }
    """
    data = np.zeros(2, np.uint32)
    outcome = interpret(source, 1, data, races=True, subgroup_size=1, step_limit=1000)
    assert [event.kind for event in outcome.events] == []
    assert data.tolist() == [0, 99 * 50]


def test_a_lock_that_nobody_gives_back_is_a_hang() -> None:
    source = """
    layout(local_size_x = 100) in;
    layout(std430, binding = 0) coherent buffer Data { uint lock; uint total; };
    void main() {
        while (atomicCompSwap(lock, 0u, 1u) != 0u) { }
        total += 1u;
    }
    """
    outcome = interpret(source, 1, np.zeros(2, np.uint32), subgroup_size=1, step_limit=1000)
    assert [event.kind for event in outcome.events] == ["hang"]


def test_what_the_order_decides_through_branches_is_marked_until_the_ways_meet() -> None:
    source = """
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Data { uint keys[4]; uint counts[4]; uint won[64]; uint after[64]; };
    void main() {
        uint i = gl_LocalInvocationIndex, at = 0u;
        for (uint tries = 0u; tries < 4u; tries++) {
            uint there = atomicCompSwap(keys[at], 0u, i % 3u + 1u);
            if (there == 0u || there == i % 3u + 1u) { atomicAdd(counts[at], 1u); won[i] = at; break; }
            at++;
        }
        after[i] = i;
    }
    """
    memory = Memory(np.zeros(136 * 4, np.uint8), "data")
    execute(program(source), (1, 1, 1), {(0, 0): [memory]})
    causes = memory.causes
    assert causes is not None
    assert (causes[:3] > 0).all()
    assert (causes[4:7] > 0).all()
    assert (causes[8:72] > 0).all()
    assert not causes[72:].any()
    assert (causes < 0x8000).all()


@pytest.mark.parametrize("seed", range(6))
def test_workgroups_that_wait_for_each_other_in_loops_of_their_own_end(seed: int) -> None:
    # Each workgroup has a loop that ends when another workgroup's flag is set.
    rng = np.random.default_rng(seed)
    order = rng.permutation(int(rng.integers(3, 9))).tolist()
    waits_for = dict(pairwise(order))
    bodies = ["", "n++;", "for (uint k = 0u; k < 3u; k++) n += k;", "for (uint k = 0u; k < 64u; k++) n += k;"]
    cases = ""
    for group in range(len(order)):
        loop = ""
        if group in waits_for:
            body = bodies[int(rng.integers(len(bodies)))]
            loop = f"while (atomicAdd(flags[{waits_for[group]}], 0u) == 0u) {{ {body} }}"
        cases += f"case {group}u: {loop} atomicExchange(flags[{group}], 1u); break;\n"
    source = f"""
    layout(local_size_x = 8) in;
    layout(std430, binding = 0) coherent buffer Data {{ uint flags[8]; uint done[8]; }};
    void main() {{
        uint n = 0u;
        switch (gl_WorkGroupID.x) {{ {cases} }}
        if (gl_LocalInvocationIndex == 0u) done[gl_WorkGroupID.x] = n + 1u;
    }}"""
    data = np.zeros(16, np.uint32)
    outcome = interpret(source, len(order), data, step_limit=2000, subgroup_size=4)
    assert outcome.events == ()
    assert (data[8 : 8 + len(order)] > 0).all()


def test_a_place_that_another_order_would_have_written_is_marked() -> None:
    source = """
    layout(local_size_x = 64) in;
    layout(std430, binding = 0) buffer Count { uint count; };
    layout(std430, binding = 1) buffer Data { uint first[64]; uint all[64]; };
    void main() {
        uint i = gl_LocalInvocationIndex;
        if (atomicAdd(count, 1u) < 3u) first[i] = 1u;
        all[i] = i;
    }
    """
    count, data = Memory(np.zeros(4, np.uint8), "count"), Memory(np.zeros(512, np.uint8), "data")
    execute(program(source), (1, 1, 1), {(0, 0): [count], (0, 1): [data]}, races=True)
    assert count.causes is None
    assert data.causes is not None
    assert (data.causes[:64] > 0).all()
    assert not data.causes[64:].any()
